//! What a fill that is a task of its own takes along: owned copies of what its function borrows, and its plan.
//!
//! Each demand is made by one call. What it returns demands nothing further, so that a mistake is reported once; the
//! price, an allocation or two, is small beside a task's.

use std::any::Any;
use std::borrow::Borrow;
use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;

use crate::backend::SharedValue;
use crate::call::Fill;
use crate::error::FlightError;
use crate::key::Part;
use crate::kind::Kind;
use crate::typed::{Taken, Typed, ValueOps};

/// An owned copy of something borrowed.
pub struct Owned<T: ?Sized>(Box<dyn Holds<T> + Send + Sync>);

/// What an owned copy can be borrowed from.
trait Holds<T: ?Sized> {
    fn held(&self) -> &T;
}

/// The owned form of `T`, which is `B`.
struct Held<B>(B);

impl<T: ?Sized, B: Borrow<T>> Holds<T> for Held<B> {
    fn held(&self) -> &T {
        self.0.borrow()
    }
}

impl<T: ?Sized> Deref for Owned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.held()
    }
}

impl<T: ?Sized> fmt::Debug for Owned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owned").finish_non_exhaustive()
    }
}

/// What `spawn` can take along.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be copied for a fill of its own",
    label = "`spawn` needs an owned copy of what is borrowed here",
    note = "derive `Clone` for it (it must be `Send`, `Sync` and `'static` too), take it by value (`self: Arc<Self>`), or leave `spawn` out"
)]
pub trait CanOwn {
    /// An owned copy.
    fn own(&self) -> Owned<Self>;
}

#[diagnostic::do_not_recommend]
impl<T> CanOwn for T
where
    T: ToOwned<Owned: Send + Sync + 'static> + ?Sized + 'static,
{
    fn own(&self) -> Owned<T> {
        Owned(Box::new(Held(self.to_owned())))
    }
}

/// An owned copy of an argument or of `self`; the one place that demands that there can be one.
#[must_use]
pub fn own<T: CanOwn + ?Sized>(borrowed: Part<'_, T>) -> Owned<T> {
    borrowed.value().own()
}

/// What the task of a fill can give back.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned by a fill of its own",
    label = "`spawn` needs `Send` and `'static`",
    note = "use `Box<dyn Error + Send + Sync>` for `Box<dyn Error>`, or leave `spawn` out"
)]
pub trait CanReturn: Send + 'static {}

#[diagnostic::do_not_recommend]
impl<R: Send + 'static> CanReturn for R {}

type Body<R> = Pin<Box<dyn Future<Output = R> + Send>>;
type Running<'a, R> = Pin<Box<dyn Future<Output = R> + Send + 'a>>;
type Run<R> = for<'a> fn(Fill<'a, R>, Box<dyn Typed<R>>, Body<R>) -> Running<'a, R>;

/// [`Fill::run_owned`] for results that can be given back.
pub struct Spawner<R>(Run<R>);

/// The spawner for a kind's results; the one place that demands that they can be given back.
#[must_use]
pub fn spawner<K: Kind>(_: K) -> Spawner<K::Output>
where
    K::Output: CanReturn,
{
    Spawner(|fill, plan, body| Box::pin(fill.run_owned(Boxed(plan), body)))
}

impl<R> Spawner<R> {
    /// Runs the body in a task of its own and waits for it, or for a stale copy.
    ///
    /// # Cancel safety
    /// Dropping it leaves the fill running.
    pub fn run<'a, P, F>(
        self,
        fill: Fill<'a, R>,
        plan: P,
        body: F,
    ) -> impl Future<Output = R> + use<'a, R, P, F>
    where
        P: Typed<R> + 'static,
        F: Future<Output = R> + Send + 'static,
    {
        (self.0)(fill, Box::new(plan), Box::pin(body))
    }
}

impl<R> Clone for Spawner<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Spawner<R> {}

impl<R> fmt::Debug for Spawner<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spawner").finish_non_exhaustive()
    }
}

/// A plan without its type.
struct Boxed<R>(Box<dyn Typed<R>>);

impl<R> Typed<R> for Boxed<R> {
    fn take(&self, result: R) -> Taken<R> {
        self.0.take(result)
    }

    fn give(&self, value: &dyn Any) -> Option<R> {
        self.0.give(value)
    }

    fn hand(&self, value: SharedValue) -> Option<R> {
        self.0.hand(value)
    }

    fn share(&self, error: &dyn Any) -> Option<R> {
        self.0.share(error)
    }

    fn fail(&self, error: FlightError) -> Option<R> {
        self.0.fail(error)
    }

    fn can_fail(&self) -> bool {
        self.0.can_fail()
    }

    fn value(&self) -> ValueOps {
        self.0.value()
    }
}
