//! A hundred callers in four processes.

use std::path::Path;
use std::time::Duration;

use super::sample::Sample;
use crate::fleet::control::Control;
use crate::fleet::row::Row;
use crate::fleet::scene::FleetScene;
use crate::fleet::{FleetError, Sharing, Stage};

const PROCESSES: usize = 4;
const CALLERS: u32 = 100;
const LOAD: Duration = Duration::from_millis(100);
const HERDS: usize = 21;
const KILLS: usize = 7;

/// Rows of the table.
pub(crate) async fn measure(url: &str, folder: &Path) -> Result<Vec<[String; 4]>, FleetError> {
    let control = Control::connect(url).await?;
    let mut stage = Stage {
        processes: PROCESSES,
        callers: CALLERS,
        load: LOAD,
        sharing: Sharing::Server(Box::new(control)),
        folder: folder.to_owned(),
        plays: 0,
    };
    let mut table = Vec::new();
    for (scene, what) in [(FleetScene::SingleFlight, "cold"), (FleetScene::FailingQuery, "failing")] {
        let rows = play(&mut stage, scene, HERDS).await?;
        let what = format!("100 callers in 4 processes, {what}");
        let mut tell = |of: &str, number: &dyn Fn(&Row) -> f64, digits: usize, unit: &str, bar: &str| {
            let sample = Sample::new(rows.iter().map(number).collect());
            let worst = format!("{:.digits$}{unit}", sample.max());
            table.push([format!("{what}: {of}"), format!("{sample:.digits$}{unit}"), worst, bar.to_owned()]);
        };
        tell("loads", &|row| row.queries as f64, 0, "", "1");
        tell("commands", &|row| count(row.commands), 0, "", "≤ 25");
        tell("round trips", &|row| count(row.round_trips), 0, "", "≤ 16");
        tell("waiters answered after the load's end, p50", &|row| row.late_ms.p50, 1, " ms", "");
        tell("the same, p99", &|row| row.late_ms.p99, 1, " ms", "< 5 ms");
    }
    let rows = play(&mut stage, FleetScene::LeaderKilled, KILLS).await?;
    let number = |of: &dyn Fn(&Row) -> f64| Sample::new(rows.iter().map(of).collect());
    let late = number(&|row| row.takeover.map_or(f64::NAN, |takeover| takeover.after_lease));
    table.push([
        "leading process killed: next load, after the lease's end".to_owned(),
        format!("{late:.1} ms"),
        format!("{:.1} ms", late.max()),
        "≤ 50 ms".to_owned(),
    ]);
    let successors = number(&|row| row.queries as f64 - 1.0);
    table.push([
        "the same: loads".to_owned(),
        format!("{successors:.0}"),
        format!("{:.0}", successors.max()),
        "1".to_owned(),
    ]);
    Ok(table)
}

fn count(count: Option<u64>) -> f64 {
    count.map_or(f64::NAN, |count| count as f64)
}

async fn play(stage: &mut Stage, scene: FleetScene, times: usize) -> Result<Vec<Row>, FleetError> {
    let mut rows = Vec::with_capacity(times);
    for _ in 0..times {
        rows.push(scene.play(stage).await?.row);
    }
    Ok(rows)
}
