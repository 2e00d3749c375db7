//! Where the asynchronous part of a function is: the body of an `async fn`, or the block that `#[async_trait]` has put
//! into a `Box::pin(async move { .. })`.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::parse::Parser;
use syn::{
    Block, Expr, ExprAsync, GenericArgument, Pat, PathArguments, ReturnType, Stmt, Type, TypeParamBound,
};

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
    pub(crate) fn hidden_parts(&self) -> Vec<Pat> {
        let Self::Boxed(boxed) = self else { return Vec::new() };
        let locals = boxed.block.block.stmts.iter().filter_map(|stmt| match stmt {
            Stmt::Local(local) => Some(local),
            _ => None,
        });
        locals
            .filter(|local| match local.init.as_ref().map(|init| &*init.expr) {
                Some(Expr::Path(path)) => path.path.get_ident().is_some_and(is_positional),
                _ => false,
            })
            .map(|local| match &local.pat {
                Pat::Type(typed) => (*typed.pat).clone(),
                pat => pat.clone(),
            })
            .filter(|pat| {
                let mut names = Vec::new();
                bound_names(pat, &mut names);
                names.iter().any(|name| !name.to_string().starts_with('_'))
            })
            .collect()
    }
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
