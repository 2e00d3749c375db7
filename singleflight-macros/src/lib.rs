//! The macros of `singleflight-core`. Use them through that crate, which re-exports them.
//!
//! A use travels through the files in this order: `run` (tokens to tokens), `args` and `item` (syntax only), `model`
//! with `names`, `key_template`, `function` and `return_type` (every refusal, all of them told at once), `expand` with
//! `render` and `future` (the output; nothing can go wrong there any more).

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
mod options;
mod render;
mod return_type;
mod run;
mod spawn;

use proc_macro::TokenStream;

/// Turns a herd of calls into one load.
///
/// ```
/// # use singleflight_core::single_flight;
/// # type UserId = u64;
/// # type RepoError = String;
/// # #[derive(Clone, serde::Serialize, serde::Deserialize)] struct User { id: UserId }
/// # struct Repo;
/// # impl Repo {
/// #[single_flight(key = "user:<id>", ttl = 30, lock_ttl_ms = 1500)]
/// async fn find(&self, id: UserId) -> Result<Option<User>, RepoError> {
///     /* the expensive part */
/// #   Ok(Some(User { id }))
/// }
/// # }
/// ```
///
/// The signature stays as it is, and nothing is added beside the function. A call that finds a fresh value returns it
/// and runs no part of the body. Of the calls that find none, one runs the body; the others wait for it, or get a stale
/// value, a default or an error, as `losers` says. An `Err` is never stored.
///
/// # Options
///
/// | option | value, default | meaning |
/// |---|---|---|
/// | `key` | text, required | the template of the key, see [below](#keys) |
/// | `ttl` | duration; required here or in `policy` | how long a value may be served at all |
/// | `soft_ttl` | duration, `ttl` | from here to `ttl` a value is stale: still served, and refreshed by one caller |
/// | `negative_ttl` | duration, `ttl` | the `ttl` of `None` and `Ok(None)` |
/// | `lock_ttl_ms` | milliseconds, or `"auto"` (default) | how long the right to load lasts without being renewed; `"auto"` measures the loads |
/// | `losers` | `"stale"` (default), `"wait"`, `"default"`, `"fail"` | what a caller gets while another loads: a stale value if there is one, and else it waits; it waits even so; a stale value, else the default; a stale value, else a `FlightError` |
/// | `default` | expression | the value for `losers = "default"` and `OnTimeout::Default`: what stands in `Ok` for a `Result`, else what is returned. Evaluated only when needed; it may use and move the arguments |
/// | `skip(a, b)` | names | arguments and parameters that do not change the value |
/// | `local` | flag | the value stays in this process whatever the backend; it needs no serde, and other processes' invalidations do not reach it |
/// | `version` | 0 to 65535, 0 | the version of the value's type: a higher one replaces a lower one |
/// | `errors` | `"share"` (default), `"retry"` | whether the callers that waited for a failed load get its error, or each try in turn |
/// | `share_error` | path of a `fn(&E) -> E` | how to copy an error that is neither `Clone` nor `From<FlightError>` |
/// | `cache_if` | path of a `fn(&T) -> bool` | whether to keep a value; its caller gets it either way. `T` is what stands in `Ok` for a `Result`, else what is returned |
/// | `flights` | expression, `&SingleFlight` | the engine; default: the one in scope, else the one installed, else one in memory. Where the body moves what it borrows from, clone: `&self.flights.clone()` |
/// | `policy` | path of a `const` `Policy` | defaults that functions share; what the attribute says wins |
/// | `name` | text, `module::function` | the label in statistics and metrics, which two `find`s of one module share unless they are given names; functions with one name and one value type share values |
/// | `crate` | path, `::singleflight_core` | the crate, if it has another name or is re-exported |
/// | `spawn` | flag | the fill runs as a task of its own, see [below](#fills-of-their-own) |
///
/// A duration is a whole number of seconds (`30`), text with a unit (`"250ms"`, `"30s"`, `"5m"`, `"1h"`, `"2d"`) or the
/// path of a constant, an unsigned integer (seconds; for `lock_ttl_ms` milliseconds) or a `Duration`: `ttl = Self::TTL`. All are
/// checked by the compiler: a zero, or a `soft_ttl` above the `ttl`, does not build. (Paths such as `Self::TTL` and
/// `Db::TTL`, whose constant may depend on type parameters, are checked by `cargo build`, but not by `cargo check`.)
///
/// # Keys
///
/// | placeholder | is written as |
/// |---|---|
/// | `<id>` | the argument, by its `Display`; integers, text, `bool`, `char`, options and bytes without it |
/// | `<user.id>`, `<pair.0>` | a field |
/// | `<name.as_ref()>` | what a method without arguments returns |
/// | `<state:?>` | the `Debug` form |
/// | `<self.tenant>` | a field of `self`, which is not part of the key unless named |
/// | `<T>`, `<Self>` | the name of a type |
/// | `<N>` | the value of a const parameter |
///
/// Everything else is text; braces too (in Redis, what stands in the first pair decides the slot). `%` is refused.
///
/// Two different tuples of values never give one key: in values, `%`, control characters, braces and the first character
/// of the text that follows are written as `%XX`, `None` is `%n`, and keys above 512 bytes end in a hash of the whole.
/// This holds as far as the values' `Display` is one-to-one: two values that display alike are one value here. Floats
/// are refused.
///
/// An argument, or a type or const parameter, that is neither in the key nor in `skip(..)` is refused, as calls that
/// differ in it would share a value. Exempt are `self` and names that begin with `_`. The parameters of a surrounding
/// generic `impl`, which an attribute does not see, are kept apart nevertheless (name them all by `<Self>`), and so are
/// two functions that use one template.
///
/// **`self` is not part of the key unless it is named.** Two repositories of different tenants, on one engine, answer each
/// other's calls under `key = "user:<id>"`; write `key = "user:<self.tenant>:<id>"`.
///
/// **Functions that share a template replace each other's values**, so that calls in turn load every time. Give each its
/// own template; or, to share values on purpose, give both the same template and one `name`.
///
/// To invalidate by hand, render the key with [`key!`](macro@key), as values are escaped: `format!("user:{id}")` is
/// another key as soon as `id` has a `%` or a brace in it.
///
/// # Functions
///
/// `async fn`s, free and in `impl`s and traits (with a body), with any receiver but `&mut self`; functions whose body is
/// one `Box::pin(async move { .. })`, and so methods inside `#[async_trait]` impls. Other attributes may stand above or
/// below; `#[tracing::instrument]` above covers every call, below loads only.
///
/// They return `Result<T, E>` (under any alias), `Option<T>` or anything else, `T`. What is stored (`T`, or the whole
/// `Option`) must be `Clone + Serialize + DeserializeOwned + Send + Sync + 'static`, without serde if `local`. To be
/// shared with the callers that wait, `E` must be `Clone + Send + Sync + 'static`, or `From<FlightError>` (as
/// `anyhow::Error`, `Box<dyn Error + Send + Sync>`, `std::io::Error` and enums with a variant
/// `Flight(#[from] FlightError)` are); otherwise write `share_error = path` or `errors = "retry"`. `losers = "fail"`
/// needs a `Result` whose error is `From<FlightError>`.
///
/// **The caller that loads gets its own error; those that waited get a copy only if `E` is `Clone` or there is a
/// `share_error`.** Else they get a `FlightError` that carries the message, in the variant for it: a service that maps
/// variants to statuses, `NotFound` to 404, should derive `Clone`, or it answers 500 in a race and 404 alone.
///
/// Refused, because they would go wrong: `const fn`; functions that are not asynchronous; declarations without a body;
/// `-> impl Trait`, which cannot be named; types that borrow; and return types that are a type parameter or an
/// associated type (`T`, `D::Out`), which may turn out to be a `Result` whose error must not be stored.
///
/// # What it expands to
///
/// The line above becomes, with paths and lint attributes left out:
///
/// ```text
/// async fn find(&self, id: UserId) -> Result<Option<User>, RepoError> {
///     static SITE: Site = Site::new("module::find");
///     const POLICY: Policy = checked(Policy::new().ttl(30 s).lock_ttl(1500 ms));
///
///     let plan = plan(/* how this return type is stored, shared and failed, found by method lookup */);
///     let mut key = KeyBuf::new();                    // on the stack
///     key.text("user:");
///     part(&id).put(&mut key);
///
///     let call = Call::new(&plan, &SITE, Place::of(&|| ()), &POLICY, key.as_str(), None);
///     if let Some(value) = call.peek() {
///         return value;                               // a hit: nothing of the body runs
///     }
///     let fill = match call.enter().await {
///         Entered::Answer(value) => return value,     // someone else's load
///         Entered::Default => return default,
///         Entered::Fill(fill) => fill,                // this call loads
///     };
///     fill.run(pin!(async move { /* the body, once */ })).await
/// }
/// ```
///
/// The future is `Send` exactly if the body's is, and larger by a few hundred bytes.
///
/// # Fills of their own
///
/// With `spawn`, a fill outlives the caller that started it, and a stale value is answered to everyone at once, also to
/// the caller that starts the refresh. The body becomes a future that owns what it uses: arguments taken by value are
/// moved into it; of `&self` and of `&T` arguments that the body mentions, `Clone`s (or the owned form: a `String` of a
/// `&str`) are made, only on the way to a fill. So `Self` and these `T`s must be `Clone + Send + Sync + 'static`, or
/// `self` an `Arc<Self>`; the result must be `Send`. Refused are `&mut T`, types that borrow otherwise (`Option<&str>`),
/// and `{self}` inside strings. Without a tokio runtime, the body runs in place.
///
/// # Cancel safety
///
/// Dropping one caller's future affects that caller only. If it was the one that loads, another that waits takes the
/// load over and runs its own body; if none waits, the right to load is given back. Under `spawn`, the load goes on.
///
/// # Panics
///
/// A panic in the body reaches the caller that ran it. Those that waited get a `FlightError` if their error type can
/// carry one, else one of them takes over. Later calls work.
#[proc_macro_attribute]
pub fn single_flight(args: TokenStream, item: TokenStream) -> TokenStream {
    run::single_flight(args.into(), item.into()).into()
}

