//! Connections as ours makes them: RESP3, nodelay, a time-out.

use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{AsyncConnectionConfig, Client, IntoConnectionInfo, ProtocolVersion, RedisError};

use super::peers::PATIENCE;

/// One connection.
pub(super) async fn connect(url: &str) -> Result<MultiplexedConnection, RedisError> {
    let info = url.into_connection_info()?;
    let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
    let info = info.set_redis_settings(settings).set_tcp_settings(TcpSettings::default().set_nodelay(true));
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(PATIENCE))
        .set_response_timeout(Some(PATIENCE));
    Client::open(info)?.get_multiplexed_async_connection_with_config(&config).await
}
