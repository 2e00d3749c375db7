//! The steps of the contract as commands, and their answers as the contract's.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{BufMut, Bytes};
use redis::{Cmd, Pipeline, RedisWrite, Value};
use singleflight_core::BackendError;
use singleflight_core::backend::{
    Abandon, Acquire, Acquired, Invalidated, Publish, Published, Released, Renewed, Token,
};
use singleflight_core::entry::{Entry, Header, Kind, Payload};
use singleflight_core::error::BackendErrorKind;

use crate::error;
use crate::link::Lines;
use crate::scripts::{self, Run, millis, ttl};
use crate::ttls::Said;

/// From this size on a record is staged and renamed instead of passing through a script.
const STAGED: usize = 4096;

/// A staged record that nobody publishes is gone after this.
const STAGED_FOR: Duration = Duration::from_secs(30);

type Answer<T> = Result<T, BackendError>;

/// One round trip without a script, or two where another record has taken the place of one that was read just now.
pub(crate) async fn read(lines: &Lines, key: &str) -> Answer<Option<Entry>> {
    let name = lines.keys.value(key);
    if let Some(said) = lines.ttls.recall(&name, Instant::now()) {
        let Some(record) = get(lines, &name).await? else { return Ok(None) };
        if record.header.stamp.grant == said.grant
            && let Some(left) = said.left(Instant::now())
        {
            return Ok(Some(record.entry(left)));
        }
    }
    let asked = Instant::now();
    let Some((left, record)) = get_with_ttl(lines, &name).await? else { return Ok(None) };
    lines.ttls.note(&name, Said { grant: record.header.stamp.grant, asked, left });
    Ok(Some(record.entry(left)))
}

async fn get(lines: &Lines, name: &str) -> Answer<Option<Record>> {
    let mut commands = Pipeline::with_capacity(1);
    commands.add_command(of("GET", name));
    let [answer]: [Value; 1] =
        lines.ask(name, &commands).await?.try_into().map_err(|_| error::unexpected())?;
    match answer {
        Value::BulkString(record) => Ok(Record::parse(record)),
        Value::Nil => Ok(None),
        Value::ServerError(error) => Err(error::answered(&error)),
        _ => Err(error::unexpected()),
    }
}

/// The TTL is asked for before the value: should a publish fall in between, a fresh value looks stale and never the
/// other way round.
async fn get_with_ttl(lines: &Lines, name: &str) -> Answer<Option<(Duration, Record)>> {
    let mut commands = Pipeline::with_capacity(2);
    commands.add_command(of("PTTL", name)).add_command(of("GET", name));
    let answers: [Value; 2] =
        lines.ask(name, &commands).await?.try_into().map_err(|_| error::unexpected())?;
    match answers {
        [Value::Int(left), Value::BulkString(record)] => Ok(time_left(left).zip(Record::parse(record))),
        [_, Value::Nil] => Ok(None),
        [Value::ServerError(error), _] | [_, Value::ServerError(error)] => Err(error::answered(&error)),
        _ => Err(error::unexpected()),
    }
}

/// A hit is mostly this: as few allocations as can be.
fn of(command: &str, name: &str) -> Cmd {
    let mut words = Cmd::with_capacity(2, command.len() + name.len());
    words.arg(command).arg(name);
    words
}

/// What `PTTL` says; what has no TTL is not ours.
fn time_left(millis: i64) -> Option<Duration> {
    u64::try_from(millis).ok().filter(|millis| *millis > 0).map(Duration::from_millis)
}

/// A stored record, taken apart.
struct Record {
    header: Header,
    payload: Bytes,
}

impl Record {
    fn parse(record: Vec<u8>) -> Option<Self> {
        let (header, payload) = Header::split(&record.into())?;
        Some(Self { header, payload })
    }

    fn entry(self, gone_in: Duration) -> Entry {
        let fresh_for = gone_in.saturating_sub(self.header.grace);
        Entry::new(Payload::Bytes(self.payload), self.header.stamp, fresh_for, gone_in)
    }
}

