//! The output. Nothing can go wrong here any more.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use crate::args::{ErrorsOption, LockTtl, Losers};
use crate::duration::{Duration, Unit};
use crate::future::{at, caret, future, future_of};
use crate::model::{Model, PolicyModel, Sharing};
use crate::names::{local, local_at};
use crate::render::{import, probes, statements};
use crate::return_type::{error_tokens, first_span};

/// The locals of one expansion.
struct Locals {
    key: Ident,
    plan: Ident,
    policy: Ident,
    flights: Ident,
    call: Ident,
    fill: Ident,
    value: Ident,
}

impl Locals {
    fn new() -> Self {
        Self {
            key: local("__sf_key"),
            plan: local("__sf_plan"),
            policy: local("__sf_policy"),
            flights: local("__sf_flights"),
            call: local("__sf_call"),
            fill: local("__sf_fill"),
            value: local("__sf_value"),
        }
    }
}

/// The function, with the engine around its body. The crate's documentation shows an example.
pub(crate) fn expand(model: &Model<'_>) -> TokenStream {
    let locals = Locals::new();
    let Locals { key, plan, policy, flights, call, fill, value } = &locals;
    let root = &model.root;
    let site = site(model);
    let (policy_item, policy_value) = policy_tokens(model);
    let plan_let = plan_tokens(model, plan);
    let key_statements = statements(&model.key, key);
    let (flights_let, flights_value) = match &model.flights {
        Some(expr) => (
            Some(quote! { let #flights: &#root::SingleFlight = #expr; }),
            quote! { ::core::option::Option::Some(#flights) },
        ),
        None => (None, quote! { ::core::option::Option::None }),
    };
    let default = match &model.default {
        Some(expr) => quote_spanned! { at(expr.span()) => return __sf::Plan::answer(&#plan, #expr) },
        None => quote! { __sf::Call::alone(&#call) },
    };
    let run = run(model, fill, plan);
    let import = import(root);
    let inside = quote! {
        #import
        #site
        #policy_item
        let #policy: &__sf::Policy = #policy_value;
        #plan_let
        #flights_let
        let mut #key = __sf::KeyBuf::new();
        { #key_statements }
        let #call = __sf::Call::new(
            &#plan, &__SF_SITE, __sf::Place::of(&|| ()), #policy,
            __sf::KeyBuf::as_str(&#key), #flights_value,
        );
        if let ::core::option::Option::Some(#value) = __sf::Call::peek(&#call) {
            return #value;
        }
        let #fill = match __sf::Call::enter(&#call).await {
            __sf::Entered::Answer(#value) => return #value,
            __sf::Entered::Default => #default,
            __sf::Entered::Fill(#fill) => #fill,
        };
        #run
    };
    model.item.with_body(&model.body.replace(inside))
}

/// The fill, in its caller or in a task of its own.
fn run(model: &Model<'_>, fill: &Ident, plan: &Ident) -> TokenStream {
    let Model { item, body, output, .. } = model;
    let Some(spawn) = &model.spawn else {
        let future = future(item, body, Some(output));
        return quote! { __sf::Fill::run(#fill, ::core::pin::pin!(#future)).await };
    };
    let inside = item.body.as_ref().map(|tokens| body.tokens(tokens)).unwrap_or_default();
    let (before, begin, inside) = spawn.parts(inside);
    let future = future_of(item, Some(output), &begin, inside);
    let spawner = local("__sf_spawner");
    quote! {
        #before
        __sf::Spawner::run(#spawner, #fill, #plan, #future).await
    }
}

fn site(model: &Model<'_>) -> TokenStream {
    let label = model.label();
    let mut site = match &model.name {
        Some(name) => quote! { __sf::Site::named(#name) },
        None => quote! { __sf::Site::new(#label) },
    };
    if model.default.is_some() {
        site.extend(quote! { .with_default() });
    }
    quote! { static __SF_SITE: __sf::Site = #site; }
}

/// The policy's item, and an expression for a reference to it.
///
/// An item is checked by `cargo check`, but cannot name the parameters of a surrounding `impl`.
fn policy_tokens(model: &Model<'_>) -> (Option<TokenStream>, TokenStream) {
    let built = policy_chain(&model.policy);
    let default = model.default.is_some();
    let checked = quote_spanned! { policy_caret(&model.policy) => __sf::checked(#built, #default) };
    if model.policy.generic {
        return (None, quote! { const { &#checked } });
    }
    let item = quote! { const __SF_POLICY: __sf::Policy = #checked; };
    (Some(item), quote! { &__SF_POLICY })
}

/// The one constant that a policy is made of, or the attribute where there are several or none.
fn policy_caret(policy: &PolicyModel) -> Span {
    let durations =
        [policy.ttl.as_ref(), policy.soft_ttl.as_ref(), policy.negative_ttl.as_ref(), policy.lock()];
    let paths = durations.into_iter().flatten().filter_map(Duration::path).chain(&policy.base);
    let spans: Vec<Span> = paths.map(Spanned::span).collect();
    match *spans.as_slice() {
        [only] => at(only),
        _ => Span::call_site(),
    }
}

fn policy_chain(policy: &PolicyModel) -> TokenStream {
    let mut chain = match &policy.base {
        Some(path) => quote! { #path },
        None => quote! { __sf::Policy::new() },
    };
    for (method, ttl) in
        [("ttl", &policy.ttl), ("soft_ttl", &policy.soft_ttl), ("negative_ttl", &policy.negative_ttl)]
    {
        if let Some(ttl) = ttl {
            let method = Ident::new(method, Span::call_site());
            let ttl = duration(ttl, Unit::Seconds);
            chain.extend(quote! { .#method(#ttl) });
        }
    }
    match &policy.lock_ttl {
        Some(LockTtl::Auto) => chain.extend(quote! { .lock_ttl(__sf::LockTtl::Auto) }),
        Some(LockTtl::Fixed(ttl)) => {
            let ttl = duration(ttl, Unit::Millis);
            chain.extend(quote! { .lock_ttl(__sf::LockTtl::Fixed(#ttl)) });
        }
        None => {}
    }
    if let Some(losers) = policy.losers {
        let losers = match losers {
            Losers::Stale => quote! { Stale },
            Losers::Wait => quote! { Wait },
            Losers::Default => quote! { Default },
            Losers::Fail => quote! { Fail },
        };
        chain.extend(quote! { .losers(__sf::Losers::#losers) });
    }
    if let Some(version) = policy.version {
        chain.extend(quote! { .version(#version) });
    }
    if let Some(errors) = policy.errors {
        let retry = errors == ErrorsOption::Retry;
        chain.extend(quote! { .retry_errors(#retry) });
    }
    chain
}

fn duration(duration: &Duration, unit: Unit) -> TokenStream {
    match (duration, unit) {
        (Duration::Literal { ms, .. }, _) => quote! { ::core::time::Duration::from_millis(#ms) },
        (Duration::Path(path), Unit::Seconds) => quote_spanned! { at(path.span()) =>
            __sf::Seconds(#path).must_be_u64_seconds_or_a_duration()
        },
        (Duration::Path(path), Unit::Millis) => quote_spanned! { at(path.span()) =>
            __sf::Millis(#path).must_be_u64_milliseconds_or_a_duration()
        },
    }
}

/// What the return type can do, asked by method lookup; see `singleflight_core::kind`.
fn plan_tokens(model: &Model<'_>, plan: &Ident) -> TokenStream {
    let output = &model.output;
    let (kind, errors, make) = (local("__sf_kind"), local("__sf_errors"), local("__sf_make"));
    let caret = caret(model.item, output);
    let (kind_there, make_there) = (local_at(&kind, caret), local_at(&make, caret));
    let store = if model.local {
        quote_spanned! { caret => __sf::local(#kind_there) }
    } else {
        quote_spanned! { caret => __sf::portable(#kind_there) }
    };
    let way = way_tokens(model, &errors);
    let may_fail = if model.policy.fails() {
        Some(quote_spanned! { caret => __sf::may_fail::<true, _, _>(#kind_there, #make_there); })
    } else if model.policy.base.is_some() && !model.policy.generic {
        Some(quote_spanned! { caret =>
            __sf::may_fail::<{ __sf::Policy::may_fail(&__SF_POLICY) }, _, _>(#kind_there, #make_there);
        })
    } else {
        None
    };
    let probes = probes();
    let cache_if = model.cache_if.as_ref().map(|path| quote! { .cache_if(#path) });
    let value = quote! {
        __sf::plan(#kind, #store, #kind.__sf_negative(), #way, #make, #errors.__sf_words())#cache_if
    };
    let (names, value) = match &model.spawn {
        None => (quote! { #plan }, value),
        Some(_) => {
            let spawner = local("__sf_spawner");
            (quote! { (#plan, #spawner) }, quote_spanned! { caret => (#value, __sf::spawner(#kind_there)) })
        }
    };
    quote! {
        let #names = {
            #probes
            let #kind = __sf::Of::<#output>::new().__sf_kind();
            let #errors = __sf::ErrOf::of(#kind);
            let #make = #errors.__sf_make();
            #may_fail
            #value
        };
    }
}

/// How the error gets to the callers that wait.
fn way_tokens(model: &Model<'_>, errors: &Ident) -> TokenStream {
    let output = &model.output;
    let at_error = match &model.item.sig.output {
        syn::ReturnType::Default => caret(model.item, output),
        syn::ReturnType::Type(..) => at(first_span(&error_tokens(output))),
    };
    let errors = local_at(errors, at_error);
    match &model.sharing {
        Sharing::ProbeUnlessPolicyRetries if !model.policy.generic => quote_spanned! { at_error =>
            __sf::shareable_unless::<{ __sf::Policy::retries_errors(&__SF_POLICY) }, _, _>(#errors, #errors.__sf_way())
        },
        Sharing::Probe | Sharing::ProbeUnlessPolicyRetries => quote_spanned! { at_error =>
            __sf::shareable(#errors, #errors.__sf_way())
        },
        Sharing::Path(path) => quote_spanned! { at_error => __sf::by_path(#errors, #path) },
        Sharing::Retry => quote! { __sf::Retry },
    }
}
