//! The function that carries the attribute. Its signature is parsed; its body stays as it was written.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, FnArg, Pat, Signature, Token, Visibility, braced, token};

/// A function.
pub(crate) struct Item {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    /// `None` in a trait's declaration.
    pub(crate) body: Option<Body>,
}

/// A function's body.
pub(crate) struct Body {
    pub(crate) brace: token::Brace,
    /// Inner attributes, `#![..]`.
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) tokens: TokenStream,
}

impl Parse for Item {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        let sig = input.parse()?;
        if input.parse::<Option<Token![;]>>()?.is_some() {
            return Ok(Self { attrs, vis, sig, body: None });
        }
        let content;
        let brace = braced!(content in input);
        let body = Body { brace, attrs: content.call(Attribute::parse_inner)?, tokens: content.parse()? };
        Ok(Self { attrs, vis, sig, body: Some(body) })
    }
}

impl Item {
    /// The function with another body.
    pub(crate) fn with_body(&self, tokens: &TokenStream) -> TokenStream {
        let Self { attrs, vis, sig, body } = self;
        let mut out = quote! { #(#attrs)* #vis #sig };
        match body {
            Some(body) => body.brace.surround(&mut out, |out| {
                out.extend(body.attrs.iter().map(ToTokens::to_token_stream));
                tokens.to_tokens(out);
            }),
            None => out.extend(quote! { ; }),
        }
        out
    }

    /// The arguments that are not the receiver, and what they bind.
    pub(crate) fn bindings(&self) -> Vec<Ident> {
        let mut names = Vec::new();
        for arg in &self.sig.inputs {
            if let FnArg::Typed(arg) = arg {
                bound_names(&arg.pat, &mut names);
            }
        }
        names
    }

    /// The receiver's `self`.
    pub(crate) fn receiver(&self) -> Option<&syn::Receiver> {
        self.sig.inputs.iter().find_map(|arg| match arg {
            FnArg::Receiver(receiver) => Some(receiver),
            FnArg::Typed(_) => None,
        })
    }
}

/// The names that a pattern binds.
pub(crate) fn bound_names(pat: &Pat, names: &mut Vec<Ident>) {
    match pat {
        Pat::Ident(pat) => {
            names.push(pat.ident.clone());
            if let Some((_, inner)) = &pat.subpat {
                bound_names(inner, names);
            }
        }
        Pat::Or(pat) => pat.cases.iter().take(1).for_each(|pat| bound_names(pat, names)),
        Pat::Paren(pat) => bound_names(&pat.pat, names),
        Pat::Reference(pat) => bound_names(&pat.pat, names),
        Pat::Slice(pat) => pat.elems.iter().for_each(|pat| bound_names(pat, names)),
        Pat::Struct(pat) => pat.fields.iter().for_each(|field| bound_names(&field.pat, names)),
        Pat::Tuple(pat) => pat.elems.iter().for_each(|pat| bound_names(pat, names)),
        Pat::TupleStruct(pat) => pat.elems.iter().for_each(|pat| bound_names(pat, names)),
        Pat::Type(pat) => bound_names(&pat.pat, names),
        _ => {}
    }
}
