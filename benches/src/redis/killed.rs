//! The process that loads is killed while three others wait for it.

use std::io;
use std::time::Duration;

use serde::Serialize;

use super::fleet::{Fleet, next_key};
use super::herds::EACH;
use super::message::{Herd, Moment};
use super::peers::{Kind, LEASE};
use super::rounds;
use super::series::show;
use super::server::Server;
use crate::report::Table;
use crate::rounds::Spread;

const PROCESSES: usize = 4;
const KILLS: usize = 5;

#[derive(Serialize)]
pub(super) struct Record {
    name: &'static str,
    kills: Vec<Kill>,
    given_up: Option<String>,
}

/// What came after it.
#[derive(Serialize)]
struct Kill {
    lease_left_ms: f64,
    /// When loads began, from the end of the lease on; before it where that is negative.
    began_ms: Vec<f64>,
    errors: usize,
    /// The last answer, from the end of the first of these loads on.
    last_ms: f64,
}

/// Runs it.
pub(super) fn measure(server: &Server) -> io::Result<(Table, Vec<Record>)> {
    let mut records: Vec<_> =
        Kind::LEASED.map(|kind| Record { name: kind.name(), kills: Vec::new(), given_up: None }).into();
    for round in 0..rounds(KILLS) {
        eprintln!("kill {}", round + 1);
        for (kind, record) in Kind::LEASED.into_iter().zip(&mut records) {
            if record.given_up.is_none() {
                match kill(kind, server) {
                    Ok(kill) => record.kills.push(kill),
                    Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                        record.given_up = Some(error.to_string());
                    }
                    Err(error) => return Err(error),
                }
            }
        }
    }
    Ok((table(&records), records))
}

fn kill(kind: Kind, server: &Server) -> io::Result<Kill> {
    let herd = || Herd { key: next_key(), callers: EACH, load_ms: 100, fails: false };
    let mut fleet = Fleet::start(kind, server, PROCESSES)?;
    // So that all scripts are known, and all has been done once.
    fleet.herd(herd())?;
    let (outcome, (ends, left)) = fleet.widow(herd(), || lease(kind, server).map_err(io::Error::other))?;
    Ok(Kill {
        lease_left_ms: left.as_secs_f64() * 1e3,
        began_ms: outcome.successors(ends),
        errors: outcome.errors(),
        last_ms: outcome.last(),
    })
}

/// When the lease ends, and how long that is from now.
fn lease(kind: Kind, server: &Server) -> Result<(Moment, Duration), redis::RedisError> {
    let mut connection = server.connect(kind.database())?;
    let names: Vec<String> = redis::cmd("KEYS").arg(kind.leases()).query(&mut connection)?;
    assert_eq!(names.len(), 1, "one lease: {names:?}");
    let asked = Moment::now();
    let left: i64 = redis::cmd("PTTL").arg(&names[0]).query(&mut connection)?;
    let left = Duration::from_millis(u64::try_from(left).unwrap_or(0));
    Ok((asked.after(left), left))
}

fn table(records: &[Record]) -> Table {
    let what = format!(
        "{PROCESSES} processes with {EACH} callers each; the one that loads is killed (SIGKILL) once all have called. \
         Its lease lasts {} ms. Loads: how many began after it. cached and hitbox are not there: they have no lease, so \
         that the other processes load anyway. {} kills each, in turns.",
        LEASE.as_millis(),
        rounds(KILLS),
    );
    let head = [
        "",
        "loads after it",
        "first, after the lease's end, ms",
        "last, after the lease's end, ms",
        "last answer, after the end of the first of these loads, ms",
    ];
    let mut table = Table::new("The process that loads is killed", &what, head);
    for record in records {
        let errors: usize = record.kills.iter().map(|kill| kill.errors).sum();
        assert!(errors == 0 || record.name != Kind::Ours.name(), "all callers of ours are answered");
        let spread = |of: &dyn Fn(&Kill) -> Option<f64>| {
            let numbers: Vec<f64> = record.kills.iter().filter_map(of).collect();
            if numbers.is_empty() { None } else { Some(Spread::of(numbers)) }
        };
        table.rows.push(vec![
            record.name.to_owned(),
            show(spread(&|kill| Some(kill.began_ms.len() as f64)), 0),
            show(spread(&|kill| kill.began_ms.first().copied()), 1),
            show(spread(&|kill| kill.began_ms.last().copied()), 1),
            record.given_up.clone().unwrap_or_else(|| show(spread(&|kill| Some(kill.last_ms)), 1)),
        ]);
    }
    table
}
