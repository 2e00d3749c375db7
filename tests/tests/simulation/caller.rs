//! One caller and its body.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use singleflight_core::{
    FlightError, FlightErrorKind, Policy, SingleFlight, control, invalidates, single_flight,
};
use tokio::time::sleep;

use crate::network::key_name;
use crate::plan::{Ends, Face, How};
use crate::world::{Answer, World};

/// What is loaded.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    version: u32,
    pub(crate) load: usize,
    pub(crate) keep: bool,
}

/// In place of a row.
const DEFAULT: Row = Row { version: u32::MAX, load: usize::MAX, keep: true };

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
    let (key, how, face) = {
        let mut state = world.lock();
        state.call_begins(world.now(), call);
        (state.calls[call].key, state.calls[call].how, state.terms.face)
    };
    let body = || load_body(world.clone(), call, load);
    let flight = engine.flight(key_name(key)).policy(policy);
    let annotated = || row(&engine, key, &world, call, load);
    let answering: Pin<Box<dyn Future<Output = Result<Option<Row>, Failed>> + Send + '_>> = match (face, how)
    {
        (Face::ByHand, How::Plain) => Box::pin(flight.run(body)),
        (Face::ByHand, How::Sharing) => Box::pin(flight.run_sharing(body)),
        (Face::ByHand, How::Refresh) => Box::pin(control::refresh(flight.run(body))),
        (Face::Annotated, How::Refresh) => Box::pin(control::refresh(annotated())),
        (Face::Annotated, How::Plain | How::Sharing) => Box::pin(annotated()),
    };
    let answer = match Caught(answering).await {
        Ok(Ok(None)) => Answer::Nothing,
        Ok(Ok(Some(Row { load: usize::MAX, .. }))) => Answer::Default,
        Ok(Ok(Some(Row { version, load, .. }))) => Answer::Value { version, load },
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

/// A method of a repository. Its policy is the schedule's, which overrides the one here.
#[single_flight(
    key = "k<key>",
    name = "row",
    ttl = 60,
    negative_ttl = 60,
    losers = "default",
    default = Some(DEFAULT),
    cache_if = keeps,
    flights = engine,
    skip(engine, world, call, load)
)]
async fn row(
    engine: &SingleFlight,
    key: usize,
    world: &Arc<World>,
    call: usize,
    load: (u64, Ends),
) -> Result<Option<Row>, Failed> {
    load_body(world.clone(), call, load).await
}

fn keeps(row: &Option<Row>) -> bool {
    row.as_ref().is_none_or(|row| row.keep)
}

/// A write that never ends; dropped, it leaves the invalidate to its `Drop`.
#[invalidates(key = "k<key>", flights = engine)]
pub(crate) async fn dropped_write(engine: &SingleFlight, key: usize) {
    std::future::pending::<()>().await;
}

/// The user's body: reads the source at once and takes its time.
async fn load_body(
    world: Arc<World>,
    call: usize,
    (takes, ends): (u64, Ends),
) -> Result<Option<Row>, Failed> {
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
        Ends::Ok | Ends::Unkept => Ok(Some(Row { version, load, keep: ends == Ends::Ok })),
        Ends::Nothing => Ok(None),
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
