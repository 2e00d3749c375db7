//! The service over HTTP.

use std::future::Future;

use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router, middleware};
use metrics_exporter_prometheus::PrometheusHandle;
use serde::Deserialize;
use serde_json::json;
use singleflight_core::SingleFlight;
use tokio::net::TcpListener;

use crate::users::{NewUser, RepoError, User, UserId, Users};
use crate::{health, stop, telemetry};

/// What requests are answered from.
#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) users: Users,
    pub(crate) figures: PrometheusHandle,
}

/// Why a request was not done.
pub(crate) enum Refusal {
    /// There is no such user.
    Unknown,
    /// The request makes no sense, as the sentence says.
    Bad(&'static str),
    /// It is not even of the form that it should have.
    Malformed(StatusCode, String),
    Repo(RepoError),
}

/// Answers requests until the process is told to stop, then those that have begun.
pub(crate) fn serve(
    listener: TcpListener,
    service: Service,
) -> impl Future<Output = std::io::Result<()>> + Send {
    let routes = Router::new()
        .route("/users", get(newest).post(create))
        .route("/users/by-email", get(by_email))
        .route("/users/{id}", get(find).put(rename).delete(remove))
        .route_layer(middleware::from_fn(telemetry::measured))
        .route("/health/live", get(health::live))
        .route("/health/ready", get(health::ready))
        .route("/metrics", get(figures))
        .fallback(|| async { Refusal::Malformed(StatusCode::NOT_FOUND, "there is no such path".to_owned()) })
        .with_state(service);
    axum::serve(listener, routes).with_graceful_shutdown(stop::told()).into_future()
}

type Id = Result<Path<UserId>, PathRejection>;

async fn find(State(service): State<Service>, id: Id) -> Result<Json<User>, Refusal> {
    let Path(id) = id?;
    service.users.find(id).await?.map(Json).ok_or(Refusal::Unknown)
}

#[derive(Deserialize)]
struct ByEmail {
    email: String,
}

async fn by_email(
    State(service): State<Service>,
    by: Result<Query<ByEmail>, QueryRejection>,
) -> Result<Json<User>, Refusal> {
    let Query(by) = by?;
    let id = service.users.id_of(&by.email).await?.ok_or(Refusal::Unknown)?;
    service.users.find(id).await?.map(Json).ok_or(Refusal::Unknown)
}

async fn newest(State(service): State<Service>) -> Result<Json<Vec<User>>, Refusal> {
    Ok(Json(service.users.newest().await?))
}

async fn create(
    State(service): State<Service>,
    new: Result<Json<NewUser>, JsonRejection>,
) -> Result<(StatusCode, Json<User>), Refusal> {
    let Json(new) = new?;
    check_name(&new.name)?;
    if !new.email.contains('@') || new.email.len() > 254 {
        return Err(Refusal::Bad("`email` has an @ in it and at most 254 bytes"));
    }
    Ok((StatusCode::CREATED, Json(service.users.create(new).await?)))
}

#[derive(Deserialize)]
struct Name {
    name: String,
}

async fn rename(
    State(service): State<Service>,
    id: Id,
    name: Result<Json<Name>, JsonRejection>,
) -> Result<StatusCode, Refusal> {
    let (Path(id), Json(Name { name })) = (id?, name?);
    check_name(&name)?;
    done(service.users.rename(id, &name).await?)
}

async fn remove(State(service): State<Service>, id: Id) -> Result<StatusCode, Refusal> {
    let Path(id) = id?;
    done(service.users.remove(id).await?)
}

fn done(done: bool) -> Result<StatusCode, Refusal> {
    if done { Ok(StatusCode::NO_CONTENT) } else { Err(Refusal::Unknown) }
}

fn check_name(name: &str) -> Result<(), Refusal> {
    let bad = name.trim().is_empty() || name.len() > 200;
    if bad { Err(Refusal::Bad("`name` has at least one letter and at most 200 bytes")) } else { Ok(()) }
}

/// What Prometheus collects. The engine hands over what it has counted since the last second.
async fn figures(State(service): State<Service>) -> String {
    SingleFlight::current().report_metrics();
    service.figures.render()
}

impl From<RepoError> for Refusal {
    fn from(error: RepoError) -> Self {
        Self::Repo(error)
    }
}

impl From<PathRejection> for Refusal {
    fn from(error: PathRejection) -> Self {
        Self::Malformed(error.status(), error.body_text())
    }
}

impl From<QueryRejection> for Refusal {
    fn from(error: QueryRejection) -> Self {
        Self::Malformed(error.status(), error.body_text())
    }
}

impl From<JsonRejection> for Refusal {
    fn from(error: JsonRejection) -> Self {
        Self::Malformed(error.status(), error.body_text())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let answer = |status, sentence: &str| (status, Json(json!({ "error": sentence }))).into_response();
        match self {
            Self::Unknown => answer(StatusCode::NOT_FOUND, "there is no such user"),
            Self::Bad(sentence) => answer(StatusCode::UNPROCESSABLE_ENTITY, sentence),
            Self::Malformed(status, sentence) => answer(status, &sentence),
            Self::Repo(RepoError::Database(sqlx::Error::Database(error))) if error.is_unique_violation() => {
                answer(StatusCode::CONFLICT, "another user has this address")
            }
            // The database failed for someone else, or took too long: it may do better soon.
            Self::Repo(error @ RepoError::Flight(_)) => {
                tracing::warn!(%error, "answered with 503");
                let later =
                    answer(StatusCode::SERVICE_UNAVAILABLE, "the database cannot be asked; try again");
                ([(RETRY_AFTER, "1")], later).into_response()
            }
            Self::Repo(error) => {
                tracing::error!(%error, "answered with 500");
                answer(StatusCode::INTERNAL_SERVER_ERROR, "the database could not be asked")
            }
        }
    }
}
