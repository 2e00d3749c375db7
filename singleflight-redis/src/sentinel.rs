//! Sentinels: who the primary is, asked anew for each connection.

use std::sync::atomic::{AtomicUsize, Ordering};

use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, ConnectionInfo, ErrorKind, RedisError, Value, cmd,
};

/// The sentinels of one primary.
pub(crate) struct Sentinels {
    infos: Vec<ConnectionInfo>,
    name: String,
    primary: ConnectionInfo,
    /// The one that answered last is asked first.
    last: AtomicUsize,
}

impl Sentinels {
    pub(crate) fn new(infos: Vec<ConnectionInfo>, name: String, primary: ConnectionInfo) -> Self {
        Self { infos, name, primary, last: AtomicUsize::new(0) }
    }

    /// In the order in which they are to be asked.
    pub(crate) fn in_turn(&self) -> impl Iterator<Item = usize> + use<> {
        let (last, count) = (self.last.load(Ordering::Relaxed), self.infos.len());
        (0..count).map(move |turn| (last + turn) % count)
    }

    /// How to dial the primary, as the sentinel with this number knows it.
    pub(crate) async fn ask(
        &self,
        number: usize,
        config: &AsyncConnectionConfig,
    ) -> Result<ConnectionInfo, RedisError> {
        let client = Client::open(self.infos[number].clone())?;
        let mut connection = client.get_multiplexed_async_connection_with_config(config).await?;
        let mut question = cmd("SENTINEL");
        question.arg("get-master-addr-by-name").arg(&self.name);
        let answer = connection.send_packed_command(&question).await?;
        let unknown = || (ErrorKind::MasterNameNotFoundBySentinel, "no primary of this name is known").into();
        let Value::Array(parts) = answer.extract_error()? else { return Err(unknown()) };
        let [Value::BulkString(host), Value::BulkString(port)] = &parts[..] else { return Err(unknown()) };
        let (host, port) = (String::from_utf8_lossy(host), String::from_utf8_lossy(port));
        let (host, port) = (host.into_owned(), port.parse().map_err(|_| unknown())?);
        self.last.store(number, Ordering::Relaxed);
        let address = match self.primary.addr() {
            ConnectionAddr::TcpTls { insecure, tls_params, .. } => {
                ConnectionAddr::TcpTls { host, port, insecure: *insecure, tls_params: tls_params.clone() }
            }
            _ => ConnectionAddr::Tcp(host, port),
        };
        Ok(self.primary.clone().set_addr(address))
    }
}
