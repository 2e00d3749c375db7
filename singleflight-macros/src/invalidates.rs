//! `#[invalidates]`: keys that a write makes out of date.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::parse::{ParseStream, Parser};
use syn::{Expr, LitStr, Path};

use crate::args::{krate, options, text, value};
use crate::async_body::{AsyncBody, output};
use crate::diag::{Errors, nearest};
use crate::function::asynchronous;
use crate::future::future;
use crate::item::Item;
use crate::model::root;
use crate::names::{Names, local, parse, template_parts};
use crate::options::unknown;
use crate::render::{Part, import, owned_key};

/// The options of one `#[invalidates]`.
#[derive(Default)]
struct Args {
    keys: Vec<LitStr>,
    flights: Option<Expr>,
    krate: Option<Path>,
    /// Whether a key was written, readable or not, or something that was probably meant to be one.
    wrote_key: bool,
}

impl Args {
    fn parse(tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut args = Self::default();
        let parser = |input: ParseStream<'_>| {
            let nameless = options(input, errors, |key, input| args.option(key, input));
            args.wrote_key |= nameless;
            Ok(())
        };
        if let Err(error) = parser.parse2(tokens) {
            errors.push(error);
        }
        args
    }

    fn option(&mut self, key: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
        let twice =
            || Err(syn::Error::new(key.span(), format!("`{key}` is written twice: keep one of them")));
        match key.to_string().as_str() {
            "key" => {
                self.wrote_key = true;
                self.keys.push(text(key, input, "a template, as in `key = \"user:<user.id>\"`")?);
            }
            "flights" if self.flights.is_some() => return twice(),
            "flights" => self.flights = Some(value(key, input)?),
            "crate" if self.krate.is_some() => return twice(),
            "crate" => self.krate = Some(krate(key, input)?),
            other => {
                self.wrote_key |= nearest(other, ["key"]).is_some();
                return Err(unknown(key, &["key", "flights", "crate"], "invalidates"));
            }
        }
        Ok(())
    }
}

/// A use that makes sense.
struct Model<'a> {
    item: &'a Item,
    body: AsyncBody,
    root: Path,
    keys: Vec<Vec<Part>>,
    flights: Option<Expr>,
}

impl<'a> Model<'a> {
    fn new(args: Args, item: &'a Item, errors: &mut Errors) -> Option<Self> {
        let body = asynchronous(item, errors);
        if !args.wrote_key {
            errors.at(
                Span::call_site(),
                "nothing to invalidate: write the keys, as in `#[invalidates(key = \"user:<user.id>\")]`",
            );
        }
        let names = Names::of(item);
        let mut keys = Vec::new();
        for source in &args.keys {
            if let Some(template) = parse(source, errors) {
                keys.extend(template_parts(&template, source, &names, errors));
            }
        }
        if !errors.is_empty() {
            return None;
        }
        Some(Self { item, body: body?, root: root(args.krate.as_ref()), keys, flights: args.flights })
    }
}

/// The function, or all that is wrong with the use.
pub(crate) fn expand(args: TokenStream, item: &Item, errors: &mut Errors) -> Option<TokenStream> {
    let args = Args::parse(args, errors);
    let model = Model::new(args, item, errors)?;
    let Model { item, body, root, keys, flights } = &model;
    let import = import(root);
    let (guard, engine, result) = (local("__sf_guard"), local("__sf_flights"), local("__sf_result"));
    let keys = keys.iter().map(|parts| owned_key(parts));
    let (engine_let, engine) = match flights {
        Some(expr) => (
            Some(quote! { let #engine: &#root::SingleFlight = #expr; }),
            quote! { ::core::option::Option::Some(#engine) },
        ),
        None => (None, quote! { ::core::option::Option::None }),
    };
    let output = output(item, body).filter(names_a_type);
    let future = future(item, body, output.as_ref());
    Some(item.with_body(&body.replace(quote! {
        #import
        let #guard = {
            #engine_let
            __sf::Invalidating::new(#engine, [#(#keys),*])
        };
        #[allow(clippy::let_unit_value)]
        let #result = #future.await;
        __sf::Invalidating::finish(#guard).await;
        #result
    })))
}

/// Whether a type has a name: `impl Trait` has none.
fn names_a_type(output: &TokenStream) -> bool {
    output.clone().into_iter().all(|token| match token {
        proc_macro2::TokenTree::Ident(ident) => ident != "impl",
        proc_macro2::TokenTree::Group(group) => names_a_type(&group.stream()),
        _ => true,
    })
}
