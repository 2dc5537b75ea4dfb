//! Samples that ask the same: computed once, recorded for each, whatever dies.

use super::moved::Moved;
use crate::mutant::Mutant;
use crate::script::{Play, Script, begun, recorded};

pub(super) const SCRIPTS: &[Moved] = &[
    Moved {
        name: "equal_requests_are_computed_once_and_recorded_for_all",
        of: &["duplicates: equal_requests_of_a_job_are_computed_once_and_recorded_for_every_sample"],
        mutant: Mutant::DuplicatesComputed,
        play: equal_requests_are_computed_once_and_recorded_for_all,
    },
    Moved {
        name: "killed_worker_costs_what_it_had_begun_of_duplicates",
        of: &["duplicates: a_killed_worker_costs_no_more_than_what_it_had_begun"],
        mutant: Mutant::LostWorkerHeard,
        play: killed_worker_costs_what_it_had_begun_of_duplicates,
    },
    Moved {
        name: "killed_master_computes_no_recorded_duplicate_again",
        of: &["duplicates: a_killed_master_goes_on_where_it_was"],
        mutant: Mutant::LedgerForgotten,
        play: killed_master_computes_no_recorded_duplicate_again,
    },
    Moved {
        name: "request_that_fails_for_one_fails_for_all",
        of: &["duplicates: what_fails_for_one_fails_for_all_that_ask_it"],
        mutant: Mutant::DeathTakenForLostDevice,
        play: request_that_fails_for_one_fails_for_all,
    },
];

/// Two data sets of 60 samples that ask 20 different things between them.
fn with_duplicates(script: Script) -> Script {
    script.workers(2).units(&[60, 60]).distinct(20).tasks_of(4)
}

fn equal_requests_are_computed_once_and_recorded_for_all(script: Script) -> Play {
    with_duplicates(script).finish().same_results().computed(20..=20).recorded(0, 120..=120)
}

fn killed_worker_costs_what_it_had_begun_of_duplicates(script: Script) -> Play {
    let play = with_duplicates(script).until(begun(0, 3)).kill_worker(0).finish();
    play.same_results().computed(20..=22).recorded(0, 120..=120)
}

fn killed_master_computes_no_recorded_duplicate_again(script: Script) -> Play {
    let play = with_duplicates(script).until(recorded(30)).kill_master(0).start_master(0).finish();
    play.same_results().computed(20..=20).saw("a committed sample was run again", 0..=0)
}

fn request_that_fails_for_one_fails_for_all(script: Script) -> Play {
    with_duplicates(script).poison(0, 7).finish().same_results_but(|(_, index)| index % 20 == 7).recorded(0, 120..=120)
}
