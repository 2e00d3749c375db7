//! Keys are one-to-one: different values never give one key, whatever is in them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Debug;
use std::rc::Rc;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use singleflight_core::{Key, MAX_KEY, key};

/// What is most likely to be mistaken for something else.
fn piece() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "%", "25", "%25", "%n", "%s", "%h", "n", "s", "h", "{", "}", ":", "/", "é", "ü", "\u{c3}", "\0",
        "\n", "\u{7f}", "\u{85}", "0", "A", "3A", "a", "𝄞", " ", "None",
    ])
}

/// Text made of such pieces.
fn nasty() -> impl Strategy<Value = String> {
    vec(piece(), 0..6).prop_map(|pieces| pieces.concat())
}

/// The pairs that have one key if they are put together by `separator` as they are.
fn splits(pieces: &[&str], separator: &str) -> Vec<(String, String)> {
    let joined = pieces.join(separator);
    let ends = joined.match_indices(separator).map(|(start, _)| (start, start + separator.len()));
    ends.map(|(start, end)| (joined[..start].to_owned(), joined[end..].to_owned())).collect()
}

/// Text of any length, often near the limits of the stack buffer and of keys.
fn long() -> impl Strategy<Value = String> {
    (prop_oneof![0..4_usize, 110..130_usize, 240..270_usize, 500..520_usize, 600..1500_usize], nasty())
        .prop_map(|(fill, end)| "x".repeat(fill) + &end)
}

/// No two different inputs give one key.
fn one_to_one<T: Debug + PartialEq>(inputs: Vec<T>, render: impl Fn(&T) -> Key) -> Result<(), TestCaseError> {
    let mut seen: HashMap<String, T> = HashMap::new();
    for input in inputs {
        let key = String::from(render(&input));
        prop_assert!(key.len() <= MAX_KEY);
        if let Some(other) = seen.get(&key) {
            prop_assert_eq!(other, &input, "both are {}", key);
        }
        seen.insert(key, input);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pairs_of_text(pairs in vec((nasty(), nasty()), 2..20)) {
        one_to_one(pairs.clone(), |(a, b)| key!("u/<a>/<b>/"))?;
        one_to_one(pairs.clone(), |(a, b)| key!("{<a>}:<b>"))?;
        one_to_one(pairs, |(a, b)| key!("<a:?>\u{85}<b:?>"))?;
    }

    /// One text, split wherever its separator stands: without encoding, all the pairs would have one key.
    #[test]
    fn one_text_split_in_many_ways(pieces in vec(piece(), 2..10)) {
        one_to_one(splits(&pieces, ":"), |(a, b)| key!("<a>:<b>"))?;
        one_to_one(splits(&pieces, "é"), |(a, b)| key!("<a>é<b>"))?;
        one_to_one(splits(&pieces, "0"), |(a, b)| key!("<a>0<b>"))?;
        one_to_one(splits(&pieces, "25"), |(a, b)| key!("<a>25<b>"))?;
        one_to_one(splits(&pieces, "n"), |(a, b)| key!("<a>n<b>"))?;
        one_to_one(splits(&pieces, "A"), |(a, b)| key!("<a>A<b>"))?;
        one_to_one(splits(&pieces, "3A"), |(a, b)| key!("<a>3A<b>"))?;
        one_to_one(splits(&pieces, "\u{85}"), |(a, b)| key!("<a>\u{85}<b>"))?;
    }

    /// A text and what it looks like when encoded: without encoding `%` itself, both would have one key.
    #[test]
    fn a_text_and_its_encoded_twins(text in nasty()) {
        let mut twins = vec![text.clone()];
        for _ in 0..2 {
            let encoded = [
                key!("<x>:", x = twins[twins.len() - 1].as_str()),
                key!("<x>", x = text.as_bytes()),
                key!("<x>a", x = text.as_str()),
            ];
            twins.extend(encoded.into_iter().map(|key| key.trim_end_matches([':']).to_owned()));
        }
        one_to_one(twins.clone(), |a| key!("<a>:"))?;
        one_to_one(twins.clone(), |a| key!("<a>"))?;
        one_to_one(twins.into_iter().map(Some).chain([None]).collect(), |a| key!("<a>a"))?;
    }

    #[test]
    fn options(triples in vec((proptest::option::of(nasty()), proptest::option::of(proptest::option::of(nasty())), nasty()), 2..40)) {
        one_to_one(triples.clone(), |(a, b, c)| key!("<a>:<b>:<c>"))?;
        one_to_one(triples.clone(), |(a, b, c)| key!("<a>n<b>s<c>"))?;
        one_to_one(triples, |(a, b, c)| key!("<c>s<b>n<a>"))?;
    }

    #[test]
    fn bytes_and_text(pairs in vec((vec(any::<u8>(), 0..6), nasty()), 2..40)) {
        one_to_one(pairs.clone(), |(a, b)| key!("<a>:<b>"))?;
        one_to_one(pairs, |(a, b)| key!("<b>n<a>"))?;
    }

    #[test]
    fn numbers(pairs in vec((any::<i64>(), any::<u8>(), any::<Option<i16>>(), any::<u128>()), 2..40)) {
        one_to_one(pairs.clone(), |(a, b, c, d)| key!("<a>-<b>-<c>-<d>"))?;
        one_to_one(pairs, |(a, b, c, d)| key!("<a>1<b>0<c>9<d>"))?;
    }

    #[test]
    fn long_values(pairs in vec((long(), long()), 2..20)) {
        one_to_one(pairs, |(a, b)| key!("<a>:<b>"))?;
    }

    #[test]
    fn what_displays_alike_is_written_alike(text in nasty(), number in any::<i64>()) {
        struct Shown<'a>(&'a str);
        impl std::fmt::Display for Shown<'_> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                // In fragments, as a `Display` of several fields does.
                self.0.chars().try_for_each(|c| write!(f, "{c}"))
            }
        }
        let plain = key!("<text>:");
        for other in [
            key!("<x>:", x = Shown(&text)),
            key!("<x>:", x = Some(Shown(&text))),
            key!("<x>:", x = Some(text.as_str())),
            key!("<x>:", x = Cow::Borrowed(text.as_str())),
            key!("<x>:", x = Arc::<str>::from(text.as_str())),
            key!("<x>:", x = Rc::new(Box::new(&text))),
            key!("<x>:", x = &&text),
        ] {
            prop_assert_eq!(&other, &plain);
        }
        prop_assert_eq!(key!("<number>:"), key!("<x>:", x = Shown(&number.to_string())));
        prop_assert_eq!(key!("<number>3"), key!("<x>3", x = Shown(&number.to_string())));
        prop_assert_eq!(key!("<number>-"), key!("<x>-", x = number.to_string()));
    }
}

