//! Durations as options: `30`, `"250ms"`, `"5m"` or the path of a constant.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::{Expr, ExprPath, Lit, LitInt, LitStr, UnOp};

/// No TTL may be longer: ten years, as in the run-time check.
const LONGEST_MS: u64 = 10 * 365 * 24 * 3600 * 1000;

/// A duration.
pub(crate) enum Duration {
    /// Written in place.
    Literal { ms: u64, span: Span },
    /// A constant's path.
    Path(ExprPath),
}

/// What a bare number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    Millis,
}

impl Duration {
    /// The constant's path.
    pub(crate) fn path(&self) -> Option<&ExprPath> {
        match self {
            Self::Path(path) => Some(path),
            Self::Literal { .. } => None,
        }
    }

    /// Reads the value of the option `option`.
    ///
    /// # Errors
    /// Says what the option may be.
    pub(crate) fn from_expr(option: &str, unit: Unit, value: Expr) -> syn::Result<Self> {
        let span = value.span();
        let refused = |message: String| Err(syn::Error::new_spanned(&value, message));
        let ms = match &value {
            Expr::Path(path) => return Ok(Self::Path(path.clone())),
            Expr::Lit(lit) => match &lit.lit {
                Lit::Int(number) => from_number(option, unit, number)?,
                Lit::Str(text) if unit == Unit::Seconds => from_text(option, text)?,
                Lit::Str(text) => return Err(millis_as_text(option, text)),
                Lit::Float(number) => {
                    let whole = match unit {
                        Unit::Seconds => "seconds, or milliseconds as in `\"500ms\"`",
                        Unit::Millis => "milliseconds",
                    };
                    return refused(format!(
                        "`{option} = {number}` is a fraction: write a whole number of {whole}"
                    ));
                }
                _ => return refused(forms(option, unit)),
            },
            Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
                return refused(format!("`{option}` cannot be negative"));
            }
            _ => return refused(forms(option, unit)),
        };
        match ms {
            0 => refused(format!("`{option}` cannot be zero{}", zero(option))),
            ms if ms > LONGEST_MS => refused(format!(
                "`{option}` cannot be longer than ten years: a cache does not keep values for ever"
            )),
            ms => Ok(Self::Literal { ms, span }),
        }
    }
}

/// What is done instead of a zero.
fn zero(option: &str) -> &'static str {
    match option {
        "ttl" => ": to load on every call, remove the attribute",
        "negative_ttl" => {
            ": write a short one, as in `negative_ttl = \"1s\"`, or keep values only by `cache_if = path`"
        }
        "lock_ttl_ms" => {
            ": a lease must outlast the time between two renewals; `lock_ttl_ms = \"auto\"` measures it"
        }
        _ => "",
    }
}

fn from_number(option: &str, unit: Unit, number: &LitInt) -> syn::Result<u64> {
    if !number.suffix().is_empty() {
        let digits = number.base10_digits();
        let remedy = match number.suffix() {
            "ms" | "s" | "m" | "h" | "d" if unit == Unit::Seconds => {
                format!("{option} = \"{digits}{}\"", number.suffix())
            }
            _ => format!("{option} = {digits}"),
        };
        return Err(syn::Error::new(number.span(), format!("`{number}` has a suffix: write `{remedy}`")));
    }
    let number = number.base10_parse::<u64>().unwrap_or(u64::MAX);
    Ok(if unit == Unit::Seconds { number.saturating_mul(1000) } else { number })
}

fn from_text(option: &str, text: &LitStr) -> syn::Result<u64> {
    let value = text.value();
    let digits = value.trim_end_matches(|c: char| !c.is_ascii_digit());
    let scale = match &value[digits.len()..] {
        "ms" => 1,
        "s" => 1000,
        "m" => 60 * 1000,
        "h" => 3600 * 1000,
        "d" => 24 * 3600 * 1000,
        _ => 0,
    };
    if scale == 0 || digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(syn::Error::new(
            text.span(),
            format!(
                "`{option} = \"{value}\"` is not a duration: write a whole number and a unit, `\"250ms\"`, `\"30s\"`, \
                 `\"5m\"`, `\"1h\"` or `\"2d\"`"
            ),
        ));
    }
    Ok(digits.parse::<u64>().unwrap_or(u64::MAX).saturating_mul(scale))
}

fn millis_as_text(option: &str, text: &LitStr) -> syn::Error {
    let value = text.value();
    let message = match from_text(option, text) {
        Ok(ms) => format!("`{option} = \"{value}\"` has its unit in its name: write `{option} = {ms}`"),
        Err(_) => format!(
            "`{option} = \"{value}\"` is not known: write milliseconds, as in `{option} = 1500`, or `{option} = \"auto\"`"
        ),
    };
    syn::Error::new(text.span(), message)
}

fn forms(option: &str, unit: Unit) -> String {
    let forms = match unit {
        Unit::Seconds => format!("seconds, as in `{option} = 30`, text, as in `{option} = \"250ms\"`"),
        Unit::Millis => format!("milliseconds, as in `{option} = 1500`, `{option} = \"auto\"`"),
    };
    let constant = option.trim_end_matches("_ms").to_uppercase();
    format!(
        "`{option}` takes {forms}, or the path of a constant: write `const {constant}: Duration = ..;` and \
         `{option} = {constant}`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(unit: Unit, source: &str) -> Result<Option<u64>, String> {
        let value = syn::parse_str(source).unwrap();
        Duration::from_expr("ttl", unit, value)
            .map(|d| match d {
                Duration::Literal { ms, .. } => Some(ms),
                Duration::Path(_) => None,
            })
            .map_err(|error| error.to_string())
    }

    #[test]
    fn units_are_as_written() {
        for (source, ms) in [
            ("30", 30_000),
            ("1_000", 1_000_000),
            ("\"250ms\"", 250),
            ("\"30s\"", 30_000),
            ("\"5m\"", 300_000),
            ("\"1h\"", 3_600_000),
            ("\"2d\"", 172_800_000),
        ] {
            assert_eq!(read(Unit::Seconds, source), Ok(Some(ms)), "{source}");
        }
        assert_eq!(read(Unit::Millis, "1500"), Ok(Some(1500)));
        assert_eq!(read(Unit::Seconds, "Self::TTL"), Ok(None));
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for (unit, source, part) in [
            (Unit::Seconds, "0", "zero"),
            (Unit::Seconds, "\"0s\"", "zero"),
            (Unit::Seconds, "-1", "negative"),
            (Unit::Seconds, "0.5", "fraction"),
            (Unit::Seconds, "30s", "write `ttl = \"30s\"`"),
            (Unit::Seconds, "30u64", "write `ttl = 30`"),
            (Unit::Seconds, "99999999999999999999999", "ten years"),
            (Unit::Seconds, "\"1y\"", "not a duration"),
            (Unit::Seconds, "\"ms\"", "not a duration"),
            (Unit::Seconds, "\"1.5s\"", "not a duration"),
            (Unit::Seconds, "1 + 1", "the path of a constant"),
            (Unit::Seconds, "true", "the path of a constant"),
            (Unit::Millis, "\"2s\"", "write `ttl = 2000`"),
            (Unit::Millis, "\"x\"", "\"auto\""),
        ] {
            let error = read(unit, source).unwrap_err();
            assert!(error.contains(part), "{source}: {error}");
        }
    }
}
