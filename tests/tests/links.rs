//! What the Markdown files of the repository say: links lead somewhere, and Rust is compiled.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{BrokenLink, CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};

/// Where the guide's chapters are; mdBook makes pages of what is there and of nothing else.
const CHAPTERS: &str = "guide/chapters";

/// One file.
#[derive(Default)]
struct Page {
    /// Line and target.
    links: Vec<(usize, String)>,
    /// The headings, as one links to them.
    anchors: BTreeSet<String>,
    /// Line and language of each block of code; no language where there is none.
    code: Vec<(usize, String)>,
}

impl Page {
    fn read(text: &str) -> Self {
        let line = |at: usize| 1 + text[..at].matches('\n').count();
        let mut page = Self::default();
        let mut broken = Vec::new();
        let mut note = |link: BrokenLink<'_>| {
            // Brackets alone are ordinary text.
            if matches!(link.link_type, LinkType::Reference | LinkType::Collapsed) {
                broken.push((line(link.span.start), format!("[{}]", link.reference)));
            }
            None
        };
        let (mut heading, mut seen) = (None, HashMap::new());
        let parser = Parser::new_with_broken_link_callback(text, Options::ENABLE_TABLES, Some(&mut note));
        for (event, span) in parser.into_offset_iter() {
            match event {
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    page.anchors.extend(heading.take().map(|title| anchor(&title, &mut seen)));
                }
                Event::Text(text) | Event::Code(text) => {
                    heading.iter_mut().for_each(|title| title.push_str(&text));
                }
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push((line(span.start), dest_url.into_string()));
                }
                Event::Start(Tag::CodeBlock(kind)) => {
                    let language = match kind {
                        CodeBlockKind::Fenced(language) => language.into_string(),
                        CodeBlockKind::Indented => String::new(),
                    };
                    page.code.push((line(span.start), language));
                }
                _ => {}
            }
        }
        page.links.extend(broken);
        page
    }
}

/// The name by which one links to a heading, on GitHub as in the book.
fn anchor(title: &str, seen: &mut HashMap<String, usize>) -> String {
    let kept = title.trim().chars().filter_map(|c| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        _ => c.is_alphanumeric().then(|| c.to_ascii_lowercase()),
    });
    let name: String = kept.collect();
    let times = seen.entry(name.clone()).or_default();
    *times += 1;
    if *times == 1 { name } else { format!("{name}-{}", *times - 1) }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// All Markdown files, by their path from the root.
fn pages() -> BTreeMap<PathBuf, Page> {
    let root = root();
    let (mut folders, mut pages) = (vec![root.clone()], BTreeMap::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                if !name.starts_with('.') && name != "target" && !name.starts_with("mutants.out") {
                    folders.push(path);
                }
            } else if name.ends_with(".md") {
                let page = Page::read(&fs::read_to_string(&path).unwrap());
                pages.insert(path.strip_prefix(&root).unwrap().to_owned(), page);
            }
        }
    }
    assert!(pages.contains_key(Path::new("README.md")), "the README has not been found");
    pages
}

/// The path that `target` means on the page `from`; `None` where it leaves the repository.
fn resolve(from: &Path, target: &str) -> Option<PathBuf> {
    let mut path = from.parent()?.to_owned();
    for part in Path::new(target).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::ParentDir if path.pop() => {}
            _ => return None,
        }
    }
    Some(path)
}

/// What is wrong with a link on the page `from`.
fn fault(from: &Path, target: &str, pages: &BTreeMap<PathBuf, Page>) -> Option<&'static str> {
    if let Ok(url) = url::Url::parse(target) {
        let good = url.scheme() == "https" && url.host_str().is_some_and(|host| host.contains('.'));
        return (!good).then_some("is neither https nor a path");
    }
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let Some(to) = (if path.is_empty() { Some(from.to_owned()) } else { resolve(from, path) }) else {
        return Some("leaves the repository");
    };
    if from.starts_with(CHAPTERS) && !to.starts_with(CHAPTERS) {
        return Some("leaves the book");
    }
    let there = root().join(&to).exists();
    match (anchor, pages.get(&to)) {
        (None, _) => (!there).then_some("does not exist"),
        (Some(anchor), Some(page)) => (!page.anchors.contains(anchor)).then_some("has no such heading"),
        (Some(_), None) => Some("has no headings"),
    }
}

