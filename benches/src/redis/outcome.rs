//! How the callers of a herd fared.

use super::message::{Moment, Reply};

/// Loads, and what callers got.
pub(super) struct Outcome {
    /// In which process each began, and when.
    pub(super) loads: Vec<(usize, Moment)>,
    /// By process, once all of its callers were answered.
    pub(super) answers: Vec<Option<Answers>>,
}

/// Of one process.
pub(super) struct Answers {
    pub(super) replies: Vec<Reply>,
    /// When its loads ended.
    ends: Vec<Moment>,
}

impl Outcome {
    pub(super) fn new(processes: usize) -> Self {
        Self { loads: Vec::new(), answers: (0..processes).map(|_| None).collect() }
    }

    pub(super) fn answer(&mut self, number: usize, replies: Vec<Reply>, ends: Vec<Moment>) {
        self.answers[number] = Some(Answers { replies, ends });
    }

    /// Milliseconds from the end of the first load on to the answers of those who ran none, in order.
    pub(super) fn lateness(&self) -> Vec<f64> {
        self.late(|reply| !reply.loaded)
    }

    /// Milliseconds from the end of the first load on to the last answer of all.
    pub(super) fn last(&self) -> f64 {
        self.late(|_| true).last().copied().unwrap_or(f64::NAN)
    }

    /// Milliseconds from a moment on to when loads began that came after the first, in order.
    pub(super) fn successors(&self, since: Moment) -> Vec<f64> {
        let mut began: Vec<f64> = self.loads.iter().skip(1).map(|(_, began)| began.ms_since(since)).collect();
        began.sort_by(f64::total_cmp);
        began
    }

    pub(super) fn errors(&self) -> usize {
        self.replies().filter(|reply| reply.error).count()
    }

    fn late(&self, whom: impl Fn(&Reply) -> bool) -> Vec<f64> {
        let Some(first) = self.answers.iter().flatten().flat_map(|answers| &answers.ends).min() else {
            return Vec::new();
        };
        let mut late: Vec<f64> =
            self.replies().filter(|reply| whom(reply)).map(|reply| reply.at.ms_since(*first)).collect();
        late.sort_by(f64::total_cmp);
        late
    }

    fn replies(&self) -> impl Iterator<Item = &Reply> {
        self.answers.iter().flatten().flat_map(|answers| &answers.replies)
    }
}
