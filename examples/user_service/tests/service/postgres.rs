//! The same on PostgreSQL.

use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::fleet::{Fleet, until};
use crate::writes::reads_see_writes;

/// A PostgreSQL server of the test's own. It ends with this.
struct Postgres {
    process: Child,
    url: String,
    dir: TempDir,
}

impl Postgres {
    async fn start() -> Self {
        let dir = tempfile::tempdir().expect("a folder can be made");
        let data = dir.path().join("data");
        if let Some((user, group)) = other_user() {
            chown(dir.path(), Some(user), Some(group)).expect("root may give a folder away");
        }
        let made = program("initdb")
            .args(["--username=users", "--auth=trust", "--no-sync", "-D"])
            .arg(&data)
            .stdout(Stdio::null())
            .status();
        assert!(made.expect("`initdb` can be run; `scripts/test --all` installs it").success());
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = free.expect("there is a free port").port().to_string();
        let process = program("postgres")
            .args(["-h", "127.0.0.1", "-F", "-p", &port, "-k"])
            .arg(dir.path())
            .arg("-D")
            .arg(&data)
            .stderr(Stdio::null())
            .spawn()
            .expect("`postgres` can be run");
        let started = Self { process, url: format!("postgres://users@127.0.0.1:{port}/postgres"), dir };
        until("the server", async || started.is_ready(&port)).await;
        started
    }

    fn is_ready(&self, port: &str) -> bool {
        let asked = program("pg_isready").args(["-q", "-h", "127.0.0.1", "-p", port]).status();
        asked.expect("`pg_isready` can be run").success() && self.dir.path().exists()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // It has children of its own, which end with it when asked, not when it is killed.
        let _ = Command::new("kill").args(["-INT", &self.process.id().to_string()]).status();
        let _ = self.process.wait();
    }
}

/// A program of PostgreSQL's, run by someone whom it accepts: never root.
fn program(name: &str) -> Command {
    let path = folder().join(name);
    match other_user() {
        None => Command::new(path),
        Some((user, group)) => {
            let mut command = Command::new("setpriv");
            command.args([
                format!("--reuid={user}"),
                format!("--regid={group}"),
                "--clear-groups".to_owned(),
            ]);
            command.arg(path);
            command
        }
    }
}

/// Where its programs are: Debian keeps them off the `PATH`, by version.
fn folder() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = versions.map(|version| version.path().join("bin")).filter(|bin| bin.exists()).max();
    newest.unwrap_or_default()
}

/// Whom root becomes to run it.
fn other_user() -> Option<(u32, u32)> {
    let owned_by_root = std::os::unix::fs::MetadataExt::uid(&Path::new("/proc/self").metadata().ok()?) == 0;
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let line = users.lines().find_map(|line| line.strip_prefix("postgres:x:"))?;
    let mut ids = line.split(':').map(|id| id.parse::<u32>().ok());
    owned_by_root.then_some((ids.next()??, ids.next()??))
}

#[tokio::test]
#[ignore = "needs PostgreSQL, which `scripts/test --all` installs"]
async fn on_postgres_a_write_by_one_instance_is_what_the_other_reads_next() {
    let server = Postgres::start().await;
    let dir = tempfile::tempdir().expect("a folder can be made");
    let fleet = Fleet::on(&server.url, dir, [&[], &[]]);
    reads_see_writes(&fleet.a, &fleet.b).await;
}
