//! The shortage of a running job, and what changes it: the sentence that `status` shows and `explain` begins with. Pure.

use crate::job::SlotBound;
use compass_common::words::counted;
use compass_scheduler::Shortage;

/// Possible sources of a job's slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Supply {
    /// Most slots that the job may have.
    pub bound: Option<SlotBound>,
    /// Slots that are its share, those of workers on their way included; `None` where workers are the job's alone.
    pub share: Option<u32>,
    /// Set if other jobs have a share too.
    pub(crate) has_rivals: bool,
    /// Ids of the other jobs that have slots, and the number of slots that all of them have.
    pub(crate) ahead: Vec<String>,
    pub taken: u32,
    /// Most slots of the server.
    pub server: Option<SlotBound>,
    /// Descriptions of the pools that have not brought what they should.
    pub(crate) launchers: Vec<String>,
}

/// Jobs that a sentence names.
const MOST_NAMED: usize = 8;

impl Supply {
    /// Returns whether the job has nothing because every slot works for other jobs.
    pub(crate) fn waits_for_turn(&self) -> bool {
        let is_used_up = match &self.server {
            Some(server) => self.taken >= server.slots,
            // Workers may be on their way.
            None => self.launchers.is_empty(),
        };
        self.share == Some(0) && self.taken > 0 && is_used_up
    }

    /// Describes which slots work for which other jobs.
    fn turn_of_others(&self) -> String {
        let by = self.server.as_ref().filter(|server| server.slots == self.taken);
        let by = by.map(|server| format!(" ({})", server.by)).unwrap_or_default();
        let work = if self.taken == 1 { "works" } else { "work" };
        let named = self.ahead.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        let jobs = match self.ahead.len() {
            1 => format!("job {named}"),
            all if all > MOST_NAMED => format!("jobs {named} and {} more", all - MOST_NAMED),
            _ => format!("jobs {named}"),
        };
        format!("the server's {}{by} {work} for {jobs}", counted(self.taken, "slot"))
    }
}

/// The shortage in one sentence.
pub(crate) fn in_words(shortage: &Shortage, supply: &Supply) -> String {
    let wait = |tasks: u32| format!("{} {}", counted(tasks, "task"), if tasks == 1 { "waits" } else { "wait" });
    let launchers = supply.launchers.iter().map(|line| format!("; {line}")).collect::<String>();
    match shortage {
        Shortage::Tasks { idle, why } => {
            format!("tasks are short: none waits for {}; {why}", counted(*idle, "idle slot"))
        }
        Shortage::Workers { waiting, pools, .. } if pools.is_empty() && supply.waits_for_turn() => {
            format!("{} for the job's turn: {}{launchers}", wait(*waiting), supply.turn_of_others())
        }
        Shortage::Workers { waiting, why, .. } => format!("{}: {why}{launchers}", wait(*waiting)),
        Shortage::Slots { waiting, slots } => format!("{} for a slot{}", wait(*waiting), why_no_more(*slots, supply)),
    }
}

