//! The options, as written. What they mean together is the model's business.

use proc_macro2::{Ident, TokenStream};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Expr, ExprPath, LitStr, Path, Token, parenthesized, token};

use crate::diag::{Errors, list, nearest};
use crate::duration::{Duration, Unit};
use crate::options::{OPTIONS, unknown};

/// An option's value and the key that it was written with.
pub(crate) struct Opt<T> {
    pub(crate) key: Ident,
    pub(crate) value: T,
}

/// How long the lease lasts.
pub(crate) enum LockTtl {
    Auto,
    Fixed(Duration),
}

impl LockTtl {
    /// The duration, if it is fixed.
    pub(crate) fn duration(&self) -> Option<&Duration> {
        match self {
            Self::Auto => None,
            Self::Fixed(duration) => Some(duration),
        }
    }
}

/// What a caller without the lease does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Losers {
    Stale,
    Wait,
    Default,
    Fail,
}

/// What the callers that waited for a failed load get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorsOption {
    Share,
    Retry,
}

/// The options of one `#[single_flight]`.
#[derive(Default)]
pub(crate) struct Args {
    pub(crate) key: Option<Opt<LitStr>>,
    pub(crate) ttl: Option<Opt<Duration>>,
    pub(crate) soft_ttl: Option<Opt<Duration>>,
    pub(crate) negative_ttl: Option<Opt<Duration>>,
    pub(crate) lock_ttl_ms: Option<Opt<LockTtl>>,
    pub(crate) losers: Option<Opt<Losers>>,
    pub(crate) default: Option<Opt<Expr>>,
    pub(crate) skip: Option<Opt<Vec<Ident>>>,
    pub(crate) spawn: Option<Opt<()>>,
    pub(crate) local: Option<Opt<()>>,
    pub(crate) version: Option<Opt<u16>>,
    pub(crate) errors: Option<Opt<ErrorsOption>>,
    pub(crate) share_error: Option<Opt<ExprPath>>,
    pub(crate) cache_if: Option<Opt<ExprPath>>,
    pub(crate) flights: Option<Opt<Expr>>,
    pub(crate) policy: Option<Opt<ExprPath>>,
    pub(crate) name: Option<Opt<LitStr>>,
    pub(crate) krate: Option<Opt<Path>>,
    /// Keys that were written, with a usable value or not, or that were probably meant.
    seen: Vec<String>,
    /// Whether something was written that has no key.
    broken: bool,
}

impl Args {
    /// Reads the options; those that cannot be read are missing and their mistakes told.
    pub(crate) fn parse(tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut args = Self::default();
        let parser = |input: ParseStream<'_>| {
            args.broken = options(input, errors, |key, input| args.option(key, input));
            Ok(())
        };
        if let Err(error) = parser.parse2(tokens) {
            errors.push(error);
        }
        args
    }

    /// Whether an option was written, even if its value could not be read.
    pub(crate) fn wrote(&self, key: &str) -> bool {
        self.seen.iter().any(|seen| seen == key)
    }

    /// Whether an option was forgotten, and nothing was written that may be meant to be it.
    pub(crate) fn misses(&self, key: &str) -> bool {
        !self.broken && !self.wrote(key)
    }

    fn option(&mut self, key: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
        let name = key.to_string();
        if OPTIONS.contains(&name.as_str()) {
            if self.wrote(&name) {
                return Err(syn::Error::new(
                    key.span(),
                    format!("`{name}` is written twice: keep one of them"),
                ));
            }
            self.seen.push(name.clone());
        }
        match name.as_str() {
            "key" => set(&mut self.key, key, text(key, input, "a template, as in `key = \"user:<id>\"`")?),
            "ttl" => set(&mut self.ttl, key, duration(key, Unit::Seconds, input)?),
            "soft_ttl" => set(&mut self.soft_ttl, key, duration(key, Unit::Seconds, input)?),
            "negative_ttl" => set(&mut self.negative_ttl, key, duration(key, Unit::Seconds, input)?),
            "lock_ttl_ms" => set(&mut self.lock_ttl_ms, key, lock_ttl(key, input)?),
            "losers" => set(&mut self.losers, key, losers(key, input)?),
            "default" => set(&mut self.default, key, value(key, input)?),
            "skip" => set(&mut self.skip, key, names(key, input)?),
            "spawn" => set(&mut self.spawn, key, flag(key, input)?),
            "local" => set(&mut self.local, key, flag(key, input)?),
            "version" => set(&mut self.version, key, version(key, input)?),
            "errors" => set(&mut self.errors, key, errors_option(key, input)?),
            "share_error" => set(&mut self.share_error, key, path(key, input, "a function, `fn(&E) -> E`")?),
            "cache_if" => set(&mut self.cache_if, key, path(key, input, "a function, `fn(&T) -> bool`")?),
            "flights" => set(&mut self.flights, key, value(key, input)?),
            "policy" => set(&mut self.policy, key, path(key, input, "a constant, `const HOT: Policy = ..`")?),
            "name" => set(&mut self.name, key, site_name(key, input)?),
            "crate" => set(&mut self.krate, key, krate(key, input)?),
            _ => {
                self.seen.extend(nearest(&name, OPTIONS).map(str::to_owned));
                return Err(unknown(key, &OPTIONS, "single_flight"));
            }
        }
        Ok(())
    }
}

