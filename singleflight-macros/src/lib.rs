//! The macros of `singleflight-core`. Use them through that crate, which re-exports them.

mod args;
mod async_body;
mod diag;
mod duration;
mod expand;
mod function;
mod future;
mod invalidates;
mod item;
mod key_macro;
mod key_template;
mod model;
mod names;
mod render;
mod return_type;
mod run;

use proc_macro::TokenStream;

/// Turns a herd of calls into one load.
#[proc_macro_attribute]
pub fn single_flight(args: TokenStream, item: TokenStream) -> TokenStream {
    run::single_flight(args.into(), item.into()).into()
}

/// Invalidates keys when a write ends, however it ends.
#[proc_macro_attribute]
pub fn invalidates(args: TokenStream, item: TokenStream) -> TokenStream {
    run::invalidates(args.into(), item.into()).into()
}

/// Renders a key, for calls by hand.
#[proc_macro]
pub fn key(input: TokenStream) -> TokenStream {
    key_macro::expand(input.into()).into()
}
