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
        None => with_errors(errors, without_warnings(&item)),
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
        None => with_errors(errors, without_warnings(&item)),
    }
}

fn function(item: &TokenStream, attribute: &str, errors: &mut Errors) -> Option<Item> {
    let function = syn::parse2(item.clone()).ok();
    if function.is_none() {
        let help = match around_functions(item) {
            Some("trait") => ": put it on the functions in its `impl` blocks, where the bodies are",
            Some(_) => ": put it on the functions inside",
            None => ", which this is not",
        };
        errors.on(first_line(item), format!("`#[{attribute}]` belongs on an `async fn`{help}"));
    }
    function
}

/// Whether an item is one that functions stand in, and which.
fn around_functions(item: &TokenStream) -> Option<&'static str> {
    let mut words = first_line(item).into_iter().map(|token| token.to_string());
    words.find_map(|word| ["trait", "impl", "mod"].into_iter().find(|kind| *kind == word))
}

fn with_errors(errors: Errors, item: TokenStream) -> TokenStream {
    let errors = errors.into_tokens();
    quote! { #errors #item }
}

/// The function as it was, without warnings for what only a key would have used.
fn without_warnings(item: &TokenStream) -> TokenStream {
    quote! { #[allow(unused_variables)] #item }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(args: &str, item: &str) -> Vec<String> {
        let mut errors = Errors::default();
        let args = Args::parse(args.parse().unwrap(), &mut errors);
        let item = syn::parse_str::<Item>(item).unwrap();
        let _ = Model::new(args, &item, &mut errors);
        errors.messages()
    }

    /// The line that the project stands for, and what it becomes; also shown in the documentation.
    #[test]
    fn the_mission_line() {
        let output = single_flight(
            r#"key = "user:<id>", ttl = 30, lock_ttl_ms = 1500"#.parse().unwrap(),
            "async fn find(&self, id: UserId) -> Result<Option<User>, RepoError> { self.load(id).await }"
                .parse()
                .unwrap(),
        );
        let file = syn::parse_file(&output.to_string()).unwrap();
        let output = prettyplease::unparse(&file);
        let expected = include_str!("mission_line.txt");
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/mission_line.txt"), &output).unwrap();
        }
        assert_eq!(output, expected, "run with BLESS=1 to accept the change");
    }

    #[test]
    fn all_mistakes_are_told_at_once() {
        let all = messages(
            r#"key = "user:<idd>", ttl = 0, losers = "nobody", spwan"#,
            "fn find(&mut self, id: u8) -> Option<&str> { todo!() }",
        );
        let parts = [
            "`ttl` cannot be zero",
            "\"nobody\"",
            "did you mean `spawn`",
            "not asynchronous",
            "`&mut self`",
            "`<idd>`",
        ];
        for part in parts {
            assert_eq!(all.iter().filter(|message| message.contains(part)).count(), 1, "{part}: {all:?}");
        }
        assert_eq!(all.len(), parts.len(), "{all:?}");
    }

    #[test]
    fn messages_are_lower_case_sentences_without_a_full_stop() {
        let uses = [
            ("", "async fn find(id: u8) -> u8 { id }"),
            (
                r#"key = "<a><b>", ttl = 1, soft_ttl = 2"#,
                "async fn find<T, const N: u8>(a: u8, c: u8) -> T { todo!() }",
            ),
            (r#"key = 1, ttl = "x", default = 1, errors = "x", skip = 1"#, "async fn find() {}"),
        ];
        for (args, item) in uses {
            for message in messages(args, item) {
                let first = message.chars().next().unwrap();
                assert!(!first.is_uppercase() && !message.ends_with('.'), "{message}");
            }
        }
    }

    #[test]
    fn a_function_is_emitted_whatever_is_wrong() {
        let item = "async fn find(id: u8) -> u8 { id }";
        let output = single_flight("ttl".parse().unwrap(), item.parse().unwrap()).to_string();
        let item: TokenStream = item.parse().unwrap();
        assert!(output.contains("compile_error") && output.ends_with(&item.to_string()), "{output}");
    }
}
