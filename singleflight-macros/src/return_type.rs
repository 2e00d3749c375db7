//! Return types that cannot be stored, as far as their tokens show.

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{GenericArgument, PathArguments, Type};

use crate::diag::Errors;

/// Refuses what the type shows to be impossible to store. `params` are the function's type parameters.
pub(crate) fn check(output: &TokenStream, params: &[&Ident], errors: &mut Errors) {
    tokens(output.clone(), errors);
    if let Ok(ty) = syn::parse2::<Type>(output.clone()) {
        maybe_result(&ty, params, errors);
    }
}

/// The tokens of the error in `Result<T, E>`, where the type shows them, else the whole type.
pub(crate) fn error_tokens(output: &TokenStream) -> TokenStream {
    let whole = output.clone();
    let path = match syn::parse2::<Type>(whole.clone()) {
        Ok(Type::Path(path)) => path,
        Ok(Type::Group(group)) => return error_tokens(&group.elem.to_token_stream()),
        _ => return whole,
    };
    let Some(last) = path.path.segments.last() else { return whole };
    match &last.arguments {
        PathArguments::AngleBracketed(args) if last.ident == "Result" => match args.args.get(1) {
            Some(GenericArgument::Type(error)) => error.to_token_stream(),
            _ => whole,
        },
        _ => whole,
    }
}

/// References, lifetimes and `impl Trait`, wherever they stand.
fn tokens(stream: TokenStream, errors: &mut Errors) {
    let mut before_parens = false;
    let mut iter = stream.into_iter().peekable();
    while let Some(token) = iter.next() {
        let mut next_before_parens = false;
        match token {
            // The parameters of `fn(&T)` and `Fn(&T)` may be references.
            TokenTree::Group(group) if before_parens && group.delimiter() == Delimiter::Parenthesis => {}
            TokenTree::Group(group) => tokens(group.stream(), errors),
            TokenTree::Ident(ident) => {
                let name = ident.to_string();
                if name == "impl" {
                    errors.at(
                        ident.span(),
                        "`-> impl Trait` has no name to store a value under: write the type, or box it",
                    );
                }
                next_before_parens = name == "fn" || name.starts_with("Fn") || name.starts_with("AsyncFn");
            }
            TokenTree::Punct(punct) if punct.as_char() == '&' => {
                let is_static = matches!(iter.peek(), Some(TokenTree::Punct(quote)) if quote.as_char() == '\'')
                    && {
                        iter.next();
                        matches!(iter.next(), Some(TokenTree::Ident(name)) if name == "static")
                    };
                if !is_static {
                    errors.at(
                        punct.span(),
                        "a value that is stored outlives the call, so it cannot borrow: return an owned value, such as \
                         `String` for `&str`, or an `Arc`",
                    );
                }
            }
            TokenTree::Punct(punct) if punct.as_char() == '\'' => {
                if let Some(TokenTree::Ident(name)) = iter.next()
                    && name != "static"
                {
                    errors.at(
                        name.span(),
                        format!(
                            "a value that is stored outlives the lifetime `'{name}`: return an owned value, such as \
                             `Cow<'static, str>` or `String`"
                        ),
                    );
                }
            }
            _ => {}
        }
        before_parens = next_before_parens;
    }
}

/// A bare type parameter or a projection may turn out to be a Result, whose `Err` would be stored.
fn maybe_result(ty: &Type, params: &[&Ident], errors: &mut Errors) {
    let path = match ty {
        Type::Paren(inner) => return maybe_result(&inner.elem, params, errors),
        Type::Group(inner) => return maybe_result(&inner.elem, params, errors),
        Type::Path(path) => path,
        _ => return,
    };
    let Some(first) = path.path.segments.first() else { return };
    let bare = |ident: &Ident| params.contains(&ident) || looks_like_a_parameter(ident);
    let projection = path.qself.is_some()
        || (path.path.leading_colon.is_none()
            && path.path.segments.len() > 1
            && (first.ident == "Self" || bare(&first.ident)));
    if projection {
        errors.on(
            ty,
            format!(
                "`{}` may turn out to be a `Result`, whose error must not be stored: return `Option<..>` or \
                 `Result<.., E>` around it",
                pretty(ty)
            ),
        );
    } else if path.path.segments.len() == 1 && first.arguments.is_none() && bare(&first.ident) {
        errors.on(
            ty,
            format!(
                "the type parameter `{}` may stand for a `Result`, whose error must not be stored: return \
                 `Option<{0}>` or `Result<{0}, E>`; if it is a type, write `self::{0}`",
                first.ident
            ),
        );
    }
}

/// An attribute does not see the parameters of a surrounding `impl`; by custom they are single capitals.
fn looks_like_a_parameter(ident: &Ident) -> bool {
    let name = ident.to_string();
    let mut chars = name.chars();
    chars.next().is_some_and(char::is_uppercase) && chars.all(|c| c.is_ascii_digit())
}

/// A type as one would write it.
fn pretty(ty: &Type) -> String {
    let mut out = String::new();
    for c in ty.to_token_stream().to_string().chars() {
        match c {
            ':' | '>' | ',' if out.ends_with(' ') && !out.ends_with("as ") => {
                out.pop();
                out.push(c);
            }
            ' ' if out.ends_with("::") || out.ends_with('<') => {}
            _ => out.push(c),
        }
    }
    out
}

/// The span of the first token.
pub(crate) fn first_span(tokens: &TokenStream) -> Span {
    tokens.clone().into_iter().next().map_or_else(Span::call_site, |token| token.span())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistakes(ty: &str) -> Vec<String> {
        let param = Ident::new("Key", Span::call_site());
        let mut errors = Errors::default();
        check(&ty.parse().unwrap(), &[&param], &mut errors);
        errors.messages()
    }

    #[test]
    fn owned_types_pass() {
        for ty in [
            "()",
            "u8",
            "Option<User>",
            "Result<Vec<T>, E>",
            "Api<T>",
            "Cow<'static, str>",
            "&'static str",
            "fn(&str) -> u8",
            "Box<dyn Fn(&str) -> u8 + Send>",
            "(u8, String)",
            "[u8; 4]",
            "Result<D::Out, D::Err>",
            "models::User",
        ] {
            assert!(mistakes(ty).is_empty(), "{ty}: {:?}", mistakes(ty));
        }
    }

    #[test]
    fn what_borrows_or_hides_is_refused() {
        for (ty, part) in [
            ("&str", "cannot borrow"),
            ("Option<&'a str>", "cannot borrow"),
            ("(u8, &User)", "cannot borrow"),
            ("Cow<'_, str>", "lifetime `'_`"),
            ("Ref<'a, T>", "lifetime `'a`"),
            ("impl Iterator<Item = u8>", "no name"),
            ("Option<impl Sized>", "no name"),
            ("T", "type parameter `T`"),
            ("Key", "type parameter `Key`"),
            ("D::Out", "`D::Out` may turn out"),
            ("Self::Out", "`Self::Out` may turn out"),
            ("<D as Db>::Out", "`<D as Db>::Out` may turn out"),
        ] {
            let all = mistakes(ty);
            assert_eq!(all.len(), 1, "{ty}: {all:?}");
            assert!(all[0].contains(part), "{ty}: {all:?}");
        }
    }

    #[test]
    fn the_error_of_a_result_is_found() {
        for (ty, error) in
            [("Result<u8, E>", "E"), ("std::result::Result<u8, a::E>", "a :: E"), ("Api<u8>", "Api < u8 >")]
        {
            assert_eq!(error_tokens(&ty.parse().unwrap()).to_string(), error);
        }
    }
}
