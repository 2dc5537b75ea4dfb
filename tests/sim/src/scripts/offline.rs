//! A pool that continues while it is cut off.

use super::moved::Moved;
use crate::mutant::Mutant;
use crate::script::{Play, Script, computed, elapsed};

pub(super) const SCRIPTS: &[Moved] = &[
    Moved {
        name: "far_worker_continues_and_nothing_is_computed_again",
        of: &["offline: what_was_made_meanwhile_is_handed_in_and_nothing_is_made_again"],
        mutant: Mutant::OfflineTermsWithheld,
        play: far_worker_continues_and_nothing_is_computed_again,
    },
    Moved {
        name: "far_worker_that_dies_loses_what_was_not_sent",
        of: &["offline: a_worker_that_dies_while_it_is_cut_off_loses_only_what_was_not_handed_in"],
        mutant: Mutant::OfflineTermsWithheld,
        play: far_worker_that_dies_loses_what_was_not_sent,
    },
];

/// A worker that holds all of the job, and what it takes to run it, when it is cut off.
fn cut_off(script: Script) -> Play {
    let script = script.far(0).units(&[60]).tasks_of(60);
    script.until(computed(0, 1)).until(elapsed(1_500)).cut_off(0)
}

fn far_worker_continues_and_nothing_is_computed_again(script: Script) -> Play {
    // Its lease of 6 s is over for long when it is through.
    let play = cut_off(script).until(computed(0, 60)).until(elapsed(8_000)).recorded(0, 0..40).heal(0).finish();
    play.same_results().computed(60..=60).divergences(0..=0)
}

fn far_worker_that_dies_loses_what_was_not_sent(script: Script) -> Play {
    let play = cut_off(script).until(computed(0, 50)).kill_worker(0).start_worker(0).until(elapsed(4_000)).heal(0);
    play.finish().same_results().ran_again(1..50).divergences(0..=0)
}
