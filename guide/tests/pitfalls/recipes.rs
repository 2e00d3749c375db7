//! Cache fills by hand, as they are written again and again. Each is wrong in one way and right in the others; the guide
//! quotes them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use redis::AsyncCommands;
use tokio::time::sleep;

use crate::tools::{Database, Redis, Result, release, take};

pub(crate) async fn setnx_then_expire(mut redis: Redis, lock: &str) -> Result<bool> {
    let ours: bool = redis.set_nx(lock, "worker").await?;
    if ours {
        // A process that ends between the two commands leaves a lock that never does.
        let _: bool = redis.expire(lock, 10).await?;
    }
    Ok(ours)
}

pub(crate) async fn constant_token(
    mut redis: Redis,
    db: Arc<Database>,
    key: &str,
    ttl: Duration,
) -> Result<Option<u64>> {
    let lock = format!("lock:{key}");
    if !take(&mut redis, &lock, "worker", ttl).await? {
        return Ok(None); // someone else loads
    }
    let value = db.load().await?;
    let _: () = redis.set_ex(key, value, 60).await?;
    // Compares, but everyone is called "worker": whose lock is this by now?
    release(&mut redis, &lock, "worker").await?;
    Ok(Some(value))
}

pub(crate) async fn plain_del(
    mut redis: Redis,
    db: Arc<Database>,
    key: &str,
    token: &str,
    ttl: Duration,
) -> Result<Option<u64>> {
    let lock = format!("lock:{key}");
    if !take(&mut redis, &lock, token, ttl).await? {
        return Ok(None); // someone else loads
    }
    let value = db.load().await?;
    let _: () = redis.set_ex(key, value, 60).await?;
    // Deletes the lock, whoever has it by now.
    let _: () = redis.del(lock).await?;
    Ok(Some(value))
}

pub(crate) async fn no_second_look(
    mut redis: Redis,
    db: Arc<Database>,
    key: &str,
    token: &str,
) -> Result<Option<u64>> {
    if let Some(value) = redis.get(key).await? {
        return Ok(Some(value));
    }
    // Meanwhile someone else may have taken the lock, loaded, stored and released it.
    let lock = format!("lock:{key}");
    if !take(&mut redis, &lock, token, Duration::from_secs(60)).await? {
        return Ok(None);
    }
    let value = db.load().await?;
    let _: () = redis.set_ex(key, value, 60).await?;
    release(&mut redis, &lock, token).await?;
    Ok(Some(value))
}

pub(crate) async fn poll_the_lock(
    mut redis: Redis,
    db: Arc<Database>,
    key: &str,
    token: &str,
) -> Result<u64> {
    let lock = format!("lock:{key}");
    loop {
        let ours = take(&mut redis, &lock, token, Duration::from_secs(60)).await?;
        let stored: Option<u64> = redis.get(key).await?;
        let value = match (ours, stored) {
            (_, Some(value)) => value,
            (true, None) => db.load().await?,
            (false, None) => {
                // Two commands a turn, from each who waits, for as long as the load takes.
                sleep(Duration::from_millis(10)).await;
                continue;
            }
        };
        if ours {
            let _: () = redis.set_ex(key, value, 60).await?;
            release(&mut redis, &lock, token).await?;
        }
        return Ok(value);
    }
}

pub(crate) async fn load_on_timeout(
    mut redis: Redis,
    db: Arc<Database>,
    key: &str,
    patience: Duration,
) -> Result<u64> {
    let deadline = Instant::now() + patience;
    while Instant::now() < deadline {
        if let Some(value) = redis.get(key).await? {
            return Ok(value);
        }
        sleep(Duration::from_millis(10)).await;
    }
    // Better one more query than an error. But there are as many as there are waiters.
    Ok(db.load().await?)
}

pub(crate) async fn hard_coded_ttl(
    mut redis: Redis,
    db: Arc<Database>,
    key: &str,
    token: &str,
) -> Result<Option<u64>> {
    const TTL: Duration = Duration::from_millis(50); // no query takes that long
    let lock = format!("lock:{key}");
    if !take(&mut redis, &lock, token, TTL).await? {
        return Ok(None);
    }
    let value = db.load().await?;
    let _: () = redis.set_ex(key, value, 60).await?;
    release(&mut redis, &lock, token).await?;
    Ok(Some(value))
}

/// Sixteen locks are enough for all keys.
pub(crate) fn bucket(key: &str) -> String {
    format!("lock:{}", key.bytes().map(u32::from).sum::<u32>() % 16)
}

pub(crate) async fn bucketed(
    mut redis: Redis,
    db: Arc<Database>,
    key: &str,
    token: &str,
) -> Result<Option<u64>> {
    let lock = bucket(key);
    if !take(&mut redis, &lock, token, Duration::from_secs(60)).await? {
        return Ok(None); // someone else loads: this key, or one of a sixteenth of all others
    }
    let value = db.load().await?;
    let _: () = redis.set_ex(key, value, 60).await?;
    release(&mut redis, &lock, token).await?;
    Ok(Some(value))
}
