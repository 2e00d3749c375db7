//! The `#[single_flight]` attribute. Use it through `singleflight-core`.

use proc_macro::TokenStream;

/// Turns a herd of calls into one load.
#[proc_macro_attribute]
pub fn single_flight(_args: TokenStream, item: TokenStream) -> TokenStream {
    item
}
