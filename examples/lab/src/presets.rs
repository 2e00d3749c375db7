//! The lessons.

use serde::Serialize;
use serde_json::{Value, json};

/// Settings that show one thing.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Preset {
    name: &'static str,
    title: &'static str,
    lesson: &'static str,
    /// What differs from the defaults, side by side.
    sides: Vec<Value>,
}

/// All of them; those that need a server only where there is one.
pub(crate) fn presets(has_redis: bool) -> Vec<Preset> {
    let mut presets = herds();
    presets.extend(losers());
    presets.extend(leases());
    presets.extend(faults());
    if has_redis {
        presets.extend(fleets());
    }
    presets
}

fn preset(name: &'static str, title: &'static str, lesson: &'static str, sides: [Value; 2]) -> Preset {
    Preset { name, title, lesson, sides: sides.into() }
}

fn herds() -> Vec<Preset> {
    vec![
        preset(
            "herd",
            "Two hundred misses, one load",
            "Without coalescing every caller loads, and they queue for the source. With it one caller loads, and the \
             others get what it loaded.",
            [json!({ "backend": "none" }), json!({ "backend": "memory" })],
        ),
        preset(
            "fleet",
            "Each process alone, or the fleet",
            "Coalescing within a process still means one load for each process. A store that all of them share makes \
             it one load for the fleet.",
            [json!({ "processes": 8, "backend": "memory" }), json!({ "processes": 8, "backend": "shared" })],
        ),
        preset(
            "expiry",
            "What happens at expiry",
            "Without a soft TTL the value is gone when it expires, and everybody waits for the next load. With one, the \
             stale copy answers them while one caller refreshes it.",
            [
                json!({ "entry": "fresh", "arrivals_ms": 3000, "soft_ttl_ms": 1000, "ttl_ms": 1000, "load_ms": 300 }),
                json!({ "entry": "fresh", "arrivals_ms": 3000, "soft_ttl_ms": 1000, "ttl_ms": 2000, "load_ms": 300 }),
            ],
        ),
    ]
}

fn losers() -> Vec<Preset> {
    let stale =
        json!({ "entry": "stale", "backend": "shared", "processes": 2, "ttl_ms": 5000, "load_ms": 300 });
    let with = |mut setting: Value, field: &str, value: Value| {
        setting[field] = value;
        setting
    };
    vec![
        preset(
            "losers-stale-wait",
            "Who does not load: a stale copy, or wait",
            "By default callers take a stale copy at once, and one of them refreshes it. With \"wait\" all of them wait for \
             the new value: nobody sees the old one, and everybody is slow.",
            [stale.clone(), with(stale.clone(), "losers", json!("wait"))],
        ),
        preset(
            "losers-default-fail",
            "Who does not load: a default, or an error",
            "Where there is no copy at all, callers need not wait either: they take a default, or fail at once and leave \
             it to their own callers to go on without.",
            [
                json!({ "losers": "default", "backend": "shared", "processes": 2, "load_ms": 300 }),
                json!({ "losers": "fail", "backend": "shared", "processes": 2, "load_ms": 300 }),
            ],
        ),
        preset(
            "spawn",
            "The one who refreshes",
            "A stale copy answers everybody but the caller that refreshes it. With `spawn` the load is a task of its own, \
             and that caller gets the stale copy too.",
            [stale.clone(), with(stale, "spawn", json!(true))],
        ),
        preset(
            "early",
            "Refreshed before it is stale",
            "With early refresh some caller reloads the value shortly before its soft TTL ends, the sooner the longer loads \
             take: here nobody gets a stale copy. With `spawn`, as on both sides, nobody waits for a refresh either.",
            [
                json!({ "entry": "fresh", "arrivals_ms": 3000, "backend": "shared", "load_ms": 200, "spawn": true }),
                json!({
                    "entry": "fresh", "arrivals_ms": 3000, "backend": "shared", "load_ms": 200, "spawn": true, "early": 1,
                }),
            ],
        ),
        preset(
            "wait-budget",
            "When waiting takes too long",
            "A wait budget ends before the load does. Those who waited share one more load for each process, however many \
             they are; or they fail, if the setting says so.",
            [
                json!({ "backend": "shared", "processes": 4, "load_ms": 800, "wait_ms": 200 }),
                json!({ "backend": "shared", "processes": 4, "load_ms": 800, "wait_ms": 200, "on_timeout": "fail" }),
            ],
        ),
    ]
}

