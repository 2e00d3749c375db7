mod ends;
mod faults;
mod policies;
mod redis;