#[test]
fn values_stay_readable() {
    let (name, id) = ("Zoë Smith", 7);
    assert_eq!(key!("user:<id>:<name>"), "user:7:Zoë Smith");
    assert_eq!(key!("{user:<id>}"), "{user:7}");
    assert_eq!(key!("<x>:", x = "a:b%c{d}\n"), "a%3Ab%25c%7Bd%7D%0A:");
    assert_eq!(key!("<x>é", x = "aéb"), "a%C3%A9bé");
    assert_eq!(key!("<x>", x = "\u{85}"), "%C2%85");
    assert_eq!(key!("<x>", x = "\u{a0}ß"), "\u{a0}ß");
}

#[test]
fn forms_of_their_own() {
    assert_eq!(key!("<x>", x = None::<u8>), "%n");
    assert_eq!(key!("<x>", x = Some("")), "");
    assert_eq!(key!("<x>", x = Some(None::<u8>)), "%s%n");
    assert_eq!(key!("<x>", x = Some(Some(None::<u8>))), "%s%s%n");
    assert_eq!(key!("<x>", x = Some(Some(7))), "7");
    assert_eq!(key!("<x>", x = b"a\xff%"), "a%FF%25");
    assert_eq!(key!("<x>", x = vec![1_u8]), "%01");
    assert_eq!(
        key!("<x>:<y>:<z>", x = true, y = 'é', z = i128::MIN),
        format!("true:é:{}", i128::MIN).as_str()
    );
    assert_eq!(key!("<x>", x = std::num::NonZero::<u64>::MAX), u64::MAX.to_string().as_str());
    assert_eq!(
        key!("<x>/<T>", x = Some(std::net::Ipv4Addr::LOCALHOST), type T = Option<str_alias::Str>),
        "127.0.0.1/core::option::Option<&str>"
    );
}

mod str_alias {
    pub(crate) type Str = &'static str;
}

#[test]
fn long_keys_are_shortened_and_stay_distinct() {
    let render = |x: &str| key!("user:<x>");
    let (a, b) = ("x".repeat(1000) + "a", "x".repeat(1000) + "b");
    assert!(render(&a).len() <= MAX_KEY && render(&a).starts_with("user:xxx") && render(&a) != render(&b));
    assert_eq!(render(&a), render(&a.clone()));
    // At the limit it is kept whole; beyond, no whole key looks like a shortened one.
    let whole = "x".repeat(MAX_KEY - 5);
    assert_eq!(render(&whole).len(), MAX_KEY);
    let shortened = render(&a);
    assert_ne!(key!("<x>", x = shortened.as_str()), shortened);
    // Cut between characters.
    assert!(render(&"é".repeat(400)).contains("%h"));
    assert!(render(&("y".to_owned() + &"é".repeat(400))).contains("%h"));
}

#[test]
#[should_panic(expected = "failed while a key was being rendered")]
fn a_display_that_fails_gives_no_key() {
    struct Fails;
    impl std::fmt::Display for Fails {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("half")?;
            Err(std::fmt::Error)
        }
    }
    let _ = key!("<x>", x = Fails);
}
