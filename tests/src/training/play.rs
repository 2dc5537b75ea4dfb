//! A training run beside a server and a watch that is killed again and again.

use super::evidence::{Comparison, Evidence};
use super::trainer::{Trainer, Written};
use super::variant::watched_job;
use crate::{Job, Running, wait_until};
use compass_types::seeded::Rng;
use std::error::Error;
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Chunks of the trainer's between two kills of the watch.
const CHUNKS_BETWEEN_KILLS: (u64, u64) = (8, 640);
/// Longest wait for one more checkpoint to be evaluated.
const LONGEST_WAIT: Duration = Duration::from_secs(120);

/// Events of a training run, for people.
#[derive(Debug)]
pub struct TrainingRun {
    pub checkpoints: u64,
    pub contents: usize,
    pub kills: u32,
    pub server_kills: u32,
    pub comparison: Comparison,
    pub seconds: f64,
    /// The table that the watch printed last.
    pub table: String,
}

/// Trains for this many checkpoints beside a watch that is killed at chunks which the seed draws, and a server that is killed now
/// and then; then compares what was evaluated with what was written.
///
/// # Errors
/// Everything that is wrong, and the logs.
pub fn play(checkpoints: u64, seed: u64) -> Result<TrainingRun, Box<dyn Error>> {
    #[expect(clippy::disallowed_methods, reason = "told to people")]
    let begun = Instant::now();
    let job = watched_job(&[("tiny".into(), "${checkpoint}".into())]);
    fs::create_dir_all(job.path("checkpoints"))?;
    let mut rng = Rng::new(seed ^ 0xfeed);
    let mut server = serve(&job);
    let (mut kills, mut server_kills) = (0, 0);
    let mut last = watch(&job);
    let (least, most) = CHUNKS_BETWEEN_KILLS;
    let mut next_kill = rng.log_uniform(least, most);
    let trainer = Trainer::new(seed, &job.path("checkpoints"), &job.path("staging"), |chunks| {
        if chunks < next_kill {
            return;
        }
        next_kill += rng.log_uniform(least, most);
        last.signal("KILL");
        wait_until("the watch is gone", || last.has_ended().then_some(()));
        last = watch(&job);
        kills += 1;
        if rng.chance(100) {
            server.signal("KILL");
            wait_until("the server is gone", || server.has_ended().then_some(()));
            server = serve(&job);
            server_kills += 1;
        }
    });
    let written = trainer.train(checkpoints)?;
    wait_for_all(&job, &mut last, &written)?;
    last.signal("TERM");
    let finished = last.finish();
    server.signal("TERM");
    drop(server.finish());
    let evidence = Evidence::read(&job.path("out"));
    // One job with all variants under models of their own: nothing disturbs it, and each is loaded once.
    let models: Vec<(String, String)> = written
        .iter()
        .filter(|one| evidence.is_planned(one))
        .map(|one| (format!("v{}", one.number), job.path("staging").join(one.number.to_string()).display().to_string()))
        .collect();
    let undisturbed = watched_job(&models);
    let finished_alone = undisturbed.run(&[]);
    if finished_alone.code != Some(0) {
        return Err(format!("the undisturbed run failed: {}", finished_alone.stderr).into());
    }
    let judged = evidence.judge(&written, |number| undisturbed.result(&format!("v{number}"), "choices"));
    let comparison = judged.map_err(|wrong| format!("{}\n{}", wrong.join("\n"), logs(&job)))?;
    Ok(TrainingRun {
        checkpoints,
        contents: written.len(),
        kills,
        server_kills,
        comparison,
        seconds: begun.elapsed().as_secs_f64(),
        table: finished.stdout,
    })
}

fn serve(job: &Job) -> Running {
    let server = job.command_line(&["serve", "--config", "eval.toml"]).spawn_logged(&job.path("serve.log"));
    let answers = || job.command_line(&["status", "--config", "eval.toml"]).run().code.filter(|code| *code == 0);
    wait_until("the server answers", answers);
    server
}

fn watch(job: &Job) -> Running {
    let line = ["watch", "checkpoints", "--config", "eval.toml", "--stable", "1s", "--newest-first"];
    job.command_line(&line).spawn_watched(&job.path("watch.log"))
}

/// The curve as it is written now: name, digest of the weights, and state of every line.
fn curve(job: &Job) -> Vec<(String, String, String)> {
    let places = fs::read_dir(job.path("out/watch")).into_iter().flatten().flatten();
    let csv = places.map(|place| fs::read_to_string(place.path().join("curve.csv")).unwrap_or_default());
    let csv: Vec<String> = csv.collect();
    let lines = csv.iter().flat_map(|csv| csv.lines().skip(1));
    let lines = lines.map(|line| {
        let mut fields = line.split(',').skip(1).map(str::to_owned);
        let mut next = || fields.next().unwrap_or_default();
        (next(), next(), next())
    });
    lines.collect()
}

/// Waits until everything that stays is evaluated and nothing else is under way.
fn wait_for_all(job: &Job, watch: &mut Running, written: &[Written]) -> Result<(), String> {
    #[expect(clippy::disallowed_methods, reason = "the limit only turns a hang into a failure")]
    let now = Instant::now;
    let (mut before, mut since) = (Vec::new(), now());
    loop {
        let curve = curve(job);
        let is_open = |state: &str| matches!(state, "waiting" | "running" | "unfinished");
        let is_scored = |one: &Written| {
            let of = |line: &&(String, String, String)| line.0 == one.name && line.1 == one.content.short();
            curve.iter().find(of).is_some_and(|line| line.2 == "scored")
        };
        if !curve.iter().any(|line| is_open(&line.2)) && written.iter().filter(|one| one.stays).all(is_scored) {
            return Ok(());
        }
        if curve != before {
            (before, since) = (curve, now());
        }
        if watch.has_ended() || since.elapsed() > LONGEST_WAIT {
            return Err(format!("the watch does not come to an end: {before:?}\n{}", logs(job)));
        }
        #[expect(clippy::disallowed_methods, reason = "polls a file; what it waits for is the watch's end")]
        sleep(Duration::from_millis(50));
    }
}

fn logs(job: &Job) -> String {
    format!("watch.log:\n{}\nserve.log:\n{}", job.log("watch.log"), job.log("serve.log"))
}
