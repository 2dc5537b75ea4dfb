//! A server of several jobs: side by side, cancelled, within a bound, and over the deaths of servers.

use super::moved::Moved;
use crate::mutant::Mutant;
use crate::script::{
    Play, Script, busy, connected, elapsed, epoch_of, is_over, never_more_than, recorded_of, saw, waits,
};

pub(super) const SCRIPTS: &[Moved] = &[
    Moved {
        name: "jobs_run_side_by_side_as_if_each_were_alone",
        of: &["serve: two_jobs_run_side_by_side_and_each_as_if_it_were_alone"],
        mutant: Mutant::ReleasedIsDismissed,
        play: jobs_run_side_by_side_as_if_each_were_alone,
    },
    Moved {
        name: "worker_without_work_is_taken_by_a_job_that_comes",
        of: &["serve: two_jobs_run_side_by_side_and_each_as_if_it_were_alone"],
        mutant: Mutant::WaitingNeverAssigned,
        play: worker_without_work_is_taken_by_a_job_that_comes,
    },
    Moved {
        name: "killed_server_continues_its_jobs",
        of: &["serve: a_killed_server_goes_on_with_its_jobs"],
        mutant: Mutant::JobNotExpected,
        play: killed_server_continues_its_jobs,
    },
    Moved {
        name: "standby_server_takes_over_every_job",
        of: &["serve: a_second_server_stands_by_and_goes_on_with_the_jobs_of_a_killed_one"],
        mutant: Mutant::JobNotExpected,
        play: standby_server_takes_over_every_job,
    },
    Moved {
        name: "server_that_slept_too_long_loses_its_jobs",
        of: &["serve: a_server_that_was_stopped_for_too_long_is_fenced_and_the_other_has_its_jobs"],
        mutant: Mutant::StaleEpochAccepted,
        play: server_that_slept_too_long_loses_its_jobs,
    },
    Moved {
        name: "cancelled_job_ends_and_its_slot_goes_to_the_other",
        of: &["serve: a_cancelled_job_is_granted_nothing_more_and_says_why"],
        mutant: Mutant::CancelUnheard,
        play: cancelled_job_ends_and_its_slot_goes_to_the_other,
    },
    Moved {
        name: "bound_of_a_job_holds_and_workers_beyond_it_wait",
        of: &["serve: a_bound_holds_and_what_is_beyond_it_is_explained"],
        mutant: Mutant::BoundForgotten,
        play: bound_of_a_job_holds_and_workers_beyond_it_wait,
    },
];

/// One job is there first and has all workers: one of them moves over.
fn jobs_run_side_by_side_as_if_each_were_alone(script: Script) -> Play {
    let play = script.workers(2).units(&[60]).later_job(&[40]).until(recorded_of(0, 10)).until(busy(0)).until(busy(1));
    let play = play.submit(1).until(saw("a worker left for another job")).until(recorded_of(1, 1)).finish();
    play.same_results().repeats(0..=0).ran_again(0..=0)
}

fn worker_without_work_is_taken_by_a_job_that_comes(script: Script) -> Play {
    let play = script.workers(2).units(&[10]).later_job(&[40]).until(is_over(0)).until(waits(0)).until(waits(1));
    play.submit(1)
        .until(connected(0))
        .until(connected(1))
        .finish()
        .same_results()
        .computed_by(0, 5..)
        .computed_by(1, 5..)
}

fn killed_server_continues_its_jobs(script: Script) -> Play {
    let play = script.workers(2).units(&[50]).job(&[50]).until(recorded_of(0, 5)).until(recorded_of(1, 5));
    let play = play.kill_master(0).start_master(0).until(epoch_of(0, 2)).until(epoch_of(1, 2)).finish();
    play.same_results().ended_in_epoch(0, 2).ended_in_epoch(1, 2).ran_again(0..=0)
}

fn standby_server_takes_over_every_job(script: Script) -> Play {
    let play = script.masters(2).workers(2).units(&[50]).job(&[50]);
    let play = play.until(recorded_of(0, 5)).until(recorded_of(1, 5)).kill_leader().finish();
    play.same_results().ended_in_epoch(0, 2).ended_in_epoch(1, 2).ran_again(0..=0)
}

fn server_that_slept_too_long_loses_its_jobs(script: Script) -> Play {
    let play = script.masters(2).workers(2).units(&[60]).job(&[60]);
    let play = play.until(recorded_of(0, 5)).until(recorded_of(1, 5)).pause_leader();
    let play = play.until(epoch_of(0, 2)).until(epoch_of(1, 2)).until(elapsed(2_000)).resume_masters().finish();
    play.same_results().ended_in_epoch(0, 2).ended_in_epoch(1, 2)
}

fn cancelled_job_ends_and_its_slot_goes_to_the_other(script: Script) -> Play {
    let play = script.units(&[60]).later_job(&[20]).until(recorded_of(0, 3)).cancel(0).submit(1);
    let play = play.until(is_over(0)).until(recorded_of(1, 1)).finish();
    play.same_results().recorded(0, 3..30).recorded(1, 20..=20)
}

fn bound_of_a_job_holds_and_workers_beyond_it_wait(script: Script) -> Play {
    let play = script.workers(3).units(&[40]).later_job(&[20]).bound(1).begin().always(never_more_than(1, 0));
    play.until(recorded_of(0, 10)).submit(1).until(recorded_of(1, 1)).finish().same_results()
}
