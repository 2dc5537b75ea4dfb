//! The decisions of a watch under histories that are drawn: trainers that write, delete, rename and overwrite, and watchers
//! that are killed between any two actions.

use compass_types::ids::Digest;
use compass_watch::{Action, Curve, Ending, EvaluationState, Event, Examined, Look, Policy, Record, Watch};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const STABLE: u64 = 60_000;

/// A directory of the imitated trainer.
#[derive(Clone, Debug)]
struct Folder {
    content: u8,
    /// Grows with every write.
    version: u64,
    is_whole: bool,
    written_at: u64,
}

/// Action of a trainer.
#[derive(Clone, Debug)]
enum Step {
    Write {
        at: u8,
        content: u8,
    },
    Finish {
        at: u8,
    },
    Delete {
        at: u8,
    },
    Rename {
        from: u8,
        to: u8,
    },
    /// The watcher is killed; only this many of the actions of its next pass are carried out.
    Kill {
        actions: usize,
    },
    /// Time passes, and the watcher looks.
    Pass {
        seconds: u64,
    },
    /// The job of the content that began first ends.
    End,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let at = 0..6u8;
    let step = prop_oneof![
        3 => (at.clone(), 0..8u8).prop_map(|(at, content)| Step::Write { at, content }),
        4 => at.clone().prop_map(|at| Step::Finish { at }),
        1 => at.clone().prop_map(|at| Step::Delete { at }),
        1 => (at.clone(), at).prop_map(|(from, to)| Step::Rename { from, to }),
        2 => (0..6usize).prop_map(|actions| Step::Kill { actions }),
        6 => (0..90u64).prop_map(|seconds| Step::Pass { seconds }),
        3 => Just(Step::End),
    ];
    proptest::collection::vec(step, 1..60)
}

fn name(at: u8) -> String {
    format!("step_{}", u32::from(at) * 100)
}

fn digest(content: u8) -> Digest {
    Digest::of(&[content])
}

/// The folder, a server that knows jobs by content, and a watcher with its journal.
struct World {
    now: u64,
    folders: BTreeMap<String, Folder>,
    version: u64,
    journal: Vec<Record>,
    watch: Watch,
    policy: Policy,
    /// Jobs that the server runs, by content: a second submission attaches.
    running: Vec<Digest>,
    ended: BTreeMap<Digest, u32>,
    /// Contents that were whole at a pass.
    budget: Option<usize>,
}

impl World {
    fn new(policy: Policy) -> Self {
        let watch = Watch::new(policy.clone(), []);
        Self {
            now: 1,
            folders: BTreeMap::new(),
            version: 0,
            journal: Vec::new(),
            watch,
            policy,
            running: Vec::new(),
            ended: BTreeMap::new(),
            budget: None,
        }
    }

    fn look(&self, name: &str) -> Option<Look> {
        let folder = self.folders.get(name)?;
        let fingerprint = Digest::of(&folder.version.to_le_bytes());
        Some(Look { fingerprint, age_ms: self.now - folder.written_at, unfinished: None })
    }

    /// Hands an event to the watch and carries out what it wants; `false` once the watcher is dead.
    fn tell(&mut self, event: Event) -> bool {
        let mut actions = Vec::new();
        self.watch.apply(self.now, event, &mut actions);
        for action in actions {
            if let Some(left) = &mut self.budget {
                if *left == 0 {
                    return false;
                }
                *left -= 1;
            }
            match action {
                Action::Record(record) => self.journal.push(record),
                Action::Say(_) => {}
                Action::Examine { name } => {
                    let folder = self.folders[&name].clone();
                    assert!(self.now - folder.written_at >= STABLE, "{name} is read while it is written");
                    let found = match folder.is_whole {
                        true => Examined::Whole(digest(folder.content)),
                        false => Examined::Lacks("a shard is missing".into()),
                    };
                    let after = self.look(&name);
                    if !self.tell(Event::Examined { name, found, after }) {
                        return false;
                    }
                }
                Action::Begin { content, name, .. } => {
                    let intended =
                        |record: &Record| matches!(record, Record::Intended { content: of, .. } if *of == content);
                    assert!(self.journal.iter().any(intended), "an intention is durable first");
                    assert!(
                        !self
                            .journal
                            .iter()
                            .any(|record| matches!(record, Record::Ended { content: of, ending } if *of == content && ending.code == 0)),
                        "{name} begins after its end"
                    );
                    let is_there = self
                        .folders
                        .get(&name)
                        .is_some_and(|folder| folder.is_whole && digest(folder.content) == content);
                    let is_known = self.running.contains(&content) || self.ended.contains_key(&content);
                    let event = match (is_known, is_there) {
                        (false, false) => Event::Changed { content, name },
                        _ => Event::Submitted { content, job: content.short() },
                    };
                    if !is_known && is_there {
                        // Planned and pinned: what the workers load has this content, or nothing is computed.
                        self.running.push(content);
                    }
                    if !self.tell(event) {
                        return false;
                    }
                }
            }
        }
        true
    }

