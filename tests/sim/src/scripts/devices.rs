//! Devices that fail, and memory that is too small for a sample.

use super::moved::Moved;
use crate::mutant::Mutant;
use crate::script::{Play, Script, begun, connected};

pub(super) const SCRIPTS: &[Moved] = &[
    Moved {
        name: "lost_device_blames_no_sample",
        of: &["gpus: a_device_that_is_lost_in_mid_run_blames_no_sample"],
        mutant: Mutant::LostDeviceTakenForDeath,
        play: lost_device_blames_no_sample,
    },
    Moved {
        name: "sample_without_room_is_run_by_another_worker",
        of: &["gpus: samples_that_have_no_room_on_one_worker_are_run_by_another"],
        mutant: Mutant::NoRoomTakenForTransient,
        play: sample_without_room_is_run_by_another_worker,
    },
    Moved {
        name: "sample_without_room_anywhere_waits_and_is_given_up",
        of: &["gpus: samples_that_have_no_room_anywhere_fail_at_the_end_and_are_run_when_there_is_room"],
        mutant: Mutant::NoRoomTakenForTransient,
        play: sample_without_room_anywhere_waits_and_is_given_up,
    },
];

fn lost_device_blames_no_sample(script: Script) -> Play {
    let play = script.workers(2).until(begun(0, 4)).lose_device(0).finish();
    play.same_results().barred(&[0]).computed_by(1, 20..)
}

/// Each of the samples is tried once at most where it has no room.
fn sample_without_room_is_run_by_another_worker(script: Script) -> Play {
    let play = script.workers(2).late(1).small(0).until(begun(0, 20)).start_worker(1).finish();
    let play = play.same_results().computed_by(0, 1..).computed_by(1, 8..);
    play.saw("a sample had no room in a worker's memory", 1..=8)
}

fn sample_without_room_anywhere_waits_and_is_given_up(script: Script) -> Play {
    let script = script.workers(2).small(0).small(1);
    let play = script.until(connected(0)).until(connected(1)).finish();
    // It waits 60 s for a worker that has room.
    play.same_results_but(|(_, index)| index % 5 == 1).given_up(8..=8).took(60_000..80_000)
}
