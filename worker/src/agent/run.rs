//! The agent's loop: one event at a time, until something ends it.

use super::ending::Ending;
use super::event::Event;
use super::options::AgentOptions;
use super::programs::Programs;
use super::session::Agent;
use crate::dial::{Applicant, Doorway, Invitations};
use crate::parent::end_with_parent;
use compass_common::ids::Digest;
use std::io::Read;
use std::time::{Duration, SystemTime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// Events that may wait; those who report wait when it is full.
const WAITING_EVENTS: usize = 1024;
/// How often the clock is looked at when nothing else happens.
const TICK_MS: u64 = 500;
/// How long before its launcher ends it the agent begins to go.
const LEAVING: Duration = Duration::from_secs(60);
/// How long the slots may take to be gone at the end.
const STOP_GRACE: Duration = Duration::from_secs(3);

/// Runs an agent to its end.
pub fn run(options: AgentOptions) -> Ending {
    if let Some(reason) = options.stands_back {
        return Ending::StoodBack { reason };
    }
    let broken = |reason: String| Ending::Broken { reason };
    if options.exit_with_parent {
        end_with_parent();
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    match runtime {
        Ok(runtime) => {
            let ending = runtime.block_on(Box::pin(run_agent(options))).unwrap_or_else(broken);
            // The thread that reads standard input may never return.
            runtime.shutdown_background();
            ending
        }
        Err(error) => broken(error.to_string()),
    }
}

async fn run_agent(options: AgentOptions) -> Result<Ending, String> {
    let invitations = Invitations::of(options.token_file.clone(), std::env::home_dir().as_deref());
    let doorways = Doorway::all(
        &options.masters,
        Applicant { worker: options.name.clone(), pool: options.pool.clone(), plain: options.plain_loopback },
        invitations,
        options.proxies.clone(),
    );
    let doorways = doorways.map_err(|error| format!("--master: {error}"))?;
    let (events, mut inbox) = mpsc::channel(WAITING_EVENTS);
    if let Some(end) = options.leaves_at {
        tokio::spawn(report_end_of_time(end, events.clone()));
    }
    report_signals(&events).map_err(|error| error.to_string())?;
    if options.exit_with_parent {
        report_end_of_input(events.clone()).map_err(|error| error.to_string())?;
    }
    tracing::info!(name = options.name, masters = options.masters.join(","), slots = options.slots, "worker starts");
    let session = session_name(&options.name);
    let programs = Programs::look(options.programs, options.slots).await;
    let mut agent = Agent::new(options, doorways, session, events, programs);
    agent.dial(Duration::ZERO);
    let ending = agent.run(&mut inbox).await;
    drop(inbox);
    let stop_all = async {
        for state in agent.slots {
            if let Some(programs) = state.programs {
                programs.stop().await;
            }
            state.slot.stop().await;
        }
    };
    let _ = tokio::time::timeout(STOP_GRACE, stop_all).await;
    Ok(ending)
}

/// Differs between any two processes, whatever their names.
fn session_name(worker: &str) -> String {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    Digest::of(format!("{worker} {} {now}", std::process::id()).as_bytes()).short()
}

fn report_signals(events: &mpsc::Sender<Event>) -> std::io::Result<()> {
    for (number, kind) in [(2, SignalKind::interrupt()), (15, SignalKind::terminate())] {
        let (mut stream, events) = (signal(kind)?, events.clone());
        tokio::spawn(async move {
            while stream.recv().await.is_some() && events.send(Event::Signal(number)).await.is_ok() {}
        });
    }
    Ok(())
}

/// A minute before the end, or a tenth of what is left where that is less.
async fn report_end_of_time(end: SystemTime, events: mpsc::Sender<Event>) {
    let left = end.duration_since(SystemTime::now()).unwrap_or_default();
    tokio::time::sleep(left - LEAVING.min(left / 10)).await;
    let _ = events.send(Event::TimeIsUp).await;
}

fn report_end_of_input(events: mpsc::Sender<Event>) -> std::io::Result<()> {
    let read = move || {
        let mut input = std::io::stdin().lock();
        let mut ignored = [0; 256];
        while input.read(&mut ignored).is_ok_and(|bytes| bytes > 0) {}
        let _ = events.blocking_send(Event::ParentGone);
    };
    std::thread::Builder::new().name("parent".into()).spawn(read).map(drop)
}

impl Agent {
    async fn run(&mut self, inbox: &mut mpsc::Receiver<Event>) -> Ending {
        loop {
            let now_ms = self.clock.now_ms();
            self.hand_in_due(now_ms);
            self.check_silence(now_ms);
            self.check_drained(now_ms);
            self.check_released();
            self.beat(now_ms);
            self.dispatch(now_ms);
            if let Some(ending) = self.ending.take() {
                return ending;
            }
            let batch_due = self.batches.next_due_ms().unwrap_or(u64::MAX);
            // A heartbeat that is due but not welcome yet must not spin the loop.
            let beat_due = if self.next_heartbeat_ms > now_ms { self.next_heartbeat_ms } else { u64::MAX };
            let wake = self.clock.instant(batch_due.min(beat_due).min(now_ms + TICK_MS));
            let sender = self.wants_to_send();
            let can_send = sender.is_some();
            let permit = async {
                match sender {
                    Some(sender) => sender.reserve_owned().await.ok(),
                    None => None,
                }
            };
            tokio::select! {
                Some(event) = inbox.recv() => self.take(event),
                permit = permit, if can_send => self.send_next(permit),
                () = tokio::time::sleep_until(wake) => {}
            }
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Link { link, event } => self.link_event(link, event),
            Event::Slot(report) => self.slot_report(report),
            Event::Fetched { digest, content } => self.fetched(digest, content),
            Event::Uploaded { link, seq, done } => self.uploaded(link, seq, done),
            Event::Signal(number) if self.drain.is_some() => self.ending = Some(Ending::Signal(number)),
            Event::Signal(number) => self.start_drain(Ending::Signal(number), "a signal"),
            Event::TimeIsUp => self.start_drain(Ending::TimeIsUp, "the time of this job is nearly up"),
            Event::ParentGone => self.ending = Some(Ending::ParentGone),
        }
    }
}
