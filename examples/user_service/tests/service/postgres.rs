//! The same on PostgreSQL.

use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::fleet::{Fleet, on_free_port};
use crate::writes::reads_see_writes;

/// A PostgreSQL server of the test's own. It ends with this.
struct Postgres {
    process: Child,
    url: String,
    _dir: TempDir,
}

impl Postgres {
    async fn start() -> Self {
        let dir = tempfile::tempdir().expect("a folder can be made");
        let data = dir.path().join("data");
        if let Some((user, group)) = other_user() {
            chown(dir.path(), Some(user), Some(group)).expect("root may give a folder away");
        }
        let made = program("initdb")
            // Whatever language the machine is set to, and whether or not it knows it.
            .args(["--no-locale", "--encoding=UTF8"])
            .args(["--username=users", "--auth=trust", "--no-sync", "-D"])
            .arg(&data)
            .stdout(Stdio::null())
            .status();
        assert!(made.expect("`initdb` can be run; `scripts/test --all` installs it").success());
        let start = |port: u16| {
            program("postgres")
                .args(["-h", "127.0.0.1", "-F", "-p", &port.to_string(), "-k"])
                .arg(dir.path())
                .arg("-D")
                .arg(&data)
                .stderr(Stdio::null())
                .spawn()
                .expect("`postgres` can be run")
        };
        let (process, port) = on_free_port("the server", start, async |port| is_ready(port)).await;
        Self { process, url: format!("postgres://users@127.0.0.1:{port}/postgres"), _dir: dir }
    }
}

fn is_ready(port: u16) -> bool {
    let asked = program("pg_isready").args(["-q", "-h", "127.0.0.1", "-p", &port.to_string()]).status();
    asked.expect("`pg_isready` can be run").success()
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
