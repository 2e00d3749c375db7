//! The lab over HTTP, for this machine alone.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, ORIGIN, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::order::RaceOrder;
use crate::race::{self, Course};
use crate::{bounds, page, presets};

/// What requests are answered from.
#[derive(Clone)]
pub(crate) struct Lab {
    course: Course,
    races: Arc<Semaphore>,
}

/// All there is to be asked.
pub(crate) fn routes(course: Course) -> Router {
    let lab = Lab { course, races: Arc::new(Semaphore::new(bounds::RACES)) };
    Router::new()
        .route("/", get(async || file("index.html")))
        .route("/page/{name}", get(async |Path(name): Path<String>| file(&name)))
        .route("/api/lab", get(describe))
        .route("/api/race", post(race))
        .fallback(async || refuse(StatusCode::NOT_FOUND, "the lab has nothing here; its page is at /"))
        .method_not_allowed_fallback(async |method: Method| {
            refuse(StatusCode::METHOD_NOT_ALLOWED, &format!("this cannot be asked for with {method}"))
        })
        .layer(DefaultBodyLimit::max(bounds::BODY))
        .layer(middleware::from_fn(for_this_machine))
        .with_state(lab)
}

/// Refuses what does not call this machine by a name of its own, and what a page from elsewhere asks for: that page may
/// have had its name made to mean this machine.
async fn for_this_machine(request: Request, next: Next) -> Response {
    let headers = request.headers();
    let mut hosts = headers.get_all(HOST).iter();
    let mut origins = headers.get_all(ORIGIN).iter();
    let called = hosts.next().is_some_and(is_loopback) && hosts.all(is_loopback);
    if !called || !origins.all(is_from_here) {
        return refuse(StatusCode::FORBIDDEN, "the lab answers to 127.0.0.1, [::1] and localhost alone");
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let own = "default-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'";
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(own));
    response
}

fn is_loopback(host: &HeaderValue) -> bool {
    host.to_str().is_ok_and(|host| names_this_machine(&host.to_ascii_lowercase()))
}

fn is_from_here(origin: &HeaderValue) -> bool {
    let origin = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://"));
    origin.is_some_and(names_this_machine)
}

fn names_this_machine(host: &str) -> bool {
    // What comes after the last colon is a port, unless that colon is part of an address in brackets.
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    matches!(name, "127.0.0.1" | "localhost" | "[::1]")
}

fn file(name: &str) -> Response {
    match page::file(name) {
        Some(file) => ([(CONTENT_TYPE, file.kind()), (CACHE_CONTROL, "no-cache")], file.text).into_response(),
        None => refuse(StatusCode::NOT_FOUND, "the page has no such file"),
    }
}

/// What there is to be chosen.
async fn describe(State(lab): State<Lab>) -> Json<Value> {
    let choices: serde_json::Map<_, _> =
        bounds::choices().into_iter().map(|(name, words)| (name.to_owned(), words)).collect();
    Json(json!({
        "bounds": bounds::bounds(),
        "choices": choices,
        "redis": lab.course.redis.is_some(),
        "presets": presets::presets(lab.course.redis.is_some()),
        "races": { "running": bounds::RACES - lab.races.available_permits(), "most": bounds::RACES },
    }))
}

/// Runs a race, and tells of it as it happens.
async fn race(State(lab): State<Lab>, headers: HeaderMap, body: Result<Bytes, BytesRejection>) -> Response {
    // A form on another page could send any other type without asking first.
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json")) {
        return refuse(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "a race is asked for with the type application/json",
        );
    }
    let body = match body {
        Ok(body) => body,
        Err(refused) if refused.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            return refuse(refused.status(), &format!("a race takes no more than {} bytes", bounds::BODY));
        }
        Err(refused) => return refuse(refused.status(), &refused.body_text()),
    };
    let order = match RaceOrder::read(&body, lab.course.redis.is_some()) {
        Ok(order) => order,
        Err(mistakes) => {
            let error = mistakes.first().map_or_else(String::new, |mistake| mistake.message.clone());
            return (StatusCode::BAD_REQUEST, Json(json!({ "error": error, "mistakes": mistakes })))
                .into_response();
        }
    };
    let Ok(permit) = lab.races.clone().try_acquire_owned() else {
        let message = format!("{} races are running already; wait for one to end", bounds::RACES);
        return refuse(StatusCode::SERVICE_UNAVAILABLE, &message);
    };
    let lines = race::start(order, lab.course, permit);
    ([(CONTENT_TYPE, "application/x-ndjson"), (CACHE_CONTROL, "no-store")], Body::from_stream(lines))
        .into_response()
}

fn refuse(status: StatusCode, sentence: &str) -> Response {
    (status, Json(json!({ "error": sentence }))).into_response()
}
