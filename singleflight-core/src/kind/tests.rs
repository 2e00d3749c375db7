//! What the probes find out, and what plans do with it.

use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use super::{
    ErrOf, KindPlain, MakeNot, NegativeNever, Of, Retry, WayFlightError, WordsDebug, WordsType, by_path,
    local, plan, portable, shareable,
};
use crate::codec::Codec;
use crate::error::{FlightError, FlightErrorKind};
use crate::typed::{Failure, Taken, Typed};

/// The plan that the attribute makes for `$result`.
macro_rules! probe {
    ($result:ty) => {
        probe!($result, portable)
    };
    ($result:ty, $store:ident) => {{
        let kind = Of::<$result>::new().__sf_kind();
        let errors = ErrOf::of(kind);
        let way = shareable(errors, errors.__sf_way());
        plan(kind, $store(kind), kind.__sf_negative(), way, errors.__sf_make(), errors.__sf_words())
    }};
    ($result:ty, way $way:expr) => {{
        let kind = Of::<$result>::new().__sf_kind();
        let errors = ErrOf::of(kind);
        plan(
            kind,
            portable(kind),
            kind.__sf_negative(),
            $way(errors),
            errors.__sf_make(),
            errors.__sf_words(),
        )
    }};
}

#[derive(Clone, Debug, PartialEq)]
struct Cloned(u8);

#[derive(Debug, PartialEq)]
struct Opaque(u8);

struct Silent;

#[derive(Debug)]
struct Made(FlightError);

impl From<FlightError> for Made {
    fn from(error: FlightError) -> Self {
        Self(error)
    }
}

impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "made: {}", self.0)
    }
}

type Alias<T> = Result<T, Cloned>;

fn flight_error() -> FlightError {
    FlightError::with_message(FlightErrorKind::LoadFailed, "key", "no route")
}

/// The value that a result comes apart into, its flags, and what the others get for it.
fn value<R>(typed: &dyn Typed<R>, result: R) -> (bool, bool, R) {
    match typed.take(result) {
        Taken::Value(loaded) => {
            let again = typed.give(&*loaded.value).expect("a plan reads its own values");
            (loaded.negative, loaded.keep, again)
        }
        Taken::Error(..) => panic!("not a value"),
    }
}

fn error<R>(typed: &dyn Typed<R>, result: R) -> (R, Failure) {
    match typed.take(result) {
        Taken::Error(result, failure) => (result, failure),
        Taken::Value(_) => panic!("not an error"),
    }
}

#[test]
fn results_options_and_the_rest_are_told_apart() {
    assert_eq!(value(&probe!(Alias<u8>), Ok(1)), (false, true, Ok(1)));
    assert_eq!(value(&probe!(Alias<Option<u8>>), Ok(None)), (true, true, Ok(None)));
    assert_eq!(value(&probe!(Alias<Option<u8>>), Ok(Some(1))), (false, true, Ok(Some(1))));
    assert_eq!(value(&probe!(Option<u8>), None), (true, true, None));
    assert_eq!(value(&probe!(Option<u8>), Some(1)), (false, true, Some(1)));
    assert_eq!(value(&probe!(u8), 1), (false, true, 1));
    assert_eq!(value(&probe!(()), ()), (false, true, ()));
    assert_eq!(value(&probe!(Option<Result<u8, String>>), Some(Err("x".into()))).2, Some(Err("x".into())));
}

#[test]
fn a_result_behind_a_type_parameter_is_not_stored() {
    fn plain<T: crate::Value>(value_of: T) -> (bool, bool) {
        let plan = probe!(T);
        let (negative, keep, _) = value(&plan, value_of);
        (negative, keep)
    }
    assert_eq!(plain(Err::<u8, String>("x".into())), (false, false));
    assert_eq!(plain(1_u8), (false, true));
}

#[test]
fn errors_are_shared_by_clone() {
    let plan = probe!(Alias<u8>);
    let (own, failure) = error(&plan, Err(Cloned(7)));
    let copy = failure.error.expect("a copy");
    assert_eq!(
        (own, plan.share(&*copy), plan.share(&*copy)),
        (Err(Cloned(7)), Some(Err(Cloned(7))), Some(Err(Cloned(7))))
    );
    assert_eq!(&*failure.message, "Cloned(7)");
    assert!(!plan.can_fail() && plan.fail(flight_error()).is_none());
    assert!(plan.share(&"another type").is_none());
}

