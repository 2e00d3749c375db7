//! Which servers a URL means, and what else it says.

use std::time::Duration;

use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo, ProtocolVersion};

use crate::refusal::{ConnectError, ConnectErrorKind};
use crate::scheme::{GOOD, Layout, Scheme};

/// Servers, and what else their URL says.
pub(crate) struct Target {
    pub(crate) servers: Servers,
    /// Hosts and ports: what may be said of them in errors.
    pub(crate) address: String,
    pub(crate) namespace: Option<String>,
    /// How long an answer and a connection may take.
    pub(crate) response: Option<Duration>,
    pub(crate) dial: Option<Duration>,
    /// The connections are to be by TLS.
    #[cfg(feature = "tls")]
    pub(crate) tls: bool,
}

/// Who is to be dialled.
#[derive(Clone)]
pub(crate) enum Servers {
    One(Box<ConnectionInfo>),
    Sentinel {
        sentinels: Vec<ConnectionInfo>,
        /// The name by which they know the primary.
        name: String,
        /// How to speak to the primary, wherever it is.
        primary: Box<ConnectionInfo>,
    },
    #[cfg(feature = "cluster")]
    Cluster(Seeds),
}

impl Servers {
    /// Whether they are spoken to by TLS.
    pub(crate) fn by_tls(&self) -> bool {
        let info = match self {
            Self::One(info) => info,
            Self::Sentinel { primary, .. } => primary,
            #[cfg(feature = "cluster")]
            Self::Cluster(seeds) => return seeds.infos.iter().any(is_by_tls),
        };
        is_by_tls(info)
    }
}

fn is_by_tls(info: &ConnectionInfo) -> bool {
    matches!(info.addr(), ConnectionAddr::TcpTls { .. })
}

/// Nodes of a cluster, which know the others.
#[cfg(feature = "cluster")]
#[derive(Clone)]
pub(crate) struct Seeds {
    pub(crate) infos: Vec<ConnectionInfo>,
    /// For the nodes that these know.
    #[cfg(feature = "tls")]
    pub(crate) certificates: Option<redis::TlsCertificates>,
}

/// The default port of a sentinel.
const SENTINEL_PORT: u16 = 26379;

/// What comes after the scheme, unread.
struct Parts<'a> {
    scheme: Scheme,
    /// With its `@`, or empty.
    user: &'a str,
    hosts: Vec<&'a str>,
    /// With its `/`, or empty.
    path: &'a str,
}

/// What a URL may say after its `?`.
#[derive(Default)]
struct Parameters {
    namespace: Option<String>,
    response_timeout_ms: Option<String>,
    dial_timeout_ms: Option<String>,
    sentinel_user: Option<String>,
    sentinel_password: Option<String>,
}

impl Target {
    /// Takes a URL apart. No part of it but a known scheme is repeated in errors: where a password has odd characters,
    /// any part may be of the password.
    pub(crate) fn parse(url: &str) -> Result<Self, ConnectError> {
        let (scheme, rest) = Scheme::split(url)?;
        let (rest, fragment) =
            rest.split_once('#').map_or((rest, None), |(rest, fragment)| (rest, Some(fragment)));
        match fragment {
            None => {}
            Some("insecure") if scheme.tls => {
                return Err(wrong(
                    "`#insecure` would let anybody answer in the server's place; give the authority that signed its \
                     certificate with `ca` of the builder instead",
                ));
            }
            Some(_) => return Err(malformed()),
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let parameters = Parameters::parse(scheme.layout, query)?;
        let namespace = parameters.namespace.clone();
        let response = milliseconds("response_timeout_ms", parameters.response_timeout_ms.as_deref())?;
        let dial = milliseconds("dial_timeout_ms", parameters.dial_timeout_ms.as_deref())?;
        let found = |(servers, address)| Self {
            servers,
            address,
            namespace,
            response,
            dial,
            #[cfg(feature = "tls")]
            tls: scheme.tls,
        };
        if scheme.layout == Layout::Unix {
            // User, password and database are parameters there.
            let info = info(&format!("redis+unix://{rest}?{query}"))?;
            let ConnectionAddr::Unix(path) = info.addr() else { return Err(malformed()) };
            let address = path.display().to_string();
            return Ok(found((Servers::One(Box::new(info)), address)));
        }
        let parts = Parts::split(scheme, rest);
        match parts.scheme.layout {
            Layout::Sentinel => parts.sentinel(&parameters),
            #[cfg(feature = "cluster")]
            Layout::Cluster => parts.cluster(),
            _ => parts.one(),
        }
        .map(found)
    }
}

impl<'a> Parts<'a> {
    fn split(scheme: Scheme, rest: &'a str) -> Self {
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (user, hosts) = authority.split_at(authority.rfind('@').map_or(0, |at| at + 1));
        Self { scheme, user, hosts: hosts.split(',').collect(), path }
    }

