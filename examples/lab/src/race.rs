//! A race: one or two sides, on the same arrivals, from the first line to the last.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::task::JoinSet;

use crate::cast::Cast;
use crate::clock::RaceClock;
use crate::order::RaceOrder;
use crate::outlet::{Lines, Outlet, outlet};
use crate::setting::BackendChoice;
use crate::side::Side;
use crate::tell::Tell;
use crate::wire::What;

/// What races are run with.
#[derive(Clone)]
pub(crate) struct Course {
    /// Where real processes meet.
    pub(crate) redis: Option<Arc<str>>,
    /// A race ends here, whatever is under way.
    pub(crate) longest: Duration,
    /// Whether the lab is to end.
    pub(crate) ending: watch::Receiver<bool>,
}

/// Starts a race; gives its lines. It ends by itself, and when they are dropped; `permit` is given back when nothing of
/// it is left.
pub(crate) fn start(order: RaceOrder, course: Course, permit: OwnedSemaphorePermit) -> Lines {
    let (outlet, lines) = outlet();
    tokio::spawn(async move {
        run(order, course, Arc::new(outlet)).await;
        drop(permit);
    });
    lines
}

async fn run(order: RaceOrder, course: Course, outlet: Arc<Outlet>) {
    let clock = Arc::new(RaceClock::default());
    let sides: Vec<Arc<Side>> = (0..)
        .zip(order.sides)
        .map(|(number, setting)| {
            Arc::new(Side::new(number, order.seed, setting, clock.clone(), outlet.clone()))
        })
        .collect();
    for side in &sides {
        let (setting, calls) = (Box::new(side.setting.clone()), side.calls.clone());
        side.tell(What::Begin { setting, seed: side.seed, calls });
    }
    let mut casts = Vec::new();
    // Processes take their time, in which what the other side has stored at the start would grow old.
    let (slow, quick): (Vec<_>, Vec<_>) =
        sides.iter().partition(|side| side.setting.backend == BackendChoice::Redis);
    for side in slow.into_iter().chain(quick) {
        match Cast::gather(side.clone(), course.redis.as_deref()).await {
            Ok(cast) => casts.push(cast),
            Err(error) => side.give_up(&format!("this side cannot be run: {error}")),
        }
    }
    let zero = Instant::now();
    clock.begin(zero);
    let mut runs = JoinSet::new();
    for mut cast in casts {
        cast.go(zero);
        // Each ends when it is done, whatever the other is at.
        runs.spawn(end(cast, course.clone(), outlet.clone()));
    }
    runs.join_all().await;
    if let Some(side) = sides.first() {
        side.finish();
    }
}

/// Ends a side when it is done, or has to.
async fn end(cast: Cast, course: Course, outlet: Arc<Outlet>) {
    let why = tokio::select! {
        () = cast.settled() => None,
        () = tokio::time::sleep(course.longest) => Some("the race has reached its limit"),
        () = outlet.closed() => Some("nobody watches any more"),
        () = told(course.ending) => Some("the lab is being ended"),
    };
    cast.end(why).await;
}

/// Waits until the lab is to end.
async fn told(mut ending: watch::Receiver<bool>) {
    if ending.wait_for(|ending| *ending).await.is_err() {
        std::future::pending().await
    }
}
