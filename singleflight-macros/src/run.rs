//! From tokens to tokens: parse, model, expand. The function is always emitted, whatever is wrong with the options.

use proc_macro2::TokenStream;
use quote::quote;

use crate::args::Args;
use crate::diag::Errors;
use crate::expand::expand;
use crate::item::Item;
use crate::model::Model;

/// `#[single_flight(args)] item`
pub(crate) fn single_flight(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let args = Args::parse(args, &mut errors);
    let Ok(function) = syn::parse2::<Item>(item.clone()) else {
        errors.on(first_line(&item), "`#[single_flight]` belongs on an `async fn`, which this is not");
        return with_errors(errors, item);
    };
    match Model::new(args, &function, &mut errors) {
        Some(model) => expand(&model),
        None => with_errors(errors, item),
    }
}

fn with_errors(errors: Errors, item: TokenStream) -> TokenStream {
    let errors = errors.into_tokens();
    quote! { #errors #item }
}

/// An item's tokens up to its body.
fn first_line(item: &TokenStream) -> TokenStream {
    item.clone()
        .into_iter()
        .take_while(|token| match token {
            proc_macro2::TokenTree::Group(group) => group.delimiter() != proc_macro2::Delimiter::Brace,
            _ => true,
        })
        .collect()
}
