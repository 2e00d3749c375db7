//! What is asked of a backend, by method of the contract.

use std::fmt;
use std::ops::Index;

/// A method of the contract that a [`FaultyBackend`](super::FaultyBackend) counts and disturbs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// `read`
    Read,
    /// `acquire`
    Acquire,
    /// `publish`
    Publish,
    /// `abandon`
    Abandon,
    /// `renew`
    Renew,
    /// `watch`
    Watch,
    /// `invalidate`
    Invalidate,
    /// `post`
    Post,
}

impl Method {
    /// How many there are.
    pub(super) const COUNT: usize = Self::Post as usize + 1;
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Acquire => "acquire",
            Self::Publish => "publish",
            Self::Abandon => "abandon",
            Self::Renew => "renew",
            Self::Watch => "watch",
            Self::Invalidate => "invalidate",
            Self::Post => "post",
        })
    }
}

/// How often each [`Method`] was called: `calls[Method::Read]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls(pub(super) [u64; Method::COUNT]);

impl Calls {
    /// Calls of all methods together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// What was called since an earlier count.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at] - earlier.0[at]))
    }
}

impl Index<Method> for Calls {
    type Output = u64;

    fn index(&self, method: Method) -> &u64 {
        &self.0[method as usize]
    }
}

/// Which side of a step is struck.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Moment {
    /// The step has not been done.
    #[default]
    Before,
    /// The step is done, and the caller has not heard.
    After,
}
