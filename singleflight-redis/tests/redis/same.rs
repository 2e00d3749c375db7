//! The same steps have the same answers here and in memory.

use std::time::{Duration, Instant};

use bytes::Bytes;
use singleflight_core::backend::{Abandon, Acquire, Acquired, Publish, Token};
use singleflight_core::entry::{Kind, Payload, Stamp};
use singleflight_core::testing::BytesBackend;
use singleflight_core::{Clock, LeaseBackend};
use singleflight_tests::server::Server;

use crate::rig::{MINUTE, connect};

/// What can be done in one step, without times that pass while the test runs.
#[derive(Clone, Debug)]
enum Step {
    Read,
    Acquire { token: Token, kind: Kind, force: bool, despite: bool, waited_on: Option<Token> },
    Publish { token: Token, kind: Kind, stale: bool, size: usize },
    Abandon { token: Token, failure: Option<String>, cooldown: Duration },
    Renew { token: Token },
    Invalidate,
}

impl Step {
    fn any(chance: &mut fastrand::Rng) -> Self {
        let token = Token::new([chance.u8(1..4); 16]);
        let kind = Kind::new(chance.u32(1..3), chance.u16(1..3));
        match chance.u8(..13) {
            0 | 1 => Self::Read,
            2..=5 => {
                let waited_on = chance.bool().then(|| Token::new([chance.u8(1..4); 16]));
                Self::Acquire { token, kind, force: chance.bool(), despite: chance.u8(..4) == 0, waited_on }
            }
            6..=8 => {
                let size = if chance.bool() { 10 } else { 5_000 };
                Self::Publish { token, kind, stale: chance.bool(), size }
            }
            9 | 10 => {
                let failure = chance.bool().then(|| format!("failure {}", chance.u8(..)));
                let cooldown = if chance.u8(..4) == 0 { MINUTE } else { Duration::ZERO };
                Self::Abandon { token, failure, cooldown }
            }
            11 => Self::Renew { token },
            _ => Self::Invalidate,
        }
    }

    /// Does it and gives the answer without its times, which differ by what it takes to ask.
    async fn run(&self, backend: &dyn LeaseBackend, key: &str) -> String {
        match self.clone() {
            Self::Read => {
                let entry = backend.read(key).await.unwrap();
                let entry =
                    entry.map(|entry| (entry.stamp, entry.is_fresh(), format!("{:?}", entry.payload)));
                format!("{entry:?}")
            }
            Self::Acquire { token, kind, force, despite, waited_on } => {
                let request = Acquire::new(key, token, MINUTE, kind).forced(force);
                let request = request.despite_cooldown(despite).waited_on(waited_on);
                match backend.acquire(request).await.unwrap() {
                    Acquired::Held { grant, left } if left <= MINUTE => format!("held {grant:?}"),
                    Acquired::CoolingDown { message, .. } => format!("cooling {message}"),
                    other => format!("{other:?}"),
                }
            }
            Self::Publish { token, kind, stale, size } => {
                let stamp = Stamp::new(kind, 1, Duration::from_millis(7), token);
                let payload = Payload::Bytes(Bytes::from(vec![7; size]));
                let soft = if stale { Duration::ZERO } else { MINUTE };
                let request = Publish::new(key, token, payload, stamp, soft, 2 * MINUTE);
                format!("{:?}", backend.publish(request).await.unwrap())
            }
            Self::Abandon { token, failure, cooldown } => {
                let mut request = Abandon::new(key, token);
                (request.failure, request.cooldown) = (failure.as_deref(), cooldown);
                format!("{:?}", backend.abandon(request).await.unwrap())
            }
            Self::Renew { token } => format!("{:?}", backend.renew(key, token, MINUTE).await.unwrap()),
            Self::Invalidate => format!("{:?}", backend.invalidate(key).await.unwrap()),
        }
    }
}

#[tokio::test]
async fn p29_the_same_steps_have_the_same_answers_as_in_memory() {
    let server = Server::start();
    let (redis, memory) = (connect(&server).await, BytesBackend::new(Clock::default()));
    let seed = fastrand::u64(..);
    let mut chance = fastrand::Rng::with_seed(seed);
    let mut compared = 0;
    for round in 0.. {
        let (key, start) = (format!("k{round}"), Instant::now());
        let mut done = Vec::new();
        for _ in 0..40 {
            let step = Step::any(&mut chance);
            let (here, there) = (step.run(&redis, &key).await, step.run(&memory, &key).await);
            done.push((step, here, there));
        }
        // Times that pass are not what is compared here: a failure is told for a second.
        if start.elapsed() > Duration::from_millis(900) {
            continue;
        }
        let same = done.iter().all(|(_, here, there)| here == there);
        assert!(same, "seed {seed}, round {round}, answers here and there: {done:#?}");
        compared += 1;
        if compared == 200 {
            break;
        }
    }
    server.assert_every_key_ends();
}