#[test]
fn errors_are_made_from_a_flight_error() {
    let plan = probe!(Result<u8, Made>);
    let (_, failure) = error(&plan, Err(Made(flight_error())));
    assert!(failure.error.is_none() && failure.message.starts_with("made: the load of `key`"));
    assert!(plan.can_fail());
    assert!(
        matches!(plan.fail(flight_error()), Some(Err(Made(error))) if error.message() == Some("no route"))
    );
}

#[test]
fn errors_are_shared_by_a_path() {
    fn copy(error: &Opaque) -> Opaque {
        Opaque(error.0 + 1)
    }
    let plan = probe!(Result<u8, Opaque>, way |errors| by_path(errors, copy));
    let (own, failure) = error(&plan, Err(Opaque(1)));
    let copy = failure.error.expect("a copy");
    assert_eq!((own, plan.share(&*copy)), (Err(Opaque(1)), Some(Err(Opaque(3)))));
}

#[test]
fn errors_are_kept_to_oneself_under_retry() {
    let plan = probe!(Result<u8, Opaque>, way |_| Retry);
    let (own, failure) = error(&plan, Err(Opaque(1)));
    assert!(own == Err(Opaque(1)) && failure.error.is_none() && !plan.can_fail());
}

#[test]
fn a_clone_that_can_be_made_too_does_both() {
    #[derive(Clone, Debug)]
    struct Both;
    impl From<FlightError> for Both {
        fn from(_: FlightError) -> Self {
            Self
        }
    }
    let plan = probe!(Result<u8, Both>);
    assert!(plan.can_fail() && error(&plan, Err(Both)).1.error.is_some());
}

#[test]
fn common_error_types_need_nothing() {
    assert!(probe!(std::io::Result<u8>).can_fail());
    assert!(probe!(Result<u8, Box<dyn Error>>).can_fail());
    assert!(probe!(Result<u8, Box<dyn Error + Send + Sync>>).can_fail());
    assert!(!probe!(Result<u8, Infallible>).can_fail());
    let shared = probe!(Result<u8, Arc<Opaque>>);
    assert!(error(&shared, Err(Arc::new(Opaque(1)))).1.error.is_some());
    assert!(!probe!(Option<u8>).can_fail() && !probe!(u8).can_fail());
}

#[test]
fn errors_are_put_in_words_as_well_as_they_can() {
    let message = |failure: Failure| failure.message.to_string();
    assert_eq!(message(error(&probe!(Result<u8, String>), Err("shown".into())).1), "shown");
    assert_eq!(message(error(&probe!(Result<u8, Opaque>, way |_| Retry), Err(Opaque(1))).1), "Opaque(1)");
    assert!(message(error(&probe!(Result<u8, Silent>, way |_| Retry), Err(Silent)).1).ends_with("Silent"));
    let long = error(&probe!(Result<u8, String>), Err("é".repeat(2000))).1;
    assert_eq!(long.message.len(), crate::error::MAX_MESSAGE);
}

#[test]
fn values_go_over_the_wire_unless_they_are_local() {
    let plan = probe!(Alias<Option<String>>);
    let ops = plan.value();
    let wire = ops.wire.expect("a portable value");
    let bytes = (wire.encode)(Codec::MessagePack, &Some("a".to_owned())).unwrap();
    let back = (wire.decode)(Codec::MessagePack, &bytes).unwrap();
    assert_eq!(plan.give(&*back), Some(Ok(Some("a".to_owned()))));
    assert!(
        (wire.encode)(Codec::MessagePack, &1_u8).is_err()
            && (wire.decode)(Codec::MessagePack, b"\xc1").is_err()
    );
    assert_eq!((ops.type_name)(), std::any::type_name::<Option<String>>());
    assert_eq!((ops.type_id)(), std::any::TypeId::of::<Option<String>>());

    let plan = probe!(Option<Cloned>, local);
    assert!(plan.value().wire.is_none());
    assert_eq!(value(&plan, Some(Cloned(1))).2, Some(Cloned(1)));
}

#[test]
fn cache_if_and_defaults_concern_the_value() {
    fn even(value: &u8) -> bool {
        value.is_multiple_of(2)
    }
    let plan = probe!(Alias<u8>).cache_if(even);
    assert!(value(&plan, Ok(2)).1 && !value(&plan, Ok(1)).1);
    assert_eq!(plan.answer(5), Ok(5));
    assert_eq!(probe!(Option<u8>).answer(None), None);
    assert!(plan.give(&"another type").is_none());
    assert!(plan.hand(Arc::new("another type")).is_none());
    assert_eq!(plan.hand(Arc::new(5_u8)), Some(Ok(5)));
}

#[test]
fn a_plan_is_small() {
    assert!(size_of_val(&probe!(Alias<u8>)) <= 4 * size_of::<usize>());
}