    fn url(&self, user: &str, host: &str, path: &str) -> String {
        format!("{}://{user}{host}{path}", if self.scheme.tls { "rediss" } else { "redis" })
    }

    fn one(&self) -> Result<(Servers, String), ConnectError> {
        let [host] = self.hosts[..] else {
            return Err(wrong(
                "the URL names several servers: write `redis+cluster://` for nodes of a cluster, or \
                 `redis+sentinel://` for sentinels",
            ));
        };
        check_database(self.path.trim_matches('/'))?;
        let info = info(&self.url(self.user, host, self.path))?;
        let address = address(&info)?;
        Ok((Servers::One(Box::new(info)), address))
    }

    #[cfg(feature = "cluster")]
    fn cluster(&self) -> Result<(Servers, String), ConnectError> {
        if !matches!(self.path, "" | "/" | "/0") {
            return Err(wrong("a cluster has no database but 0; leave it out of the URL"));
        }
        let infos = self.hosts.iter().map(|host| info(&self.url(self.user, host, "")));
        let infos = infos.collect::<Result<Vec<_>, _>>()?;
        let address = addresses(&infos)?;
        let seeds = Seeds {
            infos,
            #[cfg(feature = "tls")]
            certificates: None,
        };
        Ok((Servers::Cluster(seeds), address))
    }

    fn sentinel(&self, parameters: &Parameters) -> Result<(Servers, String), ConnectError> {
        let path = self.path.trim_matches('/');
        let (name, database) = path.split_once('/').unwrap_or((path, ""));
        if name.is_empty() {
            return Err(wrong(
                "the URL has no name of a primary; write `redis+sentinel://host[:port],…/primary[/database]`, with the \
                 name that the sentinels know it by",
            ));
        }
        check_database(database)?;
        let primary = info(&self.url(self.user, self.hosts[0], &format!("/{database}")))?;
        let mut sentinels = Vec::new();
        for host in &self.hosts {
            let mut url = redis::parse_redis_url(&self.url("", host, "")).ok_or_else(malformed)?;
            if url.port().is_none() && url.set_port(Some(SENTINEL_PORT)).is_err() {
                return Err(malformed());
            }
            let info = url.into_connection_info().map_err(|_| malformed())?;
            // They speak the older protocol whatever their age.
            let mut settings =
                info.redis_settings().clone().set_protocol(ProtocolVersion::RESP2).set_skip_set_lib_name();
            if let Some(user) = &parameters.sentinel_user {
                settings = settings.set_username(user);
            }
            if let Some(password) = &parameters.sentinel_password {
                settings = settings.set_password(password);
            }
            sentinels.push(info.set_redis_settings(settings));
        }
        let address = addresses(&sentinels)?;
        Ok((Servers::Sentinel { sentinels, name: name.to_owned(), primary: Box::new(primary) }, address))
    }
}

impl Parameters {
    fn parse(layout: Layout, query: &str) -> Result<Self, ConnectError> {
        let mut parameters = Self::default();
        // Any URL will do to have the pairs taken apart.
        let pairs = redis::parse_redis_url(&format!("redis://host?{query}")).ok_or_else(malformed)?;
        for (name, value) in pairs.query_pairs() {
            let slot = match (&*name, layout) {
                ("namespace", _) => &mut parameters.namespace,
                ("response_timeout_ms", _) => &mut parameters.response_timeout_ms,
                ("dial_timeout_ms", _) => &mut parameters.dial_timeout_ms,
                ("sentinel_user", Layout::Sentinel) => &mut parameters.sentinel_user,
                ("sentinel_password", Layout::Sentinel) => &mut parameters.sentinel_password,
                ("db" | "user" | "pass", Layout::Unix) => continue,
                _ => return Err(unknown_parameter(layout)),
            };
            if slot.replace(value.into_owned()).is_some() {
                return Err(unknown_parameter(layout));
            }
        }
        Ok(parameters)
    }
}

fn milliseconds(name: &str, value: Option<&str>) -> Result<Option<Duration>, ConnectError> {
    let number = value.map(str::parse).transpose();
    let number = number.map_err(|_| {
        wrong(format!(
            "`{name}` in the URL is not a whole number of milliseconds; write it as in `{name}=500`"
        ))
    })?;
    Ok(number.map(Duration::from_millis))
}

/// Refuses a word where a number is to be, which may be a namespace.
fn check_database(database: &str) -> Result<(), ConnectError> {
    // Behind an `@` it is no database but a part of the password.
    if database.contains('@') || database.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(());
    }
    Err(wrong(
        "the database in the URL is not a number; to keep services apart on one server, write `?namespace=name` in its \
         place",
    ))
}

