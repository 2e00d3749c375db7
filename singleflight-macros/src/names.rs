//! What a key may name, and what it must.

use proc_macro2::{Ident, Span};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::{GenericParam, LitStr};

use crate::args::Args;
use crate::async_body::AsyncBody;
use crate::diag::{Errors, list, nearest};
use crate::item::Item;
use crate::key_template::{Hole, Template};
use crate::render::{Named, Part, ident, resolve};

/// The names of one function.
pub(crate) struct Names<'a> {
    args: Vec<Ident>,
    receiver: Option<Ident>,
    item: &'a Item,
}

impl<'a> Names<'a> {
    pub(crate) fn of(item: &'a Item) -> Self {
        let receiver = item.receiver().map(|receiver| Ident::new("self", receiver.self_token.span));
        Self { args: item.bindings(), receiver, item }
    }

    /// The function's own generic parameters.
    pub(crate) fn params(&self) -> impl Iterator<Item = &'a GenericParam> {
        self.item.sig.generics.params.iter()
    }

    /// The function's type parameters.
    pub(crate) fn types(&self) -> Vec<&'a Ident> {
        self.params()
            .filter_map(|param| match param {
                GenericParam::Type(param) => Some(&param.ident),
                _ => None,
            })
            .collect()
    }

    fn consts(&self) -> Vec<&'a Ident> {
        self.params()
            .filter_map(|param| match param {
                GenericParam::Const(param) => Some(&param.ident),
                _ => None,
            })
            .collect()
    }

    /// Whether a value of this name is there.
    fn has(&self, name: &str) -> bool {
        self.args.iter().any(|arg| arg.unraw() == name) || (name == "self" && self.receiver.is_some())
    }

    /// The placeholders that could be written, in the order of the signature.
    fn all(&self) -> Vec<String> {
        let receiver = self.receiver.iter().map(|_| "self.field".to_owned());
        let generics = self.types().into_iter().chain(self.consts());
        let args = self.args.iter().chain(generics).map(|name| name.unraw().to_string());
        receiver.chain(args).filter(|name| !name.starts_with("__")).collect()
    }

    /// What a placeholder's name stands for. `at` is the template's span.
    fn lookup(&self, hole: &Hole, at: Span, errors: &mut Errors) -> Option<Named> {
        let name = hole.name.as_str();
        let here = |declared: &Ident| {
            let mut used = declared.clone();
            used.set_span(at.resolved_at(declared.span()));
            Named::Value(used.to_token_stream(), declared.span())
        };
        if let Some(arg) = self.args.iter().find(|arg| arg.unraw() == name) {
            return Some(here(arg));
        }
        if let Some(param) = self.consts().into_iter().find(|param| param.unraw() == name) {
            return Some(here(param));
        }
        if name == "Self" || self.types().into_iter().any(|param| param.unraw() == name) {
            return self.type_name(hole, at, errors);
        }
        if name == "self" {
            if let Some(receiver) = &self.receiver {
                return Some(here(receiver));
            }
            errors.at(at, format!("`{}` in the key: `{}` has no `self`", hole.source, self.item.sig.ident));
            return None;
        }
        errors.at(at, self.unknown(hole));
        None
    }

    fn type_name(&self, hole: &Hole, at: Span, errors: &mut Errors) -> Option<Named> {
        if !hole.steps.is_empty() || hole.debug {
            errors.at(
                at,
                format!(
                    "`{}` in the key: `{}` is a type, whose name is written as `<{1}>`",
                    hole.source, hole.name
                ),
            );
            return None;
        }
        let declared = self.types().into_iter().find(|param| param.unraw() == hole.name.as_str());
        let span = declared.map_or(at, |declared| at.resolved_at(declared.span()));
        Some(Named::Type(ident(&hole.name, span).to_token_stream()))
    }

    fn unknown(&self, hole: &Hole) -> String {
        let known = self.all();
        let known = || known.iter().map(String::as_str);
        let start = format!("`{}` in the key names nothing of `{}`", hole.source, self.item.sig.ident);
        let capital = hole.name.starts_with(char::is_uppercase);
        // A single capital is as near to any other as it is to what was meant.
        let near = nearest(&hole.name, known())
            .filter(|near| !capital || hole.name.len() > 2 || near.eq_ignore_ascii_case(&hole.name));
        if let Some(near) = near {
            return format!("{start}: did you mean `<{near}>`?");
        }
        if capital {
            return format!(
                "{start}: the parameters of a surrounding `impl` cannot be named here; write `<Self>`"
            );
        }
        let placeholders: Vec<String> = known().map(|name| format!("<{name}>")).collect();
        if placeholders.is_empty() {
            return format!("{start}, which has no arguments: write it as plain text");
        }
        format!("{start}, which has {}", list(placeholders.iter().map(String::as_str), "and"))
    }
}

