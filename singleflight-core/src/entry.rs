//! The stored envelope: payload, freshness, and what the entry says about itself.

use std::fmt;
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::backend::{SharedValue, Token};

/// A stored value as a reader finds it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Entry {
    /// The value.
    pub payload: Payload,
    /// What the entry says about itself.
    pub stamp: Stamp,
    left: Left,
}

/// How long an entry has to go. Not worked out before somebody asks: a hit compares, and that is all.
#[derive(Clone, Copy, Debug)]
enum Left {
    For { fresh: Duration, gone: Duration },
    Until { now: Instant, soft: Instant, hard: Instant },
}

impl Entry {
    /// An entry with this much time left, as a store in another process tells it.
    #[must_use]
    pub const fn new(payload: Payload, stamp: Stamp, fresh_for: Duration, gone_in: Duration) -> Self {
        Self { payload, stamp, left: Left::For { fresh: fresh_for, gone: gone_in } }
    }

    /// An entry of a store in this process, found at `now`: fresh until `soft`, and gone from `hard` on. `None` if it is
    /// gone.
    #[must_use]
    pub fn found(payload: Payload, stamp: Stamp, now: Instant, soft: Instant, hard: Instant) -> Option<Self> {
        (now < hard).then_some(Self { payload, stamp, left: Left::Until { now, soft, hard } })
    }

    /// Whether the soft TTL is not over.
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        match self.left {
            Left::For { fresh, .. } => !fresh.is_zero(),
            Left::Until { now, soft, .. } => now < soft,
        }
    }

    /// How long it is still fresh; zero when stale.
    #[must_use]
    pub fn fresh_for(&self) -> Duration {
        match self.left {
            Left::For { fresh, .. } => fresh,
            Left::Until { now, soft, .. } => soft.saturating_duration_since(now),
        }
    }

    /// How long until it is gone.
    #[must_use]
    pub fn gone_in(&self) -> Duration {
        match self.left {
            Left::For { gone, .. } => gone,
            Left::Until { now, hard, .. } => hard.saturating_duration_since(now),
        }
    }
}

/// A value in one of the two media.
#[derive(Clone)]
#[non_exhaustive]
pub enum Payload {
    /// The value itself.
    Value(SharedValue),
    /// What a codec made of it.
    Bytes(Bytes),
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(_) => f.write_str("Value(..)"),
            Self::Bytes(bytes) => write!(f, "Bytes({} bytes)", bytes.len()),
        }
    }
}

/// Whose value an entry is: two functions share entries only where both are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Kind {
    /// A hash of the function and of the value's type.
    pub identity: u32,
    /// The schema version.
    pub version: u16,
}

impl Kind {
    /// This function's values at this schema version.
    #[must_use]
    pub const fn new(identity: u32, version: u16) -> Self {
        Self { identity, version }
    }

    /// Whether an entry of `other` answers a call that wants `self`.
    #[must_use]
    pub const fn accepts(&self, other: &Self) -> bool {
        self.identity == other.identity && self.version == other.version
    }
}

/// What an entry says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stamp {
    /// Whose value it is.
    pub kind: Kind,
    /// The codec's number; 0 for shared values.
    pub codec: u8,
    /// How long the fill took.
    pub fill_time: Duration,
    /// The grant under which it was stored.
    pub grant: Token,
}

impl Stamp {
    /// The stamp of a value filled under `grant` in `fill_time`.
    #[must_use]
    pub const fn new(kind: Kind, codec: u8, fill_time: Duration, grant: Token) -> Self {
        Self { kind, codec, fill_time, grant }
    }
}

/// The fixed-size beginning of a stored record, for backends that keep bytes.
///
/// | bytes | content |
/// |---|---|
/// | 0 | format, [`Header::FORMAT`] |
/// | 1 | codec |
/// | 2–3 | schema version, big-endian |
/// | 4–7 | grace: hard TTL − soft TTL in ms, big-endian |
/// | 8–11 | fill time in ms, big-endian |
/// | 12–15 | identity, big-endian |
/// | 16–31 | token of the grant |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The entry's stamp; its fill time is exact to the millisecond.
    pub stamp: Stamp,
    /// From soft to hard TTL; exact to the millisecond, at most 49 days.
    pub grace: Duration,
}

impl Header {
    /// The length in bytes.
    pub const LEN: usize = 32;
    /// The format this version writes.
    pub const FORMAT: u8 = 1;

    /// The bytes to put before the payload.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let mut out = [0; Self::LEN];
        out[0] = Self::FORMAT;
        out[1] = self.stamp.codec;
        out[2..4].copy_from_slice(&self.stamp.kind.version.to_be_bytes());
        out[4..8].copy_from_slice(&millis(self.grace).to_be_bytes());
        out[8..12].copy_from_slice(&millis(self.stamp.fill_time).to_be_bytes());
        out[12..16].copy_from_slice(&self.stamp.kind.identity.to_be_bytes());
        out[16..32].copy_from_slice(self.stamp.grant.as_bytes());
        out
    }

    /// The header of a record and the payload behind it; `None` for anything else.
    #[must_use]
    pub fn split(record: &Bytes) -> Option<(Self, Bytes)> {
        let (head, _) = record.split_first_chunk::<{ Self::LEN }>()?;
        if head[0] != Self::FORMAT {
            return None;
        }
        let word = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let mut token = [0; 16];
        token.copy_from_slice(&head[16..32]);
        let kind = Kind::new(word(12), u16::from_be_bytes([head[2], head[3]]));
        let fill_time = Duration::from_millis(u64::from(word(8)));
        let stamp = Stamp::new(kind, head[1], fill_time, Token::new(token));
        let grace = Duration::from_millis(u64::from(word(4)));
        Some((Self { stamp, grace }, record.slice(Self::LEN..)))
    }
}

/// Whole milliseconds, as many as a header holds.
fn millis(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        let kind = Kind::new(0xdead_beef, 7);
        let stamp = Stamp::new(kind, 1, Duration::from_millis(1234), Token::new([9; 16]));
        Header { stamp, grace: Duration::from_millis(70_000) }
    }

    #[test]
    fn header_survives_the_wire() {
        let mut record = header().to_bytes().to_vec();
        record.extend_from_slice(b"payload");
        let (back, payload) = Header::split(&record.into()).unwrap();
        assert_eq!(back, header());
        assert_eq!(&payload[..], b"payload");
    }

    #[test]
    fn anything_else_is_not_a_record() {
        assert!(Header::split(&Bytes::from_static(b"short")).is_none());
        let mut record = header().to_bytes();
        record[0] = 99;
        assert!(Header::split(&Bytes::copy_from_slice(&record)).is_none());
    }

    #[test]
    fn times_too_long_for_the_header_are_clipped_not_wrapped() {
        let mut long = header();
        long.grace = Duration::MAX;
        assert_eq!(&long.to_bytes()[4..8], &[0xff; 4]);
    }
}
