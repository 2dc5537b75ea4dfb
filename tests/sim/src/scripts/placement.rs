//! Places of tasks: not workers that cannot load their model, the pools that a model names, every worker that has
//! nothing to do, and no more loads than pay.

use super::moved::Moved;
use crate::mutant::Mutant;
use crate::script::{Play, Script, begun, busy, connected};

pub(super) const SCRIPTS: &[Moved] = &[
    Moved {
        name: "worker_without_the_weights_costs_no_sample",
        of: &["placement: one_node_without_the_weights_costs_no_sample"],
        mutant: Mutant::BarredGrantedAgain,
        play: worker_without_the_weights_costs_no_sample,
    },
    Moved {
        name: "model_that_no_worker_can_load_fails_at_once",
        of: &["placement: a_model_that_no_worker_can_load_fails_with_its_reason_at_once"],
        mutant: Mutant::BarredGrantedAgain,
        play: model_that_no_worker_can_load_fails_at_once,
    },
    Moved {
        name: "model_waits_for_a_worker_that_can_load_it",
        of: &["placement: a_model_waits_as_long_as_it_is_told_for_a_worker_that_can_load_it"],
        mutant: Mutant::SupplyDenied,
        play: model_waits_for_a_worker_that_can_load_it,
    },
    Moved {
        name: "workers_that_come_one_by_one_all_get_work",
        of: &["placement: workers_that_come_one_by_one_all_get_work_under_every_partitioner"],
        mutant: Mutant::QueuedTaskNeverMoved,
        play: workers_that_come_one_by_one_all_get_work,
    },
    Moved {
        name: "many_models_on_two_slots_are_loaded_once_each",
        of: &["placement: many_models_on_two_slots_are_loaded_about_once_each"],
        mutant: Mutant::ModelUnloaded,
        play: many_models_on_two_slots_are_loaded_once_each,
    },
    Moved {
        name: "as_many_models_as_slots_are_loaded_once_each",
        of: &["placement: as_many_models_as_slots_are_loaded_about_once_each"],
        mutant: Mutant::ModelUnloaded,
        play: as_many_models_as_slots_are_loaded_once_each,
    },
    Moved {
        name: "pools_work_side_by_side",
        of: &["pools: several_pools_work_side_by_side"],
        mutant: Mutant::QueuedTaskNeverMoved,
        play: pools_work_side_by_side,
    },
    Moved {
        name: "model_runs_in_its_pool_and_nowhere_else",
        of: &[
            "pools: a_model_runs_where_it_is_wanted_and_nowhere_else",
            "pools: a_worker_that_comes_by_itself_says_its_pool",
        ],
        mutant: Mutant::PlacesForgotten,
        play: model_runs_in_its_pool_and_nowhere_else,
    },
    Moved {
        name: "model_of_a_job_in_a_server_runs_in_its_pool",
        of: &["serve: a_model_runs_in_the_pools_of_the_server_that_it_names"],
        mutant: Mutant::PlacesForgotten,
        play: model_of_a_job_in_a_server_runs_in_its_pool,
    },
];

fn worker_without_the_weights_costs_no_sample(script: Script) -> Play {
    let play = script.workers(3).units(&[60]).unable(0, 0).finish();
    play.same_results().computed_by(0, 0..=0).retries(0..=0)
}

fn model_that_no_worker_can_load_fails_at_once(script: Script) -> Play {
    let script = script.workers(2).units(&[20, 20, 20]).unable(0, 1).unable(1, 1);
    let play = script.until(connected(0)).until(connected(1)).no_worker_can_come().finish();
    play.same_results_but(|(unit, _)| unit == unit_of_second_model()).given_up(20..=20).took(0..30_000).barred(&[0, 1])
}

/// Units are numbered model by model, each over all data sets.
fn unit_of_second_model() -> u32 {
    3 + 2
}

/// The 60 s that the job waits are over before it gives its samples up.
fn model_waits_for_a_worker_that_can_load_it(script: Script) -> Play {
    script.unable(0, 0).until(connected(0)).finish().given_up(40..=40).took(60_000..70_000)
}

/// The first two hold all tasks when the others come.
fn workers_that_come_one_by_one_all_get_work(script: Script) -> Play {
    let script = script.workers(4).late(2).late(3).units(&[20, 20, 20, 20]).tasks_of(20).whole_tasks().sample_ms(400);
    let play =
        script.until(begun(0, 1)).until(begun(1, 1)).start_worker(2).until(busy(2)).start_worker(3).until(busy(3));
    let play = play.finish().same_results();
    (0..4).fold(play, |play, worker| play.computed_by(worker, 20..=20))
}

fn many_models_on_two_slots_are_loaded_once_each(script: Script) -> Play {
    let script = script.workers(2).units(&[0, 20, 20, 20, 20, 20, 20, 20, 20]).tasks_of(7).load_ms(1_500);
    script.finish().same_results().loads(8..=12)
}

/// A slot whose model has nothing left may help with the other at the end.
fn as_many_models_as_slots_are_loaded_once_each(script: Script) -> Play {
    script.workers(2).units(&[0, 100, 100]).tasks_of(8).load_ms(1_500).finish().same_results().loads(2..=4)
}

fn pools_work_side_by_side(script: Script) -> Play {
    let script =
        script.workers(3).units(&[60]).tasks_of(20).whole_tasks().pool(0, "left").pool(1, "right").pool(2, "right");
    script.finish().same_results().computed_by(0, 1..).computed_by(1, 1..).computed_by(2, 1..)
}

/// The second worker names another pool, the third none.
fn model_runs_in_its_pool_and_nowhere_else(script: Script) -> Play {
    let script = script.workers(3).pool(0, "left").pool(1, "right").place(0, "left");
    script.finish().same_results().computed_by(0, 40..=40).computed_by(1, 0..=0).computed_by(2, 0..=0)
}

fn model_of_a_job_in_a_server_runs_in_its_pool(script: Script) -> Play {
    let script = script.workers(2).job(&[40]).pool(0, "left").pool(1, "right").place(0, "right");
    script.finish().same_results().recorded_from(0, 1, 40..=40)
}
