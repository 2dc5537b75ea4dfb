//! The loop of a watch: looks at the folder, carries out what is decided, keeps records, writes the curve.

use super::folder::Folder;
use super::jobs::{Jobs, ServerPlace, Task, Told};
use super::order::Order;
use super::subject::Subject;
use super::tables::Tables;
use compass_cli::exit;
use compass_common::status_output::{OutputError, print, print_status};
use compass_diagnostic::Diagnostic;
use compass_jobs::Failure;
use compass_jobs::job::check_http;
use compass_run_folder::{FolderError, check_writable, write_atomically};
use compass_types::ids::Digest;
use compass_watch::{Action, Curve, EndingKind, EvaluationState, Event, Journal, JournalError, Watch};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinSet, block_in_place};

/// Events of jobs on their way to the loop.
const ON_THEIR_WAY: usize = 16;

/// Watches a folder until `interrupted` turns to the code of a signal, which it returns; with `once` until the jobs that it
/// began have ended: then the code says whether every checkpoint was whole and has all its numbers.
///
/// # Errors
/// Bad input, or a disk that fails; nothing is lost, and the same command goes on.
pub async fn watch(order: Order, interrupted: watch::Receiver<Option<u8>>) -> Result<u8, Failure> {
    let shown = order.folder.display();
    let folder = match std::fs::canonicalize(&order.folder) {
        Ok(folder) if folder.is_dir() => folder,
        Ok(_) => return Err(no_folder(format!("{shown} is not a folder"))),
        Err(error) => return Err(no_folder(format!("cannot watch {shown}: {error}"))),
    };
    let subject = Arc::new(Subject::new(&order, folder.clone())?);
    let work_dir = subject.general.work_dir.clone();
    if order.here {
        check_http(&subject.general)?;
    }
    check_writable("work_dir", &work_dir).map_err(|error| Failure::of_folder(&error))?;
    let place = work_dir.join("watch").join(place_of(&folder, &subject.digest()));
    let opened = Journal::open(&place.join("journal.jsonl"));
    let (journal, records) = opened.map_err(|error| of_journal(&error))?;
    let known = records.len();
    let (told, hears) = mpsc::channel(ON_THEIR_WAY);
    let mut request = order.request.clone();
    request.served = !order.here;
    let server = (!order.here).then(|| ServerPlace {
        state_dir: subject.general.state_dir.clone(),
        priority: order.priority,
        evaluated: Digest::of(place.as_os_str().as_encoded_bytes()),
        is_away: Arc::default(),
    });
    let mut watcher = Watcher {
        watch: Watch::new(order.policy.clone(), records),
        folder: Folder::new(folder, order.pattern.clone(), order.markers.clone()),
        jobs: Jobs { subject: subject.clone(), request, server, told, interrupted: interrupted.clone() },
        running: JoinSet::new(),
        journal,
        tables: Tables::default(),
        curve: place.join("curve.csv"),
        written: None,
        begun: Instant::now(),
        is_deaf: false,
        subject,
        order,
    };
    watcher.begin(known);
    let code = Box::pin(watcher.run(hears, interrupted)).await?;
    print(watcher.curve().text()).map_err(|error| Failure::of(exit::INFRASTRUCTURE, &OutputError(error)))?;
    Ok(code)
}

/// The code of the signal that asks the process to stop, once one does.
async fn stopped(interrupted: &mut watch::Receiver<Option<u8>>) -> u8 {
    let signal = interrupted.wait_for(Option::is_some).await;
    signal.ok().and_then(|code| *code).unwrap_or(exit::TERMINATED)
}

fn no_folder(message: String) -> Failure {
    let help = "name the folder in which the trainer writes its checkpoints";
    Failure::bad_input(Diagnostic::error(message).with_help(help))
}

fn of_journal(error: &JournalError) -> Failure {
    let code = if matches!(error, JournalError::Io { .. }) { exit::INFRASTRUCTURE } else { exit::BAD_INPUT };
    Failure::of(code, error)
}

/// The name of the folder with what is known of a watch: another folder, or another configuration, is another watch.
fn place_of(folder: &Path, evaluated: &Digest) -> String {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let key = Digest::of(format!("{}\n{evaluated}", folder.display()).as_bytes());
    format!("{name}-{}", key.short())
}

struct Watcher {
    order: Order,
    subject: Arc<Subject>,
    watch: Watch,
    folder: Folder,
    journal: Journal,
    jobs: Jobs,
    running: JoinSet<()>,
    tables: Tables,
    /// Path to which the curve is written.
    curve: PathBuf,
    /// The curve as it was written last, and the revision of the watch that it is of.
    written: Option<(u64, String)>,
    /// Its clock begins here.
    begun: Instant,
    /// Set if the folder could not be listed the last time.
    is_deaf: bool,
}

impl Watcher {
    fn begin(&self, known: usize) {
        let jobs = if self.order.here { "jobs run in this process" } else { "jobs go to the server" };
        let (folder, pattern) = (self.order.folder.display(), &self.order.pattern);
        print_status(format!("watching {folder} for {pattern}; {jobs}; the curve is in {}", self.curve.display()));
        if known > 0 {
            let evaluations = self.watch.evaluations().map(|(_, evaluation)| &evaluation.state);
            let ended = evaluations.filter(|state| matches!(state, EvaluationState::Ended(_))).count();
            print_status(format!("going on: {ended} checkpoints were evaluated before"));
        }
    }

