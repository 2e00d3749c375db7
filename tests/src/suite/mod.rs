//! The promises, one function each and each named for its number; and of the cases that users have met, those that are
//! about more than one process, named alike.
//!
//! None depends on exact moments: bodies stand still at gates, and what takes time is given generous bounds. Under
//! paused time they take none; with a server they take what they say, which is mostly spent waiting.
//!
//! Promises that only a backend by itself can break (P1–P3, P9, P28) are checked by the conformance suite of
//! `singleflight_core::testing`.

pub mod attributed;
pub mod budget;
pub mod cases;
pub mod crowds;
pub mod failures;
pub mod freshness;
pub mod invalidation;
pub mod leaders;
pub mod leases;
pub mod losers;
pub mod near;
pub mod outages;
pub mod reentry;
pub mod renewal;
pub mod spawned;
pub mod spawned_faults;
pub mod twins;
pub mod waiters;

/// Makes one test of each promise and case, on the harness that the expression gives: under paused time, or with `real`
/// in the time of a server, each test with the attribute in brackets.
#[macro_export]
macro_rules! promises {
    (real $([$on:meta])? => $harness:expr) => {
        $crate::promise_list! { each_real ($($on)?) $harness }
    };
    ($harness:expr) => {
        $crate::promise_list! { each () $harness }
    };
}

/// The same for what only concerns backends that keep bytes: copies in front of them, and the way to them.
#[macro_export]
macro_rules! wire_promises {
    (real $([$on:meta])? => $harness:expr) => {
        $crate::wire_list! { each_real ($($on)?) $harness }
    };
    ($harness:expr) => {
        $crate::wire_list! { each () $harness }
    };
}

