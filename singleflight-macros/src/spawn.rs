//! `spawn`: the body as a future that owns what it uses.

use proc_macro2::{Delimiter, Group, Ident, Spacing, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{FnArg, Pat, ReceiverKind, Type};

use crate::async_body::AsyncBody;
use crate::diag::Errors;
use crate::future::at;
use crate::item::Item;
use crate::names::local_at;

/// What is copied for the fill's task, and under which name the body sees it.
pub(crate) struct Spawn {
    /// Borrowed arguments that the body uses.
    args: Vec<Ident>,
    /// The `self` of a borrowed receiver. It cannot be bound anew: the body says `__sf_self` instead.
    receiver: Option<Ident>,
}

impl Spawn {
    /// What must be copied, or why it cannot be.
    pub(crate) fn of(item: &Item, body: &AsyncBody, key: &Ident, errors: &mut Errors) -> Self {
        let mut spawn = Self { args: Vec::new(), receiver: None };
        let inside = item.body.as_ref().map(|tokens| body.tokens(tokens)).unwrap_or_default();
        for arg in &item.sig.inputs {
            match arg {
                FnArg::Receiver(receiver) => {
                    let borrowed = match &receiver.kind {
                        ReceiverKind::Reference(..) => true,
                        ReceiverKind::Typed(_, ty) => {
                            matches!(**ty, Type::Reference(_)) || {
                                owned(&ty.to_token_stream(), errors);
                                false
                            }
                        }
                        _ => false,
                    };
                    if borrowed && mentions(&inside, "self") {
                        spawn.receiver = Some(Ident::new("self", receiver.self_token.span));
                        formatted_self(&inside, errors);
                    }
                }
                FnArg::Typed(arg) => match (&*arg.pat, &*arg.ty) {
                    (Pat::Wild(_), _) => {}
                    (_, Type::Reference(reference)) if reference.mutability.is_some() => {
                        errors.on(
                            &arg.ty,
                            "`&mut` cannot be copied for a fill of its own: take the argument by value, or leave \
                             `spawn` out",
                        );
                    }
                    (Pat::Ident(name), Type::Reference(reference)) => {
                        if mentions(&inside, &name.ident.unraw().to_string()) {
                            owned(&reference.elem.to_token_stream(), errors);
                            spawn.args.push(name.ident.clone());
                        }
                    }
                    (pat, Type::Reference(_)) => {
                        errors.on(
                            pat,
                            "a borrowed argument is copied for a fill of its own, under its name: give it a plain one",
                        );
                    }
                    (_, ty) => owned(&ty.to_token_stream(), errors),
                },
            }
        }
        if matches!(body, AsyncBody::Boxed(_)) && !mentions_send(&item.sig.output.to_token_stream()) {
            errors.at(
                key.span(),
                "`spawn` needs a future that is `Send`, which this function's is not: leave `spawn` out, or `?Send`",
            );
        }
        spawn
    }

    /// The statements before the future, those at its beginning, and the user's code.
    ///
    /// Input: `&self, id: &str` and `self.load(id)`. Output:
    /// ```text
    /// let __sf_self = __sf::own(__sf::part(self));
    /// let id = __sf::own(__sf::part(id));
    ///
    /// let __sf_self = &*__sf_self;
    /// let id = &*id;
    ///
    /// __sf_self.load(id)
    /// ```
    pub(crate) fn parts(&self, inside: TokenStream) -> (TokenStream, TokenStream, TokenStream) {
        let (mut before, mut begin) = (TokenStream::new(), TokenStream::new());
        for arg in &self.args {
            let span = at(arg.span());
            before.extend(quote_spanned! { span => let #arg = __sf::own(__sf::part(#arg)); });
            begin.extend(quote! {
                #[allow(unused_variables)]
                let #arg = &*#arg;
            });
        }
        let Some(receiver) = &self.receiver else { return (before, begin, inside) };
        let (name, span) = (owned_self(receiver.span()), at(receiver.span()));
        before.extend(quote_spanned! { span => let #name = __sf::own(__sf::part(#receiver)); });
        begin.extend(quote! {
            #[allow(unused_variables)]
            let #name = &*#name;
        });
        (before, begin, renamed(inside))
    }
}

/// `self` as the body sees it.
fn owned_self(span: Span) -> Ident {
    local_at(&Ident::new("__sf_self", span), span)
}

/// Refuses types that borrow, of which no copy outlives the call.
fn owned(ty: &TokenStream, errors: &mut Errors) {
    let mut tokens = ty.clone().into_iter().peekable();
    let mut before_parens = false;
    while let Some(token) = tokens.next() {
        let parens = std::mem::replace(&mut before_parens, false);
        match token {
            TokenTree::Group(group) if parens && group.delimiter() == Delimiter::Parenthesis => {}
            TokenTree::Group(group) => owned(&group.stream(), errors),
            TokenTree::Ident(name) => {
                let name = name.to_string();
                before_parens = name == "fn" || name.starts_with("Fn") || name.starts_with("AsyncFn");
            }
            TokenTree::Punct(punct) if matches!(punct.as_char(), '&' | '\'') => {
                let is_static =
                    |token: Option<&TokenTree>| token.is_some_and(|token| token.to_string() == "static");
                let quote =
                    punct.as_char() == '&' && tokens.next_if(|token| token.to_string() == "'").is_some();
                let named = quote || punct.as_char() == '\'';
                if !(named && is_static(tokens.peek())) {
                    errors.at(
                        punct.span(),
                        "a fill of its own outlives what is borrowed here: take an owned value, or `&T`, of which a \
                         copy is made, or leave `spawn` out",
                    );
                    return;
                }
                tokens.next();
            }
            _ => {}
        }
    }
}

/// Whether a boxed future is said to be `Send`.
fn mentions_send(output: &TokenStream) -> bool {
    output.clone().into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == "Send",
        TokenTree::Group(group) => mentions_send(&group.stream()),
        _ => false,
    })
}

/// Whether the body uses a name, if only in a string such as `"{name}"`.
fn mentions(tokens: &TokenStream, name: &str) -> bool {
    tokens.clone().into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident.unraw() == name,
        TokenTree::Literal(literal) => literal.to_string().contains(&format!("{{{name}")),
        TokenTree::Group(group) => mentions(&group.stream(), name),
        TokenTree::Punct(_) => false,
    })
}

/// Refuses `{self}` inside strings, where it cannot be renamed.
fn formatted_self(tokens: &TokenStream, errors: &mut Errors) {
    for token in tokens.clone() {
        match token {
            TokenTree::Group(group) => formatted_self(&group.stream(), errors),
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                if text.contains("{self}") || text.contains("{self:") {
                    errors.at(
                        literal.span(),
                        "`{self}` inside a string cannot be moved into a fill of its own: write `{}` and `self` behind \
                         the string",
                    );
                }
            }
            _ => {}
        }
    }
}

