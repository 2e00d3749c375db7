//! The name of one grant.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Sixteen bytes that name one granting of a lease, and no other.
///
/// Renewing, publishing and abandoning compare it; whoever does not hold the current one is refused.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Token([u8; 16]);

impl Token {
    /// A token with these bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// A token nobody has had before.
    ///
    /// Unique in this process by a counter, and among processes by 128 bits from the operating system.
    #[must_use]
    pub fn random() -> Self {
        // Odd, so that multiples of it repeat only after 2^128 grants; large, so that neighbours look nothing alike.
        const STEP: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
        static ORIGIN: OnceLock<u128> = OnceLock::new();
        static GRANTS: AtomicU64 = AtomicU64::new(0);
        let origin = *ORIGIN.get_or_init(|| {
            let mut bytes = [0; 16];
            match getrandom::fill(&mut bytes) {
                Ok(()) => u128::from_be_bytes(bytes),
                // A system without entropy: the hasher's seed and the time are the next best thing.
                Err(_) => fastrand::u128(..),
            }
        });
        let grant = u128::from(GRANTS.fetch_add(1, Ordering::Relaxed));
        Self(origin.wrapping_add(grant.wrapping_mul(STEP)).to_be_bytes())
    }

    /// The bytes, as they are stored and sent.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(")?;
        for byte in self.0 {
            write!(f, "{byte:02x}")?;
        }
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn p02_no_two_tokens_are_alike_even_across_threads() {
        let threads: Vec<_> = (0..4)
            .map(|_| std::thread::spawn(|| (0..10_000).map(|_| Token::random()).collect::<Vec<_>>()))
            .collect();
        let all: HashSet<Token> = threads.into_iter().flat_map(|t| t.join().unwrap()).collect();
        assert_eq!(all.len(), 40_000);
    }
}
