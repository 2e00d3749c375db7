//! A member that is a thread with a runtime of its own: it can stand still, or end in the middle of everything, as a
//! process can.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use tokio::sync::{Notify, mpsc, oneshot};

use super::life::{Life, World};
use super::{Last, MemberError, Order, Spec};
use crate::watched::Way;

/// A thread that ends when it is told to, or when this is dropped.
pub(crate) struct ThreadMember {
    orders: mpsc::UnboundedSender<Order>,
    pub(crate) way: Arc<Way>,
    standing: Arc<Standing>,
    last: oneshot::Receiver<Last>,
}

/// Whether a thread stands still.
#[derive(Debug, Default)]
struct Standing {
    still: Mutex<bool>,
    moved: Condvar,
    stands: Notify,
}

impl Standing {
    fn set(&self, still: bool) {
        *self.still.lock().unwrap_or_else(PoisonError::into_inner) = still;
        self.moved.notify_all();
    }

    /// Stands still for as long as it is to.
    fn stand(&self) {
        let still = self.still.lock().unwrap_or_else(PoisonError::into_inner);
        self.stands.notify_one();
        drop(self.moved.wait_while(still, |still| *still).unwrap_or_else(PoisonError::into_inner));
    }
}

impl ThreadMember {
    /// Starts one; comes back when it is set up.
    pub(crate) async fn start(spec: Spec, world: World) -> Result<Self, MemberError> {
        let (orders, received) = mpsc::unbounded_channel();
        let standing = Arc::new(Standing::default());
        let (ready, is_ready) = oneshot::channel();
        let (tells_last, last) = oneshot::channel();
        let (way, stands) = (world.way.clone(), standing.clone());
        let name = format!("process {}", spec.process);
        let work = move || {
            let said = work(spec, world, received, ready, &stands);
            // Whoever started it may have lost interest.
            let _ = tells_last.send(said.unwrap_or_default());
        };
        thread::Builder::new().name(name).spawn(work).map_err(MemberError::new)?;
        let member = Self { orders, way, standing, last };
        match is_ready.await {
            Ok(ready) => ready.map(|()| member),
            Err(_) => Err(MemberError::new("a process ended before it was set up")),
        }
    }

    pub(crate) fn tell(&self, order: Order) {
        // It may have ended.
        let _ = self.orders.send(order);
    }

    pub(crate) async fn pause(&self) {
        self.standing.set(true);
        self.tell(Order::Stand);
        tokio::select! {
            () = self.standing.stands.notified() => {}
            () = self.ended() => {}
        }
    }

    pub(crate) fn resume(&self) {
        self.standing.set(false);
    }

    pub(crate) async fn ended(&self) {
        self.orders.closed().await;
    }

    /// What it has counted, when it has ended.
    pub(crate) async fn last(mut self) -> Option<Last> {
        (&mut self.last).await.ok()
    }
}

impl Drop for ThreadMember {
    fn drop(&mut self) {
        self.resume();
        self.tell(Order::Stop);
    }
}

/// Lives on a runtime of its own, with which everything ends that it has begun.
fn work(
    spec: Spec,
    world: World,
    mut orders: mpsc::UnboundedReceiver<Order>,
    ready: oneshot::Sender<Result<(), MemberError>>,
    standing: &Standing,
) -> Option<Last> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = ready.send(Err(MemberError::new(error)));
            return None;
        }
    };
    runtime.block_on(async {
        let life = match Life::set_up(spec, world).await {
            Ok(life) => life,
            Err(error) => {
                let _ = ready.send(Err(error));
                return None;
            }
        };
        let _ = ready.send(Ok(()));
        Some(life.live(&mut orders, || standing.stand()).await)
    })
}
