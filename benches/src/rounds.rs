//! Measuring in turns: in each round every contender has one go, in an order of its own, so that what else the machine
//! is at hits all alike; a ratio compares what was measured in one round.

use serde::Serialize;

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
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Spread {
    /// A quarter of the measurements are below it.
    pub low: f64,
    /// Half of them.
    pub median: f64,
    /// Three quarters.
    pub high: f64,
}

/// What was measured of one contender.
#[derive(Debug, Serialize)]
pub struct Measured {
    /// Its name.
    pub name: String,
    /// In the contender's unit.
    pub cost: Spread,
    /// To the first contender.
    pub ratio: Spread,
}

/// So many rounds; the first contender is what the others are compared with.
pub fn take_turns(contenders: &mut [Contender<'_>], rounds: usize) -> Vec<Measured> {
    let mut random = fastrand::Rng::with_seed(9);
    let mut order: Vec<usize> = (0..contenders.len()).collect();
    let mut costs = vec![Vec::with_capacity(rounds); contenders.len()];
    for contender in &mut *contenders {
        (contender.go)();
    }
    for _ in 0..rounds {
        random.shuffle(&mut order);
        for &turn in &order {
            costs[turn].push((contenders[turn].go)());
        }
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
    pub(crate) fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |quarter: usize| values[(values.len() - 1) * quarter / 4];
        Self { low: at(1), median: at(2), high: at(3) }
    }

    /// With so many digits.
    pub fn show(self, digits: usize) -> String {
        format!("{:.digits$} ({:.digits$}–{:.digits$})", self.median, self.low, self.high)
    }
}
