//! From a template to the statements that render it.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::Path;

use crate::future::at;
use crate::key_template::{Hole, Piece, Step, Template};
use crate::names::local;

/// A piece of a key whose names are known.
pub(crate) enum Part {
    Text(String),
    /// A value; `span` is where it is declared.
    Value {
        value: TokenStream,
        debug: bool,
        span: Span,
    },
    /// The name of a type.
    Type(TokenStream),
}

/// What a placeholder's name stands for.
pub(crate) enum Named {
    /// An expression, and where it is declared.
    Value(TokenStream, Span),
    /// A type.
    Type(TokenStream),
}

/// The template's parts; `lookup` knows the names, and tells what it does not know itself.
pub(crate) fn resolve(
    template: &Template,
    span: Span,
    mut lookup: impl FnMut(&Hole) -> Option<Named>,
) -> Option<Vec<Part>> {
    let mut parts = Some(Vec::new());
    for piece in &template.0 {
        let part = match piece {
            Piece::Text(text) => Some(Part::Text(text.clone())),
            Piece::Hole(hole) => lookup(hole).map(|named| match named {
                Named::Type(ty) => Part::Type(ty),
                Named::Value(head, declared) => {
                    let steps = hole.steps.iter().map(|step| step_tokens(step, span));
                    Part::Value { value: quote! { #head #(#steps)* }, debug: hole.debug, span: declared }
                }
            }),
        };
        match (part, &mut parts) {
            (Some(part), Some(all)) => all.push(part),
            _ => parts = None,
        }
    }
    parts
}

fn step_tokens(step: &Step, at: Span) -> TokenStream {
    match step {
        Step::Field(name) => {
            let name = ident(name, at);
            quote! { .#name }
        }
        Step::Index(index) => {
            let mut index = Literal::u32_unsuffixed(*index);
            index.set_span(at);
            quote! { .#index }
        }
        Step::Method(name) => {
            let name = ident(name, at);
            quote_spanned! { at => .#name() }
        }
    }
}

/// An identifier, raw if its name is a keyword.
pub(crate) fn ident(name: &str, span: Span) -> Ident {
    match syn::parse_str::<Ident>(name) {
        Ok(_) => Ident::new(name, span),
        Err(_) if matches!(name, "self" | "Self" | "super" | "crate") => Ident::new(name, span),
        Err(_) => Ident::new_raw(name, span),
    }
}

/// Statements that append `parts` to the `KeyBuf` named `key`.
///
/// Input: `"user:<id>/"`. Output:
/// ```text
/// use __sf::probes::*;
/// __sf::KeyBuf::text(&mut key, "user:");
/// __sf::part(&id).__sf_put(&mut key, '/');
/// __sf::KeyBuf::text(&mut key, "/");
/// __sf::KeyBuf::finish(&mut key);
/// ```
///
/// Methods are called by their paths, here and wherever output could meet a trait of the user's: one that is
/// implemented for everything is found before a method that needs a reference.
pub(crate) fn statements(parts: &[Part], key: &Ident) -> TokenStream {
    let steps = parts.iter().enumerate().map(|(index, part)| {
        let stop = match parts.get(index + 1) {
            Some(Part::Text(text)) => text.chars().next().unwrap_or('\0'),
            _ => '\0',
        };
        match part {
            Part::Text(text) => quote! { __sf::KeyBuf::text(&mut #key, #text); },
            Part::Type(ty) => quote! { __sf::KeyBuf::type_name::<#ty>(&mut #key, #stop); },
            Part::Value { value, debug, span } => {
                if *debug {
                    quote_spanned! { at(*span) => __sf::put_debug(&mut #key, &#value, #stop); }
                } else {
                    quote_spanned! { at(*span) => __sf::part(&#value).__sf_put(&mut #key, #stop); }
                }
            }
        }
    });
    let values = parts.iter().any(|part| matches!(part, Part::Value { debug: false, .. }));
    let probes = values.then(probes);
    quote! {
        #probes
        #(#steps)*
        __sf::KeyBuf::finish(&mut #key);
    }
}

/// An expression for the key with these parts, owned.
pub(crate) fn owned_key(parts: &[Part]) -> TokenStream {
    let key = local("__sf_key");
    let statements = statements(parts, &key);
    quote! {{
        let mut #key = __sf::KeyBuf::new();
        { #statements }
        __sf::KeyBuf::into_key(#key)
    }}
}

/// The item that gives the private module its name, at the start of every block of ours.
pub(crate) fn import(root: &Path) -> TokenStream {
    quote! { use #root::__private as __sf; }
}

/// The traits whose methods are looked up; they have no names that could hide the user's.
pub(crate) fn probes() -> TokenStream {
    quote! {
        #[allow(unused_imports)]
        use __sf::probes::*;
    }
}
