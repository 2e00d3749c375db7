//! What the service tells Prometheus.

use reqwest::Method;
use serde_json::json;

use crate::fleet::Fleet;

#[tokio::test]
async fn figures_carry_functions_and_routes_and_never_a_key() {
    let fleet = Fleet::start(&[("NEAR", "1000")]);
    let id = fleet.a.user("ada").await;
    for _ in 0..2 {
        let _ = fleet.a.get(&format!("/users/{id}")).await;
    }
    let _ = fleet.a.get("/users/by-email?email=ada@example.org").await;
    let _ = fleet.a.send(Method::PUT, &format!("/users/{id}"), &json!({ "name": "countess" })).await;

    let figures = fleet.a.text("/metrics").await;
    for line in [
        "singleflight_fills_total{function=\"user_service::users::find\",outcome=\"value\"} 1",
        "singleflight_link_up 1",
        "http_request_duration_seconds_count{route=\"/users/{id}\",method=\"PUT\",status=\"204\"} 1",
    ] {
        assert!(figures.lines().any(|figure| figure == line), "{line} is not in\n{figures}");
    }
    assert!(!figures.contains("user:") && !figures.contains("ada@"), "{figures}");
}
