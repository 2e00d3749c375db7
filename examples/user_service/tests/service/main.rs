//! Two instances of the service on one Redis server and one database, driven over HTTP.

mod faults;
mod figures;
mod fleet;
mod herd;
mod input;
mod postgres;
mod prometheus;
mod stop;
mod writes;