/// Explains why a job has no more than these slots, as the end of a sentence.
fn why_no_more(slots: u32, supply: &Supply) -> String {
    let Supply { bound, share, has_rivals, server, launchers, .. } = supply;
    // No priority makes a share larger than the server.
    let may_grow = server.as_ref().is_none_or(|server| share.is_some_and(|share| share < server.slots));
    if let Some(bound) = bound.as_ref().filter(|bound| slots >= bound.slots) {
        return format!(": the job may have {} ({})", counted(bound.slots, "slot"), bound.by);
    }
    if !launchers.is_empty() {
        return launchers.iter().map(|line| format!("; {line}")).collect();
    }
    match share {
        Some(share) if slots < *share => {
            let missing = share - slots;
            let verb = if missing == 1 { "is" } else { "are" };
            format!(": {missing} of its share of {} {verb} on the way to it", counted(*share, "slot"))
        }
        Some(share) if *has_rivals && may_grow => {
            let more = match server {
                Some(server) => format!("more than the server's {} ({})", counted(server.slots, "slot"), server.by),
                None => "more workers".to_owned(),
            };
            format!(
                ": its share of {} is used up; {more}, or a higher priority, would raise it",
                counted(*share, "slot")
            )
        }
        _ => match server.as_ref().filter(|server| slots >= server.slots) {
            Some(server) => format!(": the server has {} ({})", counted(server.slots, "slot"), server.by),
            None => ": more workers or GPUs would shorten it".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(slots: u32, by: &str) -> Option<SlotBound> {
        Some(SlotBound { slots, by: by.into() })
    }

    fn slots(slots: u32, supply: Supply) -> String {
        in_words(&Shortage::Slots { waiting: 9, slots }, &supply)
    }

    #[test]
    fn a_queue_that_is_full_is_named_before_all_but_a_bound() {
        let pending = "slurm: 2 jobs pending for 5s: the nodes that they need are busy (Resources)";
        let launchers = vec![pending.to_owned()];
        let supply = Supply { launchers, bound: bound(4, "`max_gpus`"), ..Supply::default() };
        assert_eq!(slots(2, supply.clone()), format!("9 tasks wait for a slot; {pending}"));
        assert_eq!(slots(4, supply.clone()), "9 tasks wait for a slot: the job may have 4 slots (`max_gpus`)");
        let none = Shortage::Workers { waiting: 1, why: "no worker is connected".into(), pools: vec![] };
        assert_eq!(in_words(&none, &supply), format!("1 task waits: no worker is connected; {pending}"));
    }

    #[test]
    fn a_pool_without_a_worker_is_named() {
        let why = "the model is only available in pool aliyun; no worker of pool aliyun is connected";
        let shortage = Shortage::Workers { waiting: 9, why: why.into(), pools: vec!["aliyun".into()] };
        let others = Supply { share: Some(0), taken: 1, ahead: vec!["3d06".into()], ..Supply::default() };
        for supply in [Supply::default(), others] {
            assert_eq!(in_words(&shortage, &supply), format!("9 tasks wait: {why}"));
        }
    }

    #[test]
    fn a_job_whose_slots_are_all_with_others_waits_for_its_turn() {
        let none = |supply: &Supply| {
            let (why, pools) = ("no worker is connected to this job".to_owned(), vec![]);
            in_words(&Shortage::Workers { waiting: 9, why, pools }, supply)
        };
        let others = Supply {
            share: Some(0),
            has_rivals: true,
            taken: 1,
            ahead: vec!["3d06".into()],
            server: bound(1, "`max_num_workers` of the server"),
            ..Supply::default()
        };
        assert_eq!(
            none(&others),
            "9 tasks wait for the job's turn: the server's 1 slot (`max_num_workers` of the server) works for job 3d06"
        );
        let two = Supply { taken: 3, ahead: vec!["3d06".into(), "4e17".into()], ..others.clone() };
        let said = "9 tasks wait for the job's turn: the server's 3 slots work for jobs 3d06, 4e17";
        assert_eq!(none(&two), said, "workers came that the server did not launch");
        let growing = Supply { server: bound(2, "its `max_num_workers`"), ..others.clone() };
        assert_eq!(none(&growing), "9 tasks wait: no worker is connected to this job");
        assert_eq!(none(&Supply { share: Some(1), ..others }), "9 tasks wait: no worker is connected to this job");
    }

    #[test]
    fn priority_helps_beside_other_jobs_alone() {
        let served = Supply { share: Some(2), server: bound(2, "its `max_num_workers`"), ..Supply::default() };
        assert_eq!(slots(2, served.clone()), "9 tasks wait for a slot: the server has 2 slots (its `max_num_workers`)");
        let all = Supply { has_rivals: true, ..served.clone() };
        assert_eq!(slots(2, all.clone()), slots(2, served.clone()), "no priority adds to all that there is");
        let among = Supply { server: bound(4, "its `max_num_workers`"), ..all };
        assert_eq!(
            slots(2, among.clone()),
            "9 tasks wait for a slot: its share of 2 slots is used up; more than the server's 4 slots (its \
             `max_num_workers`), or a higher priority, would raise it"
        );
        let unbound = Supply { server: None, ..among };
        assert!(slots(2, unbound).ends_with("used up; more workers, or a higher priority, would raise it"));
        let alone = Supply { server: None, ..served.clone() };
        assert!(slots(2, alone).ends_with(": more workers or GPUs would shorten it"));
        assert!(slots(1, served.clone()).ends_with(": 1 of its share of 2 slots is on the way to it"));
        assert!(slots(0, served).ends_with(": 2 of its share of 2 slots are on the way to it"));
    }

    #[test]
    fn a_run_is_told_what_bounds_it() {
        let of_debug = Supply { bound: Some(SlotBound::of_debug()), ..Supply::default() };
        assert_eq!(slots(1, of_debug), "9 tasks wait for a slot: the job may have 1 slot (`--debug`)");
        assert_eq!(slots(1, Supply::default()), "9 tasks wait for a slot: more workers or GPUs would shorten it");
        let tasks = Shortage::Tasks { idle: 1, why: "what is left is too little to be cut further" };
        assert_eq!(
            in_words(&tasks, &Supply::default()),
            "tasks are short: none waits for 1 idle slot; what is left is too little to be cut further"
        );
    }
}
