//! What whoever runs the service asks it.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};
use singleflight_core::SingleFlight;
use singleflight_core::link::Link;

use crate::api::Service;

/// The process runs.
pub(crate) async fn live() -> &'static str {
    "ok\n"
}

/// Requests can be answered. Without the backend they can, by this process for itself: that is told, and is no reason to
/// take it out of service.
pub(crate) async fn ready(State(service): State<Service>) -> (StatusCode, Json<Value>) {
    let database = service.users.ping().await.inspect_err(|error| tracing::error!(%error, "not ready"));
    let backend = SingleFlight::current().backend().link().is_none_or(Link::is_up);
    let status = if database.is_ok() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let word = |up| if up { "up" } else { "away" };
    (status, Json(json!({ "database": word(database.is_ok()), "backend": word(backend) })))
}
