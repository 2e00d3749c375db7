//! Herds of several fleets, in turns.

use std::io;
use std::time::{Duration, Instant};

use redis::Connection;
use serde::Serialize;

use super::fleet::{Fleet, next_key};
use super::message::Herd;
use super::outcome::Outcome;
use super::server::Server;
use super::wire::{Commands, Wire};
use crate::rounds::Spread;

/// How long subscriptions may outlive those who waited.
const LIMIT: Duration = Duration::from_secs(5);

/// What was seen of one fleet.
#[derive(Debug, Serialize)]
pub(super) struct Series {
    pub(super) name: &'static str,
    pub(super) rounds: Vec<Round>,
    /// Why there are no more of them.
    pub(super) given_up: Option<String>,
}

/// One herd.
#[derive(Debug, Serialize)]
pub(super) struct Round {
    key: u64,
    load_ms: u64,
    pub(super) loads: usize,
    pub(super) errors: usize,
    /// All that clients sent.
    commands: Commands,
    pub(super) waiters: usize,
    /// From the end of the first load on, to the answers of those who ran none.
    late_p50_ms: f64,
    late_p99_ms: f64,
    /// The same for the last answer of all.
    last_ms: f64,
}

/// So many herds of each fleet, after one that is not counted.
pub(super) fn take_turns(
    fleets: &mut Vec<Fleet>,
    server: &Server,
    (callers, fails): (usize, bool),
    rounds: usize,
) -> io::Result<Vec<Series>> {
    let mut wire = Wire::listen(server)?;
    let mut all: Vec<_> = fleets.iter().map(|fleet| Series::new(fleet.kind.name())).collect();
    let mut random = fastrand::Rng::with_seed(9);
    let mut order: Vec<usize> = (0..fleets.len()).collect();
    for round in 0..=rounds {
        random.shuffle(&mut order);
        // Not always the same, or who looks again and again would always or never look just when a load has ended.
        let load_ms = random.u64(80..=120);
        for &turn in &order {
            if fleets[turn].is_over() {
                continue;
            }
            let herd = Herd { key: next_key(), callers, load_ms, fails: fails && round > 0 };
            wire.begin(fleets[turn].kind.database(), herd.key)?;
            match fleets[turn].herd(herd) {
                Ok(_) if round == 0 => {}
                Ok(outcome) => all[turn].rounds.push(Round::new(herd, &outcome)),
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                    eprintln!("{error}");
                    // Whoever is still at it would disturb the others.
                    fleets[turn].end();
                    all[turn].given_up = Some(error.to_string());
                }
                Err(error) => return Err(error),
            }
        }
    }
    unsubscribed(&mut server.connect(0).map_err(io::Error::other)?)?;
    for round in all.iter_mut().flat_map(|series| &mut series.rounds) {
        round.commands = wire.sent(round.key)?;
        assert!(!round.commands.is_empty(), "nobody is answered without the server");
    }
    fleets.retain(|fleet| !fleet.is_over());
    Ok(all)
}

/// Waits until nobody listens for a key any more, so that all of that is counted.
fn unsubscribed(connection: &mut Connection) -> io::Result<()> {
    let begun = Instant::now();
    while begun.elapsed() < LIMIT {
        let query = redis::cmd("PUBSUB").arg("CHANNELS").arg("*row:*").query(connection);
        let channels: Vec<String> = query.map_err(io::Error::other)?;
        if channels.is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

impl Series {
    fn new(name: &'static str) -> Self {
        Self { name, rounds: Vec::new(), given_up: None }
    }

    /// `None` where nothing was measured.
    pub(super) fn spread(&self, of: impl Fn(&Round) -> f64) -> Option<Spread> {
        let numbers: Vec<f64> = self.rounds.iter().map(of).filter(|number| number.is_finite()).collect();
        if numbers.is_empty() { None } else { Some(Spread::of(numbers)) }
    }
}

impl Round {
    fn new(herd: Herd, outcome: &Outcome) -> Self {
        let late = outcome.lateness();
        Self {
            key: herd.key,
            load_ms: herd.load_ms,
            loads: outcome.loads.len(),
            errors: outcome.errors(),
            commands: Commands::new(),
            waiters: late.len(),
            late_p50_ms: quantile(&late, 0.5),
            late_p99_ms: quantile(&late, 0.99),
            last_ms: outcome.last(),
        }
    }

    pub(super) fn loads(&self) -> f64 {
        self.loads as f64
    }

    pub(super) fn commands(&self) -> f64 {
        self.commands.values().sum::<u64>() as f64
    }

    pub(super) fn late_p50(&self) -> f64 {
        self.late_p50_ms
    }

    pub(super) fn late_p99(&self) -> f64 {
        self.late_p99_ms
    }

    pub(super) fn last(&self) -> f64 {
        self.last_ms
    }
}

/// The smallest of these, which are in order, that so great a part of them does not exceed.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let rank = (sorted.len() as f64 * part).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or(f64::NAN)
}

/// For a cell.
pub(super) fn show(spread: Option<Spread>, digits: usize) -> String {
    spread.map_or_else(|| "–".to_owned(), |spread| spread.show(digits))
}

#[cfg(test)]
mod tests {
    #[test]
    fn quantiles_are_numbers_that_were_measured() {
        let quantiles = [0.25, 0.5, 0.99].map(|part| super::quantile(&[1.0, 2.0, 3.0, 4.0], part));
        assert_eq!(quantiles, [1.0, 2.0, 4.0]);
        assert!(super::quantile(&[], 0.5).is_nan());
    }
}
