//! From a template to the statements that render it.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::Path;

use crate::key_template::{Hole, Piece, Step, Template};

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
    at: Span,
    mut lookup: impl FnMut(&Hole) -> Option<Named>,
) -> Option<Vec<Part>> {
    let mut parts = Some(Vec::new());
    for piece in &template.0 {
        let part = match piece {
            Piece::Text(text) => Some(Part::Text(text.clone())),
            Piece::Hole(hole) => lookup(hole).map(|named| match named {
                Named::Type(ty) => Part::Type(ty),
                Named::Value(head, span) => {
                    let steps = hole.steps.iter().map(|step| step_tokens(step, at));
                    Part::Value { value: quote! { #head #(#steps)* }, debug: hole.debug, span }
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
/// use ::singleflight_core::__private::{PutDisplay as _, PutOption as _};
/// ::singleflight_core::__private::KeyBuf::text(&mut key, "user:");
/// ::singleflight_core::__private::Part::new(&id).__sf_put(&mut key, '/');
/// ::singleflight_core::__private::KeyBuf::text(&mut key, "/");
/// ::singleflight_core::__private::KeyBuf::finish(&mut key);
/// ```
///
/// Methods are called by their paths, here and wherever output could meet a trait of the user's: one that is
/// implemented for everything is found before a method that needs a reference.
pub(crate) fn statements(parts: &[Part], key: &Ident, root: &Path) -> TokenStream {
    let buffer = quote! { #root::__private::KeyBuf };
    let steps = parts.iter().enumerate().map(|(at, part)| {
        let stop = match parts.get(at + 1) {
            Some(Part::Text(text)) => text.chars().next().unwrap_or('\0'),
            _ => '\0',
        };
        match part {
            Part::Text(text) => quote! { #buffer::text(&mut #key, #text); },
            Part::Type(ty) => quote! { #buffer::type_name::<#ty>(&mut #key, #stop); },
            Part::Value { value, debug: true, span } => {
                let debug = Ident::new("debug", Span::call_site().located_at(*span));
                quote! { #buffer::#debug(&mut #key, &#value, #stop); }
            }
            Part::Value { value, debug: false, span } => {
                let put = Ident::new("__sf_put", Span::call_site().located_at(*span));
                quote! { #root::__private::Part::new(&#value).#put(&mut #key, #stop); }
            }
        }
    });
    let values = parts.iter().any(|part| matches!(part, Part::Value { debug: false, .. }));
    let traits = values.then(|| {
        quote! {
            #[allow(unused_imports)]
            use #root::__private::{PutDisplay as _, PutOption as _};
        }
    });
    quote! {
        #traits
        #(#steps)*
        #buffer::finish(&mut #key);
    }
}