/// Hands the list to [`each`] or [`each_real`].
#[doc(hidden)]
#[macro_export]
macro_rules! promise_list {
    ($then:ident ($($on:meta)?) $harness:expr) => {
        $crate::$then! {
            ($($on)?) $harness;
            attributed:
                p14_losers_with_a_default_take_it_at_once
                p18_losers_with_a_default_take_a_stale_copy
                p15_a_default_is_no_value;
            budget:
                p19_waiters_do_not_become_loaders_together
                p19_a_short_budget_is_no_stampede_either
                p19_no_budget_is_no_stampede_either
                p19_a_live_leader_never_causes_a_second_load
                p19_on_timeout_fail_fails
                p19_a_stale_copy_wins_over_the_time_out
                p19_a_budget_is_each_callers_own
                p19_who_is_overdue_asks_no_more;
            cases:
                case_08_a_failed_load_answers_fifty_callers
                case_09_a_leader_is_dropped_in_the_middle
                case_10_the_load_panics
                case_12_a_load_begun_before_a_write_is_not_seen_after_it
                case_16_none_is_a_value_with_a_ttl_of_its_own
                case_22_an_older_version_never_comes_back
                case_23_a_value_that_is_not_stored_frees_the_lease
                case_24_a_load_that_never_returns
                case_26_waiters_elsewhere_are_told_at_once
                case_27_a_failing_load_is_never_two_at_once;
            crowds:
                case_35_one_refresh_at_a_time_under_a_crowd
                case_35_the_hard_ttl_holds_when_the_refresh_hangs
                case_38_ten_thousand_keys_with_nested_loads;
            failures:
                p15_one_failed_fill_answers_everyone
                p15_an_error_that_cannot_be_cloned_arrives_as_its_message
                p15_a_long_message_is_cut
                p15_with_retry_each_tries_in_turn
                p15_a_failing_load_is_never_two_at_once
                p15_a_failed_refresh_keeps_the_stale_copy
                p15_a_failed_refresh_keeps_the_stale_copy_with_retry_too
                p15_a_panic_in_a_refresh_keeps_the_stale_copy
                p15_a_cooldown_is_shared_by_the_fleet
                p15_an_invalidation_ends_the_cooldown
                p15_a_cancel_is_no_failure;
            freshness:
                p18_soft_and_hard_ttl_are_kept
                p18_stale_is_answered_at_once_with_one_refresher
                p18_a_stale_answer_posts_nothing
                p18_losers_that_wait_get_the_new_value
                p18_a_copy_that_is_gone_is_not_given_after_a_failed_refresh
                p18_a_copy_that_is_gone_is_not_given_after_a_wait
                p18_a_refresh_adopts_a_newer_value
                p18_an_early_refresh_is_elected_by_the_lease
                p18_jitter_shortens_within_its_bounds;
            invalidation:
                p05_a_load_begun_before_is_never_seen_after
                p05_a_load_begun_before_is_never_seen_after_elsewhere
                p05_a_bystander_may_invalidate
                p05_a_late_load_is_not_stored
                p05_a_refresh_begun_before_is_never_seen_after
                p05_a_stale_copy_does_not_survive_an_invalidation
                p05_a_load_without_the_lease_is_for_those_who_called_before_it
                p05_a_question_asked_again_is_not_for_an_older_load
                p05_a_question_heard_late_does_not_bring_an_older_load_back
                p06_newcomers_do_not_join_the_older_flight
                p06_newcomers_do_not_join_a_flight_begun_meanwhile
                p06_followers_of_a_refused_publish_look_again
                p06_who_joins_between_a_publish_and_its_answer_looks_again
                p06_who_joins_between_a_release_and_its_answer_looks_again
                p06_who_joins_between_a_failed_publish_and_its_answer_looks_again
                p06_who_joins_between_a_look_and_its_answer_looks_again;
            leaders:
                p11_a_crashed_leader_has_one_successor
                p11_a_leader_whose_runtime_is_gone_is_succeeded
                p12_a_parked_leader_and_a_parked_follower_hold_nobody_up
                p12_who_comes_late_to_a_parked_leader_is_answered
                p12_a_parked_refresh_is_taken_over
                p12_a_leader_that_waits_for_an_answer_is_not_deposed
                p12_a_hung_leader_holds_its_lease_for_max_hold
                p12_max_hold_counts_also_with_nobody_waiting
                p16_a_dropped_leader_hands_over_in_the_body
                p16_a_dropped_leader_hands_over_while_it_asks
                p16_a_dropped_leader_hands_over_its_value
                p16_a_dropped_follower_affects_nobody
                p16_a_just_promoted_follower_may_be_dropped
                p16_callers_that_leave_together_load_once
                p16_leaders_that_time_out_again_and_again
                p17_a_panic_is_the_leaders_and_an_error_for_the_others;
            leases:
                p04_a_load_that_outlives_its_lease_stores_nothing
                p07_an_unowned_release_is_no_error_and_frees_nothing
                p07_a_late_publish_leaves_the_new_lease_alone
                p08_a_value_frees_the_lease
                p08_an_error_frees_the_lease
                p08_a_panic_frees_the_lease
                p08_a_cancel_frees_the_lease
                p08_a_value_that_cannot_be_encoded_frees_the_lease
                p08_a_write_that_is_refused_frees_the_lease
                p10_a_grant_that_nobody_heard_of_is_given_back
                p10_a_question_that_is_dropped_leaves_no_lease
                p03_a_publish_whose_answer_was_lost_is_repeated
                p26_a_publish_in_vain_is_not_followed_by_another_step
                p03_a_publish_that_was_lost_is_repeated;
            losers:
                p14_losers_that_fail_do_so_at_once
                p18_losers_that_fail_wait_for_the_answer_to_a_publish
                p12_losers_that_fail_take_over_a_parked_leader
                p18_losers_that_fail_take_a_stale_copy
                p14_losers_of_different_minds_share_a_flight
                p16_a_leader_that_will_not_wait_hands_over
                p14_a_policy_can_be_overridden_at_run_time
                p19_an_override_to_a_default_there_is_none_of_waits_and_loads
                p22_functions_that_share_a_key_do_not_share_values
                p14_the_figures_say_what_happened;
            outages:
                p25_any_step_may_fail
                p25_a_write_that_is_refused_time_and_again_does_not_stop_anyone;
            reentry:
                p21_a_key_inside_its_own_load_runs_the_body
                p21_a_key_inside_its_own_refresh_does_not_hang
                p21_another_function_of_the_same_key_does_not_wait_for_it
                p21_a_smaller_key_is_another_key
                p21_crosswise_keys_end_at_once_in_a_process
                p21_crosswise_keys_end_at_once_when_refreshed
                p21_crosswise_keys_end_at_once_after_an_invalidate
                p21_crosswise_keys_end_within_the_budget_across_processes;
            renewal:
                p13_a_lost_lease_is_noticed_and_followers_look_again
                p13_a_transient_error_does_not_lose_the_lease
                p13_renewal_that_fails_for_a_whole_ttl_gives_up;
            spawned:
                p14_many_callers_one_spawned_fill
                p16_a_spawned_fill_outlives_its_caller
                p16_a_spawned_fill_outlives_all_who_waited
                p16_dropped_followers_of_a_spawned_fill_affect_nobody
                p17_a_spawned_panic_is_its_callers
                p17_a_panic_of_an_orphaned_fill_reaches_those_who_wait
                p18_a_spawned_refresh_holds_nobody_up
                p18_a_spawned_refresh_outlives_its_caller
                p18_losers_that_wait_get_the_new_value_of_a_spawned_refresh
                p12_a_hung_spawned_fill_is_succeeded_after_max_hold
                p12_a_hung_spawned_refresh_is_succeeded_after_max_hold
                p21_a_key_inside_its_own_spawned_fill_runs_the_body
                p21_crosswise_spawned_fills_end_at_once
                p23_nothing_remains_of_a_spawned_fill;
            spawned_faults:
                p05_a_spawned_fill_begun_before_is_never_seen_after
                p05_a_spawned_refresh_begun_before_is_never_seen_after
                p05_a_stale_copy_does_not_survive_an_invalidation_of_its_spawned_refresh
                p06_newcomers_do_not_join_an_older_spawned_fill
                p06_followers_of_a_refused_spawned_publish_look_again
                p08_a_spawned_fill_without_a_value_frees_the_lease
                p08_a_spawned_refresh_without_a_value_frees_the_lease
                p15_one_failed_spawned_fill_answers_everyone
                p15_a_failed_spawned_refresh_keeps_the_stale_copy;
            twins:
                p14_an_older_version_loads_once_beside_a_newer
                p15_a_failure_is_only_for_calls_of_the_same_function
                p15_a_refresh_that_is_asked_for_is_tried_although_the_last_one_failed
                p22_calls_by_hand_share_no_value_of_another_type
                p22_namespaces_are_apart
                p21_crosswise_twins_end_at_once;
            waiters:
                p14_many_callers_one_fill
                p14_a_fill_that_takes_many_leases_is_one
                p14_the_store_is_looked_at_again_under_the_lease
                p20_a_lost_notification_costs_time_only
                p20_without_a_watch_it_is_polled
                p20_what_happens_while_the_watch_begins_is_not_missed
                p22_keys_never_block_each_other
                p23_nothing_remains_of_a_flight
                p24_a_hit_runs_no_body
                p24_many_hits_at_once_run_no_body;
        }
    };
}

