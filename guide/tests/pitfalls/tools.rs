// What the recipes have in common. Not a module's documentation: the guide's examples include this file as it stands.

use std::time::Duration;

use redis::Script;

pub(crate) use redis::aio::MultiplexedConnection as Redis;
pub(crate) use singleflight_tests::source::Source as Database;

pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Takes the lock in one command; whether it is ours now.
pub(crate) async fn take(redis: &mut Redis, lock: &str, token: &str, ttl: Duration) -> Result<bool> {
    let ms = ttl.as_millis() as u64;
    let answer: Option<String> =
        redis::cmd("SET").arg(lock).arg(token).arg("NX").arg("PX").arg(ms).query_async(redis).await?;
    Ok(answer.is_some())
}

/// Releases the lock in one step, if its token is this one.
pub(crate) async fn release(redis: &mut Redis, lock: &str, token: &str) -> Result<()> {
    let script =
        "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";
    Ok(Script::new(script).key(lock).arg(token).invoke_async(redis).await?)
}