    fn pass(&mut self) {
        let listed = Event::Listed(self.folders.keys().cloned().collect());
        let mut alive = self.tell(listed);
        for name in self.watch.due(self.now) {
            let look = self.look(&name);
            alive = alive && self.tell(Event::Looked { name, look });
        }
        alive = alive && self.tell(Event::Pass);
        let ended: Vec<Digest> = self.ended.keys().copied().collect();
        for content in ended {
            let ending = Ending { code: 0, reason: String::new() };
            alive = alive && self.tell(Event::Ended { content, ending });
        }
        if !alive {
            self.restart();
        }
    }

    fn restart(&mut self) {
        self.budget = None;
        self.watch = Watch::new(self.policy.clone(), self.journal.clone());
    }

    fn end_first(&mut self) {
        if !self.running.is_empty() {
            let content = self.running.remove(0);
            *self.ended.entry(content).or_default() += 1;
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Write { at, content } => {
                self.version += 1;
                let (version, written_at) = (self.version, self.now);
                self.folders.insert(name(at), Folder { content, version, is_whole: false, written_at });
            }
            Step::Finish { at } => {
                self.version += 1;
                if let Some(folder) = self.folders.get_mut(&name(at)).filter(|folder| !folder.is_whole) {
                    (folder.is_whole, folder.version, folder.written_at) = (true, self.version, self.now);
                }
            }
            Step::Delete { at } => drop(self.folders.remove(&name(at))),
            Step::Rename { from, to } => {
                if let Some(folder) = self.folders.remove(&name(from)) {
                    self.version += 1;
                    self.folders.insert(name(to), Folder { version: self.version, written_at: self.now, ..folder });
                }
            }
            Step::Kill { actions } => {
                self.budget = Some(actions);
                self.pass();
                self.restart();
            }
            Step::Pass { seconds } => {
                self.now += seconds * 1000;
                self.pass();
            }
            Step::End => self.end_first(),
        }
    }

    /// Nothing changes any more, and all jobs end.
    fn settle(&mut self) {
        for _ in 0..40 {
            self.now += STABLE + 1000;
            self.pass();
            self.end_first();
        }
    }
}

