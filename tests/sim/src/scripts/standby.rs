//! Masters that stand by, leaders that die, sleep or are cut off, and a store that is away.

use super::moved::Moved;
use crate::mutant::Mutant;
use crate::script::{Play, Script, elapsed, epoch, recorded};

pub(super) const SCRIPTS: &[Moved] = &[
    Moved {
        name: "standby_takes_over_when_the_leader_dies",
        of: &[
            "high_availability: a_second_master_stands_by_and_takes_over",
            "high_availability: a_killed_master_resumes_from_etcd",
        ],
        mutant: Mutant::LedgerForgotten,
        play: standby_takes_over_when_the_leader_dies,
    },
    Moved {
        name: "live_workers_keep_what_they_hold_under_a_new_leader",
        of: &["high_availability: live_workers_keep_what_they_hold_when_the_leader_dies"],
        mutant: Mutant::NoRecoveringWindow,
        play: live_workers_keep_what_they_hold_under_a_new_leader,
    },
    Moved {
        name: "standby_does_nothing_while_the_leader_lives",
        of: &["high_availability: standby_exits_when_run_finishes"],
        mutant: Mutant::LeadTakenFromHolder,
        play: standby_does_nothing_while_the_leader_lives,
    },
    Moved {
        name: "work_goes_on_while_the_store_is_away",
        of: &["high_availability: work_goes_on_while_etcd_is_away"],
        mutant: Mutant::UnansweredEndsLead,
        play: work_goes_on_while_the_store_is_away,
    },
    Moved {
        name: "leader_that_slept_too_long_changes_nothing",
        of: &["high_availability: a_leader_that_slept_too_long_is_fenced_and_changes_nothing"],
        mutant: Mutant::StaleEpochAccepted,
        play: leader_that_slept_too_long_changes_nothing,
    },
    Moved {
        name: "leader_cut_off_from_the_store_leads_again",
        of: &["high_availability: a_leader_cut_off_from_etcd_goes_on_when_nobody_took_its_place"],
        mutant: Mutant::UnansweredEndsLead,
        play: leader_cut_off_from_the_store_leads_again,
    },
];

fn standby_takes_over_when_the_leader_dies(script: Script) -> Play {
    let play = script.masters(2).workers(2).until(recorded(15)).kill_leader().until(epoch(2)).finish();
    play.same_results().ended_in_epoch(0, 2).saw("a committed sample was run again", 0..=0)
}

fn live_workers_keep_what_they_hold_under_a_new_leader(script: Script) -> Play {
    let play = script.masters(2).workers(3).units(&[60]).until(recorded(15)).kill_leader().finish();
    play.same_results().adopted(1..).ran_again(0..=0)
}

fn standby_does_nothing_while_the_leader_lives(script: Script) -> Play {
    script.masters(2).workers(2).finish().same_results().ended_in_epoch(0, 1)
}

/// For longer than the leader's lease, and than a worker waits for a sign of its master.
fn work_goes_on_while_the_store_is_away(script: Script) -> Play {
    let play =
        script.workers(2).units(&[120]).tasks_of(60).until(recorded(10)).store_down(20_000).until(elapsed(20_000));
    play.computed(60..).finish().same_results().ended_in_epoch(0, 1).repeats(0..=0).ran_again(0..=0)
}

fn leader_that_slept_too_long_changes_nothing(script: Script) -> Play {
    let play = script.masters(2).workers(2).units(&[80]).until(recorded(15)).pause_leader();
    let play = play.until(epoch(2)).until(recorded(30)).resume_masters().finish();
    play.same_results().ended_in_epoch(0, 2)
}

fn leader_cut_off_from_the_store_leads_again(script: Script) -> Play {
    let play = script.workers(2).units(&[80]).until(recorded(10)).isolate_master(0, 9_000).finish();
    play.same_results().ended_in_epoch(0, 1).saw("a lapsed lead was taken again", 1..).ran_again(0..=0)
}
