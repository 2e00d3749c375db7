//! Redis and Valkey as the lease backend of `singleflight-core`; it comes with a later version.