fn policy() -> Policy {
    Policy { every: None, newest_first: false, backlog: None, stable_ms: STABLE, recheck_ms: STABLE, jobs: 2 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_content_that_stays_is_evaluated_once_whatever_the_trainer_and_whoever_is_killed(
        steps in steps(), newest_first in any::<bool>(), jobs in 1..4usize,
    ) {
        let mut world = World::new(Policy { newest_first, jobs, ..policy() });
        steps.into_iter().for_each(|step| world.step(step));
        world.settle();
        let there: BTreeSet<Digest> =
            world.folders.values().filter(|folder| folder.is_whole).map(|folder| digest(folder.content)).collect();
        for content in &there {
            prop_assert_eq!(world.ended.get(content), Some(&1), "{:?}", world.journal);
        }
        prop_assert!(world.ended.values().all(|count| *count == 1), "{:?}", world.ended);
        prop_assert!(world.watch.is_idle());
        // Everything that was ever whole has a number, or a reason for having none.
        let curve = Curve::new(&world.watch, &BTreeMap::new());
        let of_content = curve.0.iter().filter(|point| point.content.is_some());
        for point in of_content {
            let is_ended = world.ended.contains_key(&point.content.unwrap());
            prop_assert_eq!(point.state, if is_ended { "scored" } else { "gone" }, "{:?}", world.journal);
        }
        // What is restored knows what the living one knows.
        let mut restored = Watch::new(world.policy.clone(), world.journal.clone());
        let names: BTreeSet<String> = world.folders.keys().cloned().collect();
        let mut actions = Vec::new();
        restored.apply(world.now, Event::Listed(names), &mut actions);
        for name in restored.due(world.now) {
            let look = world.look(&name);
            restored.apply(world.now, Event::Looked { name, look }, &mut actions);
        }
        restored.apply(world.now, Event::Pass, &mut actions);
        prop_assert!(!actions.iter().any(|action| matches!(action, Action::Begin { .. } | Action::Record(_))), "{actions:?}");
        prop_assert_eq!(restored.history(), world.watch.history());
    }

    #[test]
    fn a_bounded_backlog_skips_the_earliest_alone(written in 1..12u8, backlog in 0..4usize, newest_first in any::<bool>()) {
        let mut world = World::new(Policy { backlog: Some(backlog), newest_first, jobs: 1, ..policy() });
        for at in 0..written {
            world.step(Step::Write { at, content: at });
            world.step(Step::Finish { at });
        }
        world.now += STABLE;
        world.pass();
        let skipped = |world: &World| -> Vec<u64> {
            let skipped = world.watch.evaluations().filter(|(_, evaluation)| evaluation.state == EvaluationState::Skipped);
            let mut skipped: Vec<u64> = skipped.filter_map(|(_, evaluation)| evaluation.step).collect();
            skipped.sort_unstable();
            skipped
        };
        let surplus = usize::from(written).saturating_sub(1 + backlog);
        let first = if newest_first { 0 } else { 100 };
        let expected: Vec<u64> = (0..surplus as u64).map(|at| first + at * 100).collect();
        prop_assert_eq!(skipped(&world), expected);
        world.restart();
        world.settle();
        prop_assert_eq!(world.ended.len(), usize::from(written) - surplus);
        // Without the bound they are evaluated after all.
        world.policy.backlog = None;
        world.restart();
        world.settle();
        prop_assert_eq!(world.ended.len(), usize::from(written));
    }
}

#[test]
fn an_overwritten_checkpoint_is_evaluated_again_and_its_old_result_stays_marked() {
    let mut world = World::new(policy());
    world.step(Step::Write { at: 1, content: 1 });
    world.step(Step::Finish { at: 1 });
    world.settle();
    world.step(Step::Write { at: 1, content: 2 });
    world.step(Step::Finish { at: 1 });
    world.settle();
    assert_eq!(world.ended, BTreeMap::from([(digest(1), 1), (digest(2), 1)]));
    let history: Vec<_> = world.watch.history().iter().map(|known| (known.content, known.overwritten)).collect();
    assert_eq!(history, [(digest(1), true), (digest(2), false)]);
    // Written again as it was at first: both results are there already.
    world.step(Step::Write { at: 1, content: 1 });
    world.step(Step::Finish { at: 1 });
    world.settle();
    assert_eq!(world.ended, BTreeMap::from([(digest(1), 1), (digest(2), 1)]));
    let history: Vec<_> = world.watch.history().iter().map(|known| known.overwritten).collect();
    assert_eq!(history, [false, true]);
}

#[test]
fn what_is_not_whole_is_read_again_only_once_it_changes() {
    let mut world = World::new(policy());
    world.step(Step::Write { at: 3, content: 3 });
    for _ in 0..5 {
        world.step(Step::Pass { seconds: 61 });
    }
    let (name, step, standing) = world.watch.without_content().next().unwrap();
    assert_eq!((name, step), ("step_300", Some(300)));
    assert_eq!(standing, compass_watch::Standing::Unfinished("a shard is missing".into()));
    let mut actions = Vec::new();
    let look = world.look("step_300");
    world.watch.apply(world.now, Event::Looked { name: "step_300".into(), look }, &mut actions);
    assert_eq!(actions, [], "nothing has changed");
    world.step(Step::Finish { at: 3 });
    world.settle();
    assert_eq!(world.ended.get(&digest(3)), Some(&1));
}

#[test]
fn only_steps_that_are_multiples_are_taken_and_names_without_a_step_always() {
    let mut world = World::new(Policy { every: Some(200), ..policy() });
    for at in 0..4 {
        world.step(Step::Write { at, content: at });
        world.step(Step::Finish { at });
    }
    let written = world.folders[&name(1)].clone();
    world.folders.insert("checkpoint-final".into(), Folder { content: 7, ..written });
    world.settle();
    assert_eq!(world.ended.keys().copied().collect::<BTreeSet<_>>(), BTreeSet::from([digest(0), digest(2), digest(7)]));
}

#[test]
fn what_was_refused_is_tried_again_by_the_next_watch() {
    let mut world = World::new(policy());
    world.step(Step::Write { at: 1, content: 1 });
    world.step(Step::Finish { at: 1 });
    world.now += STABLE;
    world.pass();
    let ending = Ending { code: 2, reason: "no file `rows.jsonl`".into() };
    let content = digest(1);
    world.tell(Event::Ended { content, ending: ending.clone() });
    let state = |world: &World| world.watch.evaluation(&content).unwrap().state.clone();
    world.pass();
    assert_eq!(state(&world), EvaluationState::Ended(ending), "this watch leaves it alone");
    world.restart();
    world.running.clear();
    world.pass();
    assert!(matches!(state(&world), EvaluationState::Begun { active: true, .. }));
}