fn set<T>(slot: &mut Option<Opt<T>>, key: &Ident, value: T) {
    *slot = Some(Opt { key: key.clone(), value });
}

/// Reads `key = value`, `key(value)` and `key`, separated by commas. After a mistake it goes on behind the next comma.
/// Whether something had no key.
pub(crate) fn options(
    input: ParseStream<'_>,
    errors: &mut Errors,
    mut option: impl FnMut(&Ident, ParseStream<'_>) -> syn::Result<()>,
) -> bool {
    let mut nameless = false;
    while !input.is_empty() {
        let key = any_key(input);
        nameless |= key.is_err();
        let read = key.and_then(|key| option(&key, input));
        if read.is_ok() && input.peek(Ident::peek_any) {
            errors.push(input.error("expected a comma between two options"));
            continue;
        }
        let read = read.and_then(|()| {
            if input.is_empty() || input.peek(Token![,]) {
                return Ok(());
            }
            Err(input.error("expected a comma behind the option"))
        });
        if let Err(error) = read {
            nameless |= input.peek(Token![;]);
            errors.push(error);
            while !input.is_empty() && !input.peek(Token![,]) {
                // A token tree can always be read where the input is not at its end.
                let _ = input.parse::<proc_macro2::TokenTree>();
            }
        }
        let _ = input.parse::<Option<Token![,]>>();
    }
    nameless
}

fn any_key(input: ParseStream<'_>) -> syn::Result<Ident> {
    if input.peek(LitStr) {
        let template: LitStr = input.parse()?;
        let message = format!("the key has no name: write `key = \"{}\"`", template.value());
        return Err(syn::Error::new(template.span(), message));
    }
    input.call(Ident::parse_any).map_err(|error| {
        syn::Error::new(error.span(), "expected an option, as in `key = \"user:<id>\"` or `ttl = 30`")
    })
}

fn equals(key: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
    if input.peek(Token![=]) && !input.peek(Token![==]) {
        return input.parse::<Token![=]>().map(drop);
    }
    Err(syn::Error::new(key.span(), format!("`{key}` needs a value: write `{key} = ..`")))
}

/// `= expression`
pub(crate) fn value(key: &Ident, input: ParseStream<'_>) -> syn::Result<Expr> {
    equals(key, input)?;
    if input.is_empty() || input.peek(Token![,]) {
        return Err(syn::Error::new(key.span(), format!("`{key} =` needs a value behind the `=`")));
    }
    input.parse().map(bare)
}

/// An expression that a macro's `$x:literal` or `$x:path` has put into an invisible group, taken out of it.
fn bare(expr: Expr) -> Expr {
    match expr {
        Expr::Group(group) => bare(*group.expr),
        other => other,
    }
}

/// `= "text"`
pub(crate) fn text(key: &Ident, input: ParseStream<'_>, what: &str) -> syn::Result<LitStr> {
    match value(key, input)? {
        Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Ok(text),
        other => Err(syn::Error::new_spanned(other, format!("`{key}` takes {what}, as a string literal"))),
    }
}

fn duration(key: &Ident, unit: Unit, input: ParseStream<'_>) -> syn::Result<Duration> {
    Duration::from_expr(&key.to_string(), unit, value(key, input)?)
}

fn lock_ttl(key: &Ident, input: ParseStream<'_>) -> syn::Result<LockTtl> {
    let value = value(key, input)?;
    if let Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &value
        && text.value() == "auto"
    {
        return Ok(LockTtl::Auto);
    }
    Duration::from_expr(&key.to_string(), Unit::Millis, value).map(LockTtl::Fixed)
}

fn word<T: Copy>(key: &Ident, input: ParseStream<'_>, known: &[(&str, T)]) -> syn::Result<T> {
    let words = || known.iter().map(|(word, _)| *word);
    let quoted: Vec<String> = words().map(|word| format!("\"{word}\"")).collect();
    let all = list(quoted.iter().map(String::as_str), "or");
    let given = text(key, input, &all)?;
    let value = given.value();
    if let Some((_, found)) = known.iter().find(|(word, _)| *word == value) {
        return Ok(*found);
    }
    let message = match nearest(&value, words()) {
        Some(near) => format!("`{key} = \"{value}\"` is not known: did you mean `\"{near}\"`?"),
        None => format!("`{key} = \"{value}\"` is not known: it may be {all}"),
    };
    Err(syn::Error::new(given.span(), message))
}

fn losers(key: &Ident, input: ParseStream<'_>) -> syn::Result<Losers> {
    let known = [
        ("stale", Losers::Stale),
        ("wait", Losers::Wait),
        ("default", Losers::Default),
        ("fail", Losers::Fail),
    ];
    word(key, input, &known)
}

fn errors_option(key: &Ident, input: ParseStream<'_>) -> syn::Result<ErrorsOption> {
    word(key, input, &[("share", ErrorsOption::Share), ("retry", ErrorsOption::Retry)])
}

fn names(key: &Ident, input: ParseStream<'_>) -> syn::Result<Vec<Ident>> {
    if !input.peek(token::Paren) {
        return Err(syn::Error::new(key.span(), "`skip` takes names in parentheses: write `skip(ctx)`"));
    }
    let content;
    parenthesized!(content in input);
    let content: TokenStream = content.parse()?;
    let parser = Punctuated::<Ident, Token![,]>::parse_terminated_with;
    let names =
        (|input: ParseStream<'_>| parser(input, Ident::parse_any)).parse2(content).map_err(|error| {
            syn::Error::new(error.span(), "`skip(..)` takes the names of arguments, separated by commas")
        })?;
    if names.is_empty() {
        return Err(syn::Error::new(key.span(), "`skip()` skips nothing: name an argument, or leave it out"));
    }
    Ok(names.into_iter().collect())
}

