//! The pools of a server or of one stage: each a task of its own, told by the autoscaler how many jobs it is to have.

use super::explain::explain_missing;
use super::launch_event::LaunchEvent;
use super::pool::{Pool, PoolChannels, PoolReport, PoolSpec, ScaleTarget};
use super::queue_timeout::QueueTimeout;
use super::scaler::{Bounds, targets};
use compass_common::status_output::print_status;
use compass_scheduler::broker::SchedulerSnapshot;
use compass_types::ids::WorkerId;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Interval at which the autoscaler looks.
const LOOK: Duration = Duration::from_millis(250);
/// A worker that had nothing to do for so long is retired.
const IDLE_MS: u64 = 30_000;
/// Time without anything running after which the reason is printed; then again after twice the time.
const QUIET: Duration = Duration::from_secs(30);

/// Pools that are not yet at work.
pub struct Autoscaler {
    pub pools: Vec<Pool>,
    pub bounds: Bounds,
    /// Set if workers may join that are not launched here: then the run continues after launching has ended.
    pub others_may_come: bool,
}

/// An autoscaler at work.
#[derive(Debug)]
pub struct AutoscalerHandle {
    task: JoinHandle<()>,
    /// Reports of the pools, in their order.
    pub reports: watch::Receiver<Vec<PoolReport>>,
}

impl AutoscalerHandle {
    /// Waits until every job has ended; `stop` was cancelled before.
    pub async fn ended(self) {
        let _ = self.task.await;
    }
}

/// A pool at work, seen from the autoscaler.
struct Member {
    spec: PoolSpec,
    targets: watch::Sender<ScaleTarget>,
    report: watch::Receiver<PoolReport>,
    /// With its queue.
    queue_timeout: QueueTimeout,
    task: JoinHandle<()>,
}

struct Supervisor {
    members: Vec<Member>,
    bounds: Bounds,
    /// Since when connected workers have nothing to do.
    idle: BTreeMap<WorkerId, Instant>,
    /// Since when there is work and no worker for it, and how long that may last until it is explained.
    quiet: Option<(Instant, Duration)>,
    gave_up: bool,
    began: Instant,
    others_may_come: bool,
    events: mpsc::Sender<LaunchEvent>,
    reports: watch::Sender<Vec<PoolReport>>,
}

impl Autoscaler {
    /// Puts every pool to work. `snapshot` is what the scheduler last said; once `stop` is cancelled every job is ended.
    pub fn start(
        self,
        snapshot: watch::Receiver<SchedulerSnapshot>,
        events: mpsc::Sender<LaunchEvent>,
        stop: CancellationToken,
    ) -> AutoscalerHandle {
        let members: Vec<Member> = self.pools.into_iter().map(|pool| pool.start(&events, &stop)).collect();
        let (reports, receiver) = watch::channel(Vec::new());
        let supervisor = Supervisor {
            members,
            bounds: self.bounds,
            idle: BTreeMap::new(),
            quiet: None,
            gave_up: false,
            began: Instant::now(),
            others_may_come: self.others_may_come,
            events,
            reports,
        };
        AutoscalerHandle { task: tokio::spawn(supervisor.run(snapshot, stop)), reports: receiver }
    }
}

impl Pool {
    fn start(self, events: &mpsc::Sender<LaunchEvent>, stop: &CancellationToken) -> Member {
        let spec = self.spec.clone();
        let (targets, targets_receiver) = watch::channel(ScaleTarget::default());
        let (name, kind) = (spec.name.clone(), spec.kind);
        let (report, report_receiver) = watch::channel(PoolReport { name, kind, ..PoolReport::default() });
        let channels = PoolChannels { targets: targets_receiver, report, events: events.clone(), stop: stop.clone() };
        Member {
            spec,
            targets,
            report: report_receiver,
            queue_timeout: QueueTimeout::default(),
            task: tokio::spawn(self.run(channels)),
        }
    }
}

