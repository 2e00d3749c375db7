//! The program's own connection to the server that its fleet shares.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, RedisError, cmd};
use tokio::time::{Instant, sleep};

use super::FleetError;
use super::monitor::{Monitor, Sent};
use super::worker::USER;

/// What should come soon is to have come by then, however busy the machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Not `Debug`: the URL may hold a password.
pub(crate) struct Control {
    pub(crate) url: String,
    connection: MultiplexedConnection,
    /// `None` where the server does not let us.
    monitor: Option<Monitor>,
    marks: u32,
}

impl Control {
    pub(crate) async fn connect(url: &str) -> Result<Self, RedisError> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(PATIENCE))
            .set_response_timeout(Some(PATIENCE));
        let connection = Client::open(url)?.get_multiplexed_async_connection_with_config(&config).await?;
        Ok(Self { url: url.to_owned(), connection, monitor: Monitor::start(url)?, marks: 0 })
    }

    /// Waits until so many processes wait for the fill of another one.
    pub(crate) async fn waited_for(&mut self, namespace: &str, processes: usize) -> Result<(), FleetError> {
        let channel = name(namespace, 'w');
        let begun = Instant::now();
        loop {
            let answer = cmd("PUBSUB").arg("NUMSUB").arg(&channel).query_async(&mut self.connection).await?;
            let (_, waiting): (String, usize) = answer;
            if waiting >= processes {
                return Ok(());
            }
            if begun.elapsed() > PATIENCE {
                return Err(FleetError::Unseen("the other processes wait for the leader"));
            }
            sleep(Duration::from_millis(2)).await;
        }
    }

    /// How long the lease lasts from now on unless it is renewed; zero where there is none.
    pub(crate) async fn lease_left(&mut self, namespace: &str) -> Result<Duration, RedisError> {
        let left: i64 = cmd("PTTL").arg(name(namespace, 'l')).query_async(&mut self.connection).await?;
        Ok(Duration::from_millis(u64::try_from(left).unwrap_or(0)))
    }

    /// What has been sent about this namespace; `None` where the server does not tell.
    pub(crate) async fn sent(&mut self, namespace: &str) -> Result<Option<Sent>, FleetError> {
        let Some(monitor) = &self.monitor else { return Ok(None) };
        self.marks += 1;
        let mark = format!("{namespace} {}", self.marks);
        // What came before this has been seen once this has.
        let _: String = cmd("ECHO").arg(&mark).query_async(&mut self.connection).await?;
        let begun = Instant::now();
        while !monitor.has_seen(&mark) {
            if begun.elapsed() > PATIENCE {
                return Err(FleetError::Unseen("the server tells what it was sent"));
            }
            sleep(Duration::from_millis(1)).await;
        }
        let sent = monitor.sent(namespace);
        monitor.clear();
        Ok(Some(sent))
    }
}

/// The name of the fleet's key with this ending; PROTOCOL.md lists them.
fn name(namespace: &str, ending: char) -> String {
    format!("sf:{{{namespace}:user:{USER}}}{ending}")
}
