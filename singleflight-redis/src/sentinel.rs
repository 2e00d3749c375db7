//! Sentinels: who the primary is, asked anew for each connection, and every second whether it still is.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, ConnectionInfo, ErrorKind, RedisError, Value, cmd,
};
use tokio::sync::watch;
use tokio::time::sleep;

/// The sentinels of one primary.
pub(crate) struct Sentinels {
    infos: Vec<ConnectionInfo>,
    name: String,
    primary: ConnectionInfo,
    /// The one that answered last is asked first.
    last: AtomicUsize,
    /// The primary that was dialled last.
    dialled: Mutex<Option<ConnectionAddr>>,
    /// Tells connections that another is named.
    moves: watch::Sender<()>,
}

/// Ends the wait of a connection whose primary is no longer the one that sentinels name.
pub(crate) struct Moves(Option<watch::Receiver<()>>);

impl Moves {
    /// Of servers that nobody names.
    pub(crate) const NONE: Self = Self(None);

    /// Waits for the next; for ever where there is none.
    ///
    /// # Cancel safety
    /// Dropping the future misses none.
    pub(crate) async fn next(&mut self) {
        if let Some(moves) = &mut self.0
            && moves.changed().await.is_ok()
        {
            return;
        }
        std::future::pending().await
    }
}

impl Sentinels {
    /// How often it is asked whether the primary is still the same.
    const EVERY: Duration = Duration::from_secs(1);

    pub(crate) fn new(infos: Vec<ConnectionInfo>, name: String, primary: ConnectionInfo) -> Self {
        let (last, dialled, moves) = (AtomicUsize::new(0), Mutex::default(), watch::Sender::new(()));
        Self { infos, name, primary, last, dialled, moves }
    }

    /// What a connection that is about to be dialled is to listen to.
    pub(crate) fn moves(&self) -> Moves {
        Moves(Some(self.moves.subscribe()))
    }

    /// Notes to whom a connection was made.
    pub(crate) fn note_dialled(&self, address: &ConnectionAddr) {
        *self.dialled.lock().unwrap_or_else(PoisonError::into_inner) = Some(address.clone());
    }

    /// Whether the connections are to another server than this.
    fn is_elsewhere(&self, address: &ConnectionAddr) -> bool {
        let dialled = self.dialled.lock().unwrap_or_else(PoisonError::into_inner);
        dialled.as_ref().is_some_and(|dialled| dialled != address)
    }

    /// Asks one sentinel after the other for ever, and has all connections made anew when another primary is named.
    ///
    /// One that lives on after a fail-over does not say so before a sentinel has made it a replica, which takes ten
    /// seconds: what is written to it meanwhile is lost.
    pub(crate) async fn follow(&self, config: &AsyncConnectionConfig) {
        loop {
            for number in self.in_turn() {
                let Ok(mut sentinel) = self.call(number, config).await else { continue };
                while let Ok(info) = self.named_by(&mut sentinel).await {
                    if self.is_elsewhere(info.addr()) {
                        if !self.most_name(info.addr(), config).await {
                            // Cut off from the others, it does not know better.
                            break;
                        }
                        // Whoever dials now is to hear it from this one.
                        self.last.store(number, Ordering::Relaxed);
                        self.moves.send_replace(());
                    }
                    sleep(Self::EVERY).await;
                }
            }
            sleep(Self::EVERY).await;
        }
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
        let mut connection = self.call(number, config).await?;
        let info = self.named_by(&mut connection).await?;
        self.last.store(number, Ordering::Relaxed);
        Ok(info)
    }

    /// Whether more of the sentinels that answer name this primary than name others.
    async fn most_name(&self, address: &ConnectionAddr, config: &AsyncConnectionConfig) -> bool {
        let (mut this, mut others) = (0, 0);
        for number in 0..self.infos.len() {
            let Ok(mut sentinel) = self.call(number, config).await else { continue };
            match self.named_by(&mut sentinel).await {
                Ok(info) if info.addr() == address => this += 1,
                Ok(_) => others += 1,
                Err(_) => {}
            }
        }
        this > others
    }

    async fn call(
        &self,
        number: usize,
        config: &AsyncConnectionConfig,
    ) -> Result<MultiplexedConnection, RedisError> {
        let client = Client::open(self.infos[number].clone())?;
        client.get_multiplexed_async_connection_with_config(config).await
    }

    async fn named_by(&self, connection: &mut MultiplexedConnection) -> Result<ConnectionInfo, RedisError> {
        let mut question = cmd("SENTINEL");
        question.arg("get-master-addr-by-name").arg(&self.name);
        let answer = connection.send_packed_command(&question).await?;
        let unknown = || (ErrorKind::MasterNameNotFoundBySentinel, "no primary of this name is known").into();
        let Value::Array(parts) = answer.extract_error()? else { return Err(unknown()) };
        let [Value::BulkString(host), Value::BulkString(port)] = &parts[..] else { return Err(unknown()) };
        let (host, port) = (String::from_utf8_lossy(host), String::from_utf8_lossy(port));
        let (host, port) = (host.into_owned(), port.parse().map_err(|_| unknown())?);
        let address = match self.primary.addr() {
            ConnectionAddr::TcpTls { insecure, tls_params, .. } => {
                ConnectionAddr::TcpTls { host, port, insecure: *insecure, tls_params: tls_params.clone() }
            }
            _ => ConnectionAddr::Tcp(host, port),
        };
        Ok(self.primary.clone().set_addr(address))
    }
}
