//! The server that the instances share goes away.

use reqwest::StatusCode;
use serde_json::Value;

use crate::fleet::{Fleet, Instance, until};

#[tokio::test]
async fn without_redis_requests_are_answered_and_readiness_says_so() {
    let mut fleet = Fleet::start(&[]);
    let id = fleet.a.user("ada").await;
    let path = format!("/users/{id}");
    assert_eq!(fleet.b.get(&path).await.status(), StatusCode::OK);

    fleet.redis.kill();
    for instance in [&fleet.a, &fleet.b] {
        until("the end of the link", async || backend(instance).await == "away").await;
        assert_eq!(instance.get(&path).await.status(), StatusCode::OK);
    }

    fleet.redis.revive();
    for instance in [&fleet.a, &fleet.b] {
        until("the link", async || {
            // A link is tried again by a call.
            assert_eq!(instance.get(&path).await.status(), StatusCode::OK);
            backend(instance).await == "up"
        })
        .await;
    }
}

async fn backend(instance: &Instance) -> String {
    let response = instance.get("/health/ready").await;
    assert_eq!(response.status(), StatusCode::OK, "the database is there");
    let told: Value = response.json().await.expect("it is JSON");
    assert_eq!(told["database"], "up");
    told["backend"].as_str().expect("it is told").to_owned()
}
