//! Key templates: `"user:<id>"` into text and placeholders. Syntax only; names are resolved by the model.

/// A piece of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Text, as it stands.
    Text(String),
    /// A value.
    Hole(Hole),
}

/// A placeholder: `<name.field.method():?>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hole {
    /// As written, with its brackets.
    pub(crate) source: String,
    /// The argument, type parameter or const parameter, without `r#`.
    pub(crate) name: String,
    /// What is taken from it.
    pub(crate) steps: Vec<Step>,
    /// Whether its `Debug` form is asked for.
    pub(crate) debug: bool,
}

/// One step from a value to a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// `.name`
    Field(String),
    /// `.0`
    Index(u32),
    /// `.name()`
    Method(String),
}

/// A template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template(pub(crate) Vec<Piece>);

impl Template {
    /// Parses a template.
    ///
    /// # Errors
    /// All mistakes in it.
    pub(crate) fn parse(source: &str) -> Result<Self, Vec<String>> {
        let (mut pieces, mut mistakes, mut rest) = (Vec::new(), Vec::new(), source);
        if source.is_empty() {
            mistakes.push("the key is empty: write a template such as `\"user:<id>\"`".into());
        }
        if source.contains('%') {
            mistakes.push(
                "`%` cannot stand in a key template, as it marks encoded characters of values: \
                 use another separator, such as `:`"
                    .into(),
            );
        }
        while let Some(start) = rest.find(['<', '>']) {
            let (text, from) = rest.split_at(start);
            if !text.is_empty() {
                pieces.push(Piece::Text(text.into()));
            }
            let Some(inner) = from.strip_prefix('<') else {
                mistakes.push(
                    "`>` without a `<` in the key: a placeholder is written `<name>`, \
                     and neither bracket may stand alone"
                        .into(),
                );
                rest = &from[1..];
                continue;
            };
            let Some((inner, after)) = inner.split_once('>') else {
                mistakes.push(format!(
                    "the placeholder `<{inner}` is not closed: write `<{}>`",
                    inner.split(|c: char| !is_part(c)).next().unwrap_or_default()
                ));
                rest = "";
                break;
            };
            match Hole::parse(inner) {
                Ok(hole) => pieces.push(Piece::Hole(hole)),
                Err(mistake) => mistakes.push(mistake),
            }
            rest = after;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.into()));
        }
        adjacent(&pieces, &mut mistakes);
        if mistakes.is_empty() { Ok(Self(pieces)) } else { Err(mistakes) }
    }

    /// The text between the placeholders.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(text.as_str()),
            Piece::Hole(_) => None,
        })
    }

    /// The mistake of writing `{id}` for `<id>`, of names that are known.
    pub(crate) fn format_braces(&self, known: impl Fn(&str) -> bool) -> Vec<String> {
        let braced = self.texts().flat_map(braced).filter(|(_, name)| known(name));
        let message = |(inner, name)| {
            format!(
                "`{{{inner}}}` in the key is plain text, which is the same for every `{name}`: write `<{inner}>`"
            )
        };
        braced.map(message).collect()
    }

    /// The placeholders.
    pub(crate) fn holes(&self) -> impl Iterator<Item = &Hole> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Hole(hole) => Some(hole),
            Piece::Text(_) => None,
        })
    }
}

/// What stands in braces and would be a placeholder in `format!`: the text inside of `{user.id:?}`, and its name.
pub(crate) fn braced(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split('{').skip(1).filter_map(|after| {
        let (inner, _) = after.split_once('}')?;
        let name = inner.split(['.', ':']).next()?;
        is_ident(name).then_some((inner, name))
    })
}

/// Where one value ends and the next begins must be seen in the key.
fn adjacent(pieces: &[Piece], mistakes: &mut Vec<String>) {
    for pair in pieces.windows(2) {
        if let [Piece::Hole(a), Piece::Hole(b)] = pair {
            mistakes.push(format!(
                "nothing stands between `{}` and `{}`, so (\"ab\", \"c\") and (\"a\", \"bc\") would share a key: \
                 write `{}:{}`",
                a.source, b.source, a.source, b.source
            ));
        }
    }
}

