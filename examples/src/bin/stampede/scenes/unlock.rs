//! Eight processes miss at once, and the first of them stands still until its lease is over.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use singleflight_core::observe::Figures;
use singleflight_core::{LeaseBackend, MemoryBackend, SingleFlight};

use super::plain_del::PlainDel;
use crate::meter::Meter;
use crate::repository::{UserId, Users};
use crate::row::Row;
use crate::scene::{Report, counted};
use crate::stage::{Stage, StageError};
use crate::wave::{Answer, Found, Wave};

/// Engines on one backend know of each other only through it, as processes do.
const PROCESSES: usize = 8;
/// How long a third owner has to get in, while the second is at work.
const PATIENCE: Duration = Duration::from_secs(3);
const USER: UserId = UserId(1);

/// Release by plain DEL beside release by token.
pub(crate) async fn unlock(stage: &Stage) -> Result<Report, StageError> {
    let (plain, token) = tokio::try_join!(
        late_release(stage, "by plain DEL", Arc::new(PlainDel::default())),
        late_release(stage, "by token", Arc::new(MemoryBackend::new())),
    )?;
    let expected = "released late by plain DEL, the second owner's lease is gone and a third gets in; released by \
                    token, it is not";
    let seen = format!("{} by plain DEL, {} by token", owners(&plain), owners(&token));
    let right = plain.leases >= 3 && plain.queries >= 3 && (token.leases, token.queries) == (2, 2);
    Ok(Report::new(expected, seen, right, vec![plain, token]))
}

fn owners(row: &Row) -> String {
    counted(row.leases, "owner", "owners")
}

/// The first owner begins its query, stands still until the second one has begun too, and then releases.
async fn late_release(
    stage: &Stage,
    variant: &str,
    backend: Arc<dyn LeaseBackend>,
) -> Result<Row, StageError> {
    let engine = || SingleFlight::builder().backend(backend.clone()).build();
    let engines: Vec<SingleFlight> = (0..PROCESSES).map(|_| engine()).collect();
    let play = stage.play(engines[0].clone(), stage.load).await?;
    let meter = play.database.meter.clone();
    let send = |flights, call: &dyn Fn(Users, UserId) -> BoxedCall| {
        Wave::send(&stage.progress, flights, &play.users, std::iter::once(USER), call)
    };

    meter.hold_after(1);
    let first = send(&engines[0], &|users, id| {
        let meter = meter.clone();
        Box::pin(async move { stand_still(users.find_at_length(id), &meter).await })
    });
    meter.reached(1).await;
    let others: Vec<Wave> = engines[1..]
        .iter()
        .map(|engine| send(engine, &|users, id| Box::pin(async move { users.find_at_length(id).await })))
        .collect();
    // It comes back when its lease is over and the second owner is at work, and releases what it thinks is its own.
    let mut answers: Vec<Answer> = first.answers().await;
    // The second owner's query is held back until a third is in: time enough for that, if anything lets it.
    let _ = tokio::time::timeout(PATIENCE, meter.reached(3)).await;
    meter.release();
    for other in others {
        answers.extend(other.answers().await);
    }
    let mut figures = Figures::default();
    engines.iter().for_each(|engine| figures.add(&engine.statistics().total));
    let row =
        Row::new(variant, PROCESSES, &answers, 1).counted(meter.queries(), &Figures::default(), &figures);
    play.database.close().await;
    Ok(row)
}

type BoxedCall = std::pin::Pin<Box<dyn Future<Output = Found> + Send>>;

/// Makes a call, and does nothing at all, renewals included, from when its query has begun until the second one has:
/// a process that was paused, swapped out, or collecting garbage.
async fn stand_still(call: impl Future<Output = Found>, meter: &Meter) -> Found {
    let mut call = pin!(call);
    tokio::select! {
        biased;
        found = &mut call => return found,
        () = meter.reached(1) => {}
    }
    meter.reached(2).await;
    call.await
}
