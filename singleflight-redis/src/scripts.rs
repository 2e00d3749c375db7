//! The steps that are more than one command: one script each, so that each is atomic.

use std::sync::LazyLock;
use std::time::Duration;

use redis::{Cmd, Pipeline, cmd};

/// A script and the name under which a server keeps it.
#[derive(Debug)]
pub(crate) struct Script {
    source: &'static str,
    hash: String,
}

macro_rules! scripts {
    ($($(#[$doc:meta])* $name:ident = $file:literal;)*) => {$(
        $(#[$doc])*
        pub(crate) static $name: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!($file)));
    )*};
}

scripts! {
    /// The lease, unless there is a reason against it.
    ACQUIRE = "lua/acquire.lua";
    /// A record under a lease.
    PUBLISH = "lua/publish.lua";
    /// The same with a record that has been staged.
    PUBLISH_REF = "lua/publish_ref.lua";
    /// The end of a lease without a record.
    ABANDON = "lua/abandon.lua";
    /// More time for a lease.
    RENEW = "lua/renew.lua";
    /// The end of record, lease and failure.
    INVALIDATE = "lua/invalidate.lua";
}

impl Script {
    fn new(source: &'static str) -> Self {
        Self { source, hash: redis::Script::new(source).get_hash().to_owned() }
    }
}

/// One run of a script.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    script: &'static Script,
    keys: &'a [&'a str],
    args: &'a [&'a [u8]],
    before: Option<Cmd>,
    repeats: bool,
}

impl<'a> Run<'a> {
    pub(crate) fn new(script: &'static Script, keys: &'a [&'a str], args: &'a [&'a [u8]]) -> Self {
        Self { script, keys, args, before: None, repeats: true }
    }

    /// With a command that goes before it in the same pipeline.
    pub(crate) fn after(mut self, before: Cmd) -> Self {
        self.before = Some(before);
        self
    }

    /// The same, not to be sent again when the connection is cut before the answer.
    pub(crate) fn once(mut self) -> Self {
        self.repeats = false;
        self
    }

    /// The first of its names, all of which are in one slot.
    pub(crate) fn name(&self) -> &'a str {
        self.keys[0]
    }

    /// Whether it may be sent again when the connection is cut before the answer.
    pub(crate) fn repeats(&self) -> bool {
        self.repeats
    }

    /// What is sent first: the script is named, not sent. The command that goes before it is sent with this alone.
    pub(crate) fn named(&mut self) -> Pipeline {
        let mut pipeline = Pipeline::with_capacity(2);
        if let Some(before) = self.before.take() {
            pipeline.add_command(before);
        }
        pipeline.add_command(self.command("EVALSHA", &self.script.hash));
        pipeline
    }

    /// What is sent to a server that does not have the script, and will have it from then on.
    pub(crate) fn whole(&self) -> Pipeline {
        let mut pipeline = Pipeline::with_capacity(1);
        pipeline.add_command(self.command("EVAL", self.script.source));
        pipeline
    }

    fn command(&self, name: &str, script: &str) -> Cmd {
        let mut command = cmd(name);
        command.arg(script).arg(self.keys.len());
        for key in self.keys {
            command.arg(*key);
        }
        for arg in self.args {
            command.arg(*arg);
        }
        command
    }
}

/// Whole milliseconds as Redis takes them for a TTL: at least one, at most about a century.
pub(crate) fn millis(ttl: Duration) -> u64 {
    const CENTURY: u64 = 100 * 365 * 24 * 3600 * 1000;
    u64::try_from(ttl.as_millis()).unwrap_or(CENTURY).clamp(1, CENTURY)
}

/// A TTL as a script's argument.
pub(crate) fn ttl(ttl: Duration) -> String {
    millis(ttl).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_ttl_is_one_that_redis_refuses() {
        assert_eq!(ttl(Duration::ZERO), "1");
        assert_eq!(ttl(Duration::from_millis(1500)), "1500");
        assert_eq!(ttl(Duration::MAX), "3153600000000");
    }
}
