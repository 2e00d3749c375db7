//! What people write by hand: a value and a lock beside it, five commands for a fill.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{RedisError, Script, cmd};
use tokio::time::{Instant, sleep};

use super::{LEASE, Opened, Shared, TTL};
use crate::load::Failure;
use crate::redis::client;
use crate::redis::source::{Answer, Source};

/// The first pause of who waits; each one is half as long again as the one before.
const PAUSE: Duration = Duration::from_millis(20);

/// Who has waited for as long as the lock lasts loads without it.
const WAIT: Duration = LEASE;

const RELEASE: &str =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

/// Waiters only look for the value.
pub(super) struct Recipe(Hand);

/// Waiters try for the lock each time that they have found nothing.
pub(super) struct Insistent(Hand);

impl Shared for Recipe {
    async fn connect(url: &str) -> Opened<Self> {
        Hand::connect(url).await.map(Self)
    }

    async fn get(&self, key: u64, source: Source) -> Answer {
        self.0.get(key, source, false).await
    }
}

impl Shared for Insistent {
    async fn connect(url: &str) -> Opened<Self> {
        Hand::connect(url).await.map(Self)
    }

    async fn get(&self, key: u64, source: Source) -> Answer {
        self.0.get(key, source, true).await
    }
}

struct Hand {
    connection: MultiplexedConnection,
    release: Script,
}

/// Names of one key.
struct Names {
    key: u64,
    value: String,
    lock: String,
}

impl Hand {
    async fn connect(url: &str) -> Opened<Self> {
        Ok(Self { connection: client::connect(url).await?, release: Script::new(RELEASE) })
    }

    async fn get(&self, key: u64, source: Source, insists: bool) -> Answer {
        let names = Names { key, value: format!("row:{key}"), lock: format!("row:{key}:lock") };
        if let Some(found) = self.look(&names).await? {
            return Ok(found);
        }
        let token = format!("{:032x}", fastrand::u128(..));
        if self.lock(&names, &token).await? {
            return self.fill(&names, &token, &source).await;
        }
        let (begun, mut pause) = (Instant::now(), PAUSE);
        while begun.elapsed() < WAIT {
            sleep(pause.min(WAIT.saturating_sub(begun.elapsed()))).await;
            pause = pause * 3 / 2;
            if let Some(found) = self.look(&names).await? {
                return Ok(found);
            }
            if insists && self.lock(&names, &token).await? {
                return self.fill(&names, &token, &source).await;
            }
        }
        let loaded = source.load(key).await?;
        self.store(&names, &loaded).await?;
        Ok(loaded)
    }

    /// Under the lock, which is given up however it ends.
    async fn fill(&self, names: &Names, token: &str, source: &Source) -> Answer {
        let filled = self.fill_held(names, source).await;
        let mut connection = self.connection.clone();
        let released: Result<i32, _> =
            self.release.key(&names.lock).arg(token).invoke_async(&mut connection).await;
        released.map_err(failure)?;
        filled
    }

    async fn fill_held(&self, names: &Names, source: &Source) -> Answer {
        // Somebody may have filled it between the look and the lock.
        if let Some(found) = self.look(names).await? {
            return Ok(found);
        }
        let loaded = source.load(names.key).await?;
        self.store(names, &loaded).await?;
        Ok(loaded)
    }

    async fn look(&self, names: &Names) -> Result<Option<String>, Failure> {
        cmd("GET").arg(&names.value).query_async(&mut self.connection.clone()).await.map_err(failure)
    }

    async fn lock(&self, names: &Names, token: &str) -> Result<bool, Failure> {
        let mut set = cmd("SET");
        set.arg(&names.lock).arg(token).arg("NX").arg("PX").arg(LEASE.as_millis() as u64);
        let set: Option<String> = set.query_async(&mut self.connection.clone()).await.map_err(failure)?;
        Ok(set.is_some())
    }

    async fn store(&self, names: &Names, value: &str) -> Result<(), Failure> {
        let mut set = cmd("SET");
        set.arg(&names.value).arg(value).arg("PX").arg(TTL.as_millis() as u64);
        set.query_async(&mut self.connection.clone()).await.map_err(failure)
    }
}

fn failure(error: RedisError) -> Failure {
    Failure::Peer(error.to_string())
}