/// The key's parts, if nothing is wrong with the template and nothing is left out of it.
pub(crate) fn key_parts(
    args: &Args,
    item: &Item,
    names: &Names<'_>,
    body: Option<&AsyncBody>,
    errors: &mut Errors,
) -> Option<Vec<Part>> {
    let skipped: Vec<&Ident> = args.skip.iter().flat_map(|skip| &skip.value).collect();
    let source = &args.key.as_ref()?.value;
    let template = parse(source, errors)?;
    let parts = template_parts(&template, source, names, errors);
    skips(&skipped, &template, names, errors);
    // A name mistyped in the key, or a `skip` that cannot be read, may be the very one that seems to be left out.
    let complete = parts.is_some() && args.skip.is_some() == args.wrote("skip");
    if let Some(body) = body.filter(|_| complete) {
        left_out(&template, &skipped, item, names, body, errors);
    }
    parts
}

/// The template's parts, with the function's names.
pub(crate) fn template_parts(
    template: &Template,
    source: &LitStr,
    names: &Names<'_>,
    errors: &mut Errors,
) -> Option<Vec<Part>> {
    let parts = resolve(template, source.span(), |hole| names.lookup(hole, source.span(), errors));
    let braces = template.format_braces(|name| names.has(name));
    let mistaken = !braces.is_empty();
    braces.into_iter().for_each(|mistake| errors.at(source.span(), mistake));
    parts.filter(|_| !mistaken)
}

/// The template, or its mistakes.
pub(crate) fn parse(source: &LitStr, errors: &mut Errors) -> Option<Template> {
    match Template::parse(&source.value()) {
        Ok(template) => Some(template),
        Err(mistakes) => {
            mistakes.into_iter().for_each(|mistake| errors.at(source.span(), mistake));
            None
        }
    }
}

fn skips(skipped: &[&Ident], template: &Template, names: &Names<'_>, errors: &mut Errors) {
    for (at, name) in skipped.iter().enumerate() {
        let bare = name.unraw();
        let arguments = names.args.iter();
        let known =
            arguments.chain(names.types()).chain(names.consts()).map(|known| known.unraw().to_string());
        let known: Vec<String> = known.collect();
        if skipped[..at].iter().any(|earlier| earlier.unraw() == bare) {
            errors.at(name.span(), format!("`{bare}` is skipped twice"));
        } else if bare == "self" {
            errors.at(name.span(), "`self` need not be skipped: it is not part of the key unless named");
        } else if !known.iter().any(|known| bare == known.as_str()) {
            let near = nearest(&bare.to_string(), known.iter().map(String::as_str));
            let near = near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default();
            let function = &names.item.sig.ident;
            errors.at(name.span(), format!("`skip({bare})` names no argument of `{function}`{near}"));
        } else if template.holes().any(|hole| bare == hole.name.as_str()) {
            errors.at(name.span(), format!("`{bare}` is both skipped and in the key: keep one of the two"));
        }
    }
}

/// Refuses what may change the value and is neither in the key nor skipped.
fn left_out(
    template: &Template,
    skipped: &[&Ident],
    item: &Item,
    names: &Names<'_>,
    body: &AsyncBody,
    errors: &mut Errors,
) {
    let named = |name: &Ident| {
        let bare = name.unraw();
        skipped.iter().any(|skip| skip.unraw() == bare)
            || template.holes().any(|hole| bare == hole.name.as_str())
    };
    for name in &names.args {
        if !named(name) && !name.to_string().starts_with('_') {
            let bare = name.unraw();
            errors.at(
                name.span(),
                format!(
                    "`{bare}` is neither in the key nor skipped, so calls that differ in it would share a value: \
                     add `<{bare}>` to the key, or write `skip({bare})`"
                ),
            );
        }
    }
    for param in item.sig.generics.params.iter() {
        let (name, kind) = match param {
            GenericParam::Type(param) => (&param.ident, "type"),
            GenericParam::Const(param) => (&param.ident, "const"),
            GenericParam::Lifetime(_) => continue,
        };
        if !named(name) {
            errors.at(
                name.span(),
                format!(
                    "the {kind} parameter `{name}` is neither in the key nor skipped, so instances of `{}` would share \
                     a value: add `<{name}>` to the key, or write `skip({name})`",
                    item.sig.ident
                ),
            );
        }
    }
    for pat in body.hidden_parts(&names.args) {
        errors.on(
            &pat,
            "`#[async_trait]` hides the parts of this argument from the key: give it a plain name, and take it apart in \
             the body",
        );
    }
}

/// A name for use in statements of ours, which no user code can see.
pub(crate) fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// A use of such a name that is reported at `span`.
pub(crate) fn local_at(name: &Ident, span: Span) -> Ident {
    Ident::new(&name.to_string(), Span::mixed_site().located_at(span))
}
