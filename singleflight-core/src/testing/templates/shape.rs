//! What two templates must have in common to give the same keys.

/// A template without the names of its placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shape(Vec<Piece>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    Letter(char),
    /// A placeholder, for a value's `Display` form or its `Debug` form.
    Hole {
        debug: bool,
    },
}

impl Shape {
    /// The shape of a template. The compiler has refused what is not one, so what comes here is not judged again.
    pub(super) fn of(template: &str) -> Self {
        let (mut pieces, mut rest) = (Vec::new(), template);
        while let Some((text, (inner, after))) =
            rest.split_once('<').and_then(|(text, from)| Some((text, from.split_once('>')?)))
        {
            pieces.extend(text.chars().map(Piece::Letter));
            pieces.push(Piece::Hole { debug: inner.ends_with(":?") });
            rest = after;
        }
        pieces.extend(rest.chars().map(Piece::Letter));
        Self(pieces)
    }

    /// The shape of text without placeholders.
    pub(super) fn plain(text: &str) -> Self {
        Self(text.chars().map(Piece::Letter).collect())
    }

    /// Whether all keys of this shape are keys of `read`, placeholder for placeholder; a word may stand for one.
    pub(super) fn is_one_of(&self, read: &Self) -> bool {
        fits(&self.0, &read.0)
    }

    /// How many letters and placeholders would have to be written differently.
    pub(super) fn distance(&self, other: &Self) -> usize {
        let mut row: Vec<usize> = (0..=other.0.len()).collect();
        for (i, ours) in self.0.iter().enumerate() {
            let mut diagonal = row[0];
            row[0] = i + 1;
            for (j, theirs) in other.0.iter().enumerate() {
                let changed = diagonal + usize::from(ours != theirs);
                diagonal = row[j + 1];
                row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
            }
        }
        row[other.0.len()]
    }
}

fn fits(written: &[Piece], read: &[Piece]) -> bool {
    let Some((first, read)) = read.split_first() else { return written.is_empty() };
    if written.first() == Some(first) && fits(&written[1..], read) {
        return true;
    }
    let is_word =
        |piece: &Piece| matches!(piece, Piece::Letter(c) if c.is_alphanumeric() || "-_".contains(*c));
    let word = written.iter().take_while(|piece| is_word(piece)).count();
    matches!(first, Piece::Hole { .. }) && (1..=word).any(|n| fits(&written[n..], read))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(written: &str, read: &str) -> bool {
        Shape::of(written).is_one_of(&Shape::of(read))
    }

    #[test]
    fn names_do_not_matter_and_places_do() {
        for (written, read, is) in [
            ("user:<user.id>", "user:<id>", true),
            ("user:<id>:<self.tenant>", "user:<a>:<b>", true),
            ("users", "users", true),
            ("usr:<id>", "user:<id>", false),
            ("user:<id>", "user:<id>:<x>", false),
            ("user:<id>:<x>", "user:<id>", false),
            ("<id>:user", "user:<id>", false),
            ("user:<id:?>", "user:<id>", false),
            ("user:<id:?>", "user:<user.id:?>", true),
            ("user:<id>", "user:all", false),
            ("User:<id>", "user:<id>", false),
            ("größe:<id>", "größe:<n>", true),
        ] {
            assert_eq!(fits(written, read), is, "{written} for {read}");
        }
    }

    #[test]
    fn a_word_may_stand_for_a_placeholder() {
        for (written, read, is) in [
            ("page:1", "page:<n>", true),
            ("row:users:<id>", "row:<table>:<id>", true),
            ("page:", "page:<n>", false),
            ("page:1:2", "page:<n>", false),
            ("page:1<x>", "page:<n>", false),
            ("a-b-c", "<x>-<y>", true),
        ] {
            assert_eq!(fits(written, read), is, "{written} for {read}");
        }
    }

    #[test]
    fn the_nearest_differs_least() {
        let distance = |a, b| Shape::of(a).distance(&Shape::of(b));
        assert_eq!(distance("usr:<id>", "user:<user.id>"), 1);
        assert_eq!(distance("user:<id>", "user:<id>"), 0);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("user:<id>:<x>", "user:<id>"), 2);
    }
}
