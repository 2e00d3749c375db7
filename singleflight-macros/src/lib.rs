//! The macros of `singleflight-core`. Use them through that crate, which re-exports them.

mod args;
mod async_body;
mod diag;
mod duration;
mod expand;
mod item;
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
