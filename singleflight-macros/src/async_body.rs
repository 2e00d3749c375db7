//! Where the asynchronous part of a function is: the body of an `async fn`, or the block that `#[async_trait]` has put
//! into a `Box::pin(async move { .. })`.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::Parser;
use syn::{Block, Expr, ExprAsync, GenericArgument, PathArguments, ReturnType, Stmt, Type, TypeParamBound};

use crate::item::{Body, Item, bound_names};

/// An asynchronous function.
pub(crate) enum AsyncBody {
    /// `async fn`
    Fn,
    /// A function whose last expression is `Box::pin(async move { .. })`.
    Boxed(Box<Boxed>),
}

/// A function whose last expression is `Box::pin(async move { .. })`.
pub(crate) struct Boxed {
    /// The statements before.
    before: Vec<Stmt>,
    /// What is called, `Box::pin`.
    func: Expr,
    /// The block.
    block: ExprAsync,
}

impl AsyncBody {
    /// Looks for the asynchronous part.
    pub(crate) fn of(item: &Item, body: &Body) -> Option<Self> {
        if item.sig.asyncness.is_some() {
            return Some(Self::Fn);
        }
        let mut before = Block::parse_within.parse2(body.tokens.clone()).ok()?;
        let Some(Stmt::Expr(Expr::Call(call), None)) = before.pop() else { return None };
        let Expr::Path(path) = &*call.func else { return None };
        if path.path.segments.last()?.ident != "pin" {
            return None;
        }
        match call.args.into_iter().next()? {
            Expr::Async(block) => Some(Self::Boxed(Box::new(Boxed { before, func: *call.func, block }))),
            _ => None,
        }
    }

    /// What the user wrote, as the tokens of a block's inside.
    pub(crate) fn tokens(&self, body: &Body) -> TokenStream {
        match self {
            Self::Fn => body.tokens.clone(),
            Self::Boxed(boxed) => {
                let stmts = &boxed.block.block.stmts;
                quote! { #(#stmts)* }
            }
        }
    }

    /// The body with `inside` in the place of what the user wrote; `items` come first.
    pub(crate) fn replace(&self, inside: TokenStream) -> TokenStream {
        match self {
            Self::Fn => inside,
            Self::Boxed(boxed) => {
                let Boxed { before, func, block } = &**boxed;
                let ExprAsync { attrs, capture, .. } = block;
                quote! { #(#before)* #func(#(#attrs)* async #capture { #inside }) }
            }
        }
    }

    /// Arguments that `#[async_trait]` takes apart inside the block, where a key cannot name their parts.
    ///
    /// It renames such an argument to `__arg1` and begins the block with `let (a, b) = { let __arg1 = __arg1; __arg1 };`.
    pub(crate) fn hidden_parts(&self, args: &[Ident]) -> Vec<TokenStream> {
        let Self::Boxed(boxed) = self else { return Vec::new() };
        let hidden = args.iter().filter(|arg| is_positional(arg));
        hidden.filter_map(|arg| boxed.parts_of(arg)).collect()
    }
}

impl Boxed {
    /// The pattern that takes `arg` apart; `None` if it binds nothing that the user's code could see.
    fn parts_of(&self, arg: &Ident) -> Option<TokenStream> {
        let pat = self.block.block.stmts.iter().find_map(|stmt| match stmt {
            Stmt::Local(local) if mentions(&local.init.as_ref()?.expr.to_token_stream(), arg) => {
                Some(&local.pat)
            }
            _ => None,
        });
        // Where the pattern is not found, anything may have been bound.
        let Some(pat) = pat else { return Some(arg.to_token_stream()) };
        let mut names = Vec::new();
        bound_names(pat, &mut names);
        names.iter().any(|name| !name.to_string().starts_with('_')).then(|| pat.to_token_stream())
    }
}

fn mentions(tokens: &TokenStream, name: &Ident) -> bool {
    tokens.clone().into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == *name,
        TokenTree::Group(group) => mentions(&group.stream(), name),
        _ => false,
    })
}

/// Whether `#[async_trait]` made up this argument's name.
fn is_positional(name: &Ident) -> bool {
    let name = name.to_string();
    name.strip_prefix("__arg")
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
}

/// The type that the function's caller gets in the end.
pub(crate) fn output(item: &Item, body: &AsyncBody) -> Option<TokenStream> {
    match (&item.sig.output, body) {
        (ReturnType::Default, _) => Some(quote! { () }),
        (ReturnType::Type(_, ty), AsyncBody::Fn) => Some(ty.to_token_stream()),
        (ReturnType::Type(_, ty), AsyncBody::Boxed(_)) => future_output(ty),
    }
}

/// `R` in `Pin<Box<dyn Future<Output = R> + ..>>`.
fn future_output(ty: &Type) -> Option<TokenStream> {
    let bounds = match ty {
        Type::Path(path) => {
            let PathArguments::AngleBracketed(args) = &path.path.segments.last()?.arguments else {
                return None;
            };
            return args.args.iter().find_map(|arg| match arg {
                GenericArgument::Type(inner) => future_output(inner),
                _ => None,
            });
        }
        Type::TraitObject(object) => &object.bounds,
        Type::ImplTrait(object) => &object.bounds,
        Type::Paren(inner) => return future_output(&inner.elem),
        _ => return None,
    };
    bounds.iter().find_map(|bound| {
        let TypeParamBound::Trait(bound) = bound else { return None };
        let PathArguments::AngleBracketed(args) = &bound.path.segments.last()?.arguments else { return None };
        args.args.iter().find_map(|arg| match arg {
            GenericArgument::AssocType(assoc) if assoc.ident == "Output" => Some(assoc.ty.to_token_stream()),
            _ => None,
        })
    })
}
