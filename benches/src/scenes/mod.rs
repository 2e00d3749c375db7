//! What can happen to a load, a file each; every candidate goes through each scene with a runtime of its own.

mod aborted;
mod crowd;
mod failing;
mod impatient;
mod invalidated;
mod panicking;
mod parked;
mod reentrant;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde::Serialize;
use tokio::runtime::Builder;

use self::crowd::Tally;
use crate::peer::{AnyPeer, Candidate};

/// How long anybody is waited for: who has no answer by then, hangs.
const LIMIT: Duration = Duration::from_secs(5);

/// How long a load takes unless the scene says otherwise.
const LOAD: Duration = Duration::from_millis(300);

/// Time enough for callers that were started to have called.
const SETTLED: Duration = Duration::from_millis(100);

type Run = fn(Arc<dyn AnyPeer>) -> BoxFuture<'static, Seen>;

/// Something that happens to a load.
#[derive(Clone, Copy)]
pub struct Scene {
    /// A short name.
    pub name: &'static str,
    /// What happens, for the reader.
    pub what: &'static str,
    run: Run,
}

/// What came of it.
#[derive(Debug, Default, Serialize)]
pub struct Seen {
    /// Loads that were begun.
    pub loads: u64,
    /// What became of the callers.
    #[serde(flatten)]
    pub tally: Tally,
    /// What the scene is about, if not the numbers.
    pub remark: String,
}

/// All of them.
pub fn scenes() -> Vec<Scene> {
    vec![
        aborted::SCENE,
        panicking::SCENE,
        failing::SCENE,
        parked::SCENE,
        reentrant::SCENE,
        invalidated::SCENE,
        impatient::SCENE,
    ]
}

impl Scene {
    /// Puts a candidate through it. Whatever hangs then is left behind with its runtime.
    pub fn run(self, candidate: Candidate) -> Seen {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
        let task = runtime.spawn(async move { (self.run)((candidate.make)()).await });
        // Longer than any scene: for a peer that blocks the thread.
        let seen = runtime.block_on(async { tokio::time::timeout(LIMIT * 6, task).await });
        runtime.shutdown_background();
        match seen {
            Ok(Ok(seen)) => seen,
            Ok(Err(error)) => Seen { remark: format!("the scene itself failed: {error}"), ..Seen::default() },
            Err(_) => Seen { remark: "blocks its threads".to_owned(), ..Seen::default() },
        }
    }
}