fn flag(key: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
    if input.is_empty() || input.peek(Token![,]) {
        return Ok(());
    }
    Err(syn::Error::new(key.span(), format!("`{key}` is a flag: write `{key}` alone, or leave it out")))
}

fn version(key: &Ident, input: ParseStream<'_>) -> syn::Result<u16> {
    let value = value(key, input)?;
    let read = match &value {
        Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(number), .. }) => number.base10_parse().ok(),
        _ => None,
    };
    read.ok_or_else(|| {
        let message = "`version` takes a number from 0 to 65535, to be raised when the value's type changes";
        syn::Error::new_spanned(&value, message)
    })
}

pub(crate) fn path(key: &Ident, input: ParseStream<'_>, what: &str) -> syn::Result<ExprPath> {
    match value(key, input)? {
        Expr::Path(path) => Ok(path),
        other => Err(syn::Error::new_spanned(other, format!("`{key}` takes the path of {what}"))),
    }
}

fn site_name(key: &Ident, input: ParseStream<'_>) -> syn::Result<LitStr> {
    let name = text(key, input, "a label, as in `name = \"users.find\"`")?;
    if name.value().trim().is_empty() {
        return Err(syn::Error::new(
            name.span(),
            "`name` is empty: write a label, as in `name = \"users.find\"`",
        ));
    }
    Ok(name)
}

pub(crate) fn krate(key: &Ident, input: ParseStream<'_>) -> syn::Result<Path> {
    equals(key, input)?;
    input.call(Path::parse_mod_style).map_err(|error| {
        syn::Error::new(error.span(), "`crate` takes a path, as in `crate = ::my_facade::singleflight`")
    })
}
