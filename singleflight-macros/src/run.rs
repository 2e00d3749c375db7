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
    let Some(function) = function(&item, "single_flight", &mut errors) else {
        return with_errors(errors, item);
    };
    match Model::new(args, &function, &mut errors) {
        Some(model) => expand(&model),
        None => with_errors(errors, item),
    }
}

/// `#[invalidates(args)] item`
pub(crate) fn invalidates(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let Some(function) = function(&item, "invalidates", &mut errors) else {
        return with_errors(errors, item);
    };
    match crate::invalidates::expand(args, &function, &mut errors) {
        Some(output) => output,
        None => with_errors(errors, item),
    }
}

fn function(item: &TokenStream, attribute: &str, errors: &mut Errors) -> Option<Item> {
    let function = syn::parse2(item.clone()).ok();
    if function.is_none() {
        errors.on(first_line(item), format!("`#[{attribute}]` belongs on an `async fn`, which this is not"));
    }
    function
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
