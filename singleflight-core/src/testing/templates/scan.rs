//! Finding templates among the tokens of a file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Group, Literal, TokenStream, TokenTree};

use super::Template;
use super::files::File;
use super::shape::Shape;

/// What the macros are called.
#[derive(Debug)]
pub(super) struct Names {
    reads: BTreeSet<String>,
    invalidates: BTreeSet<String>,
    keys: BTreeSet<String>,
}

impl Names {
    /// The names in use in these sources.
    pub(super) fn in_all<'a>(files: impl Iterator<Item = &'a TokenStream> + Clone) -> Self {
        let one = |name: &str| BTreeSet::from([name.to_owned()]);
        let mut names =
            Self { reads: one("single_flight"), invalidates: one("invalidates"), keys: one("key") };
        let mut renamed = Vec::new();
        files.for_each(|tokens| renames(tokens.clone(), false, &mut renamed));
        // What was renamed may be renamed again, further up.
        while renamed.iter().any(|(from, to)| names.add(from, to)) {}
        names
    }

    /// Whether `to` is a new name, of what is called `from`.
    fn add(&mut self, from: &str, to: &str) -> bool {
        let all = [&mut self.reads, &mut self.invalidates, &mut self.keys];
        all.into_iter().any(|names| names.contains(from) && names.insert(to.to_owned()))
    }
}

/// Every `a as b` in a `use`.
fn renames(tokens: TokenStream, mut in_use: bool, renamed: &mut Vec<(String, String)>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => renames(group.stream(), in_use, renamed),
            TokenTree::Punct(punct) if punct.as_char() == ';' => in_use = false,
            TokenTree::Ident(word) if word == "use" => in_use = true,
            TokenTree::Ident(word) if in_use && word == "as" => {
                if let (Some(from), Some(to)) =
                    (at.checked_sub(1).and_then(|at| name(&tokens[at])), tokens.get(at + 1).and_then(name))
                {
                    renamed.push((from, to));
                }
            }
            _ => {}
        }
    }
}

fn name(token: &TokenTree) -> Option<String> {
    match token {
        TokenTree::Ident(word) => Some(word.to_string()),
        _ => None,
    }
}

/// What was found so far.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) reads: Vec<Template>,
    pub(super) invalidated: Vec<Template>,
}

/// Where the tokens stand that are looked at.
#[derive(Clone, Copy)]
struct Place<'a> {
    file: &'a Path,
    names: &'a Names,
    /// Whether they are compiled for tests only.
    test: bool,
    /// Whether they are the argument of `invalidate(..)`.
    invalidated: bool,
}

impl Found {
    pub(super) fn look_in(&mut self, file: &File, names: &Names) {
        let place = Place { file: &file.path, names, test: file.test, invalidated: false };
        self.look(file.tokens.clone(), place);
    }

    fn look(&mut self, tokens: TokenStream, mut place: Place<'_>) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        // From a `#[cfg(test)]` to the end of the item below it.
        let mut tests = false;
        for (at, token) in tokens.iter().enumerate() {
            let here = Place { test: place.test || tests, ..place };
            match token {
                TokenTree::Punct(punct) if punct.as_char() == ';' => tests = false,
                TokenTree::Group(group) => {
                    let before = |n: usize| at.checked_sub(n).map(|at| &tokens[at]);
                    if group.delimiter() == Delimiter::Bracket && is(before(1), '#') {
                        tests |= is_test(group);
                        self.attribute(group.stream(), here);
                    } else if is(before(1), '!') && is(before(2), '#') {
                        // `#![cfg(test)]` is for all that it stands in.
                        place.test |= is_test(group);
                    } else if let (Some(TokenTree::Ident(word)), true) = (before(2), is(before(1), '!')) {
                        if here.names.keys.contains(&word.to_string()) {
                            self.key(group, here);
                        } else {
                            self.look(group.stream(), here);
                        }
                    } else if let (Some(TokenTree::Ident(word)), true) = (before(1), is(before(2), '.')) {
                        self.call(&word.to_string(), group, here);
                    } else {
                        self.look(group.stream(), here);
                    }
                    tests &= group.delimiter() != Delimiter::Brace;
                }
                _ => {}
            }
        }
    }

    /// What stands in `#[..]`.
    fn attribute(&mut self, tokens: TokenStream, place: Place<'_>) {
        let mut before = None;
        for token in tokens {
            if let TokenTree::Group(group) = &token {
                let word = before.as_ref().and_then(name).unwrap_or_default();
                if place.names.reads.contains(&word) {
                    self.reads.extend(keys(group).map(|key| place.template(&key)));
                } else if place.names.invalidates.contains(&word) {
                    self.invalidated.extend(keys(group).map(|key| place.template(&key)));
                } else {
                    // `cfg_attr(.., single_flight(..))`
                    self.attribute(group.stream(), place);
                }
            }
            before = Some(token);
        }
    }

