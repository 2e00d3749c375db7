//! Puts other crates that coalesce loads, and ours, through the same scenes and the same loops.

pub mod behaviour;
pub mod growth;
pub mod herds;
pub mod hits;
pub mod load;
pub mod machine;
pub mod misses;
pub mod peer;
pub mod peers;
pub mod plots;
pub mod redis;
pub mod report;
pub mod rounds;
pub mod scenes;
