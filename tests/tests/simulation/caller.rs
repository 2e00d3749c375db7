//! One caller and its body.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use singleflight_core::{FlightError, FlightErrorKind, Policy, SingleFlight, control};
use tokio::time::sleep;

use crate::network::key_name;
use crate::plan::{Ends, How};
use crate::world::{Answer, World};

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Row {
    version: u32,
    load: usize,
}

#[derive(Clone, Debug)]
enum Failed {
    Load(usize),
    Flight(FlightErrorKind),
}

impl From<FlightError> for Failed {
    fn from(error: FlightError) -> Self {
        Self::Flight(error.kind())
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// One caller: calls, and has its answer looked at.
pub(crate) async fn call_body(
    world: Arc<World>,
    engine: SingleFlight,
    policy: Policy,
    call: usize,
    load: (u64, Ends),
) {
    let (key, how) = {
        let mut state = world.lock();
        state.call_begins(world.now(), call);
        (state.calls[call].key, state.calls[call].how)
    };
    let body = || load_body(world.clone(), call, load);
    let flight = engine.flight(key_name(key)).policy(policy);
    let answering: Pin<Box<dyn Future<Output = Result<Row, Failed>> + Send + '_>> = match how {
        How::Plain => Box::pin(flight.run(body)),
        How::Sharing => Box::pin(flight.run_sharing(body)),
        How::Refresh => Box::pin(control::refresh(flight.run(body))),
    };
    let answer = match Caught(answering).await {
        Ok(Ok(Row { version, load })) => Answer::Value { version, load },
        Ok(Err(Failed::Load(load))) => Answer::Load(load),
        Ok(Err(Failed::Flight(kind))) => Answer::Flight(kind),
        Err(()) => Answer::Panic,
    };
    let now = world.now();
    let driver = {
        let mut state = world.lock();
        state.call_ends(now, call, answer);
        state.driver.take()
    };
    driver.into_iter().for_each(Waker::wake);
}

/// The user's body: reads the source at once and takes its time.
async fn load_body(world: Arc<World>, call: usize, (takes, ends): (u64, Ends)) -> Result<Row, Failed> {
    struct Loading(Arc<World>, usize, Option<Ends>);
    impl Drop for Loading {
        fn drop(&mut self) {
            let now = self.0.now();
            self.0.lock().load_ends(now, self.1, self.2);
        }
    }
    let (load, version) = {
        let now = world.now();
        world.lock().load_begins(now, call)
    };
    let mut loading = Loading(world, load, None);
    sleep(Duration::from_millis(takes)).await;
    loading.2 = Some(ends);
    match ends {
        Ends::Ok => Ok(Row { version, load }),
        Ends::Fails => Err(Failed::Load(load)),
        // Unlike `panic!` it does not tell the panic hook.
        Ends::Panics => std::panic::resume_unwind(Box::new("planned")),
    }
}

/// Makes a panic an answer.
struct Caught<F: ?Sized>(Pin<Box<F>>);

impl<F: Future + ?Sized> Future for Caught<F> {
    type Output = Result<F::Output, ()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let poll = std::panic::AssertUnwindSafe(|| self.0.as_mut().poll(cx));
        match std::panic::catch_unwind(poll) {
            Ok(poll) => poll.map(Ok),
            Err(_) => Poll::Ready(Err(())),
        }
    }
}