pub(crate) async fn acquire(lines: &Lines, request: Acquire<'_>) -> Answer<Acquired> {
    let keys = &lines.keys;
    let (value, lease, failure) =
        (keys.value(request.key), keys.lease(request.key), keys.failure(request.key));
    let waited_on = request.waited_on.as_ref().map_or(&[][..], |token| token.as_bytes());
    let force: &[u8] = if request.force { b"1" } else { b"0" };
    let despite: &[u8] = if request.despite_cooldown { b"1" } else { b"0" };
    let (ttl, kind) = (ttl(request.ttl), kind(request.kind));
    let names = [&*value, &lease, &failure];
    let args = [request.token.as_bytes(), ttl.as_bytes(), &kind, force, waited_on, despite];
    // Not sent again with this token. What was sent on a connection that was cut may still arrive: after the lease was
    // granted to the second question and voided by an invalidation it would give the load its lease back. The caller takes
    // the question back and has others to ask.
    let answer = lines.run(Run::new(&scripts::ACQUIRE, &names, &args).once()).await?;
    acquired(answer).ok_or_else(error::unexpected)
}

fn acquired(answer: Value) -> Option<Acquired> {
    let Value::Array(parts) = answer else { return None };
    let mut parts = parts.into_iter();
    match (parts.next()?, parts.next(), parts.next()) {
        (Value::Int(0), None, None) => Some(Acquired::Fresh),
        (Value::Int(1), None, None) => Some(Acquired::Granted),
        (Value::Int(2), Some(Value::Int(left)), Some(Value::BulkString(grant))) => {
            Some(Acquired::Held { grant: Token::new(grant.try_into().ok()?), left: remaining(left) })
        }
        (Value::Int(3), Some(Value::Int(left)), Some(Value::BulkString(message))) => {
            let message = Arc::from(String::from_utf8_lossy(&message));
            Some(Acquired::CoolingDown { left: remaining(left), message })
        }
        _ => None,
    }
}

/// What is there has not ended, even where its last millisecond has begun.
fn remaining(left: i64) -> Duration {
    Duration::from_millis(u64::try_from(left).unwrap_or(0).max(1))
}

pub(crate) async fn publish(lines: &Lines, request: Publish<'_>) -> Answer<Published> {
    let Payload::Bytes(payload) = &request.payload else {
        let message = "a shared value has no bytes to keep";
        return Err(BackendError::new(BackendErrorKind::Refused, message));
    };
    let (header, hard) = head(&request);
    let keys = &lines.keys;
    let (value, lease, channel) =
        (keys.value(request.key), keys.lease(request.key), keys.channel(request.key));
    let (hard, kind) = (ttl(hard), kind(request.stamp.kind));
    let token = request.token.as_bytes();
    let answer = if Header::LEN + payload.len() < STAGED {
        let record = [&header.to_bytes()[..], payload].concat();
        let args = [&token[..], &kind, hard.as_bytes(), channel.as_bytes(), &record];
        lines.run(Run::new(&scripts::PUBLISH, &[&value, &lease], &args)).await?
    } else {
        let staging = keys.staging(request.key, request.token);
        let args = [&token[..], &kind, hard.as_bytes(), channel.as_bytes()];
        let names = [&*value, &lease, &staging];
        lines
            .run(Run::new(&scripts::PUBLISH_REF, &names, &args).after(stage(&staging, header, payload)))
            .await?
    };
    match answer {
        Value::Int(1 | 2) => Ok(Published::Stored),
        Value::Int(0 | -1) => Ok(Published::Refused),
        _ => Err(error::unexpected()),
    }
}

/// What goes before the payload, and the record's TTL.
fn head(request: &Publish<'_>) -> (Header, Duration) {
    // What the header cannot say is cut from the stale end, so that a value is never fresh for too long.
    let grace = request.hard_ttl.saturating_sub(request.soft_ttl);
    let grace = grace.min(Duration::from_millis(u32::MAX.into()));
    let soft = request.soft_ttl.min(request.hard_ttl);
    (Header { stamp: request.stamp, grace }, soft.saturating_add(grace))
}

/// A record put straight into the command: a large one is not copied more often than need be.
fn stage(staging: &str, header: Header, payload: &[u8]) -> Cmd {
    let length = Header::LEN + payload.len();
    let mut set = Cmd::with_capacity(5, length + staging.len() + 32);
    set.arg("SET").arg(staging);
    let mut record = set.bufmut_for_next_arg(length);
    record.put_slice(&header.to_bytes());
    record.put_slice(payload);
    drop(record);
    set.arg("PX").arg(millis(STAGED_FOR));
    set
}

