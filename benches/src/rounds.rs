//! Measuring in turns: in each round every contender has one go, in an order of its own, so that what else the machine
//! is at hits all alike; a ratio compares what was measured in one round.

use serde::{Deserialize, Serialize};

/// Something to measure.
pub struct Contender<'a> {
    name: String,
    go: Box<dyn FnMut() -> f64 + 'a>,
}

impl<'a> Contender<'a> {
    /// One go returns what it took, in any unit.
    pub fn new(name: &str, go: impl FnMut() -> f64 + 'a) -> Self {
        Self { name: name.to_owned(), go: Box::new(go) }
    }
}

/// A median, with the two numbers between which half of the measurements lie.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Spread {
    /// A quarter of the measurements are below it.
    pub low: f64,
    /// Half of them.
    pub median: f64,
    /// Three quarters.
    pub high: f64,
}

/// What was measured of one contender.
#[derive(Debug, Serialize, Deserialize)]
pub struct Measured {
    /// Its name.
    pub name: String,
    /// In the contender's unit.
    pub cost: Spread,
    /// To the first contender.
    pub ratio: Spread,
}

/// Whose turn it is, from the first to the last of so many rounds.
pub fn turns(contenders: usize, rounds: usize) -> impl Iterator<Item = usize> {
    let mut random = fastrand::Rng::with_seed(9);
    let mut order: Vec<usize> = (0..contenders).collect();
    (0..rounds).flat_map(move |_| {
        random.shuffle(&mut order);
        order.clone()
    })
}

/// So many rounds; the first contender is what the others are compared with.
pub fn take_turns(contenders: &mut [Contender<'_>], rounds: usize) -> Vec<Measured> {
    let mut costs = vec![Vec::with_capacity(rounds); contenders.len()];
    for contender in &mut *contenders {
        (contender.go)();
    }
    for turn in turns(contenders.len(), rounds) {
        costs[turn].push((contenders[turn].go)());
    }
    let ratios = |of: &[f64]| of.iter().zip(&costs[0]).map(|(cost, base)| cost / base).collect();
    contenders
        .iter()
        .zip(&costs)
        .map(|(contender, cost)| Measured {
            name: contender.name.clone(),
            cost: Spread::of(cost.clone()),
            ratio: Spread::of(ratios(cost)),
        })
        .collect()
}

impl Spread {
    /// Of at least one.
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |quarter: usize| values[(values.len() - 1) * quarter / 4];
        Self { low: at(1), median: at(2), high: at(3) }
    }

    /// In a unit of which there are so many in this one.
    pub fn times(self, factor: f64) -> Self {
        Self { low: self.low * factor, median: self.median * factor, high: self.high * factor }
    }

    /// With so many digits.
    pub fn show(self, digits: usize) -> String {
        format!("{:.digits$} ({:.digits$}–{:.digits$})", self.median, self.low, self.high)
    }
}
