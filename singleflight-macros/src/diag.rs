//! Mistakes, collected until all are known.

use std::fmt::Display;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

/// All mistakes of one use.
#[derive(Debug, Default)]
pub(crate) struct Errors(Option<syn::Error>);

impl Errors {
    /// A mistake at `span`: a lower-case clause that says what is wrong and what to write instead.
    pub(crate) fn at(&mut self, span: Span, message: impl Display) {
        self.push(syn::Error::new(span, message));
    }

    /// A mistake that spans `tokens`.
    pub(crate) fn on(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.push(syn::Error::new_spanned(tokens, message));
    }

    /// A mistake found while parsing.
    pub(crate) fn push(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(all) => all.combine(error),
            None => self.0 = Some(error),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// One `compile_error!` for each mistake.
    pub(crate) fn into_tokens(self) -> TokenStream {
        self.0.map(|all| all.to_compile_error()).unwrap_or_default()
    }

    #[cfg(test)]
    pub(crate) fn messages(self) -> Vec<String> {
        self.0.into_iter().flatten().map(|error| error.to_string()).collect()
    }
}

/// The known word that was probably meant.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = 1 + word.chars().count() / 4;
    known
        .into_iter()
        .map(|candidate| {
            // A word cut short is as near as a letter mistyped.
            let cut_short = word.len() > 2 && candidate.starts_with(word);
            (if cut_short { 1 } else { distance(word, candidate) }, candidate)
        })
        .filter(|&(distance, _)| distance <= limit)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// "`a`, `b` or `c`".
pub(crate) fn list<'a>(words: impl IntoIterator<Item = &'a str>, last: &str) -> String {
    let words: Vec<String> = words.into_iter().map(|word| format!("`{word}`")).collect();
    match words.split_last() {
        Some((end, rest)) if !rest.is_empty() => format!("{} {last} {end}", rest.join(", ")),
        _ => words.concat(),
    }
}

/// How many letters must be changed, added or removed to make one word of the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_near() {
        let known = ["key", "ttl", "soft_ttl", "lock_ttl_ms", "losers"];
        assert_eq!(nearest("loser", known), Some("losers"));
        assert_eq!(nearest("lock_ttl", known), Some("lock_ttl_ms"));
        assert_eq!(nearest("softttl", known), Some("soft_ttl"));
        assert_eq!(nearest("keys", known), Some("key"));
        assert_eq!(nearest("capacity", known), None);
    }

    #[test]
    fn lists_read_as_sentences() {
        assert_eq!(list([], "or"), "");
        assert_eq!(list(["a"], "or"), "`a`");
        assert_eq!(list(["a", "b", "c"], "and"), "`a`, `b` and `c`");
    }
}