/// Invalidates keys when a write ends, however it ends.
///
/// ```
/// # use singleflight_core::invalidates;
/// # type RepoError = String;
/// # struct User { id: u64 }
/// # struct Repo;
/// # impl Repo {
/// #[invalidates(key = "user:<user.id>", key = "users")]
/// async fn save(&mut self, user: User) -> Result<(), RepoError> {
///     /* the write */
/// #   Ok(drop(user))
/// }
/// # }
/// ```
///
/// | option | value, default | meaning |
/// |---|---|---|
/// | `key` | text, required; may be repeated | a template as in [`single_flight`](macro@single_flight#keys) |
/// | `flights` | expression, `&SingleFlight` | the engine; default: the one in scope, else the one installed, else one in memory |
/// | `crate` | path, `::singleflight_core` | the crate, if it has another name or is re-exported |
///
/// There is no invalidation by prefix: a `*` in the template is text like any other. Write out the keys.
///
/// The keys are rendered before the body runs, so that it may move its arguments. They are invalidated after it has
/// ended, with `Ok` or with an `Err`: a failed write may have been done all the same. The caller gets the result when that
/// has happened. After a panic they are invalidated as well, but nobody can wait for it: with a server, callers may see
/// the old value until the message has arrived. A load that was running then does not bring the old value back.
///
/// It works on the functions that `single_flight` works on, and on `&mut self`, `-> impl Trait` and types that borrow. The
/// future is `Send` if the body's future and its result are.
///
/// # Cancel safety
///
/// If the future is dropped midway, the keys are invalidated too, without anyone waiting for it: the write may have
/// been done.
#[proc_macro_attribute]
pub fn invalidates(args: TokenStream, item: TokenStream) -> TokenStream {
    run::invalidates(args.into(), item.into()).into()
}

/// Renders a key as [`single_flight`](macro@single_flight#keys) does, for calls by hand.
///
/// ```
/// use singleflight_core::key;
///
/// # struct User { id: u64 }
/// let (id, user) = (7, User { id: 8 });
/// assert_eq!(key!("user:<id>"), "user:7");
/// assert_eq!(key!("user:<user.id>"), "user:8");
/// assert_eq!(key!("user:<id>", id = user.id), "user:8");
/// assert_eq!(key!("load:<T>:<N>", type T = u8, N = 3), "load:u8:3");
/// ```
///
/// A placeholder names what is in scope, or what is given after the template: `name = expression`, `type T = Type`. Names
/// that begin with a capital must be given. `crate = path` names the crate, if it has another name.
///
/// The result is a `Key`, owned, to be used as a `&str`.
#[proc_macro]
pub fn key(input: TokenStream) -> TokenStream {
    key_macro::expand(input.into()).into()
}