impl Hole {
    fn parse(inner: &str) -> Result<Self, String> {
        let source = format!("<{inner}>");
        if inner.trim().is_empty() {
            return Err(format!(
                "the placeholder `{source}` names nothing: write an argument's name, as in `<id>`"
            ));
        }
        if inner.contains('<') {
            return Err(format!("a placeholder cannot contain another, as `{source}` does"));
        }
        let (path, debug) = match inner.split_once(':') {
            None => (inner, false),
            Some((path, "?")) => (path, true),
            Some((path, format)) => {
                return Err(format!(
                    "`:{format}` in `{source}` is not a known format: write `<{path}>`, or `<{path}:?>` for the \
                     `Debug` form"
                ));
            }
        };
        let mut parts = path.split('.');
        let name = parts.next().unwrap_or_default();
        let name = name.strip_prefix("r#").unwrap_or(name);
        if !is_ident(name) {
            return Err(format!(
                "`{source}` is not a placeholder: inside the brackets stands a name, and after it fields or methods \
                 without arguments, as in `<user.id>` or `<name.as_ref()>`"
            ));
        }
        let steps = parts.map(|part| Step::parse(part, &source)).collect::<Result<_, _>>()?;
        Ok(Self { source, name: name.into(), steps, debug })
    }
}

impl Step {
    fn parse(part: &str, source: &str) -> Result<Self, String> {
        let bare = part.strip_prefix("r#").unwrap_or(part);
        if is_ident(bare) {
            return Ok(Self::Field(bare.into()));
        }
        if let Ok(index) = part.parse() {
            return Ok(Self::Index(index));
        }
        match bare.split_once('(') {
            Some((name, ")")) if is_ident(name) => Ok(Self::Method(name.into())),
            Some((name, _)) if is_ident(name) => Err(format!(
                "`{name}` in `{source}` is called with arguments: only methods without arguments can be called in a \
                 key"
            )),
            _ => Err(format!(
                "`.{part}` in `{source}` is neither a field, as in `.id`, nor a method without arguments, as in \
                 `.as_ref()`"
            )),
        }
    }
}

fn is_ident(word: &str) -> bool {
    let mut chars = word.chars();
    chars.next().is_some_and(|c| c == '_' || c.is_alphabetic()) && chars.all(is_part) && word != "_"
}

fn is_part(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hole(source: &str) -> Hole {
        match Template::parse(source).unwrap().0.as_slice() {
            [Piece::Hole(hole)] => hole.clone(),
            other => panic!("{other:?}"),
        }
    }

    fn mistakes(source: &str) -> Vec<String> {
        Template::parse(source).unwrap_err()
    }

    #[test]
    fn text_and_placeholders_alternate() {
        let template = Template::parse("a:<b>:{c}<d>/").unwrap();
        let kinds: Vec<_> = template
            .0
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => text.as_str(),
                Piece::Hole(hole) => hole.source.as_str(),
            })
            .collect();
        assert_eq!(kinds, ["a:", "<b>", ":{c}", "<d>", "/"]);
        assert_eq!(template.holes().count(), 2);
    }

    #[test]
    fn a_placeholder_may_name_parts() {
        let path = hole("<self.a.0.b().r#type:?>");
        assert_eq!(path.name, "self");
        let steps =
            [Step::Field("a".into()), Step::Index(0), Step::Method("b".into()), Step::Field("type".into())];
        assert_eq!(path.steps, steps);
        assert!(path.debug);
        assert_eq!(hole("<r#type>").name, "type");
        assert_eq!(hole("<größe>").name, "größe");
    }

    #[test]
    fn every_mistake_is_told() {
        for (source, part) in [
            ("", "empty"),
            ("100%:<a>", "`%`"),
            ("a:<>", "names nothing"),
            ("a:< >", "names nothing"),
            ("a:<b", "not closed: write `<b>`"),
            ("a:b>", "without a `<`"),
            ("<a<b>", "contain another"),
            ("<a:x>", "not a known format"),
            ("<1>", "not a placeholder"),
            ("<_>", "not a placeholder"),
            ("<a b>", "not a placeholder"),
            ("<a.b(1)>", "with arguments"),
            ("<a.>", "neither a field"),
            ("<a.b-c>", "neither a field"),
            ("<a><b>", "write `<a>:<b>`"),
        ] {
            let all = mistakes(source);
            assert_eq!(all.len(), 1, "{source}: {all:?}");
            assert!(all[0].contains(part), "{source}: {all:?}");
        }
        assert_eq!(mistakes("%<><a><b>").len(), 3);
    }
}