/// The user's code with `__sf_self` for `self`, in macros too. Functions inside it have a `self` of their own, and in
/// `self::path` it is a module.
fn renamed(tokens: TokenStream) -> TokenStream {
    let mut out = TokenStream::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(ident)
                if ident == "fn" && matches!(tokens.peek(), Some(TokenTree::Ident(_))) =>
            {
                out.extend([TokenTree::Ident(ident)]);
                for token in tokens.by_ref() {
                    let end = match &token {
                        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                        TokenTree::Punct(punct) => punct.as_char() == ';',
                        _ => false,
                    };
                    out.extend([token]);
                    if end {
                        break;
                    }
                }
            }
            TokenTree::Ident(ident) if ident == "self" && !is_path(tokens.peek()) => {
                out.extend([TokenTree::Ident(owned_self(ident.span()))]);
            }
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), renamed(group.stream()));
                inner.set_span(group.span());
                out.extend([TokenTree::Group(inner)]);
            }
            other => out.extend([other]),
        }
    }
    out
}

/// Whether `::` follows; a single `:` is a type's or a field's.
fn is_path(next: Option<&TokenTree>) -> bool {
    matches!(next, Some(TokenTree::Punct(punct)) if punct.as_char() == ':' && punct.spacing() == Spacing::Joint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn self_is_renamed_where_it_is_a_value() {
        for (before, after) in [
            ("self . a ( self ) ;", "__sf_self . a ( __sf_self ) ;"),
            ("println ! (\"{}\" , self . a)", "println ! (\"{}\" , __sf_self . a)"),
            ("self :: helper () . b (self)", "self :: helper () . b (__sf_self)"),
            ("Self { a : self . a }", "Self { a : __sf_self . a }"),
            (
                "impl A { fn a (& self) -> u8 { self . a } } self",
                "impl A { fn a (& self) -> u8 { self . a } } __sf_self",
            ),
            ("let f : fn (u8) = self . f ;", "let f : fn (u8) = __sf_self . f ;"),
        ] {
            let renamed = renamed(before.parse().unwrap()).to_string();
            let after: TokenStream = after.parse().unwrap();
            assert_eq!(renamed, after.to_string());
        }
    }
}
