//! By TLS.

use std::error::Error;

use singleflight_core::LeaseBackend;
use singleflight_redis::{ConnectError, ConnectErrorKind, RedisBuilder};
use singleflight_tests::tls::{Authority, TlsServer};

use crate::conformance::conform;
use crate::rig::{bytes, patient, put, refused};

/// As a client of this server that it accepts.
pub(crate) fn accepted(server: &TlsServer, url: &str) -> RedisBuilder {
    let (authority, us) = (server.authority.certificate(), server.authority.sign());
    patient(url).ca(authority.as_bytes()).identity(us.certificate.as_bytes(), us.key.as_bytes())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_by_tls_conforms() {
    let server = TlsServer::with(&[]);
    conform(accepted(&server, &server.url()).connect().await.unwrap()).await;
    server.server.assert_every_key_ends();
}

#[tokio::test]
async fn passwords_go_by_tls_and_nothing_secret_is_shown() {
    let server = TlsServer::with(&["--requirepass", "hunter"]);
    let us = server.authority.sign();
    let url = server.url().replace("rediss://", "valkeys://:hunter@") + "/1";
    let builder = patient(&url)
        .ca(server.authority.certificate().as_bytes())
        .identity(us.certificate.as_bytes(), us.key.as_bytes());
    let backend = builder.clone().connect().await.unwrap();
    let large = vec![7; 100_000];
    put(&backend, "k", large.clone()).await;
    assert_eq!(bytes(backend.read("k").await).unwrap(), large);
    drop(backend.watch("k").await.unwrap());
    let secret = us.key.lines().nth(1).unwrap();
    for shown in [format!("{builder:?}"), format!("{backend:?}")] {
        assert!(!shown.contains("hunter") && !shown.contains(secret), "{shown}");
    }
    let wrong = accepted(&server, &url.replace("hunter", "wrong")).connect().await.unwrap_err();
    assert_eq!(wrong.kind(), ConnectErrorKind::Denied, "{}", all_of(&wrong));
}

#[tokio::test]
async fn distrust_is_told_at_the_start() {
    let server = TlsServer::with(&[]);
    let (authority, stranger) = (server.authority.certificate(), Authority::new());
    let (us, they) = (server.authority.sign(), stranger.sign());
    let to = |builder: RedisBuilder| async move { builder.connect().await.unwrap_err() };
    for (builder, says) in [
        (patient(&server.url()), "UnknownIssuer"),
        (patient(&server.url()).ca(stranger.certificate().as_bytes()), "certificate"),
        (patient(&server.url()).ca(authority.as_bytes()), "with `identity`"),
        (
            patient(&server.url())
                .ca(authority.as_bytes())
                .identity(they.certificate.as_bytes(), they.key.as_bytes()),
            "with `identity`",
        ),
    ] {
        let error = to(builder).await;
        assert_eq!(error.kind(), ConnectErrorKind::Untrusted, "{says}: {}", all_of(&error));
        assert!(error.to_string().contains(says), "{says}: {error}");
    }
    let ca = authority.as_bytes();
    for builder in [
        patient(&server.url()).ca(b"junk"),
        patient(&server.url()).ca(ca).identity(us.certificate.as_bytes(), b"junk"),
        patient(&server.url()).ca(ca).identity(us.certificate.as_bytes(), they.key.as_bytes()),
        patient(&server.server.url()).ca(ca),
    ] {
        let error = builder.clone().connect_in_background().unwrap_err();
        assert_eq!(error.kind(), ConnectErrorKind::Misconfigured, "{builder:?}");
        assert!(!all_of(&error).contains("PRIVATE"), "{error}");
    }
}

#[tokio::test]
async fn tls_where_there_is_none_and_none_where_there_is() {
    let server = TlsServer::with(&[]);
    let ca = server.authority.certificate();
    refused(
        patient(&server.url().replace("rediss:", "redis:")),
        ConnectErrorKind::Unreachable,
        "write `rediss`",
    )
    .await;
    let sentinel = server.url().replace("rediss:", "redis+sentinel:") + "/main";
    refused(patient(&sentinel), ConnectErrorKind::Unreachable, "write `rediss`").await;
    let plain = server.server.url().replace("redis:", "rediss:");
    refused(patient(&plain).ca(ca.as_bytes()), ConnectErrorKind::Unreachable, "write `redis`").await;
    // Its reason can come too late to be read; the help is the same.
    let sentinel = server.url().replace("rediss:", "rediss+sentinel:") + "/main";
    refused(patient(&sentinel).ca(ca.as_bytes()), ConnectErrorKind::Untrusted, "with `identity`").await;

    for (hosts, year, says) in
        [(&["example.com"], 4096, "as its certificate does"), (&["127.0.0.1"], 2001, "out of date")]
    {
        let authority = Authority::new();
        let identity = authority.sign_for(hosts, year);
        let server = TlsServer::known_by(authority, &identity, &[]);
        refused(accepted(&server, &server.url()), ConnectErrorKind::Untrusted, says).await;
    }
}

/// All that an error shows.
fn all_of(error: &ConnectError) -> String {
    let source = error.source().map(ToString::to_string);
    format!("{error} {error:?} {source:?}")
}
