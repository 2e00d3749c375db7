//! The server goes away, and comes back.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::FiguresError;
use super::crowd::Crowd;
use super::hit::rows;
use super::rows::Rows;
use super::sample::Sample;
use crate::fleet::local_server::{LocalServer, ServerError};

const CALLERS: u32 = 8;
const LASTS: Duration = Duration::from_secs(3);
/// A server that does not come back by then has not come back.
const PATIENCE: Duration = Duration::from_secs(30);

/// Rows of the table. The server is ended and started again on its port.
pub(crate) async fn measure(server: LocalServer) -> Result<Vec<[String; 4]>, FiguresError> {
    let rows = rows(&server.url()).await?;
    let mut table = Vec::new();
    tell(&mut table, "server there", &crowd(&rows, LASTS).await, String::new());

    let port = server.port();
    let calls = Calls::begin(&rows);
    drop(server);
    sleep(LASTS).await;
    let (crowd, loads) = calls.end(&rows).await;
    tell(&mut table, "server killed", &crowd, loads);
    let begun = Instant::now();
    let mut server = None;
    while server.is_none() {
        server = LocalServer::start_on(port).await?;
        if begun.elapsed() > PATIENCE {
            return Err(ServerError::Mute.into());
        }
    }
    let there = begun.elapsed();
    let found = found(&rows, begun).await?;
    table.push([
        "server started again: in use".to_owned(),
        format!("{:.0} ms after its start", ms(found)),
        format!("it answered after {:.0} ms", ms(there)),
        String::new(),
    ]);

    let Some(server) = server else { return Ok(table) };
    let calls = Calls::begin(&rows);
    server.pause()?;
    sleep(LASTS).await;
    let (crowd, loads) = calls.end(&rows).await;
    tell(&mut table, "server stopped in its tracks", &crowd, loads);
    let begun = Instant::now();
    server.resume()?;
    let found = self::found(&rows, begun).await?;
    table.push([
        "server goes on: in use".to_owned(),
        format!("after {:.0} ms", ms(found)),
        String::new(),
        String::new(),
    ]);
    Ok(table)
}

/// Callers that call until they are told to end.
struct Calls {
    over: Arc<AtomicBool>,
    crowd: tokio::task::JoinHandle<Crowd>,
    made: u64,
}

impl Calls {
    fn begin(rows: &Rows) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let (ours, theirs) = (over.clone(), rows.clone());
        let go_on = move |_| !ours.load(Ordering::Relaxed);
        let crowd = tokio::spawn(async move { Crowd::run(CALLERS, go_on, call(&theirs)).await });
        Self { over, crowd, made: rows.made() }
    }

    async fn end(self, rows: &Rows) -> (Crowd, String) {
        self.over.store(true, Ordering::Relaxed);
        let crowd = match self.crowd.await {
            Ok(crowd) => crowd,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        };
        let made = rows.made() - self.made;
        (crowd, format!("{made} loads of {CALLERS} keys in {:.1} s", self::secs(LASTS)))
    }
}

async fn crowd(rows: &Rows, lasts: Duration) -> Crowd {
    let begun = Instant::now();
    Crowd::run(CALLERS, move |_| begun.elapsed() < lasts, call(rows)).await
}

type Call = Pin<Box<dyn Future<Output = ()> + Send>>;

fn call(rows: &Rows) -> impl Fn(u32) -> Call + Clone + Send + use<> {
    let rows = rows.clone();
    move |number| {
        let rows = rows.clone();
        Box::pin(async move { assert!(rows.find(number).await.is_some()) })
    }
}

/// How long after `begun` the server is in use again.
async fn found(rows: &Rows, begun: Instant) -> Result<Duration, FiguresError> {
    loop {
        if rows.flights.backend().link().is_none_or(|link| link.is_up()) {
            return Ok(begun.elapsed());
        }
        if begun.elapsed() > PATIENCE {
            return Err(FiguresError::NotFound);
        }
        sleep(Duration::from_millis(1)).await;
    }
}

fn tell(table: &mut Vec<[String; 4]>, when: &str, crowd: &Crowd, loads: String) {
    let times = Sample::micros(&crowd.calls);
    table.push([
        format!("{when}, 8 callers"),
        format!("{:.0} thousand calls/s", crowd.per_second() / 1e3),
        format!(
            "p50 {:.1} µs, p99 {:.0} µs, longest {:.0} ms",
            times.median(),
            times.quantile(0.99),
            times.max() / 1e3
        ),
        loads,
    ]);
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn secs(time: Duration) -> f64 {
    time.as_secs_f64()
}