    /// `key!(..)`
    fn key(&mut self, group: &Group, place: Place<'_>) {
        let Some(TokenTree::Literal(text)) = group.stream().into_iter().next() else { return };
        let found = if place.invalidated { &mut self.invalidated } else { &mut self.reads };
        found.extend(string(&text).map(|_| place.template(&text)));
    }

    /// `.method(..)`
    fn call(&mut self, method: &str, group: &Group, place: Place<'_>) {
        if method == "flight"
            && let Some(TokenTree::Literal(text)) = group.stream().into_iter().next()
            && let Some(plain) = string(&text)
        {
            self.reads.push(Template { shape: Shape::plain(&plain), ..place.template(&text) });
        }
        let invalidated = place.invalidated || method == "invalidate";
        self.look(group.stream(), Place { invalidated, ..place });
    }
}

impl Place<'_> {
    fn template(&self, literal: &Literal) -> Template {
        let text = string(literal).unwrap_or_default();
        let (shape, file) = (Shape::of(&text), Some(self.file.to_owned()));
        Template { shape, text, file, line: literal.span().start().line, test: self.test }
    }
}

fn is(token: Option<&TokenTree>, punct: char) -> bool {
    matches!(token, Some(TokenTree::Punct(found)) if found.as_char() == punct)
}

/// The text of every `key = ".."` among an attribute's options.
fn keys(group: &Group) -> impl Iterator<Item = Literal> + use<> {
    let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
    let keys: Vec<Literal> = tokens
        .split(|token| is(Some(token), ','))
        .filter_map(|option| match option {
            [TokenTree::Ident(key), equals, TokenTree::Literal(text)]
                if key == "key" && is(Some(equals), '=') && string(text).is_some() =>
            {
                Some(text.clone())
            }
            _ => None,
        })
        .collect();
    keys.into_iter()
}

/// Whether an attribute says `cfg(test)` or `cfg(all(test, ..))`.
fn is_test(attribute: &Group) -> bool {
    fn asks(tokens: TokenStream, word: &str, then: impl Fn(TokenStream) -> bool) -> bool {
        let mut tokens = tokens.into_iter();
        match (tokens.next(), tokens.next(), tokens.next()) {
            (Some(TokenTree::Ident(found)), Some(TokenTree::Group(group)), None) => {
                found == word && then(group.stream())
            }
            _ => false,
        }
    }
    let is_word = |tokens: &[TokenTree]| matches!(tokens, [TokenTree::Ident(word)] if word == "test");
    let lists = |tokens: TokenStream| {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        tokens.split(|token| is(Some(token), ',')).any(is_word)
    };
    asks(attribute.stream(), "cfg", |tokens| lists(tokens.clone()) || asks(tokens, "all", lists))
}

/// The modules that a file declares under `#[cfg(test)]` and that have files of their own: without an ending.
pub(super) fn test_modules(file: &Path, tokens: &TokenStream) -> Vec<PathBuf> {
    let parent = file.parent().unwrap_or(Path::new(""));
    let stem = file.file_stem().unwrap_or_default();
    let own = ["lib", "main", "mod"].iter().any(|name| stem == *name);
    let folder = if own { parent.to_owned() } else { parent.join(stem) };
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let (mut tests, mut modules) = (false, Vec::new());
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => tests |= is_test(group),
            TokenTree::Group(group) => tests &= group.delimiter() != Delimiter::Brace,
            TokenTree::Punct(punct) if punct.as_char() == ';' => {
                let word = |n: usize| at.checked_sub(n).and_then(|at| name(&tokens[at]));
                if let (true, Some(module), Some("mod")) = (tests, word(1), word(2).as_deref()) {
                    modules.push(folder.join(module));
                }
                tests = false;
            }
            _ => {}
        }
    }
    modules
}

/// The text of a string literal; `None` for other literals.
fn string(literal: &Literal) -> Option<String> {
    let written = literal.to_string();
    if let Some(raw) = written.strip_prefix('r') {
        return Some(raw.trim_matches('#').strip_prefix('"')?.strip_suffix('"')?.to_owned());
    }
    let mut rest = written.strip_prefix('"')?.strip_suffix('"')?.chars();
    let mut text = String::new();
    while let Some(c) = rest.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        let number =
            |digits: &str| u32::from_str_radix(&digits.replace('_', ""), 16).ok().and_then(char::from_u32);
        match rest.next()? {
            'n' => text.push('\n'),
            'r' => text.push('\r'),
            't' => text.push('\t'),
            '0' => text.push('\0'),
            'x' => text.push(number(&rest.by_ref().take(2).collect::<String>())?),
            'u' => text.push(number(&rest.by_ref().skip(1).take_while(|c| *c != '}').collect::<String>())?),
            '\n' => rest = rest.as_str().trim_start().chars(),
            other => text.push(other),
        }
    }
    Some(text)
}