/// Hands that list to [`each`] or [`each_real`].
#[doc(hidden)]
#[macro_export]
macro_rules! wire_list {
    ($then:ident ($($on:meta)?) $harness:expr) => {
        $crate::$then! {
            ($($on)?) $harness;
            near:
                p24_a_copy_costs_no_round_trip
                p24_copies_are_not_for_those_who_refresh_or_bypass
                p18_a_copy_is_no_fresher_than_the_entry
                p05_an_invalidation_drops_the_copies
                p05_a_fill_elsewhere_drops_the_copies
                p05_an_answer_overtaken_by_an_invalidation_is_no_copy
                p05_a_lost_subscription_drops_the_copies
                p23_copies_are_bounded;
            outages:
                p25_a_process_without_a_backend_loads_once_a_second
                p25_what_was_held_is_dropped_when_the_link_is_back
                p25_an_outage_during_a_load_costs_one_more_at_most
                p26_a_dead_backend_costs_a_probe_now_and_then
                p26_one_caller_probes
                p26_a_failed_invalidation_is_sent_later
                p26_an_invalidation_that_alone_failed_is_sent_later
                p26_the_invalidation_of_a_dropped_write_is_sent_later
                p26_an_invalidation_reaches_degraded_loads;
        }
    };
}

/// Makes the tests.
#[doc(hidden)]
#[macro_export]
macro_rules! each {
    (() $harness:expr; $($module:ident: $($name:ident)*;)*) => {$($(
        #[tokio::test(start_paused = true)]
        async fn $name() {
            let harness = $harness;
            $crate::suite::$module::$name(&harness).await;
        }
    )*)*};
}

/// Makes the tests in real time.
#[doc(hidden)]
#[macro_export]
macro_rules! each_real {
    ($on:tt $harness:expr; $($module:ident: $($name:ident)*;)*) => {$($(
        $crate::real! { $on $harness; $module $name }
    )*)*};
}

/// Makes one of them.
#[doc(hidden)]
#[macro_export]
macro_rules! real {
    (($($on:meta)?) $harness:expr; $module:ident $name:ident) => {
        #[tokio::test]
        $(#[$on])?
        async fn $name() {
            let harness = $harness;
            $crate::suite::$module::$name(&harness).await;
        }
    };
}
