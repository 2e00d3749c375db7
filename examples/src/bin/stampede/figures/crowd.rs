//! Callers that call again and again.

use std::time::{Duration, Instant};

/// A call that waits for nothing does not give way: after so many of its own a caller lets the others have theirs.
const TURN: usize = 32;

/// What they took.
#[derive(Debug)]
pub(crate) struct Crowd {
    /// Of each call.
    pub(crate) calls: Vec<Duration>,
    /// All together.
    pub(crate) took: Duration,
}

impl Crowd {
    /// So many callers, each a task of its own that goes on as long as it is told to and knows its number.
    pub(crate) async fn run<F: Future<Output = ()> + Send + 'static>(
        callers: u32,
        go_on: impl Fn(usize) -> bool + Clone + Send + 'static,
        call: impl Fn(u32) -> F + Clone + Send + 'static,
    ) -> Self {
        let begun = Instant::now();
        let each = |number| {
            let (go_on, call) = (go_on.clone(), call.clone());
            tokio::spawn(async move {
                let mut times = Vec::with_capacity(4096);
                while go_on(times.len()) {
                    let begun = Instant::now();
                    call(number).await;
                    times.push(begun.elapsed());
                    if times.len() % TURN == 0 {
                        tokio::task::yield_now().await;
                    }
                }
                times
            })
        };
        let tasks: Vec<_> = (0..callers).map(each).collect();
        let mut calls = Vec::new();
        for task in tasks {
            match task.await {
                Ok(times) => calls.extend(times),
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            }
        }
        Self { calls, took: begun.elapsed() }
    }

    pub(crate) fn per_second(&self) -> f64 {
        self.calls.len() as f64 / self.took.as_secs_f64()
    }

    /// Microseconds from one call to the next, whoever makes it.
    pub(crate) fn apart(&self) -> f64 {
        1e6 / self.per_second()
    }
}
