//! Generated code is silent under strict lints, and does not care what the user's names mean.

#![deny(
    warnings,
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    single_use_lifetimes,
    unused_lifetimes,
    unused_results,
    let_underscore_drop,
    missing_debug_implementations,
    trivial_casts,
    trivial_numeric_casts,
    unused_import_braces,
    variant_size_differences,
    elided_lifetimes_in_paths,
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    clippy::cargo
)]
#![allow(clippy::multiple_crate_versions, clippy::cargo_common_metadata)]

/// Names that a careless expansion would use.
pub mod names {
    #![allow(
        dead_code,
        unused_macros,
        non_camel_case_types,
        missing_debug_implementations,
        clippy::missing_errors_doc
    )]

    use ::singleflight_core::{invalidates, single_flight};

    mod core {}
    mod std {}
    mod alloc {}
    mod singleflight_core {}
    struct Option;
    struct Result;
    struct Box;
    struct Pin;
    struct Some;
    struct None;
    struct Ok;
    struct Err;
    struct String;
    struct Duration;
    struct Policy;
    struct Site;
    struct Call;
    struct Key;
    struct u64;
    struct bool;
    struct str;
    trait Future {}
    trait Clone {}
    trait Into {}

    macro_rules! concat {
        () => {};
    }
    macro_rules! module_path {
        () => {};
    }
    macro_rules! pin {
        () => {};
    }

    /// A trait whose methods have the names that the probes have without their prefix.
    pub trait Everything {
        /// As a probe's.
        fn kind(self) -> u8
        where
            Self: Sized,
        {
            0
        }
        /// As a probe's.
        fn put(&self) {}
        /// As the engine's.
        fn peek(&self) {}
        /// As the engine's.
        fn enter(&self) {}
        /// As a buffer's.
        fn text(&self) {}
        /// As a buffer's.
        fn finish(&self) {}
        /// As a plan's.
        fn answer(&self) {}
    }
    impl<T: ?Sized> Everything for T {}

    /// Finds.
    #[single_flight(key = "hygiene:<id>:<name>", ttl = 30, lock_ttl_ms = 500, losers = "default", default = ::core::option::Option::None)]
    pub async fn find(
        id: ::core::primitive::u64,
        name: &::core::primitive::str,
    ) -> ::core::result::Result<
        ::core::option::Option<::core::primitive::u64>,
        ::std::sync::Arc<::std::io::Error>,
    > {
        let __sf_key = id;
        let __sf_plan = name.len();
        let _ = (__sf_key, __sf_plan);
        ::core::result::Result::Ok(::core::option::Option::Some(id))
    }

    /// Saves.
    #[invalidates(key = "hygiene:<id>")]
    pub async fn save(id: ::core::primitive::u64) -> ::core::primitive::u64 {
        id
    }
}

/// A repository as one would publish it.
pub mod repository {
    use std::fmt::Debug;

    use singleflight_core::{Policy, SingleFlight, invalidates, key, single_flight};

    /// Shared.
    pub const HOT: Policy = Policy::new().ttl(std::time::Duration::from_secs(60));

    /// What can go wrong.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct RepoError;

    /// Users.
    #[derive(Debug)]
    pub struct Repo<D> {
        db: D,
        flights: SingleFlight,
    }

    impl<D: Debug + Sync> Repo<D> {
        /// On this database.
        pub fn new(db: D) -> Self {
            Self { db, flights: SingleFlight::in_memory() }
        }

        /// Finds one.
        ///
        /// # Errors
        /// If it cannot.
        #[single_flight(key = "user:<id>", ttl = 30, lock_ttl_ms = 1500)]
        pub async fn find(&self, id: u64) -> Result<Option<String>, RepoError> {
            if id == 0 {
                return Err(RepoError);
            }
            Ok(Some(format!("{:?}", self.db)))
        }

        /// Counts them.
        #[must_use]
        #[single_flight(key = "count:<self.db:?>", policy = HOT, flights = &self.flights)]
        pub async fn count(&self) -> u64 {
            1
        }

        /// Saves one.
        ///
        /// # Errors
        /// If it cannot.
        #[invalidates(key = "user:<id>", key = "count:<self.db:?>", flights = &self.flights)]
        pub async fn save(&self, id: u64) -> Result<(), RepoError> {
            if id == 0 { Err(RepoError) } else { Ok(()) }
        }

        /// Counts them in a task of its own.
        ///
        /// # Errors
        /// If it cannot.
        #[single_flight(key = "spawned:<name>", ttl = 30, spawn)]
        pub async fn spawned(self: &std::sync::Arc<Self>, name: &str) -> Result<String, RepoError>
        where
            D: Send + 'static,
        {
            Ok(format!("{:?}{name}", self.db))
        }

        /// Pings.
        #[single_flight(key = "ping", ttl = 1)]
        pub async fn ping(&self) {}

        /// The key of one.
        #[must_use]
        pub fn key(id: u64) -> String {
            key!("user:<id>").into()
        }
    }

    /// Boxed.
    #[async_trait::async_trait]
    pub trait Users {
        /// Finds one.
        async fn boxed(&self, id: u64) -> Result<Option<String>, RepoError>;
    }

    #[async_trait::async_trait]
    impl<D: Debug + Sync> Users for Repo<D> {
        #[single_flight(key = "user:<id>", ttl = 30)]
        async fn boxed(&self, id: u64) -> Result<Option<String>, RepoError> {
            let name = self.find(id).await?;
            Ok(name)
        }
    }

    /// A function that nobody calls is still found to be dead.
    #[expect(dead_code, reason = "that is what is tested")]
    #[single_flight(key = "dead:<id>", ttl = 30)]
    async fn dead(id: u64) -> u64 {
        id
    }

    /// What is unused in a body is still found.
    #[single_flight(key = "unused:<id>", ttl = 30)]
    pub async fn unused(id: u64) -> u64 {
        #[expect(unused_variables, reason = "that is what is tested")]
        let local = 1;
        id
    }
}

#[tokio::test]
async fn names_do_not_matter() {
    assert_eq!(names::find(1, "a").await.ok().flatten(), Some(1));
    assert_eq!(names::save(1).await, 1);
}

#[tokio::test]
async fn a_published_repository_works() {
    use repository::Users;

    let repo = repository::Repo::new("db");
    assert_eq!(repo.find(0).await, Err(repository::RepoError));
    assert_eq!(repo.boxed(1).await, Ok(Some("\"db\"".into())));
    assert_eq!(repo.count().await, 1);
    assert_eq!(repo.save(1).await, Ok(()));
    repo.ping().await;
    let shared = std::sync::Arc::new(repository::Repo::new("db"));
    assert_eq!(shared.spawned("a").await, Ok("\"db\"a".into()));
    assert_eq!(repository::unused(1).await, 1);
    assert_eq!(repository::Repo::<u8>::key(1), "user:1");
}