impl Supervisor {
    async fn run(mut self, mut snapshot: watch::Receiver<SchedulerSnapshot>, stop: CancellationToken) {
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = look.tick() => {}
                () = stop.cancelled() => break,
            }
            let seen = snapshot.borrow_and_update().clone();
            self.order(&seen);
            self.notice(&seen).await;
        }
        for member in self.members {
            let _ = member.task.await;
        }
    }

    fn order(&mut self, seen: &SchedulerSnapshot) {
        let reports: Vec<PoolReport> = self.members.iter().map(|member| member.report.borrow().clone()).collect();
        let now = self.began.elapsed().as_millis() as u64;
        let specs: Vec<PoolSpec> = self.members.iter().map(|member| member.spec.clone()).collect();
        let of_members = reports.iter().enumerate();
        let homes: BTreeMap<&WorkerId, usize> =
            of_members.flat_map(|(at, report)| report.workers.iter().map(move |worker| (worker, at))).collect();
        let states = self.members.iter_mut().zip(&reports).enumerate().map(|(at, (member, report))| {
            let stuck = member.queue_timeout.is_over(now, &report.count);
            let here = seen.demand.iter().filter(|(choice, _)| member.spec.takes(choice));
            let open: u32 = here.clone().map(|(_, slots)| *slots).fold(0, u32::saturating_add);
            // Those of pools that take none of it leave all of it.
            let takes = |spec: &PoolSpec| here.clone().any(|(choice, _)| spec.takes(choice));
            let is_other = |worker: &WorkerId| match homes.get(worker) {
                Some(home) => *home != at && specs.get(*home).is_some_and(&takes),
                None => true,
            };
            // What cannot load the models that are left takes no task from others, nor is it ended: a node that another job
            // would be sent to again stays taken.
            let useless = seen.workers.iter().filter(|(worker, seen)| seen.useless && homes.get(worker) == Some(&at));
            let useless: u32 = useless.map(|(_, attendance)| attendance.slots).fold(0, u32::saturating_add);
            let elsewhere = seen.workers.iter().filter(|(worker, seen)| is_other(worker) && !seen.useless);
            let elsewhere: u32 = elsewhere.map(|(_, attendance)| attendance.slots).fold(0, u32::saturating_add);
            // Workers of other pools may not take every model of this one: a pool never goes without for them.
            let wanted = open.saturating_sub(elsewhere).max(u32::from(open > 0)).saturating_add(useless);
            let ordered = member.targets.borrow().target;
            report.state(&member.spec, wanted).ordered_last(ordered).stuck(stuck)
        });
        let targets = targets(&states.collect::<Vec<_>>(), self.bounds);
        let retire = self.idle_workers(seen);
        let connected: BTreeSet<WorkerId> = seen.workers.keys().cloned().collect();
        let recorded = seen.workers.iter().filter(|(_, attendance)| attendance.recorded);
        let recorded: BTreeSet<WorkerId> = recorded.map(|(worker, _)| worker.clone()).collect();
        for ((member, report), target) in self.members.iter().zip(&reports).zip(targets) {
            let of_pool = |workers: &BTreeSet<WorkerId>| &report.workers & workers;
            // Those that are to stay are not retired; nor is anybody while as many are wanted.
            let spare = report.live().saturating_sub(target.max(member.spec.least));
            let retire = of_pool(&retire).into_iter().take(spare as usize).collect();
            let has_work = seen.demand.keys().any(|choice| member.spec.takes(choice));
            let (connected, recorded) = (of_pool(&connected), of_pool(&recorded));
            let order = ScaleTarget { target, retire, connected, recorded, has_work };
            member.targets.send_if_modified(|last| {
                let is_new = *last != order;
                *last = order;
                is_new
            });
        }
        self.reports.send_replace(reports);
    }

    /// Workers that have had nothing to do for a while.
    fn idle_workers(&mut self, seen: &SchedulerSnapshot) -> BTreeSet<WorkerId> {
        self.idle.retain(|worker, _| seen.workers.get(worker).is_some_and(|attendance| !attendance.busy));
        for (worker, _) in seen.workers.iter().filter(|(_, attendance)| !attendance.busy) {
            self.idle.entry(worker.clone()).or_insert_with(Instant::now);
        }
        let long = self.idle.iter().filter(|(_, since)| since.elapsed().as_millis() as u64 >= IDLE_MS);
        long.map(|(worker, _)| worker.clone()).collect()
    }

    /// Says why nothing runs, and when launching has ended.
    async fn notice(&mut self, seen: &SchedulerSnapshot) {
        let reports = self.reports.borrow().clone();
        let is_quiet = seen.workers.is_empty() && !seen.demand.is_empty() && !reports.is_empty();
        match &mut self.quiet {
            _ if !is_quiet => self.quiet = None,
            None => self.quiet = Some((Instant::now(), QUIET)),
            Some((since, queue_timeout)) if since.elapsed() >= *queue_timeout => {
                *queue_timeout *= 2;
                let seconds = since.elapsed().as_secs();
                print_status(format!("nothing has run for {seconds} s:"));
                explain_missing(&reports, |_| false).into_iter().for_each(|line| print_status(format!("  {line}")));
            }
            Some(_) => {}
        }
        let given_up: Vec<String> = reports
            .iter()
            .filter_map(|report| Some(format!("pool {}: {}", report.name, report.given_up.as_deref()?)))
            .collect();
        if !self.gave_up && !given_up.is_empty() && given_up.len() == reports.len() {
            self.gave_up = true;
            if self.others_may_come {
                print_status(format!("no more workers are launched: {}", given_up.join("; ")));
                return;
            }
            let _ = self.events.send(LaunchEvent::GaveUp { reason: given_up.join("; ") }).await;
        }
    }
}
