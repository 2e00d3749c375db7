//! A network between us and the server that can be made bad.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use singleflight_tests::server::Server;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// Hands on what it is sent, both ways.
pub(crate) struct Proxy {
    port: u16,
    state: Arc<State>,
    _accepting: JoinSet<()>,
}

#[derive(Default)]
struct State {
    /// The port of the server that it leads to.
    to: AtomicU16,
    /// Connections with these numbers are dead: they stay open and carry nothing.
    dead: Mutex<Range<u64>>,
    connections: AtomicU64,
    stalled: AtomicBool,
    delay: AtomicU64,
    /// What is to be kept back when it comes, and until when.
    keep: Mutex<Option<(String, Arc<Notify>)>>,
}

impl Proxy {
    pub(crate) async fn start(server: &Server) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State::default());
        state.to.store(server.port(), Ordering::SeqCst);
        let mut accepting = JoinSet::new();
        let ours = state.clone();
        accepting.spawn(async move {
            let mut copying = JoinSet::new();
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let to = ours.to.load(Ordering::SeqCst);
                // Nobody there: the client's connection ends here.
                let Ok(server) = TcpStream::connect(("127.0.0.1", to)).await else { continue };
                client.set_nodelay(true).unwrap();
                server.set_nodelay(true).unwrap();
                let number = ours.connections.fetch_add(1, Ordering::SeqCst);
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                let cut = Arc::new(Notify::new());
                copying.spawn(copy(ours.clone(), number, from_client, to_server, Some(cut.clone())));
                let back = copy(ours.clone(), number, from_server, to_client, None);
                copying.spawn(async move {
                    tokio::select! {
                        () = back => {}
                        () = cut.notified() => {}
                    }
                });
            }
        });
        Self { port, state, _accepting: accepting }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Connections there are now, from this one on, carry nothing any more, and nobody is told; new ones are well.
    pub(crate) fn lose_silently(&self, from: u64) {
        *self.state.dead.lock().unwrap() = from..self.connections();
    }

    /// Connections made from now on lead to this server.
    pub(crate) fn lead_to(&self, server: &Server) {
        self.state.to.store(server.port(), Ordering::SeqCst);
    }

    /// Nothing is carried for as long as this lasts.
    pub(crate) fn stall(&self, stalled: bool) {
        self.state.stalled.store(stalled, Ordering::SeqCst);
    }

    /// What is carried is so late, each way.
    pub(crate) fn delay(&self, delay: Duration) {
        self.state.delay.store(delay.as_millis() as u64, Ordering::SeqCst);
    }

    /// When next something with these words in it is sent, its sender's connection is cut; it arrives when told to.
    pub(crate) fn keep_next(&self, words: &str) -> Arc<Notify> {
        let release = Arc::new(Notify::new());
        *self.state.keep.lock().unwrap() = Some((words.to_owned(), release.clone()));
        release
    }

    /// Whether that has been sent.
    pub(crate) fn keeps(&self) -> bool {
        self.state.keep.lock().unwrap().is_none()
    }

    /// How many connections have been made.
    pub(crate) fn connections(&self) -> u64 {
        self.state.connections.load(Ordering::SeqCst)
    }
}

impl State {
    /// When this may go on, if it is what is to be kept back.
    fn kept(&self, sent: &[u8]) -> Option<Arc<Notify>> {
        let mut keep = self.keep.lock().unwrap();
        let is_it =
            |(words, _): &mut (String, _)| sent.windows(words.len()).any(|window| window == words.as_bytes());
        keep.take_if(is_it).map(|(_, release)| release)
    }
}

/// Carries what comes from one side to the other; `cut` ends the other way.
async fn copy(
    state: Arc<State>,
    number: u64,
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    cut: Option<Arc<Notify>>,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        let delay = state.delay.load(Ordering::SeqCst);
        if delay > 0 {
            sleep(Duration::from_millis(delay)).await;
        }
        while state.stalled.load(Ordering::SeqCst) {
            sleep(Duration::from_millis(5)).await;
        }
        if let Some(cut) = &cut
            && let Some(release) = state.kept(&buffer[..read])
        {
            cut.notify_one();
            release.notified().await;
        }
        if state.dead.lock().unwrap().contains(&number) {
            return std::future::pending().await;
        }
        if to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}