    async fn run(
        &mut self,
        mut hears: mpsc::Receiver<Told>,
        mut interrupted: watch::Receiver<Option<u8>>,
    ) -> Result<u8, Failure> {
        loop {
            block_in_place(|| self.pass())?;
            if self.order.once && self.watch.is_idle() {
                self.say_if_none();
                // What is not whole stands in the table, with the reason.
                let is_whole = self.curve().is_complete() && self.watch.unfinished().next().is_none();
                return Ok(if is_whole { exit::SCORED } else { exit::INCOMPLETE });
            }
            let pause = tokio::time::sleep(self.order.pause);
            tokio::pin!(pause);
            loop {
                tokio::select! {
                    Some(Told { event, durable }) = hears.recv() => {
                        let is_end = matches!(event, Event::Ended { .. });
                        block_in_place(|| self.apply(event))?;
                        // An error means that the job is gone.
                        let _ = durable.send(());
                        if is_end {
                            break;
                        }
                    }
                    () = &mut pause => break,
                    code = stopped(&mut interrupted) => {
                        // Jobs of this process see the signal, and keep what they have.
                        if !self.order.here {
                            self.running.abort_all();
                        }
                        while self.running.join_next().await.is_some() {}
                        return Ok(code);
                    }
                }
            }
        }
    }

    /// Looks at what is due and lets jobs begin.
    fn pass(&mut self) -> Result<(), Failure> {
        while self.running.try_join_next().is_some() {}
        match self.folder.list() {
            Ok(names) => {
                self.is_deaf = false;
                if let Some(names) = names {
                    self.apply(Event::Listed(names))?;
                }
            }
            // A disk that comes back: nothing is concluded from its absence.
            Err(error) => {
                if !self.is_deaf {
                    print_status(format!("cannot list {} now: {error}", self.order.folder.display()));
                }
                self.is_deaf = true;
                return Ok(());
            }
        }
        for name in self.watch.due(self.now()) {
            match self.folder.look(&self.subject, &name) {
                Ok(look) => self.apply(Event::Looked { name, look })?,
                Err(error) => tracing::warn!(name, %error, "cannot look at a checkpoint now"),
            }
        }
        self.apply(Event::Pass)?;
        self.write_curve()
    }

    fn now(&self) -> u64 {
        self.begun.elapsed().as_millis() as u64
    }

    /// Lets the watch decide, and carries that out in order: a record is durable before what follows it begins.
    fn apply(&mut self, event: Event) -> Result<(), Failure> {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let ended = match &event {
                Event::Ended { content, .. } => Some(*content),
                _ => None,
            };
            let mut actions = Vec::new();
            self.watch.apply(self.now(), event, &mut actions);
            for action in actions {
                match action {
                    Action::Record(record) => self.journal.keep(&record).map_err(|error| of_journal(&error))?,
                    Action::Say(text) => print_status(text),
                    Action::Examine { name } => events.push_back(self.folder.examine(&self.subject, &name)),
                    Action::Begin { content, name, .. } => {
                        // One curve is of one configuration.
                        self.subject.check_unchanged()?;
                        self.start(content, name);
                    }
                }
            }
            if let Some(content) = ended {
                self.write_curve()?;
                self.say_end(&content);
            }
        }
        Ok(())
    }

    fn start(&mut self, content: Digest, name: String) {
        let evaluation = self.watch.evaluation(&content);
        let folder = evaluation.and_then(|evaluation| evaluation.folder.clone());
        let postponed = match evaluation.map(|evaluation| &evaluation.state) {
            Some(EvaluationState::Begun { postponed, .. }) => *postponed,
            _ => 0,
        };
        if postponed == 0 {
            let what = if folder.is_some() { "goes on" } else { "begins" };
            print_status(format!("{name}: its job {what} (weights {})", content.short()));
        }
        self.running.spawn(self.jobs.clone().run(Task { content, name, folder, postponed }));
    }

    fn curve(&self) -> Curve {
        Curve::new(&self.watch, &self.tables.0)
    }

    /// Writes the curve where it has changed.
    fn write_curve(&mut self) -> Result<(), Failure> {
        let revision = self.watch.revision();
        if self.written.as_ref().is_some_and(|(written, _)| *written == revision) {
            return Ok(());
        }
        self.tables.read(&self.subject.general.work_dir, &self.watch);
        let csv = self.curve().csv();
        if self.written.as_ref().is_none_or(|(_, before)| *before != csv) {
            let written: Result<(), FolderError> = write_atomically(&self.curve, csv.as_bytes());
            written.map_err(|error| Failure::of_folder(&error))?;
        }
        self.written = Some((revision, csv));
        Ok(())
    }

    fn say_if_none(&self) {
        if self.curve().0.is_empty() {
            let (folder, pattern) = (self.order.folder.display(), &self.order.pattern);
            print_status(format!("there is no checkpoint in {folder}: no folder there is called {pattern}"));
        }
    }

    fn say_end(&self, content: &Digest) {
        let Some(evaluation) = self.watch.evaluation(content) else { return };
        let EvaluationState::Ended(ending) = &evaluation.state else { return };
        let (name, folder) = (&evaluation.name, evaluation.folder.as_deref().unwrap_or_default());
        let text = match ending.kind() {
            EndingKind::Refused | EndingKind::Failed => {
                format!("{name}: no table (exit code {}): {}", ending.code, ending.reason)
            }
            EndingKind::Whole | EndingKind::Incomplete => {
                let rows = self.tables.0.get(content).map(Vec::as_slice).unwrap_or_default();
                let shown = rows.iter().take(4).map(|row| format!("{} {} {}", row.dataset, row.metric, row.value));
                let more = if rows.len() > 4 { format!(" and {} more", rows.len() - 4) } else { String::new() };
                format!("{name}: {}{more} ({folder})", shown.collect::<Vec<_>>().join(", "))
            }
        };
        print_status(text);
    }
}
