//! A process that ends between `SETNX` and `EXPIRE`.

use std::pin::pin;

use singleflight_tests::server::Server;
use singleflight_tests::source::Source;

use crate::recipes::setnx_then_expire;
use crate::rig::{LONG, SHORT, begin, connection, leased, process};

#[tokio::test]
async fn setnx_then_expire_leaves_a_lock_for_ever() {
    let server = Server::start();
    let redis = connection(&server).await;
    {
        let owner = pin!(setnx_then_expire(redis.clone(), "lock:row"));
        begin(owner, || server.calls("setnx") == 1).await;
        // The process ends here: its second command is never sent.
    }
    assert_eq!(server.say(&["PTTL", "lock:row"]).trim(), ":-1", "there is nothing that would end it");
    assert!(!setnx_then_expire(redis, "lock:row").await.unwrap(), "nobody gets it any more");
    assert_eq!(server.calls("expire"), 0);
}

#[tokio::test]
async fn a_lease_ends_even_if_its_process_does_so_first() {
    let server = Server::start();
    let (first, second) = (process(&server).await, process(&server).await);
    let (lost, source) = (Source::gated(), Source::quick());
    source.set(2);
    first.crash(leased(SHORT), &lost).await;
    server.assert_every_key_ends();
    assert_eq!(second.call(leased(LONG), &source).await.unwrap(), 2);
    assert_eq!((lost.loads(), source.loads()), (1, 1));
}
