//! How a URL begins: which kind of servers it names, and whether by TLS.

use crate::refusal::{ConnectError, ConnectErrorKind};

/// What to write, at the end of every refusal.
pub(crate) const GOOD: &str = "write `redis://[user[:password]@]host[:port][/database]`, `rediss://…` for TLS, \
                               `redis+unix:///path[?db=…]`, `redis+cluster://…host[:port],…` or \
                               `redis+sentinel://…host[:port],…/primary[/database]`, or the same with `valkey`";

/// What a scheme says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scheme {
    pub(crate) layout: Layout,
    pub(crate) tls: bool,
}

/// Which servers there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    One,
    Unix,
    Sentinel,
    Cluster,
}

impl Scheme {
    /// Takes the scheme and its `//` off a URL.
    pub(crate) fn split(url: &str) -> Result<(Self, &str), ConnectError> {
        let (name, rest) = url.split_once(':').unwrap_or((url, ""));
        let Some(scheme) = Self::named(&name.to_ascii_lowercase()) else {
            return Err(unsupported("the URL's scheme is not one that is known", GOOD));
        };
        if scheme.tls && !cfg!(feature = "tls") {
            let help = "build it with `features = [\"tls\"]`";
            return Err(unsupported("TLS needs the feature `tls` of singleflight-redis", help));
        }
        if scheme.layout == Layout::Cluster && !cfg!(feature = "cluster") {
            let help = "build it with `features = [\"cluster\"]`";
            return Err(unsupported("a cluster needs the feature `cluster` of singleflight-redis", help));
        }
        let Some(rest) = rest.strip_prefix("//") else {
            let message = format!("the URL of the server has no `//` after its scheme; {GOOD}");
            return Err(ConnectError::new(ConnectErrorKind::Misconfigured, message));
        };
        Ok((scheme, rest))
    }

    fn named(name: &str) -> Option<Self> {
        let (server, layout) = name.split_once('+').unwrap_or((name, ""));
        let tls = match server {
            "redis" | "valkey" => false,
            "rediss" | "valkeys" => true,
            "unix" if layout.is_empty() => return Some(Self { layout: Layout::Unix, tls: false }),
            _ => return None,
        };
        let layout = match layout {
            "" if server == name => Layout::One,
            "unix" if !tls => Layout::Unix,
            "sentinel" => Layout::Sentinel,
            "cluster" => Layout::Cluster,
            _ => return None,
        };
        Some(Self { layout, tls })
    }
}

fn unsupported(what: &str, help: &str) -> ConnectError {
    ConnectError::new(ConnectErrorKind::Unsupported, format!("{what}; {help}"))
}
