//! Whether every key that is invalidated is one that is read: by the templates in the sources.

mod files;
mod scan;
mod shape;

use std::fmt;
use std::path::{Path, PathBuf};

pub use self::files::TemplatesError;
use self::scan::Names;
use self::shape::Shape;

/// Checks that every `#[invalidates]` in the sources of a package names a key that some read has; see [`Templates`].
///
/// ```no_run
/// // #[test]
/// fn what_is_invalidated_is_read() {
///     singleflight_core::testing::assert_invalidates_match(env!("CARGO_MANIFEST_DIR"));
/// }
/// ```
///
/// # Panics
/// If one does not, with the place of each and the template that is nearest to it; if nothing is invalidated there at
/// all; if the sources cannot be read.
#[track_caller]
pub fn assert_invalidates_match(package: impl AsRef<Path>) {
    match Templates::of([package]) {
        Ok(templates) => templates.assert_match(),
        Err(error) => panic!("{error}"),
    }
}

/// The key templates in the sources of one or several packages.
///
/// A misspelt template of an `#[invalidates]` compiles, and invalidates a key that nobody reads; so this compares the
/// templates as they stand in the sources. One that is invalidated matches one that is read if their text is the same
/// and their placeholders stand in the same places: what these are called does not matter, as in `user:<user.id>` and
/// `user:<id>`, but `<id:?>` is another form than `<id>`. A word may stand where a read has a placeholder: `page:1` is a
/// key of `page:<n>`.
///
/// ```
/// use singleflight_core::testing::Templates;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempdir();
/// # std::fs::write(dir.join("users.rs"), r#"
/// #     #[single_flight(key = "user:<id>", ttl = 30)] async fn find(id: u64) -> Option<User> {}
/// #     #[invalidates(key = "usr:<user.id>")] async fn save(user: User) {}
/// # "#)?;
/// let templates = Templates::of([&dir])?;
/// let unmatched = templates.unmatched();
/// assert_eq!(unmatched.len(), 1);
/// assert_eq!(unmatched[0].written.text(), "usr:<user.id>");
/// assert_eq!(unmatched[0].nearest.as_ref().map(|read| read.text()), Some("user:<id>"));
/// # Ok(()) }
/// # fn tempdir() -> std::path::PathBuf {
/// #     let dir = std::env::temp_dir().join(format!("templates-{}", std::process::id()));
/// #     std::fs::create_dir_all(&dir).unwrap();
/// #     dir
/// # }
/// ```
///
/// # What is found
///
/// The sources are read token by token, so it does not matter whether a function stands in an `impl`, in a module or in the
/// body of a macro, nor whether the attribute is switched on by a `cfg_attr`:
///
/// - invalidated is what `#[invalidates(key = "..")]` says, each of its keys, and what [`key!`](macro@crate::key) says in
///   the argument of `invalidate(..)`;
/// - read is what `#[single_flight(key = "..")]` says, `key!` anywhere else, and text in `flight("..")`;
/// - the macros may be named by any path, and imported under another name (`use .. as ..`) anywhere in what is read;
/// - reads in code under `#[cfg(test)]` are only for what is invalidated in such code.
///
/// Not found are templates that a macro puts together (`key = $key`), keys made by `format!`, and macros that come under
/// another name from a crate that is not read. A read that is elsewhere is told by [`read_elsewhere`](Self::read_elsewhere).
#[derive(Clone, Debug)]
pub struct Templates {
    reads: Vec<Template>,
    invalidated: Vec<Template>,
}

/// A key template, and where it stands.
#[derive(Clone, Debug)]
pub struct Template {
    text: String,
    shape: Shape,
    /// `None` for one that was told.
    file: Option<PathBuf>,
    line: usize,
    /// Whether it is compiled for tests only.
    test: bool,
}

/// A template that is invalidated, and that nobody reads.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Unmatched {
    /// The template.
    pub written: Template,
    /// The one of those that are read that differs least, if any is read.
    pub nearest: Option<Template>,
}

impl Templates {
    /// The templates of these packages or folders together: give all crates that share keys. Of a folder that has a
    /// `Cargo.toml` and a `src` this reads the `src`, of others all `.rs` files below that are not in a `target`.
    ///
    /// # Errors
    /// If a file cannot be read or is not Rust, or there is none.
    pub fn of<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self, TemplatesError> {
        let files = files::read(paths.into_iter().map(|path| path.as_ref().to_owned()))?;
        let names = Names::in_all(files.iter().map(|file| &file.tokens));
        let mut found = scan::Found::default();
        files.iter().for_each(|file| found.look_in(file, &names));
        Ok(Self { reads: found.reads, invalidated: found.invalidated })
    }

    /// Counts this template as one that is read: by another service, say, or by code that this cannot see through.
    #[must_use]
    pub fn read_elsewhere(mut self, template: &str) -> Self {
        let (text, shape) = (template.to_owned(), Shape::of(template));
        self.reads.push(Template { text, shape, file: None, line: 0, test: false });
        self
    }

    /// What is read.
    #[must_use]
    pub fn reads(&self) -> &[Template] {
        &self.reads
    }

    /// What is invalidated.
    #[must_use]
    pub fn invalidated(&self) -> &[Template] {
        &self.invalidated
    }

    /// What is invalidated and not read.
    #[must_use]
    pub fn unmatched(&self) -> Vec<Unmatched> {
        let unmatched = self
            .invalidated
            .iter()
            .filter(|written| !self.readable(written).any(|read| written.shape.is_one_of(&read.shape)));
        unmatched
            .map(|written| Unmatched {
                written: written.clone(),
                nearest: self
                    .readable(written)
                    .min_by_key(|read| written.shape.distance(&read.shape))
                    .cloned(),
            })
            .collect()
    }

    /// The reads that can be meant by this template.
    fn readable<'a>(&'a self, written: &'a Template) -> impl Iterator<Item = &'a Template> {
        self.reads.iter().filter(|read| written.test || !read.test)
    }

    /// Asserts that all that is invalidated is read.
    ///
    /// # Panics
    /// If it is not, with the place of each template and the one that is nearest to it; or if nothing is invalidated:
    /// nothing would be checked.
    #[track_caller]
    pub fn assert_match(&self) {
        assert!(
            !self.invalidated.is_empty(),
            "there is no `#[invalidates]` in these sources ({} templates are read), so there is nothing to check",
            self.reads.len()
        );
        let unmatched = self.unmatched();
        let lines: String = unmatched.iter().map(|one| format!("\n  {one}")).collect();
        assert!(
            unmatched.is_empty(),
            "{} of {} templates that are invalidated match none of the {} that are read:{lines}",
            unmatched.len(),
            self.invalidated.len(),
            self.reads.len()
        );
    }
}

impl Template {
    /// The template, as written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The file it stands in; `None` for one that was told.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The line it stands on.
    #[must_use]
    pub const fn line(&self) -> usize {
        self.line
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "`{}` at {}:{}", self.text, file.display(), self.line),
            None => write!(f, "`{}` elsewhere", self.text),
        }
    }
}

impl fmt::Display for Unmatched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.nearest {
            Some(nearest) => write!(f, "{}; the nearest that is read is {nearest}", self.written),
            None => write!(f, "{}; nothing is read", self.written),
        }
    }
}
