//! `--processes`: the herd comes from several real processes of this program, on one database.
//!
//! | file | holds |
//! |---|---|
//! | `backend` | what the processes share, by its URL |
//! | `local_server` | a Redis server for the run |
//! | `control`, `monitor` | this program's view of the server |
//! | `member`, `worker` | a process from outside and from inside |
//! | `signal` | what is sent to processes |
//! | `message` | what is said between them |
//! | `stage`, `play` | what scenes are played with; a fleet at one of them |
//! | `scene`, `scenes` | what happens to it |
//! | `row`, `table` | what is shown |

pub(crate) mod backend;
pub(crate) mod control;
pub(crate) mod local_server;
mod member;
pub(crate) mod message;
mod monitor;
mod play;
pub(crate) mod row;
pub(crate) mod scene;
pub(crate) mod scenes;
mod signal;
mod stage;
mod table;
pub(crate) mod worker;

pub(crate) use stage::{FleetError, Sharing, Stage};
pub(crate) use table::table;
