//! Which keys are asked for, and in which order.

use std::sync::OnceLock;

/// How many keys there are.
const KEYS: u32 = 1_024;

/// What a key is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An integer.
    Number,
    /// A string.
    Name,
}

/// For titles.
pub const KIND_NAMES: [(Kind, &str); 2] =
    [(Kind::Number, "an integer in the key"), (Kind::Name, "a string in the key")];

/// The keys, and orders to ask for them.
#[derive(Debug)]
pub struct Keys {
    /// As integers.
    pub numbers: Vec<u64>,
    /// As strings.
    pub names: Vec<String>,
    /// Each once, mixed.
    pub each: Vec<u32>,
    /// As often as Zipf's law has it (s = 1).
    pub zipf: Vec<u32>,
    /// The same one always.
    pub hot: Vec<u32>,
}

impl Keys {
    /// Made once.
    pub fn get() -> &'static Self {
        static KEPT: OnceLock<Keys> = OnceLock::new();
        KEPT.get_or_init(Self::new)
    }

    fn new() -> Self {
        let mut random = fastrand::Rng::with_seed(8);
        let numbers: Vec<u64> = (0..u64::from(KEYS)).map(|n| 1_000_003 * n + 17).collect();
        let names = numbers.iter().map(|number| format!("customer-{number}")).collect();
        let mut each: Vec<u32> = (0..KEYS).collect();
        random.shuffle(&mut each);
        let zipf = zipf(&mut random, 16_384);
        Self { numbers, names, each, zipf, hot: vec![7; 16_384] }
    }
}

fn zipf(random: &mut fastrand::Rng, draws: usize) -> Vec<u32> {
    let mut total = 0.0;
    let sums: Vec<f64> = (1..=KEYS)
        .map(|rank| {
            total += 1.0 / f64::from(rank);
            total
        })
        .collect();
    (0..draws)
        .map(|_| {
            let drawn = random.f64() * total;
            let rank = sums.partition_point(|&sum| sum < drawn);
            u32::try_from(rank).unwrap_or(KEYS - 1).min(KEYS - 1)
        })
        .collect()
}
