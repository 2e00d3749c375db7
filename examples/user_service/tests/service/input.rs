//! What makes no sense is refused with a sentence.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::fleet::{Instance, refused};

/// On memory, with nothing else running.
fn alone(dir: &tempfile::TempDir) -> Instance {
    Instance::start(&[("DATABASE_URL", &format!("sqlite://{}/users.db?mode=rwc", dir.path().display()))])
}

#[tokio::test]
async fn bad_requests_are_refused_with_a_sentence() {
    let dir = tempfile::tempdir().expect("a folder can be made");
    let service = alone(&dir);
    let long = "x".repeat(300);
    for (new, says) in [
        (json!({ "name": " ", "email": "a@b" }), "`name` has"),
        (json!({ "name": long, "email": "a@b" }), "`name` has"),
        (json!({ "name": "ada", "email": "nowhere" }), "`email` has"),
    ] {
        let response = service.post("/users", &new).await;
        assert_eq!(response.status(), StatusCode::UNPROCESSABLE_ENTITY);
        assert!(error(response).await.contains(says), "{new}");
    }
    let empty = service.post("/users", &json!({})).await;
    assert_eq!(empty.status(), StatusCode::UNPROCESSABLE_ENTITY);
    assert!(error(empty).await.contains("`name`"));
    for (path, status, says) in [
        ("/users/ada", StatusCode::BAD_REQUEST, "Invalid URL"),
        ("/users/by-email", StatusCode::BAD_REQUEST, "`email`"),
        ("/nowhere", StatusCode::NOT_FOUND, "no such path"),
    ] {
        let response = service.get(path).await;
        assert_eq!(response.status(), status, "{path}");
        let told = error(response).await;
        assert!(told.contains(says), "{path}: {told}");
    }

    let _ = service.user("ada").await;
    let again = service.post("/users", &json!({ "name": "ada", "email": "ada@example.org" })).await;
    assert_eq!(again.status(), StatusCode::CONFLICT);
    assert!(error(again).await.contains("address"));
    let nobody = service.send(Method::PUT, "/users/99", &json!({ "name": "ada" })).await;
    assert_eq!(nobody.status(), StatusCode::NOT_FOUND);
}

async fn error(response: reqwest::Response) -> String {
    let told: Value = response.json().await.expect("it is JSON");
    told["error"].as_str().expect("it says why").to_owned()
}

#[test]
fn bad_settings_are_told_without_passwords() {
    for (variables, says) in [
        (&[("DATABASE_URL", "mysql://root:secret@db/users")][..], "neither `sqlite:` nor `postgres:`"),
        (&[("DATABASE_URL", "sqlite:///nowhere/at/all.db")], "cannot be opened"),
        (&[("DATABASE_URL", "postgres://root:secret@127.0.0.1:1/users")], "cannot be opened"),
        (&[("SINGLEFLIGHT_BACKEND", "redis://:secret@127.0.0.1:1")], "SINGLEFLIGHT_NAMESPACE"),
        (&[("SINGLEFLIGHT_BACKEND", "memcached://secret")], "SINGLEFLIGHT_BACKEND"),
        (&[("DATABASE_URL", "sqlite::memory:"), ("LISTEN", "nowhere")], "cannot listen on nowhere"),
    ] {
        let said = refused(variables);
        assert!(said.contains(says) && !said.contains("secret"), "{variables:?}: {said}");
    }
}