fn leases() -> Vec<Preset> {
    let pause = |fault: &str| json!({ "fault": fault, "backend": "shared", "processes": 4, "lock_ttl_ms": 500, "load_ms": 400 });
    let late = |fault: &str| json!({ "fault": fault, "backend": "shared", "processes": 4, "load_ms": 300 });
    let long = |fault: &str| {
        json!({
            "fault": fault, "backend": "shared", "processes": 4, "callers": 12, "lock_ttl_ms": 300, "load_ms": 800,
        })
    };
    vec![
        preset(
            "release",
            "Release by token, or by plain DEL",
            "A leader stands still until its lease is over and another process loads. Then it gives back \"its\" lease: by \
             token nothing happens; by plain DEL the second one's lease is deleted, and one more process loads beside it.",
            [pause("leader_paused"), pause("plain_del")],
        ),
        preset(
            "renewal",
            "A load that outlives its lease",
            "The load takes longer than the lease. Renewed, the lease lasts as long as the load; without renewal process \
             after process thinks that it is free, and every load is in vain.",
            [long("none"), long("no_renewal")],
        ),
        preset(
            "recheck",
            "Look again under the lease",
            "Some processes looked before the value was there, and ask for the lease afterwards. A store that looks again \
             in the same step tells them so; one that does not lets them load a second time.",
            [late("late_question"), late("no_recheck")],
        ),
    ]
}

fn faults() -> Vec<Preset> {
    let during = |fault: &str, backend: &str| json!({ "fault": fault, "backend": backend, "processes": 4, "lock_ttl_ms": 500, "load_ms": 400 });
    vec![
        preset(
            "killed",
            "The leader is killed",
            "Its callers are lost. Everybody else waits until the lease ends, and then one process, not all of them, takes \
             over; a single caller that goes away is replaced at once.",
            [during("leader_killed", "shared"), json!({ "fault": "leader_killed", "load_ms": 400 })],
        ),
        preset(
            "failing",
            "The load fails",
            "One load fails, and all who waited for it are told; nobody tries again two hundred times. Where there is a \
             stale copy, nobody notices.",
            [
                json!({ "fault": "failing_load", "backend": "shared", "processes": 4, "load_ms": 300 }),
                json!({
                    "fault": "failing_load", "backend": "shared", "processes": 4, "load_ms": 300, "entry": "stale",
                    "ttl_ms": 5000,
                }),
            ],
        ),
        preset(
            "invalidate",
            "Invalidated while it is being loaded",
            "The row is changed and its key invalidated in the middle of the load. What that load read is not stored: the \
             key is loaded anew. Where each process keeps its own copy, the others do not hear of it and go on with the \
             old row.",
            [
                json!({ "fault": "invalidate", "backend": "memory", "processes": 4, "arrivals_ms": 1000, "load_ms": 300 }),
                json!({ "fault": "invalidate", "backend": "shared", "processes": 4, "arrivals_ms": 1000, "load_ms": 300 }),
            ],
        ),
        preset(
            "outage",
            "The store goes away",
            "While it is away each process goes on by itself, and keeps what it loads for as long as it is fresh, a second \
             at most. When the store is back they meet there again.",
            [
                json!({
                    "fault": "backend_stopped", "backend": "shared", "processes": 4, "arrivals_ms": 3000,
                    "lock_ttl_ms": 500, "load_ms": 200, "soft_ttl_ms": 400, "ttl_ms": 400,
                }),
                json!({
                    "backend": "none", "processes": 4, "arrivals_ms": 3000, "lock_ttl_ms": 500, "load_ms": 200,
                    "soft_ttl_ms": 400, "ttl_ms": 400,
                }),
            ],
        ),
    ]
}

fn fleets() -> Vec<Preset> {
    let redis = |fault: &str| json!({ "backend": "redis", "processes": 4, "fault": fault, "lock_ttl_ms": 500, "load_ms": 400 });
    vec![
        preset(
            "redis",
            "Real processes on Redis",
            "Processes that keep values to themselves load once each. On a server, real processes of the operating system \
             load once: the lease is a key there, and who waits is told over a subscription.",
            [json!({ "backend": "memory", "processes": 4 }), json!({ "backend": "redis", "processes": 4 })],
        ),
        preset(
            "redis-leader",
            "A real process is killed, or stopped",
            "The process that loads is sent SIGKILL, or SIGSTOP until another one has taken over. Either way there is one \
             successor, and what the stopped one brings back is not stored.",
            [redis("leader_killed"), redis("leader_paused")],
        ),
    ]
}
