//! `key!`: a key for a call by hand.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Expr, LitStr, Path, Token, Type};

use crate::diag::Errors;
use crate::key_template::Hole;
use crate::model::root;
use crate::names::parse;
use crate::render::{Named, ident, import, owned_key, resolve};

/// `"user:<id>", id = user.id, type T = User, crate = path`
struct Input {
    template: LitStr,
    values: Vec<(Ident, Expr)>,
    types: Vec<(Ident, Type)>,
    krate: Option<Path>,
}

impl Parse for Input {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let template = input.parse().map_err(|error| {
            syn::Error::new(error.span(), "`key!` takes a template, as in `key!(\"user:<id>\")`")
        })?;
        let mut this = Self { template, values: Vec::new(), types: Vec::new(), krate: None };
        while input.parse::<Option<Token![,]>>()?.is_some() && !input.is_empty() {
            if input.parse::<Option<Token![type]>>()?.is_some() {
                let name = input.parse()?;
                input.parse::<Token![=]>()?;
                this.types.push((name, input.parse()?));
            } else if input.parse::<Option<Token![crate]>>()?.is_some() {
                input.parse::<Token![=]>()?;
                this.krate = Some(input.call(Path::parse_mod_style)?);
            } else {
                let name = input.call(Ident::parse_any)?;
                input.parse::<Token![=]>()?;
                this.values.push((name, input.parse()?));
            }
        }
        if input.is_empty() {
            return Ok(this);
        }
        Err(input.error("expected a comma and then `name = value` or `type T = Type`"))
    }
}

/// `key!(input)`
pub(crate) fn expand(input: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let input = match syn::parse2::<Input>(input) {
        Ok(input) => input,
        Err(error) => return error.to_compile_error(),
    };
    let at = input.template.span();
    let template = parse(&input.template, &mut errors);
    let parts = template.as_ref().and_then(|template| {
        // Without a placeholder there was no need for the macro: what stands in braces was meant as one.
        let given = |name: &str| input.values.iter().any(|(given, _)| given.unraw() == name);
        let braces = template.format_braces(|name| template.holes().next().is_none() || given(name));
        if braces.is_empty() {
            unused(&input, template.holes(), &mut errors);
        }
        braces.into_iter().for_each(|mistake| errors.at(at, mistake));
        resolve(template, at, |hole| lookup(&input, hole, at, &mut errors))
    });
    let Some(parts) = parts.filter(|_| errors.is_empty()) else {
        // A block, since several macros in a row are no expression.
        let errors = errors.into_tokens();
        return quote! {{ #errors }};
    };
    let import = import(&root(input.krate.as_ref()));
    let key = owned_key(&parts);
    quote! {{
        #import
        #key
    }}
}

fn unused<'a>(input: &Input, holes: impl Iterator<Item = &'a Hole>, errors: &mut Errors) {
    let holes: Vec<&Hole> = holes.collect();
    let given = input.values.iter().map(|(name, _)| name).chain(input.types.iter().map(|(name, _)| name));
    for name in given {
        if !holes.iter().any(|hole| name.unraw() == hole.name.as_str()) {
            errors.at(name.span(), format!("the template has no `<{}>`", name.unraw()));
        }
    }
}

fn lookup(input: &Input, hole: &Hole, at: Span, errors: &mut Errors) -> Option<Named> {
    let name = hole.name.as_str();
    if let Some((_, value)) = input.values.iter().find(|(given, _)| given.unraw() == name) {
        return Some(Named::Value(quote! { (#value) }, at));
    }
    let ty = input.types.iter().find(|(given, _)| given.unraw() == name).map(|(_, ty)| ty.to_token_stream());
    let ty = ty.or_else(|| (name == "Self").then(|| ident(name, at).to_token_stream()));
    if let Some(ty) = ty {
        if hole.steps.is_empty() && !hole.debug {
            return Some(Named::Type(ty));
        }
        errors.at(at, format!("`{}`: `{name}` is a type, whose name is written as `<{name}>`", hole.source));
        return None;
    }
    if name.starts_with(char::is_uppercase) {
        errors.at(
            at,
            format!(
                "`<{name}>` may be a type or a constant: write `key!(.., type {name} = {name})` or \
                 `key!(.., {name} = {name})`"
            ),
        );
        return None;
    }
    Some(Named::Value(ident(name, at).to_token_stream(), at))
}
