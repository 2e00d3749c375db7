//! Hand-written `SET NX` and what is wrong with it, each fault made to happen on a real server; and the same course of
//! events through the library, where it does not.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod crash;
mod herds;
mod names;
mod owners;
mod recipes;
mod rig;
mod tools;
