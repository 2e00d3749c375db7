//! What all processes load from. A load stands still until the test has answered it.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;

use crate::rig::PATIENCE;

/// Where loads arrive.
pub(crate) struct Origin {
    port: u16,
    loads: Arc<AtomicUsize>,
    arrivals: UnboundedReceiver<Load>,
}

/// A load that has begun, in some process.
pub(crate) struct Load {
    /// The process that loads.
    pub(crate) process: u32,
    pub(crate) key: String,
    /// When it began.
    pub(crate) at: Instant,
    answer: TcpStream,
}

impl Origin {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, arrivals) = unbounded_channel();
        let loads = Arc::new(AtomicUsize::new(0));
        let count = loads.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let answer = stream.unwrap();
                let mut line = String::new();
                BufReader::new(&answer).read_line(&mut line).unwrap();
                let Some((process, key)) = line.trim().split_once(' ') else { continue };
                count.fetch_add(1, Ordering::SeqCst);
                let process = process.parse().unwrap();
                let load = Load { process, key: key.to_owned(), at: Instant::now(), answer };
                if sender.send(load).is_err() {
                    return;
                }
            }
        });
        Self { port, loads, arrivals }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// How many loads have begun.
    pub(crate) fn loads(&self) -> usize {
        self.loads.load(Ordering::SeqCst)
    }

    /// Every further load gives this value; tells how many loads have begun.
    pub(crate) fn gives_all(mut self, value: u32) -> Arc<AtomicUsize> {
        let loads = self.loads.clone();
        tokio::spawn(async move {
            while let Some(load) = self.arrivals.recv().await {
                load.gives(value);
            }
        });
        loads
    }

    /// The next load.
    pub(crate) async fn next(&mut self) -> Load {
        timeout(PATIENCE, self.arrivals.recv()).await.expect("a load begins").unwrap()
    }
}

impl Load {
    fn answer(mut self, line: &str) {
        // Who asked may be gone.
        let _ = self.answer.write_all(line.as_bytes());
    }

    /// It gives this value.
    pub(crate) fn gives(self, value: u32) {
        self.answer(&format!("value {value}\n"));
    }

    /// It fails.
    pub(crate) fn fails(self) {
        self.answer("error\n");
    }

    /// It panics.
    pub(crate) fn panics(self) {
        self.answer("panic\n");
    }

    /// It goes on with a call for this key, under these options, and gives one more than that.
    pub(crate) fn calls(self, key: &str, options: &str) {
        self.answer(&format!("call {key} {options}\n"));
    }
}
