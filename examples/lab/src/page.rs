//! The files of the page, which are part of the program.

/// A file of the page.
pub(crate) struct File {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
}

macro_rules! files {
    ($($name:literal)*) => {
        /// All of them.
        const FILES: &[File] = &[$(File { name: $name, text: include_str!(concat!("../page/", $name)) },)*];
    };
}

files! {
    "index.html"
    "style.css" "timeline.css"
    "icon.svg"
    "api.js" "bundle.js" "callers.js" "dom.js" "fields.js" "form.js" "lessons.js" "link.js" "main.js" "marks.js"
    "race.js" "readouts.js" "replay.js" "save.js" "scale.js" "stage.js" "story.js" "theme.js" "timeline.js" "tracks.js"
    "words.js"
}

/// The file of this name.
pub(crate) fn file(name: &str) -> Option<&'static File> {
    FILES.iter().find(|file| file.name == name)
}

impl File {
    /// What a browser is told that it is.
    pub(crate) fn kind(&self) -> &'static str {
        match self.name.rsplit('.').next() {
            Some("css") => "text/css; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("svg") => "image/svg+xml",
            _ => "text/html; charset=utf-8",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_file_of_the_page_is_part_of_the_program() {
        let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/page")).unwrap();
        let there: BTreeSet<String> =
            folder.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        let listed: BTreeSet<String> = FILES.iter().map(|file| file.name.to_owned()).collect();
        assert_eq!(listed, there);
    }
}
