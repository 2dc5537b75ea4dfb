//! Exactly once, whatever dies: engines, agents, masters.

use super::moved::Moved;
use crate::mutant::Mutant;
use crate::script::{Play, Script, begun, recorded};

pub(super) const SCRIPTS: &[Moved] = &[
    Moved {
        name: "results_do_not_depend_on_workers_or_task_size",
        of: &["faults: no_number_depends_on_workers_or_partitioner"],
        mutant: Mutant::SplitWithoutAck,
        play: results_do_not_depend_on_workers_or_task_size,
    },
    Moved {
        name: "broken_engine_loses_nothing",
        of: &["faults: a_killed_engine_loses_nothing"],
        mutant: Mutant::EngineDeathUnheard,
        play: broken_engine_loses_nothing,
    },
    Moved {
        name: "killed_agent_loses_nothing",
        of: &["faults: a_killed_agent_loses_nothing"],
        mutant: Mutant::LostWorkerHeard,
        play: killed_agent_loses_nothing,
    },
    Moved {
        name: "exit_told_by_the_launcher_is_retried_at_once",
        of: &["faults: a_killed_agent_loses_nothing"],
        mutant: Mutant::ExitUnheard,
        play: exit_told_by_the_launcher_is_retried_at_once,
    },
    Moved {
        name: "killed_master_resumes_what_was_durable",
        of: &["faults: a_killed_master_resumes_and_repeats_at_most_what_was_in_flight"],
        mutant: Mutant::LedgerForgotten,
        play: killed_master_resumes_what_was_durable,
    },
    Moved {
        name: "worker_survives_its_master_and_keeps_its_grants",
        of: &[
            "faults: a_worker_by_hand_survives_its_master_and_goes_on_with_the_next",
            "whose_results: a_proof_outlives_its_master_but_not_the_store",
        ],
        mutant: Mutant::KeyMadeAgain,
        play: worker_survives_its_master_and_keeps_its_grants,
    },
    Moved {
        name: "poison_sample_fails_alone",
        of: &["faults: a_poison_sample_fails_alone_and_by_name"],
        mutant: Mutant::DeathTakenForLostDevice,
        play: poison_sample_fails_alone,
    },
    Moved {
        name: "draining_worker_finishes_what_it_has_begun",
        of: &["signals: a_worker_whose_engines_hear_the_signal_too_finishes_what_it_has_begun"],
        mutant: Mutant::DrainEndsAtOnce,
        play: draining_worker_finishes_what_it_has_begun,
    },
];

/// Sizes go with the seed, so that a range of seeds plays several.
fn results_do_not_depend_on_workers_or_task_size(script: Script) -> Play {
    let seed = script.seed();
    let script = script.units(&[30, 17, 23]).workers(1 + seed as usize % 5).tasks_of(1 + (seed * 7 % 30) as u32);
    script.finish().same_results().ran_again(0..=0)
}

fn broken_engine_loses_nothing(script: Script) -> Play {
    script.workers(2).until(recorded(10)).break_engine(0).until(recorded(20)).break_engine(1).finish().same_results()
}

fn killed_agent_loses_nothing(script: Script) -> Play {
    let play = script.workers(2).until(begun(0, 6)).kill_worker(0).finish();
    // What it had begun and not sent, and nothing else.
    play.same_results().ran_again(0..=2).computed_by(1, 30..)
}

/// A process that ended leaves its tasks without a lease that others have to wait for.
fn exit_told_by_the_launcher_is_retried_at_once(script: Script) -> Play {
    let play = script.workers(2).late(1).units(&[20]).until(begun(0, 1)).start_worker(1).until(begun(1, 1));
    // A lease, and what it would hold up then, take longer.
    play.kill_worker(0).tell_exit(0).finish().same_results().retries(1..).took(0..6_000)
}

/// The workers end with their master, as those that it has launched do.
fn killed_master_resumes_what_was_durable(script: Script) -> Play {
    let play = script.workers(2).until(recorded(15)).kill_master(0).kill_worker(0).kill_worker(1);
    let play = play.start_master(0).start_worker(0).start_worker(1).finish();
    play.same_results().ended_in_epoch(0, 2).saw("a committed sample was run again", 0..=0)
}

fn worker_survives_its_master_and_keeps_its_grants(script: Script) -> Play {
    let play = script.workers(2).until(recorded(15)).kill_master(0).start_master(0).finish();
    play.same_results().ended_in_epoch(0, 2).adopted(1..).void_claims(0..=0).ran_again(0..=0)
}

fn poison_sample_fails_alone(script: Script) -> Play {
    let play = script.workers(2).units(&[20, 20]).poison(1, 7).finish();
    play.same_results_but(|key| key == (1, 7)).recorded(0, 40..=40)
}

fn draining_worker_finishes_what_it_has_begun(script: Script) -> Play {
    let play = script.workers(2).slots(2).units(&[80]).until(begun(0, 12)).drain(0).finish();
    play.same_results().finishes_what_it_begins(0).ran_again(0..=0).saw("a worker drained", 1..)
}