/// Version and identity, as they stand in the header.
fn kind(kind: Kind) -> [u8; 6] {
    let (version, identity) = (kind.version.to_be_bytes(), kind.identity.to_be_bytes());
    [version[0], version[1], identity[0], identity[1], identity[2], identity[3]]
}

pub(crate) async fn abandon(lines: &Lines, request: Abandon<'_>) -> Answer<Released> {
    let keys = &lines.keys;
    let (lease, failure, channel) =
        (keys.lease(request.key), keys.failure(request.key), keys.channel(request.key));
    let failed: &[u8] = if request.failure.is_some() { b"1" } else { b"0" };
    let message = request.failure.unwrap_or_default().as_bytes();
    let cooldown = cooldown(request.cooldown);
    let args = [request.token.as_bytes(), channel.as_bytes(), failed, message, cooldown.as_bytes()];
    match lines.run(Run::new(&scripts::ABANDON, &[&lease, &failure], &args)).await? {
        Value::Int(1) => Ok(Released::Freed),
        Value::Int(0) => Ok(Released::NotOwned),
        _ => Err(error::unexpected()),
    }
}

/// A cool-down as the script's argument: at most what the note of it can say, about seven weeks.
fn cooldown(time: Duration) -> String {
    if time.is_zero() { "0".to_owned() } else { millis(time).min(u32::MAX.into()).to_string() }
}

pub(crate) async fn renew(lines: &Lines, key: &str, token: Token, time: Duration) -> Answer<Renewed> {
    let (lease, ttl) = (lines.keys.lease(key), ttl(time));
    let args = [token.as_bytes(), ttl.as_bytes()];
    match lines.run(Run::new(&scripts::RENEW, &[&lease], &args)).await? {
        Value::Int(1) => Ok(Renewed::Extended),
        Value::Int(0) => Ok(Renewed::Lost),
        _ => Err(error::unexpected()),
    }
}

pub(crate) async fn invalidate(lines: &Lines, key: &str) -> Answer<Invalidated> {
    let keys = &lines.keys;
    let (value, lease, failure) = (keys.value(key), keys.lease(key), keys.failure(key));
    let channel = keys.channel(key);
    let names = [&*value, &lease, &failure];
    match lines.run(Run::new(&scripts::INVALIDATE, &names, &[channel.as_bytes()])).await? {
        Value::Int(0) => Ok(Invalidated::Absent),
        Value::Int(_) => Ok(Invalidated::Removed),
        _ => Err(error::unexpected()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use singleflight_core::entry::Stamp;

    fn offer(soft: Duration, hard: Duration) -> Publish<'static> {
        let stamp = Stamp::new(Kind::new(1, 2), 1, Duration::ZERO, Token::new([3; 16]));
        Publish::new("k", Token::new([3; 16]), Payload::Bytes(Bytes::new()), stamp, soft, hard)
    }

    #[test]
    fn a_grace_too_long_for_the_header_shortens_the_stale_time_only() {
        let (day, year) = (Duration::from_secs(86_400), Duration::from_secs(365 * 86_400));
        let (header, hard) = head(&offer(day, year));
        let (sent, _) = Header::split(&header.to_bytes().to_vec().into()).unwrap();
        assert_eq!(hard - sent.grace, day);
    }

    #[test]
    fn soft_above_hard_is_fresh_to_the_end() {
        let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
        let (header, hard) = head(&offer(minute, second));
        assert_eq!((header.grace, hard), (Duration::ZERO, second));
    }

    #[test]
    fn a_cooldown_fits_into_the_note_of_it() {
        assert_eq!(cooldown(Duration::ZERO), "0");
        assert_eq!(cooldown(Duration::from_nanos(1)), "1");
        assert_eq!(cooldown(Duration::MAX), u32::MAX.to_string());
    }

    #[test]
    fn what_has_no_ttl_or_no_header_is_not_a_record() {
        let (header, _) = head(&offer(Duration::ZERO, Duration::ZERO));
        assert!(Record::parse(header.to_bytes().to_vec()).is_some());
        assert!(Record::parse(b"someone else's".to_vec()).is_none());
        assert_eq!(time_left(5), Some(Duration::from_millis(5)));
        assert_eq!([0, -1, -2].map(time_left), [None; 3]);
    }
}
