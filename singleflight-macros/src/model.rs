//! What a use of the attribute means. Every refusal lives here or in what it calls; what comes out can be expanded.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{Expr, ExprPath, GenericParam, LitStr, Path};

use crate::args::{Args, ErrorsOption, LockTtl, Losers, Opt};
use crate::async_body::{AsyncBody, output};
use crate::diag::Errors;
use crate::duration::Duration;
use crate::function::{asynchronous, shared_receiver};
use crate::item::Item;
use crate::names::{Names, key_parts};
use crate::render::Part;
use crate::return_type;
use crate::spawn::Spawn;

/// A use that makes sense.
pub(crate) struct Model<'a> {
    pub(crate) item: &'a Item,
    pub(crate) body: AsyncBody,
    /// The return type.
    pub(crate) output: TokenStream,
    pub(crate) root: Path,
    pub(crate) name: Option<LitStr>,
    pub(crate) key: Vec<Part>,
    pub(crate) policy: PolicyModel,
    pub(crate) sharing: Sharing,
    pub(crate) local: bool,
    pub(crate) default: Option<Expr>,
    pub(crate) cache_if: Option<ExprPath>,
    pub(crate) flights: Option<Expr>,
    /// `None` if the fill runs in its caller.
    pub(crate) spawn: Option<Spawn>,
}

/// The `const` policy.
pub(crate) struct PolicyModel {
    pub(crate) base: Option<ExprPath>,
    pub(crate) ttl: Option<Duration>,
    pub(crate) soft_ttl: Option<Duration>,
    pub(crate) negative_ttl: Option<Duration>,
    pub(crate) lock_ttl: Option<LockTtl>,
    pub(crate) losers: Option<Losers>,
    pub(crate) version: Option<u16>,
    pub(crate) errors: Option<ErrorsOption>,
    /// Whether a path in it may name a type parameter, so that it cannot be an item.
    pub(crate) generic: bool,
}

/// How errors get to the callers that wait.
pub(crate) enum Sharing {
    /// As the error's type can.
    Probe,
    /// As the error's type can, unless the policy named says to retry.
    ProbeUnlessPolicyRetries,
    /// By this function.
    Path(ExprPath),
    /// Not.
    Retry,
}

impl<'a> Model<'a> {
    /// Understands a use, or tells all that is wrong with it.
    pub(crate) fn new(args: Args, item: &'a Item, errors: &mut Errors) -> Option<Self> {
        let body = asynchronous(item, errors);
        shared_receiver(item, errors);
        let names = Names::of(item);
        combinations(&args, errors);
        let key = key_parts(&args, item, &names, body.as_ref(), errors);
        let output = body.as_ref().and_then(|body| output(item, body));
        if let Some(output) = &output {
            return_type::check(output, &names.types(), errors);
        }
        let spawn = match (&args.spawn, &body) {
            (Some(spawn), Some(body)) => Some(Spawn::of(item, body, &spawn.key, errors)),
            _ => None,
        };
        if !errors.is_empty() {
            return None;
        }
        let (body, output) = (body?, output?);
        let sharing = sharing(&args);
        Some(Self {
            item,
            body,
            output,
            root: root(args.krate.as_ref().map(|krate| &krate.value)),
            name: args.name.map(|name| name.value),
            key: key?,
            sharing,
            spawn,
            local: args.local.is_some(),
            default: args.default.map(|default| default.value),
            cache_if: args.cache_if.map(|keep| keep.value),
            flights: args.flights.map(|flights| flights.value),
            policy: PolicyModel {
                generic: may_be_generic(args.policy.as_ref().map(|policy| &policy.value), &names)
                    || [&args.ttl, &args.soft_ttl, &args.negative_ttl]
                        .into_iter()
                        .flatten()
                        .any(|ttl| may_be_generic(ttl.value.path(), &names))
                    || may_be_generic(
                        args.lock_ttl_ms.as_ref().and_then(|lock| lock.value.duration()?.path()),
                        &names,
                    ),
                base: args.policy.map(|policy| policy.value),
                ttl: args.ttl.map(|ttl| ttl.value),
                soft_ttl: args.soft_ttl.map(|ttl| ttl.value),
                negative_ttl: args.negative_ttl.map(|ttl| ttl.value),
                lock_ttl: args.lock_ttl_ms.map(|ttl| ttl.value),
                losers: args.losers.map(|losers| losers.value),
                version: args.version.map(|version| version.value),
                errors: args.errors.map(|errors| errors.value),
            },
        })
    }
}

