//! Colours, for terminals.

use std::io::{self, IsTerminal};

/// How text is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    /// Colours if standard output is a terminal, unless `NO_COLOR` is set.
    pub(crate) fn of_stdout() -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { on: io::stdout().is_terminal() && !unwanted }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.with("32", text)
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.with("31", text)
    }

    pub(crate) fn yellow(self, text: &str) -> String {
        self.with("33", text)
    }

    /// A bar of `width` cells, filled to `part` (0 to 1); what is not nothing shows.
    pub(crate) fn bar(self, part: f64, width: usize) -> String {
        let cells = (part.clamp(0.0, 1.0) * width as f64).round() as usize;
        let cells = if part > 0.0 { cells.max(1) } else { 0 };
        if !self.on {
            return format!("{}{}", "#".repeat(cells), " ".repeat(width - cells));
        }
        let bar = "█".repeat(cells);
        let bar = if part > 0.5 { self.red(&bar) } else { self.green(&bar) };
        format!("{bar}{}", self.dim(&"·".repeat(width - cells)))
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}
