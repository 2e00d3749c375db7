//! `PROTOCOL.md` is true: its vectors, read from the page itself and played to a server as another language would.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use bytes::Bytes;
use singleflight_core::LeaseBackend;
use singleflight_core::backend::{Abandon, Acquire, Acquired, Released, Token};
use singleflight_core::entry::{Header, Kind, Stamp};
use singleflight_tests::server::Server;

use crate::rig::{KIND, MINUTE, bytes, connect, offer, put, take};

const PAGE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../PROTOCOL.md"));

/// The cells of the table that begins with this head.
fn table(head: &str) -> Vec<Vec<&'static str>> {
    let (_, rest) = PAGE.split_once(head).unwrap_or_else(|| panic!("no table {head}"));
    let rows = rest.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split(" |").map(str::trim).collect()).collect()
}

fn unhex(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn token() -> [u8; 16] {
    std::array::from_fn(|at| at as u8)
}

#[test]
fn the_header_is_as_described() {
    let rows = table("| codec, version, grace");
    let [row] = &rows[..] else { panic!("{rows:?}") };
    let kind = Kind::new(0x00c0_ffee, 3);
    let stamp = Stamp::new(kind, 1, Duration::from_millis(12), Token::new(token()));
    let header = Header { stamp, grace: Duration::from_secs(60) };
    assert_eq!(row[0], "1, 3, 60000, 12, `00c0ffee`, `000102…0f`");
    assert_eq!(unhex(row[1].trim_matches('`')), header.to_bytes());
}

#[tokio::test]
async fn names_are_as_described() {
    let server = Server::start();
    let backend = connect(&server).await;
    let rows = table("| key | record's name |");
    assert_eq!(rows.len(), 5);
    for row in &rows {
        let (key, name) = (row[0].trim_matches('`').replace("(empty)", ""), row[1].trim_matches('`'));
        put(&backend, &key, "value").await;
        assert_eq!(server.keys(), [name], "{key:?}");
        take(&backend, &key).await;
        let mut keys = server.keys();
        keys.sort();
        assert_eq!(keys, [name.replace("}v", "}l").as_str(), name], "{key:?}");
        server.say(&["FLUSHALL"]);
    }
}

#[tokio::test]
async fn a_record_is_as_described() {
    let server = Server::start();
    let backend = connect(&server).await;
    let token = take(&backend, "k").await;
    assert_eq!(server.say(&["STRLEN", "sf:{k}l"]).trim(), ":20");
    backend.publish(offer("k", token, "payload")).await.unwrap();
    assert!(server.say(&["GETRANGE", "sf:{k}v", "32", "-1"]).contains("payload"));
    assert_eq!(server.say(&["STRLEN", "sf:{k}v"]).trim(), ":39");
}

/// A client that knows of Redis only how to send and to receive.
struct Client(TcpStream);

impl Client {
    fn dial(server: &Server) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        Self(stream)
    }

    fn send(&mut self, words: &[Vec<u8>]) {
        let mut command = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            command.extend(format!("${}\r\n", word.len()).into_bytes());
            command.extend(word);
            command.extend(b"\r\n");
        }
        self.0.write_all(&command).unwrap();
    }

    fn line(&mut self) -> String {
        let (mut line, mut byte) = (Vec::new(), [0]);
        while !line.ends_with(b"\r\n") {
            self.0.read_exact(&mut byte).unwrap();
            line.push(byte[0]);
        }
        String::from_utf8(line).unwrap().trim().to_owned()
    }

    /// One answer, as a flat list of its parts.
    fn parts(&mut self) -> Vec<Vec<u8>> {
        let line = self.line();
        let number: usize = line[1..].parse().unwrap_or(0);
        match &line[..1] {
            "*" => (0..number).flat_map(|_| self.parts()).collect(),
            "$" => {
                let mut text = vec![0; number + 2];
                self.0.read_exact(&mut text).unwrap();
                text.truncate(number);
                vec![text]
            }
            ":" => vec![line[1..].into()],
            _ => panic!("{line}"),
        }
    }
}

