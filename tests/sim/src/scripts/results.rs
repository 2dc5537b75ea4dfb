//! Results that count and results that do not: one that was never granted, one that does not fit the plan, one that differs.

use super::moved::Moved;
use crate::mutant::Mutant;
use crate::script::{Play, Script, begun, elapsed, recorded_by};

pub(super) const SCRIPTS: &[Moved] = &[
    Moved {
        name: "forged_results_are_refused_and_counted",
        of: &["whose_results: a_forged_hundred_percent_is_refused_counted_and_named"],
        mutant: Mutant::NoRightNeeded,
        play: forged_results_are_refused_and_counted,
    },
    Moved {
        name: "claim_without_a_proof_is_void",
        of: &["whose_results: a_proof_outlives_its_master_but_not_the_store"],
        mutant: Mutant::ClaimWithoutProofKept,
        play: claim_without_a_proof_is_void,
    },
    Moved {
        name: "second_result_that_differs_is_counted",
        of: &["whose_results: a_differing_second_result_of_one_device_type_ends_with_exit_code_1"],
        mutant: Mutant::RepeatsDropped,
        play: second_result_that_differs_is_counted,
    },
    Moved {
        name: "worker_whose_results_do_not_fit_is_barred",
        of: &["whose_results: a_worker_whose_results_do_not_fit_is_barred_and_the_run_is_as_if_it_had_never_come"],
        mutant: Mutant::KindUnchecked,
        play: worker_whose_results_do_not_fit_is_barred,
    },
    Moved {
        name: "numbers_not_finite_on_two_workers_are_the_models_own",
        of: &["whose_results: what_is_not_a_number_on_two_workers_is_the_models_own"],
        mutant: Mutant::KindUnchecked,
        play: numbers_not_finite_on_two_workers_are_the_models_own,
    },
];

fn forged_results_are_refused_and_counted(script: Script) -> Play {
    script.workers(2).units(&[60]).until(recorded_by(0, 8)).lie(0).finish().same_results().refused(1..)
}

fn claim_without_a_proof_is_void(script: Script) -> Play {
    script.workers(2).units(&[60]).until(recorded_by(0, 8)).lie(0).finish().same_results().void_claims(1..)
}

/// The worker is cut off at work; others have its samples when its results come.
fn second_result_that_differs_is_counted(script: Script) -> Play {
    let script = script.workers(2).units(&[100]).sample_ms(600).unsteady();
    let play = script.until(begun(0, 6)).cut_off(0).until(elapsed(12_000)).heal(0).finish();
    play.all_recorded().divergences(1..)
}

fn worker_whose_results_do_not_fit_is_barred(script: Script) -> Play {
    let play = script.workers(2).until(recorded_by(0, 2)).garble(0, 3).finish();
    play.same_results().misfits(3..=3).barred(&[0])
}

fn numbers_not_finite_on_two_workers_are_the_models_own(script: Script) -> Play {
    let play = script.workers(2).not_finite(0, 9).finish();
    play.same_results_but(|key| key == (0, 9)).misfits(2..=2).barred(&[])
}
