//! What one instance writes, and the other reads.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::fleet::{Fleet, Instance};

#[tokio::test]
async fn a_write_by_one_instance_is_what_the_other_reads_next() {
    let fleet = Fleet::start(&[]);
    reads_see_writes(&fleet.a, &fleet.b).await;
}

/// Each read comes after one that had the old answer stored.
pub(crate) async fn reads_see_writes(writer: &Instance, reader: &Instance) {
    for path in ["/users/1", "/users/by-email?email=ada@example.org"] {
        assert_eq!(reader.get(path).await.status(), StatusCode::NOT_FOUND);
    }
    assert_eq!(names(reader).await, Vec::<String>::new());

    assert_eq!(writer.user("ada").await, 1);
    for path in ["/users/1", "/users/by-email?email=ada@example.org"] {
        assert_eq!(name(reader, path).await, "ada");
    }
    assert_eq!(names(reader).await, ["ada"]);

    let renamed = writer.send(Method::PUT, "/users/1", &json!({ "name": "countess" })).await;
    assert_eq!(renamed.status(), StatusCode::NO_CONTENT);
    assert_eq!(name(reader, "/users/1").await, "countess");
    assert_eq!(names(reader).await, ["countess"]);

    assert_eq!(writer.send(Method::DELETE, "/users/1", &json!({})).await.status(), StatusCode::NO_CONTENT);
    for path in ["/users/1", "/users/by-email?email=ada@example.org"] {
        assert_eq!(reader.get(path).await.status(), StatusCode::NOT_FOUND);
    }
    assert_eq!(names(reader).await, Vec::<String>::new());
}

async fn name(instance: &Instance, path: &str) -> String {
    let response = instance.get(path).await;
    assert_eq!(response.status(), StatusCode::OK, "{path}");
    let user: Value = response.json().await.expect("it is JSON");
    user["name"].as_str().expect("it has a name").to_owned()
}

async fn names(instance: &Instance) -> Vec<String> {
    let users: Vec<Value> = instance.get("/users").await.json().await.expect("it is JSON");
    users.iter().map(|user| user["name"].as_str().expect("it has a name").to_owned()).collect()
}