/// The crate's path, as the user sees it.
pub(crate) fn root(krate: Option<&Path>) -> Path {
    krate.cloned().unwrap_or_else(|| syn::parse_quote!(::singleflight_core))
}

/// Refuses options that are missing, or that do not go together.
fn combinations(args: &Args, errors: &mut Errors) {
    if args.misses("key") {
        errors.at(Span::call_site(), "`key` is missing: write a template, as in `key = \"user:<id>\"`");
    }
    if args.misses("ttl") && args.misses("policy") {
        errors.at(
            Span::call_site(),
            "`ttl` is missing: write how many seconds a value may be served, as in `ttl = 30`, or a `policy` that says so",
        );
    }
    if let (Some(ttl), Some(soft)) = (&args.ttl, &args.soft_ttl)
        && let (Duration::Literal { ms: hard, .. }, Duration::Literal { ms, span }) =
            (&ttl.value, &soft.value)
        && ms > hard
    {
        errors.at(
            *span,
            "`soft_ttl` is longer than `ttl`: a value is stale from `soft_ttl` on and gone after `ttl`",
        );
    }
    losers(args, errors);
    if let Some(share) = &args.share_error
        && matches!(&args.errors, Some(Opt { value: ErrorsOption::Retry, .. }))
    {
        errors.at(
            share.key.span(),
            "`share_error` has nothing to share under `errors = \"retry\"`: keep one of the two",
        );
    }
    if let (Some(local), Some(version)) = (&args.local, &args.version) {
        let _ = local;
        errors.at(
            version.key.span(),
            "`version` is for values that other processes read, and `local` keeps them in this one: keep one of the two",
        );
    }
}

fn losers(args: &Args, errors: &mut Errors) {
    let losers = args.losers.as_ref().map(|losers| losers.value);
    match (&args.default, losers) {
        (None, Some(Losers::Default)) if !args.wrote("default") => {
            let span = args.losers.as_ref().map_or_else(Span::call_site, |losers| losers.key.span());
            errors.at(span, "`losers = \"default\"` needs the value to answer with: write `default = ..`");
        }
        // A policy may say when the default is taken; the `const` check sees to it.
        (Some(default), losers) if losers != Some(Losers::Default) && !args.wrote("policy") => {
            errors.at(
                default.key.span(),
                "`default` is used under `losers = \"default\"` only: write that too, or leave the default out",
            );
        }
        _ => {}
    }
}

fn sharing(args: &Args) -> Sharing {
    match (&args.share_error, &args.errors) {
        (_, Some(Opt { value: ErrorsOption::Retry, .. })) => Sharing::Retry,
        (Some(path), _) => Sharing::Path(path.value.clone()),
        (None, None) if args.policy.is_some() => Sharing::ProbeUnlessPolicyRetries,
        (None, _) => Sharing::Probe,
    }
}

/// Whether a path may name a type parameter, of the function or of what surrounds it, which an attribute does not see:
/// `Db::TTL` may be the constant of a parameter as well as of a type.
fn may_be_generic(path: Option<&ExprPath>, names: &Names<'_>) -> bool {
    let Some(path) = path else { return false };
    let Some(first) = path.path.segments.first() else { return false };
    path.qself.is_some()
        || path.path.segments.iter().any(|segment| !segment.arguments.is_none())
        || (path.path.segments.len() > 1 && first.ident.to_string().starts_with(char::is_uppercase))
        || names.params().any(|param| match param {
            GenericParam::Const(param) => param.ident == first.ident,
            GenericParam::Type(_) | GenericParam::Lifetime(_) => false,
        })
}

impl PolicyModel {
    /// The lease TTL, if it is fixed.
    pub(crate) fn lock(&self) -> Option<&Duration> {
        self.lock_ttl.as_ref().and_then(LockTtl::duration)
    }

    /// Whether callers are known to be told to fail.
    pub(crate) fn fails(&self) -> bool {
        self.losers == Some(Losers::Fail)
    }
}

impl Model<'_> {
    /// The path that labels the function.
    pub(crate) fn label(&self) -> TokenStream {
        let name = self.item.sig.ident.to_string();
        let name = name.strip_prefix("r#").unwrap_or(&name);
        quote! { ::core::concat!(::core::module_path!(), "::", #name) }
    }
}