fn info(url: &str) -> Result<ConnectionInfo, ConnectError> {
    let url = redis::parse_redis_url(url).ok_or_else(malformed)?;
    url.into_connection_info().map_err(|_| malformed())
}

fn address(info: &ConnectionInfo) -> Result<String, ConnectError> {
    match info.addr() {
        ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => {
            Ok(format!("{host}:{port}"))
        }
        _ => Err(malformed()),
    }
}

fn addresses(infos: &[ConnectionInfo]) -> Result<String, ConnectError> {
    Ok(infos.iter().map(address).collect::<Result<Vec<_>, _>>()?.join(","))
}

fn wrong(message: impl Into<String>) -> ConnectError {
    ConnectError::new(ConnectErrorKind::Misconfigured, message)
}

fn malformed() -> ConnectError {
    wrong(format!("the URL of the server is malformed; {GOOD}"))
}

fn unknown_parameter(layout: Layout) -> ConnectError {
    let known = match layout {
        Layout::Unix => ", `db`, `user` and `pass`",
        Layout::Sentinel => ", `sentinel_user` and `sentinel_password`",
        _ => "",
    };
    wrong(format!(
        "the URL of the server has a parameter other than `namespace`, `response_timeout_ms`, `dial_timeout_ms`{known}, \
         each once; percent-encode `?` and `&` in user and password"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> ConnectError {
        match Target::parse(url) {
            Ok(target) => panic!("{url} is taken for {}", target.address),
            Err(error) => error,
        }
    }

    fn one(target: &Target) -> &ConnectionInfo {
        match &target.servers {
            Servers::One(info) => info,
            _ => panic!("more than one: {}", target.address),
        }
    }

    #[test]
    fn good_urls_are_taken_apart() {
        for (url, address, namespace) in [
            ("redis://host", "host:6379", None),
            ("valkey://u:p@host:7000/3", "host:7000", None),
            ("redis://:p%3Fx@127.0.0.1:1/?namespace=shop%20a", "127.0.0.1:1", Some("shop a")),
            ("redis://[::1]:7", "::1:7", None),
            ("redis+unix:///run/redis.sock?db=1&namespace=a", "/run/redis.sock", Some("a")),
            ("unix:///run/redis.sock", "/run/redis.sock", None),
            ("redis+sentinel://:a@b,c:7/m?namespace=a", "b:26379,c:7", Some("a")),
            #[cfg(feature = "cluster")]
            ("valkey+cluster://u:p@a:1,[::1]:2,c/", "a:1,::1:2,c:6379", None),
            #[cfg(feature = "tls")]
            ("rediss://host", "host:6379", None),
            #[cfg(all(feature = "cluster", feature = "tls"))]
            ("valkeys+cluster://host:1,host:2", "host:1,host:2", None),
        ] {
            let target = Target::parse(url).unwrap();
            assert_eq!((&*target.address, target.namespace.as_deref()), (address, namespace), "{url}");
            #[cfg(feature = "tls")]
            assert_eq!(target.tls, url.starts_with("rediss") || url.starts_with("valkeys"), "{url}");
        }
    }

    #[test]
    fn time_outs_are_milliseconds() {
        for url in ["redis://host?", "redis+unix:///run/r.sock?db=1&", "redis+sentinel://a,b/main?"] {
            let target =
                Target::parse(&format!("{url}response_timeout_ms=1500&dial_timeout_ms=3000")).unwrap();
            let seconds = [target.response, target.dial].map(|timeout| timeout.unwrap().as_secs_f64());
            assert_eq!(seconds, [1.5, 3.0], "{url}");
            let target = Target::parse(&format!("{url}namespace=a")).unwrap();
            assert_eq!((target.response, target.dial), (None, None), "{url}");
        }
    }

    #[test]
    fn users_and_databases_are_found_where_each_kind_has_them() {
        for url in ["redis://u:p%23@host/3", "redis+unix:///run/r.sock?db=3&user=u&pass=p%23"] {
            let target = Target::parse(url).unwrap();
            let redis = one(&target).redis_settings();
            assert_eq!((redis.db(), redis.username(), redis.password()), (3, Some("u"), Some("p#")), "{url}");
        }
        let url = "redis+sentinel://u:p@a,b/main/3?sentinel_user=su&sentinel_password=sp%23";
        let Servers::Sentinel { sentinels, name, primary } = Target::parse(url).unwrap().servers else {
            panic!("{url}");
        };
        let redis = primary.redis_settings();
        assert_eq!((redis.db(), redis.username(), redis.password()), (3, Some("u"), Some("p")));
        assert_eq!((&*name, sentinels.len()), ("main", 2));
        for sentinel in &sentinels {
            let redis = sentinel.redis_settings();
            assert_eq!((redis.db(), redis.username(), redis.password()), (0, Some("su"), Some("sp#")));
        }
    }

    #[test]
    fn bad_urls_are_refused_with_a_good_one_and_without_the_password() {
        let tls = if cfg!(feature = "tls") { "would let anybody answer" } else { "feature `tls`" };
        let cluster = if cfg!(feature = "cluster") { "no database but 0" } else { "feature `cluster`" };
        for (url, says) in [
            ("rediss://:secret@host#insecure", tls),
            ("redis+cluster://:secret@host/1", cluster),
            ("redis+sentinel://:secret@host", "no name of a primary"),
            ("redis+sentinel://:secret@host/m/secret", "is not a number"),
            ("redis+sentinel://host/m?pass=secret", "a parameter other than"),
            ("redis+unix://secret?pass=secret", "malformed"),
            ("redis+unix:///s?pass=secret&sentinel_user=secret", "a parameter other than"),
            ("rediss+unix:///secret", "not one that is known"),
            ("redis+://secret", "not one that is known"),
            ("memcached://secret", "not one that is known"),
            ("secret", "not one that is known"),
            ("redis:secret", "no `//`"),
            ("redis://:secret@host,host", "`redis+cluster://`"),
            ("redis://:sec/ret@host", "malformed"),
            ("redis://:sec#ret@host", "malformed"),
            ("redis://:sec?secret@host", "a parameter other than"),
            ("redis://u:p@host?secret=1", "a parameter other than"),
            ("redis://host/secret", "is not a number"),
            (
                "redis://host?response_timeout_ms=secret",
                "`response_timeout_ms` in the URL is not a whole number",
            ),
            ("redis://host?dial_timeout_ms=-1", "`dial_timeout_ms` in the URL is not a whole number"),
            ("redis://host?dial_timeout_ms=1&dial_timeout_ms=1", "each once"),
            ("redis://:secret@host:99999", "malformed"),
            ("redis://", "malformed"),
        ] {
            let error = refusal(url);
            let (shown, debug) = (error.to_string(), format!("{error:?}"));
            assert!(shown.contains(says), "{url}: {shown}");
            for word in ["secret", "sec", "ret"] {
                let leaks =
                    |text: &str| text.split(|c: char| !c.is_ascii_alphabetic()).any(|part| part == word);
                assert!(!leaks(&shown) && !leaks(&debug), "{url}: {shown} {debug}");
            }
        }
    }
}
