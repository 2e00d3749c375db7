//! Functions that can be annotated.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{FnArg, Pat, ReceiverKind};

use crate::async_body::AsyncBody;
use crate::diag::Errors;
use crate::item::Item;

/// Refuses functions that cannot be annotated.
pub(crate) fn asynchronous(item: &Item, errors: &mut Errors) -> Option<AsyncBody> {
    let sig = &item.sig;
    if let Some(constness) = &sig.constness {
        errors.on(constness, "a `const fn` cannot wait for a load: remove `const`, or the attribute");
        return None;
    }
    let Some(body) = &item.body else {
        errors.at(
            sig.ident.span(),
            format!(
                "`{}` has no body to run once: put the attribute on the implementations, or give it a default body",
                sig.ident
            ),
        );
        return None;
    };
    for arg in &sig.inputs {
        if let FnArg::Typed(arg) = arg
            && let Pat::Macro(_) | Pat::Verbatim(_) = &*arg.pat
        {
            errors.on(&arg.pat, "the names in this pattern cannot be seen: give the argument a plain name");
        }
    }
    let found = AsyncBody::of(item, body);
    if found.is_none() {
        errors.at(
            sig.fn_token.span,
            format!(
                "`{}` is not asynchronous: write `async fn`, or let its body be one `Box::pin(async move {{ .. }})`",
                sig.ident
            ),
        );
    }
    found
}

/// Refuses a receiver that one caller has to itself.
pub(crate) fn shared_receiver(item: &Item, errors: &mut Errors) {
    let Some(receiver) = item.receiver() else { return };
    let unique = match &receiver.kind {
        ReceiverKind::Reference(_, _, unique) => unique.is_some(),
        ReceiverKind::Typed(_, ty) => {
            ty.to_token_stream().to_string().replace(' ', "").contains("&mut")
                || mutable_with_lifetime(&ty.to_token_stream())
        }
        _ => false,
    };
    if unique {
        errors.on(
            receiver,
            "`&mut self` cannot be shared by callers: take `&self`, or put `#[invalidates(key = \"..\")]` on a method \
             that writes",
        );
    }
}

/// `&'a mut`
fn mutable_with_lifetime(tokens: &TokenStream) -> bool {
    let mut words = tokens.to_string();
    words.retain(|c| c != '<' && c != '>');
    words.split('&').skip(1).any(|after| after.split_whitespace().take(3).any(|word| word == "mut"))
}