/// Fails with all faults, if there are any.
fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_link_leads_somewhere() {
    let pages = pages();
    let mut faults = Vec::new();
    for (path, page) in &pages {
        for (line, target) in &page.links {
            if let Some(fault) = fault(path, target, &pages) {
                faults.push(format!("{}:{line}: `{target}` {fault}", path.display()));
            }
        }
    }
    assert_none(&faults);
}

/// The README's blocks are compared with an example by that example's test, the guide's are doctests.
#[test]
fn every_rust_block_is_compiled() {
    let mut faults = Vec::new();
    for (path, page) in pages() {
        let allowed: &[&str] = if path.starts_with(CHAPTERS) {
            &["rust", "rust,no_run"]
        } else if path == Path::new("README.md") {
            &["rust"]
        } else {
            &[]
        };
        for (line, language) in &page.code {
            let at = format!("{}:{line}", path.display());
            if language.is_empty() {
                faults.push(format!("{at}: say which language it is; without one, it is Rust to rustdoc"));
            } else if language.starts_with("rust") && !allowed.contains(&language.as_str()) {
                faults.push(format!("{at}: `{language}` is compiled nowhere"));
            }
        }
    }
    assert_none(&faults);
}

#[test]
fn every_chapter_is_in_the_book_and_in_the_doctests() {
    let pages = pages();
    let summary = Path::new(CHAPTERS).join("SUMMARY.md");
    let listed: Vec<&str> = pages[&summary].links.iter().map(|(_, target)| target.as_str()).collect();
    let library = fs::read_to_string(root().join("guide/src/lib.rs")).unwrap();
    let chapters: Vec<String> = pages
        .keys()
        .filter(|path| path.starts_with(CHAPTERS) && **path != summary)
        .map(|path| path.strip_prefix(CHAPTERS).unwrap().to_string_lossy().into_owned())
        .collect();
    assert!(chapters.len() >= 11, "the guide has lost chapters: {chapters:?}");
    let mut faults = Vec::new();
    for chapter in &chapters {
        if listed.iter().filter(|listed| *listed == chapter).count() != 1 {
            faults.push(format!("SUMMARY.md does not list {chapter} once"));
        }
        if !library.contains(&format!("#[doc = include_str!(\"../chapters/{chapter}\")]")) {
            faults.push(format!("guide/src/lib.rs does not include {chapter}"));
        }
    }
    assert_none(&faults);
}

#[test]
fn what_is_wrong_is_noticed() {
    let text = "# One, two: `three`\n\n# One two three\n\n# One two three\n\n[a](x.md#one-two-three-1) [b][c] [d]\n\n    code\n";
    let page = Page::read(text);
    let anchors: Vec<&str> = page.anchors.iter().map(String::as_str).collect();
    assert_eq!(anchors, ["one-two-three", "one-two-three-1", "one-two-three-2"]);
    assert_eq!(page.links, [(7, "x.md#one-two-three-1".to_owned()), (7, "[c]".to_owned())]);
    assert_eq!(page.code, [(9, String::new())]);

    let chapter = Path::new(CHAPTERS).join("a.md");
    let pages = BTreeMap::from([(chapter.clone(), page)]);
    let readme = Path::new("README.md");
    for (from, target, wanted) in [
        (readme, "https://example.org/a#b", None),
        (readme, "http://example.org", Some("is neither https nor a path")),
        (readme, "mailto:me@example.org", Some("is neither https nor a path")),
        (readme, "https://localhost", Some("is neither https nor a path")),
        (readme, "guide/chapters/a.md#one-two-three-2", None),
        (readme, "guide/chapters/a.md#three", Some("has no such heading")),
        (readme, "Cargo.toml", None),
        (readme, "Cargo.toml#package", Some("has no headings")),
        (readme, "nowhere.md", Some("does not exist")),
        (readme, "../README.md", Some("leaves the repository")),
        (readme, "/README.md", Some("leaves the repository")),
        (&chapter, "#one-two-three", None),
        (&chapter, "#two", Some("has no such heading")),
        (&chapter, "../../README.md", Some("leaves the book")),
    ] {
        assert_eq!(fault(from, target, &pages), wanted, "{target}");
    }
}
