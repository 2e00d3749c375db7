//! Whose value is it: functions that share a key template are kept apart by what their code is called.

use std::sync::OnceLock;

/// The function behind a call, as the compiler spells it: the type name of a closure inside its body.
///
/// It names the module, the type whose method it is and every generic argument, also those of a surrounding `impl`
/// that an attribute cannot see:
/// `shop::<impl Repo<Users>>::find<Tx>::{{closure}}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(&'static str);

impl Place {
    /// The place in whose body `_closure` was written.
    #[must_use]
    pub fn of<F>(_closure: &F) -> Self {
        Self(std::any::type_name::<F>())
    }

    /// A place with this name, for calls by hand.
    #[must_use]
    pub const fn named(name: &'static str) -> Self {
        Self(name)
    }

    /// The path without the closures and without the function's own generic arguments: those are part of the key, or
    /// skipped on purpose.
    fn function(self) -> &'static str {
        let mut path = self.0;
        while let Some(rest) = path.strip_suffix("::{{closure}}") {
            path = rest;
        }
        if !path.ends_with('>') || path.ends_with("->") {
            return path;
        }
        let mut depth = 0_usize;
        for (at, c) in path.char_indices().rev() {
            match c {
                '>' if path[..at].ends_with('-') => {}
                '>' => depth += 1,
                '<' => {
                    depth -= 1;
                    if depth == 0 {
                        // `<T as Trait>::f` begins with a bracket that is not the function's own.
                        return if at == 0 { path } else { &path[..at] };
                    }
                }
                _ => {}
            }
        }
        path
    }

    /// The generic arguments in the path, for functions that share values under an explicit name.
    fn arguments(self) -> String {
        let function = self.function();
        let (mut depth, mut out) = (0_usize, String::new());
        for c in function.chars() {
            depth += usize::from(c == '<');
            if depth > 0 {
                out.push(c);
            }
            depth = depth.saturating_sub(usize::from(c == '>'));
        }
        out
    }
}

/// The identities of one function's values, one for each type, computed at its first use.
#[derive(Debug)]
pub(crate) struct Identity([OnceLock<Known>; Identity::REMEMBERED]);

/// What was computed.
#[derive(Debug)]
struct Known {
    place: Place,
    type_name: &'static str,
    hash: u32,
}

impl Known {
    /// By address, which is nearly always enough. A function that is compiled into several units has a copy of the
    /// text in each, though: then by content, which is still much quicker than to hash it. Calls by hand have one place
    /// and many types.
    fn is(&self, place: Place, type_name: &'static str) -> bool {
        let same = std::ptr::eq(self.place.0, place.0) && std::ptr::eq(self.type_name, type_name);
        same || (self.place, self.type_name) == (place, type_name)
    }
}

impl Identity {
    /// A function has one, unless it is generic; calls by hand have one for each type.
    const REMEMBERED: usize = 8;

    pub(crate) const fn new() -> Self {
        Self([const { OnceLock::new() }; Self::REMEMBERED])
    }

    /// The hash for `place` (or for an explicit `name`) and a value type.
    ///
    /// A call site in a generic function has many places; the first few are remembered, others are hashed anew.
    pub(crate) fn get(&self, place: Place, name: Option<&'static str>, type_name: &'static str) -> u32 {
        for slot in &self.0 {
            let known = slot.get_or_init(|| Known { place, type_name, hash: hash(place, name, type_name) });
            if known.is(place, type_name) {
                return known.hash;
            }
        }
        hash(place, name, type_name)
    }
}

/// The identity of values that nobody can share: those of an instance whose arguments have no names of their own. The
/// compiler calls every closure of a function alike.
pub(crate) const NOBODY: u32 = 0;

/// Whether a type's name is, or has among its arguments, that of a closure; types that are declared inside one have
/// names of their own.
pub(crate) fn is_nameless(type_name: &str) -> bool {
    type_name.split("{{closure}}").skip(1).any(|rest| !rest.starts_with("::"))
}

/// FNV-1a over the function and the type, folded to 32 bits.
fn hash(place: Place, name: Option<&'static str>, type_name: &str) -> u32 {
    if is_nameless(&place.arguments()) {
        return NOBODY;
    }
    let mut fnv = Fnv::new();
    match name {
        Some(name) => {
            fnv.write(name);
            fnv.write(&place.arguments());
        }
        None => fnv.write(place.function()),
    }
    fnv.write_type(type_name);
    fnv.finish().max(NOBODY + 1)
}

struct Fnv(u64);

impl Fnv {
    const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn byte(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }

    fn write(&mut self, text: &str) {
        text.bytes().for_each(|byte| self.byte(byte));
        self.byte(0xff);
    }

    /// A type name without module paths, so that moving a type to another module keeps its records.
    fn write_type(&mut self, name: &str) {
        let mut word = String::new();
        let mut chars = name.chars().peekable();
        while let Some(c) = chars.next() {
            if c == ':' && chars.peek() == Some(&':') {
                chars.next();
                word.clear();
            } else if c.is_alphanumeric() || c == '_' {
                word.push(c);
            } else {
                word.bytes().for_each(|byte| self.byte(byte));
                word.clear();
                let mut utf8 = [0; 4];
                c.encode_utf8(&mut utf8).bytes().for_each(|byte| self.byte(byte));
            }
        }
        self.write(&word);
    }

    const fn finish(&self) -> u32 {
        (self.0 ^ (self.0 >> 32)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Repo<D>(D);

    impl<D> Repo<D> {
        fn find<K>(&self) -> Place {
            let _ = (&self.0, size_of::<Option<K>>());
            Place::of(&|| ())
        }
    }

    trait Find {
        fn find(&self) -> Place {
            Place::of(&|| ())
        }
    }
    impl Find for Repo<String> {}
    impl Find for Vec<u8> {}

    fn id(place: Place) -> u32 {
        hash(place, None, "u8")
    }

    #[test]
    fn instances_of_a_generic_impl_are_kept_apart() {
        assert_ne!(id(Repo(1_u8).find::<()>()), id(Repo(1_u16).find::<()>()));
        assert_ne!(id(Find::find(&Repo(String::new()))), id(Find::find(&Vec::new())));
    }

    #[test]
    fn instances_that_differ_in_a_closure_alone_share_nothing() {
        let (one, two) = (Repo(|| 1), Repo(|| 2));
        assert_eq!((id(one.find::<()>()), id(two.find::<()>())), (NOBODY, NOBODY));
        // Declared inside a closure, but named.
        let declare = || {
            struct Inside;
            Repo(Inside).find::<()>()
        };
        assert_ne!(id(declare()), NOBODY);
    }

    #[test]
    fn one_place_with_many_types_has_an_identity_for_each() {
        let identity = Identity::new();
        let place = Place::named("flight");
        let types = ["u64", "f64", "a::Cents", "u8", "u16", "u32", "i8", "i16", "i32", "i64"];
        let all = || types.map(|name| identity.get(place, None, name));
        assert!(types.len() > Identity::REMEMBERED);
        let mut ids = all();
        assert_eq!(ids, all(), "remembered or not");
        ids.sort_unstable();
        assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "{ids:?}");
    }

    #[test]
    fn the_functions_own_arguments_do_not_count() {
        assert_eq!(id(Repo(1_u8).find::<String>()), id(Repo(1_u8).find::<Vec<u8>>()));
    }

    #[test]
    fn functions_of_one_name_in_two_modules_are_kept_apart() {
        assert_ne!(id(Place::named("a::find")), id(Place::named("b::find")));
    }

    #[test]
    fn an_explicit_name_is_shared_except_between_instances() {
        let named = |place| hash(place, Some("user"), "u8");
        assert_eq!(named(Place::named("a::find")), named(Place::named("b::load::{{closure}}")));
        assert_ne!(named(Repo(1_u8).find::<()>()), named(Repo(1_u16).find::<()>()));
    }

    #[test]
    fn types_are_told_apart_by_name_but_not_by_module() {
        let of = |name| hash(Place::named("f"), None, name);
        assert_eq!(of("Option<a::b::User>"), of("Option<c::User>"));
        assert_ne!(of("Option<a::User>"), of("Option<a::Users>"));
        assert_ne!(of("(a::A, B)"), of("(a::AB)"));
    }

    #[test]
    fn a_site_in_a_generic_function_is_not_fooled_by_its_first_use() {
        let site = Identity::new();
        let first = site.get(Repo(1_u8).find::<()>(), None, "u8");
        let second = site.get(Repo(1_u16).find::<()>(), None, "u8");
        assert_ne!(first, second);
        assert_eq!(site.get(Repo(1_u8).find::<()>(), None, "u8"), first);
    }

    #[test]
    fn a_copy_of_the_text_is_known_by_its_content() {
        let copy = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
        let known = Known { place: Place::named("a::find"), type_name: "u8", hash: 0 };
        assert!(known.is(Place::named(copy("a::find")), copy("u8")));
        assert!(!known.is(Place::named(copy("a::find")), "u16"));
        assert!(!known.is(Place::named(copy("a::load")), "u8"));
    }
}
