//! The sources: which files there are, and their tokens.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use proc_macro2::{LexError, TokenStream};

/// One source file.
pub(super) struct File {
    /// As it is shown: below the current folder, if it is there.
    pub(super) path: PathBuf,
    pub(super) tokens: TokenStream,
    /// Whether it is a module that is compiled for tests only.
    pub(super) test: bool,
}

/// The sources could not be read.
#[derive(Debug)]
pub struct TemplatesError {
    path: PathBuf,
    line: Option<usize>,
    source: Option<io::Error>,
}

impl fmt::Display for TemplatesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match (&self.source, self.line) {
            (Some(error), _) => write!(f, "cannot read {path}: {error}"),
            (None, Some(line)) => write!(f, "{path}:{line} is not Rust, as far as it can be read"),
            (None, None) => write!(f, "there is no `.rs` file in {path}"),
        }
    }
}

impl Error for TemplatesError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|error| error as _)
    }
}

/// The files of all these folders.
pub(super) fn read(paths: impl Iterator<Item = PathBuf>) -> Result<Vec<File>, TemplatesError> {
    let mut files = Vec::new();
    for path in paths {
        let before = files.len();
        let source = path.join("src");
        let package = path.join("Cargo.toml").is_file() && source.is_dir();
        walk(if package { &source } else { &path }, &mut files)?;
        if files.len() == before {
            return Err(TemplatesError { path, line: None, source: None });
        }
    }
    let tests: Vec<PathBuf> =
        files.iter().flat_map(|file| super::scan::test_modules(&file.path, &file.tokens)).collect();
    let here = std::env::current_dir().unwrap_or_default();
    for file in &mut files {
        // `tests` names both `tests.rs` and the folder beside it, without an ending.
        let path = file.path.with_extension("");
        file.test = tests.iter().any(|module| path.starts_with(module));
        if let Ok(below) = file.path.strip_prefix(&here) {
            file.path = below.to_owned();
        }
    }
    Ok(files)
}

fn walk(path: &Path, files: &mut Vec<File>) -> Result<(), TemplatesError> {
    let failed = |source| TemplatesError { path: path.to_owned(), line: None, source: Some(source) };
    if !path.is_dir() {
        let text = fs::read_to_string(path).map_err(failed)?;
        let tokens = lex(&text).map_err(|error| {
            let line = Some(error.span().start().line);
            TemplatesError { path: path.to_owned(), line, source: None }
        })?;
        files.push(File { path: path.to_owned(), tokens, test: false });
        return Ok(());
    }
    let entries: Result<Vec<_>, _> = fs::read_dir(path).map_err(failed)?.collect();
    let mut entries = entries.map_err(failed)?;
    // In one order everywhere, so that what is told is the same.
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name());
        let hidden = name.as_encoded_bytes().starts_with(b".");
        let kind = entry.file_type().map_err(failed)?;
        let source = kind.is_file() && path.extension().is_some_and(|ending| ending == "rs");
        if source || kind.is_dir() && !hidden && name != "target" {
            walk(&path, files)?;
        }
    }
    Ok(())
}

/// The tokens of a file, without the line that makes it a script.
fn lex(text: &str) -> Result<TokenStream, LexError> {
    let script = text.starts_with("#!") && !text[2..].trim_start().starts_with('[');
    // In the place of what is left out, so that lines keep their numbers.
    let text = if script { format!("//{text}") } else { text.to_owned() };
    text.parse()
}
