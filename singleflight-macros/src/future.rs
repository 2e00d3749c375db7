//! The user's code as a future of its own.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ReturnType;

use crate::async_body::AsyncBody;
use crate::item::Item;
use crate::names::{local, local_at};
use crate::return_type::first_span;

/// The user's code as a future that returns `output`, if that has a name.
pub(crate) fn future(item: &Item, body: &AsyncBody, output: Option<&TokenStream>) -> TokenStream {
    let inside = item.body.as_ref().map(|tokens| body.tokens(tokens)).unwrap_or_default();
    future_of(item, output, &TokenStream::new(), inside)
}

/// The code `inside` as a future that begins with the statements `begin`.
///
/// The branch never taken says which type it returns, at that type's tokens, so that type errors are reported on the
/// user's own lines.
pub(crate) fn future_of(
    item: &Item,
    output: Option<&TokenStream>,
    begin: &TokenStream,
    inside: TokenStream,
) -> TokenStream {
    let mut block = TokenStream::new();
    match &item.body {
        Some(tokens) => tokens.brace.surround(&mut block, |block| block.extend(inside)),
        None => block.extend(quote! { {} }),
    }
    let returns = output.map(|output| {
        let caret = caret(item, output);
        let never = local_at(&local("__sf_never"), caret);
        quote_spanned! { caret =>
            #[allow(
                unreachable_code, clippy::diverging_sub_expression, clippy::empty_loop, clippy::let_unit_value,
                clippy::needless_return, clippy::unreachable
            )]
            if false {
                let #never: #output = loop {};
                return #never;
            }
        }
    });
    quote! {
        async move {
            #begin
            #returns
            #[allow(unused_braces)]
            #block
        }
    }
}

/// The return type as the user wrote it, or the function's name where there is none.
pub(crate) fn caret(item: &Item, output: &TokenStream) -> Span {
    at(match &item.sig.output {
        ReturnType::Default => item.sig.ident.span(),
        ReturnType::Type(..) => first_span(output),
    })
}

/// Where tokens of ours are reported, if not at the attribute.
pub(crate) fn at(span: Span) -> Span {
    Span::call_site().located_at(span)
}
