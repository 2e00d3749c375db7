//! What the attribute's options become in the `const` policy of a function.

use std::time::Duration;

use crate::policy::Policy;

/// A duration option, where a bare number is in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Seconds<T>(pub T);

impl Seconds<Duration> {
    /// The duration.
    #[must_use]
    pub const fn must_be_unsigned_seconds_or_a_duration(self) -> Duration {
        self.0
    }
}

/// A duration option, where a bare number is in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Millis<T>(pub T);

impl Millis<Duration> {
    /// The duration.
    #[must_use]
    pub const fn must_be_unsigned_milliseconds_or_a_duration(self) -> Duration {
        self.0
    }
}

macro_rules! unsigned {
    ($($int:ty),*) => {$(
        impl Seconds<$int> {
            /// The duration. The name is what rustc shows if the constant is of another type.
            #[must_use]
            pub const fn must_be_unsigned_seconds_or_a_duration(self) -> Duration {
                Duration::from_secs(self.0 as u64)
            }
        }

        impl Millis<$int> {
            /// The duration. The name is what rustc shows if the constant is of another type.
            #[must_use]
            pub const fn must_be_unsigned_milliseconds_or_a_duration(self) -> Duration {
                Duration::from_millis(self.0 as u64)
            }
        }
    )*};
}

unsigned!(u8, u16, u32, u64, usize);

/// The policy, if it makes sense; `default` is whether the function has one.
///
/// # Panics
/// Says what does not make sense. Evaluated by the compiler, so that it is a compile error.
pub const fn checked(policy: Policy, default: bool) -> Policy {
    if let Err(error) = policy.check() {
        panic!("{}", error.message());
    }
    assert!(
        default || !policy.may_default(),
        "the policy may answer callers with the function's default, and there is none: write `default = ..`"
    );
    assert!(
        !default || policy.may_default(),
        "`default` is never used: write `losers = \"default\"`, or a policy with `.on_timeout(OnTimeout::Default)`"
    );
    policy
}
