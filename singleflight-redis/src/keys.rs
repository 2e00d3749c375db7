//! The names of a key's records.

use std::sync::Arc;

use singleflight_core::backend::Token;

/// How every name begins unless told otherwise.
pub(crate) const PREFIX: &str = "sf:";

/// Makes the names of the records of one key, which all lie in one slot of a cluster.
///
/// A name is `PREFIX{K}` and one letter. The first brace in it is ours, so the slot is that of what lies between it
/// and the next closing brace, whatever `K` contains. That must not be empty, or the whole name would count: `K` is the
/// key, with `~` before it if it is empty or begins with `}` or (so that no two keys share a name) `~`.
#[derive(Clone, Debug)]
pub(crate) struct Keyspace {
    prefix: Box<str>,
}

impl Keyspace {
    /// `None` if the prefix has a brace that would be taken for ours.
    pub(crate) fn new(prefix: &str) -> Option<Self> {
        (!prefix.contains('{')).then(|| Self { prefix: prefix.into() })
    }

    /// The record.
    pub(crate) fn value(&self, key: &str) -> String {
        self.name(key, 'v', "")
    }

    /// The lease: its token, and whose fill it is.
    pub(crate) fn lease(&self, key: &str) -> String {
        self.name(key, 'l', "")
    }

    /// The last failure, for those who were waiting and while it cools down.
    pub(crate) fn failure(&self, key: &str) -> String {
        self.name(key, 'f', "")
    }

    /// The channel on which changes are told.
    pub(crate) fn channel(&self, key: &str) -> String {
        self.name(key, 'w', "")
    }

    /// The pattern of the channels of all keys that begin with `prefix`.
    pub(crate) fn channels(&self, prefix: &str) -> String {
        let mut pattern = String::new();
        let literal = format!("{}{{{}{prefix}", self.prefix, guard(prefix));
        for char in literal.chars() {
            if matches!(char, '*' | '?' | '[' | ']' | '\\') {
                pattern.push('\\');
            }
            pattern.push(char);
        }
        pattern.push_str("*}w");
        pattern
    }

    /// The key whose channel this is.
    pub(crate) fn key_of_channel(&self, channel: &str) -> Option<Arc<str>> {
        let key = channel.strip_prefix(&*self.prefix)?.strip_prefix('{')?.strip_suffix("}w")?;
        Some(key.strip_prefix('~').unwrap_or(key).into())
    }

    /// A large record on its way. The token is part of the name, so that nobody publishes what another has staged.
    pub(crate) fn staging(&self, key: &str, token: Token) -> String {
        use std::fmt::Write;
        let mut hex = String::with_capacity(32);
        for byte in token.as_bytes() {
            let _ = write!(hex, "{byte:02x}");
        }
        self.name(key, 'x', &hex)
    }

    fn name(&self, key: &str, letter: char, rest: &str) -> String {
        let mut name = String::with_capacity(self.prefix.len() + key.len() + rest.len() + 4);
        name.push_str(&self.prefix);
        name.push('{');
        name.push_str(if key.is_empty() { "~" } else { guard(key) });
        name.push_str(key);
        name.push('}');
        name.push(letter);
        name.push_str(rest);
        name
    }
}

/// What goes before a key so that the tag is not empty; before an empty one it is `~`, too.
fn guard(key: &str) -> &'static str {
    if key.starts_with(['}', '~']) { "~" } else { "" }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const ODD: [&str; 14] =
        ["", "~", "~~", "}", "~}", "}}", "{", "{}", "{a}b", "a}b", "a{b}c", "user:1", "é漢🦀", "a b\r\n\0"];

    /// What a cluster hashes of a name, as its specification says.
    fn tag(name: &str) -> &str {
        let Some((_, rest)) = name.split_once('{') else { return name };
        match rest.split_once('}') {
            Some((tag, _)) if !tag.is_empty() => tag,
            _ => name,
        }
    }

    #[test]
    fn p28_all_names_of_a_key_have_one_tag() {
        let keys = Keyspace::new(PREFIX).unwrap();
        for key in ODD {
            let token = Token::new([7; 16]);
            let names = [keys.lease(key), keys.failure(key), keys.channel(key), keys.staging(key, token)];
            for name in &names {
                assert_eq!(tag(name), tag(&keys.value(key)), "{key:?}");
                assert_ne!(tag(name), name, "{key:?}");
            }
        }
    }

    #[test]
    fn p22_no_two_names_are_alike() {
        let keys = Keyspace::new(PREFIX).unwrap();
        let names: HashSet<String> = ODD
            .iter()
            .flat_map(|key| [keys.value(key), keys.lease(key), keys.failure(key), keys.channel(key)])
            .collect();
        assert_eq!(names.len(), 4 * ODD.len());
    }

    #[test]
    fn p28_case_37_random_keys_have_one_tag_and_names_of_their_own() {
        let (keys, mut names) = (Keyspace::new(PREFIX).unwrap(), HashSet::new());
        let pieces = ["{", "}", "~", "a", ":", "é", "%", "\0", "{}", "}v", "}l"];
        let mut rng = fastrand::Rng::with_seed(37);
        let random = (0..10_000).map(|_| (0..rng.usize(..8)).map(|_| rng.choice(pieces).unwrap()).collect());
        let distinct: HashSet<String> = random.collect();
        for key in &distinct {
            let ours = [keys.value(key), keys.lease(key), keys.failure(key), keys.channel(key)];
            assert!(ours.iter().all(|name| tag(name) == tag(&ours[0]) && tag(name) != name), "{key:?}");
            names.extend(ours);
        }
        assert!(distinct.len() > 5000 && names.len() == 4 * distinct.len());
    }

    #[test]
    fn a_channel_tells_its_key() {
        for prefix in [PREFIX, ""] {
            let keys = Keyspace::new(prefix).unwrap();
            for key in ODD {
                assert_eq!(keys.key_of_channel(&keys.channel(key)).as_deref(), Some(key));
                assert_eq!(keys.key_of_channel(&keys.value(key)), None);
            }
        }
    }

    #[test]
    fn patterns_take_prefixes_as_they_are() {
        let keys = Keyspace::new(PREFIX).unwrap();
        assert_eq!(keys.channels("shop:"), "sf:{shop:*}w");
        assert_eq!(keys.channels(""), "sf:{*}w");
        assert_eq!(keys.channels("a*[b]?\\:"), "sf:{a\\*\\[b\\]\\?\\\\:*}w");
        assert_eq!(keys.channels("}"), "sf:{~}*}w");
    }

    #[test]
    fn a_prefix_with_a_brace_is_refused() {
        assert!(Keyspace::new("app{1}:").is_none());
        assert!(Keyspace::new("").is_some());
    }
}