/// What a word of the page stands for.
fn meaning(word: &str) -> Vec<u8> {
    match word.trim_matches('`') {
        "T" => token().to_vec(),
        "U" => vec![0x55; 16],
        "empty" => Vec::new(),
        "channel" => b"sf:{user:1}w".to_vec(),
        "record" => {
            let rows = table("| codec, version, grace");
            [unhex(rows[0][1].trim_matches('`')), b"hello".to_vec()].concat()
        }
        kind if kind.len() == 12 && kind.bytes().all(|byte| byte.is_ascii_hexdigit()) => unhex(kind),
        other => other.as_bytes().to_vec(),
    }
}

fn script(name: &str) -> (&'static str, &'static [&'static str]) {
    match name {
        "acquire" => (include_str!("../../src/lua/acquire.lua"), &["v", "l", "f"]),
        "publish" => (include_str!("../../src/lua/publish.lua"), &["v", "l"]),
        "abandon" => (include_str!("../../src/lua/abandon.lua"), &["l", "f"]),
        "renew" => (include_str!("../../src/lua/renew.lua"), &["l"]),
        "invalidate" => (include_str!("../../src/lua/invalidate.lua"), &["v", "l", "f"]),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_lease_and_a_failure_are_as_described() {
    let server = Server::start();
    let backend = connect(&server).await;
    let rows = table("| lease, or failure |");
    let [lease, failure] = &rows[..] else { panic!("{rows:?}") };
    let stored = |name: &str| {
        let mut client = Client::dial(&server);
        client.send(&[b"GET".to_vec(), name.into()]);
        client.parts().remove(0)
    };
    let token = Token::new(token());
    let request = Acquire::new("k", token, MINUTE, KIND);
    assert_eq!(backend.acquire(request).await.unwrap(), Acquired::Granted);
    assert_eq!(stored("sf:{k}l"), unhex(lease[1].trim_matches('`')));
    let abandon = Abandon::new("k", token).failed("no route", Duration::from_secs(5));
    assert_eq!(backend.abandon(abandon).await.unwrap(), Released::Freed);
    assert_eq!(stored("sf:{k}f"), unhex(failure[1].trim_matches('`')));
}

#[tokio::test]
async fn the_walk_through_goes_as_described() {
    let server = Server::start();
    let backend = connect(&server).await;
    let (mut client, mut ear) = (Client::dial(&server), Client::dial(&server));
    ear.send(&[b"SUBSCRIBE".to_vec(), meaning("channel")]);
    assert_eq!(ear.parts()[0], b"subscribe");
    let rows = table("| step | arguments after the names of `user:1` |");
    assert_eq!(rows.len(), 17);
    for row in rows {
        let [step, arguments, answer, message] = row[..] else { panic!("{row:?}") };
        let (source, names) = script(step.trim_matches('`'));
        let mut words = vec![b"EVAL".to_vec(), source.into(), names.len().to_string().into()];
        words.extend(names.iter().map(|letter| format!("sf:{{user:1}}{letter}").into_bytes()));
        words.extend(arguments.split(", ").map(meaning));
        client.send(&words);
        let parts = client.parts();
        let wanted: Vec<&str> = answer.trim_matches(['`', '{', '}']).split(", ").collect();
        assert_eq!(parts.len(), wanted.len(), "{row:?}: {parts:?}");
        for (part, wanted) in parts.iter().zip(wanted) {
            match wanted.strip_suffix(" or less") {
                Some(limit) => {
                    let left: u64 = std::str::from_utf8(part).unwrap().parse().unwrap();
                    assert!(left > 0 && left <= limit.parse().unwrap(), "{row:?}: {left}");
                }
                None => assert_eq!(*part, meaning(wanted), "{row:?}"),
            }
        }
        if !message.is_empty() {
            let told: Vec<u8> = message.split(", ").flat_map(meaning).collect();
            assert_eq!(ear.parts(), [b"message".to_vec(), meaning("channel"), told], "{row:?}");
        }
        if step == "`publish`" {
            assert_eq!(bytes(backend.read("user:1").await), Some(Bytes::from_static(b"hello")));
        }
    }
    server.assert_every_key_ends();
}
