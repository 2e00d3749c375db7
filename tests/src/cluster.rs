//! A cluster of three primaries with a replica each.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::sentinel::wait;
use crate::server::{Server, free_port};

/// How many primaries there are.
const PRIMARIES: usize = 3;
/// How many slots they share.
const SLOTS: usize = 16_384;

/// Six nodes. They end with this.
#[derive(Debug)]
pub struct Cluster {
    /// The first three are the primaries at the start, the others their replicas in the same order.
    pub nodes: Vec<Server>,
    _files: TempDir,
}

static SHARED: Mutex<Weak<Cluster>> = Mutex::new(Weak::new());

impl Cluster {
    /// Starts the nodes and makes them one.
    ///
    /// # Panics
    /// If they do not find each other.
    #[must_use]
    pub fn start() -> Self {
        let files = tempfile::tempdir().unwrap();
        let mut buses = Vec::new();
        let nodes = (0..2 * PRIMARIES).map(|_| {
            let mut bus = 0;
            let node = Server::with_ports(|port| {
                // Not the usual ten thousand above, which may be no port at all.
                bus = free_port();
                let file = files.path().join(format!("nodes-{port}.conf")).to_string_lossy().into_owned();
                let bus = bus.to_string();
                let words =
                    ["--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--cluster-port", &bus];
                let more = ["--cluster-config-file", &file];
                words.iter().chain(&more).map(|&word| word.to_owned()).collect()
            });
            buses.push(bus);
            node
        });
        let nodes: Vec<Server> = nodes.collect();
        let cluster = Self { nodes, _files: files };
        cluster.join(&buses);
        cluster
    }

    /// Nodes that bear with each other for half a minute: for where nothing is to happen to them, though the machine may
    /// stand still.
    ///
    /// # Panics
    /// If they do not find each other.
    #[must_use]
    pub fn steady() -> Self {
        let cluster = Self::start();
        for node in &cluster.nodes {
            node.say(&["CONFIG", "SET", "cluster-node-timeout", "30000"]);
        }
        cluster
    }

    fn join(&self, buses: &[u16]) {
        for (at, node) in self.nodes.iter().enumerate() {
            node.say(&["CLUSTER", "SET-CONFIG-EPOCH", &(at + 1).to_string()]);
            if at < PRIMARIES {
                let (first, end) = (SLOTS * at / PRIMARIES, SLOTS * (at + 1) / PRIMARIES);
                node.say(&["CLUSTER", "ADDSLOTSRANGE", &first.to_string(), &(end - 1).to_string()]);
            }
        }
        let all = |says: &[&str]| {
            self.nodes.iter().all(|node| {
                let info = node.say(&["CLUSTER", "INFO"]);
                says.iter().all(|says| info.contains(says))
            })
        };
        let mut met: Option<Instant> = None;
        wait("all nodes know each other", || {
            // A node gives up a handshake that takes longer than a node may be silent.
            if met.is_none_or(|met| met.elapsed() > Duration::from_secs(5)) {
                for (node, bus) in self.nodes.iter().zip(buses).skip(1) {
                    let port = node.port().to_string();
                    self.nodes[0].say(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus.to_string()]);
                }
                met = Some(Instant::now());
            }
            all(&["cluster_known_nodes:6\r", "cluster_state:ok\r"])
        });
        for (at, replica) in self.nodes[PRIMARIES..].iter().enumerate() {
            replica.say(&["CLUSTER", "REPLICATE", &self.id(at)]);
        }
        for replica in &self.nodes[PRIMARIES..] {
            wait("the replica has a copy", || {
                replica.say(&["INFO", "replication"]).contains("master_link_status:up")
            });
        }
        // Nodes do not tell clients of a replica that has been sent nothing yet.
        for primary in &self.nodes[..PRIMARIES] {
            primary.say(&["FLUSHALL"]);
        }
        for node in &self.nodes {
            wait("all know which are replicas", || {
                let known = node.say(&["CLUSTER", "NODES"]);
                known.matches("slave ").count() == PRIMARIES && !known.contains("handshake")
            });
            // What is published to a node that has not learnt yet who is at the other end does not come over.
            wait("each has heard all others", || {
                let links = node.say(&["CLUSTER", "LINKS"]);
                let others = 2 * PRIMARIES - 1;
                ["\r\nto\r\n", "\r\nfrom\r\n"].iter().all(|way| links.matches(way).count() == others)
            });
            wait("each tells of all", || {
                let slots = node.say(&["CLUSTER", "SLOTS"]);
                self.nodes.iter().all(|other| slots.contains(&format!(":{}\r", other.port())))
            });
        }
        wait("the cluster is well", || all(&["cluster_state:ok\r"]));
    }

    /// One that other tests of this process use, too, as long as one does.
    #[must_use]
    pub fn shared() -> Arc<Self> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.upgrade().unwrap_or_else(|| {
            let new = Arc::new(Self::steady());
            *shared = Arc::downgrade(&new);
            new
        })
    }

    /// Where all nodes are.
    #[must_use]
    pub fn url(&self) -> String {
        let ports = self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port()));
        format!("redis+cluster://{}", ports.collect::<Vec<_>>().join(","))
    }

    /// The name that the node with this number has among the nodes.
    #[must_use]
    pub fn id(&self, at: usize) -> String {
        self.nodes[at].say(&["CLUSTER", "MYID"]).lines().nth(1).unwrap().to_owned()
    }

    /// The names of all that it holds.
    #[must_use]
    pub fn keys(&self) -> BTreeSet<String> {
        self.nodes.iter().flat_map(Server::keys).collect()
    }

    /// Asserts that nothing of ours would stay for ever.
    ///
    /// # Panics
    /// If something would.
    pub fn assert_every_key_ends(&self) {
        self.nodes[..PRIMARIES].iter().for_each(Server::assert_every_key_ends);
    }

    /// The slot of a name.
    #[must_use]
    pub fn slot(&self, name: &str) -> u16 {
        let answer = self.nodes[0].say(&["CLUSTER", "KEYSLOT", name]);
        answer.trim().trim_start_matches(':').parse().unwrap()
    }

    /// Which of the first three nodes has this slot at the start.
    #[must_use]
    pub fn owner(&self, slot: u16) -> usize {
        (0..PRIMARIES).find(|at| usize::from(slot) < SLOTS * (at + 1) / PRIMARIES).unwrap()
    }

    /// Moves a slot from one primary to another, as tools do: key by key, `between` two of them.
    pub fn migrate(&self, slot: u16, from: usize, to: usize, mut between: impl FnMut()) {
        let (slot, ids) = (slot.to_string(), [self.id(from), self.id(to)]);
        let (source, target) = (&self.nodes[from], &self.nodes[to]);
        target.say(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &ids[0]]);
        source.say(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &ids[1]]);
        let port = target.port().to_string();
        loop {
            between();
            let answer = source.say(&["CLUSTER", "GETKEYSINSLOT", &slot, "1"]);
            let Some(key) = answer.lines().nth(2) else { break };
            source.say(&["MIGRATE", "127.0.0.1", &port, key, "0", "5000"]);
        }
        for node in [target, source] {
            node.say(&["CLUSTER", "SETSLOT", &slot, "NODE", &ids[1]]);
        }
    }
}
