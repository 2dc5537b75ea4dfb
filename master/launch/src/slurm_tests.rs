//! The launcher over a Slurm that follows a script: what it refuses, what it does not answer, what it is slow to say.

use super::super::process::Said;
use super::super::worker_command::{MasterAddresses, Programs, WorkerCommand};
use super::*;
use compass_settings::SlurmConfig;
use std::sync::{Arc, Mutex};
use tokio::sync::watch;

const MARK: &str = "compass run=r job=j stage=infer pool=s master=";

/// A cluster, and how it misbehaves.
#[derive(Default)]
struct Cluster {
    /// Job and comment of what runs.
    jobs: Vec<(String, String)>,
    arrays: u32,
    /// Commands that were run, less `squeue`.
    said: Vec<String>,
    /// Forms in which the queue was asked for.
    looks: Vec<QueueForm>,
    /// Jobs of one array at most, and of the user.
    array_limit: Option<u32>,
    user_limit: Option<u32>,
    /// Set if `sbatch` takes the jobs and then says that its socket timed out.
    loses_answers: bool,
    /// Text of `squeue --json` on its standard error; a silence where it is empty.
    without_json: Option<&'static str>,
    /// Set if `squeue` says nothing at all.
    is_blind: bool,
}

#[derive(Clone, Default)]
struct Fake(Arc<Mutex<Cluster>>);

fn failed(stderr: &str) -> Said {
    Ok(ToolOutput { code: Some(1), stdout: String::new(), stderr: stderr.into() })
}

fn printed(stdout: String) -> Said {
    Ok(ToolOutput { code: Some(0), stdout, stderr: String::new() })
}

fn option<'a>(arguments: &'a [String], name: &str) -> &'a str {
    arguments.iter().find_map(|argument| argument.strip_prefix(name)).unwrap_or_default()
}

impl Cluster {
    fn run(&mut self, tool: Tool, arguments: &[String]) -> Said {
        match tool.program {
            "sbatch" => self.sbatch(arguments),
            "squeue" => self.squeue(tool, arguments),
            _ => {
                self.said.push(format!("scancel {}", arguments.len() - 1));
                self.jobs.retain(|(job, _)| !arguments.contains(job));
                printed(String::new())
            }
        }
    }

    fn sbatch(&mut self, arguments: &[String]) -> Said {
        let comment = option(arguments, "--comment=");
        let last: u32 = option(arguments, "--array=0-").parse().unwrap();
        let jobs = last + 1;
        self.said.push(format!("sbatch {jobs}"));
        if self.array_limit.is_some_and(|most| jobs > most) {
            return failed("sbatch: error: Batch job submission failed: Invalid job array specification");
        }
        if self.user_limit.is_some_and(|most| self.jobs.len() as u32 + jobs > most) {
            return failed(
                "QOSMaxSubmitJobPerUserLimit\nsbatch: error: Batch job submission failed: Job violates accounting/QOS policy",
            );
        }
        self.arrays += 1;
        self.jobs.extend((0..jobs).map(|task| (format!("{}_{task}", self.arrays), comment.to_owned())));
        match self.loses_answers {
            true => failed("sbatch: error: Batch job submission failed: Socket timed out on send/recv operation"),
            false => printed(format!("{}\n", self.arrays)),
        }
    }

    fn squeue(&mut self, tool: Tool, arguments: &[String]) -> Said {
        let is_json = arguments.contains(&"--json".to_owned());
        self.looks.push(if is_json { QueueForm::Json } else { QueueForm::Columns });
        if self.is_blind {
            return failed("slurm_load_jobs error: Socket timed out on send/recv operation");
        }
        let user = rustix::process::getuid().as_raw().to_string();
        if is_json {
            return match self.without_json {
                Some("") => Err(LaunchError::Silent { program: tool.program.into(), after: tool.limit }),
                Some(stderr) => failed(stderr),
                None => printed(self.json(&user)),
            };
        }
        let format = option(arguments, "--Format=");
        let line = |(job, comment): &(String, String)| -> String {
            let column = |column: &str| {
                let (name, width) = column.split_once(':').unwrap();
                let value = match name {
                    "JobArrayID" => job,
                    "UserID" => &user,
                    "State" => "RUNNING",
                    "Comment" => comment,
                    "Reason" => "None",
                    _ => "0",
                };
                format!("{value:0$}", width.parse().unwrap())
            };
            format.split(',').map(column).chain(["\n".to_owned()]).collect()
        };
        printed(self.jobs.iter().map(line).collect())
    }

    fn json(&self, user: &str) -> String {
        let entry = |(job, comment): &(String, String)| {
            let (array, task) = job.split_once('_').unwrap();
            format!(
                r#"{{"job_id": 1, "array_job_id": {array}, "array_task_id": {{"set": true, "number": {task}}}, "user_id": {user},
                "comment": "{comment}", "job_state": "RUNNING", "restart_cnt": 0}}"#
            )
        };
        format!(r#"{{"jobs": [{}]}}"#, self.jobs.iter().map(entry).collect::<Vec<_>>().join(","))
    }
}

impl Commands for Fake {
    fn run<'c>(&'c self, tool: Tool, arguments: &'c [String], _: &'c str) -> Pending<'c, Said> {
        let said = self.0.lock().unwrap().run(tool, arguments);
        Box::pin(async move { said })
    }
}

/// A launcher over such a cluster.
fn launcher(cluster: Cluster) -> (SlurmLauncher, Fake) {
    let fake = Fake(Arc::new(Mutex::new(cluster)));
    (launcher_at(MasterAddresses::alone("h:1"), &fake), fake)
}

/// The launcher of a master over a cluster that is there.
fn launcher_at(master: MasterAddresses, fake: &Fake) -> SlurmLauncher {
    let worker = WorkerCommand {
        binary: "compass-worker".into(),
        master,
        slots: 1,
        device: "cpu".into(),
        programs: Programs::None,
        pool: None,
    };
    let (name, pool) = ("compass r [m]".to_owned(), "s".to_owned());
    let config = SlurmConfig::default();
    let order = SlurmOrder { pool, config, gpus: 0, worker, environment: Vec::new(), name, logs: None };
    let belonging = Belonging { run: "r", job: "j", stage: "infer", pool: "s" };
    SlurmLauncher::with_commands(order, &belonging, Box::new(fake.clone()))
}

impl Fake {
    fn said(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap().said)
    }
}

#[tokio::test]
async fn an_array_that_is_too_large_is_halved_until_it_is_taken() {
    let (mut slurm, fake) = launcher(Cluster { array_limit: Some(10), ..Cluster::default() });
    assert_eq!(slurm.submit(25).await.unwrap().len(), 25);
    assert_eq!(fake.said(), ["sbatch 25", "sbatch 12", "sbatch 6", "sbatch 6", "sbatch 6", "sbatch 6", "sbatch 1"]);
    assert_eq!(slurm.submit(7).await.unwrap().len(), 7);
    assert_eq!(fake.said(), ["sbatch 6", "sbatch 1"], "what was taken is known");
}

#[tokio::test]
async fn a_quota_gives_as_many_jobs_as_it_has() {
    let (mut slurm, fake) = launcher(Cluster { user_limit: Some(5), ..Cluster::default() });
    assert_eq!(slurm.submit(20).await.unwrap().len(), 5);
    assert_eq!(fake.said(), ["sbatch 20", "sbatch 10", "sbatch 5", "sbatch 5", "sbatch 2", "sbatch 1"]);
    let refused = slurm.submit(15).await.unwrap_err();
    assert_eq!(refused.to_string(), "your quota of submitted jobs is used up; lower --max-num-workers");
    assert_eq!(fake.said(), Vec::<String>::new(), "it was refused before");
    assert!(slurm.submit(15).await.is_err());
    assert_eq!(fake.said(), ["sbatch 5", "sbatch 2", "sbatch 1"]);
    fake.0.lock().unwrap().user_limit = None;
    assert_eq!(slurm.submit(15).await.unwrap().len(), 15);
}

#[tokio::test]
async fn jobs_that_were_taken_without_an_answer_are_found_by_their_comment() {
    let (mut slurm, fake) = launcher(Cluster { loses_answers: true, ..Cluster::default() });
    let launched = slurm.submit(20).await.unwrap();
    assert_eq!((launched.len(), launched[3].worker.0.as_str()), (20, "s-1_3"));
    assert_eq!(fake.said(), ["sbatch 20"], "they are not submitted again");
    assert_eq!(slurm.submit(2).await.unwrap().len(), 2, "those that are known are not found again");
    assert_eq!(slurm.poll().await.unwrap().len(), 22);
}

#[tokio::test]
async fn what_may_have_been_taken_is_not_submitted_again_by_a_launcher_that_cannot_look() {
    let (mut slurm, fake) = launcher(Cluster { loses_answers: true, is_blind: true, ..Cluster::default() });
    let error = slurm.submit(20).await.unwrap_err();
    assert!(matches!(&error, LaunchError::Unreached { sentence } if sentence.contains("Socket timed out")), "{error}");
    assert_eq!(fake.said(), ["sbatch 20"]);
    fake.0.lock().unwrap().is_blind = false;
    let found = slurm.poll().await.unwrap();
    assert_eq!((found.len(), &found[0].1), (20, &JobState::Running), "a later look tells of them");
    assert_eq!(slurm.worker_of(&found[0].0).unwrap().0, "s-1_0");
}

#[tokio::test]
async fn the_next_leader_adopts_the_jobs_that_were_told_of_it() {
    let (mut first, fake) = launcher(Cluster::default());
    first.submit(2).await.unwrap();
    let (known, others) = watch::channel(Vec::new());
    let mut first = launcher_at(MasterAddresses::with_others("h:1", others), &fake);
    known.send_replace(vec!["h:2".into(), "h:1".into()]);
    first.submit(3).await.unwrap();
    let comments: Vec<String> = fake.0.lock().unwrap().jobs.iter().map(|(_, comment)| comment.clone()).collect();
    assert_eq!((&comments[0], &comments[4]), (&format!("{MARK}h:1"), &format!("{MARK}h:1,h:2")));
    assert_eq!(first.poll().await.unwrap().len(), 5);
    let mut second = launcher_at(MasterAddresses::alone("h:2"), &fake);
    fake.said();
    let adopted = second.adopt().await.unwrap();
    assert_eq!(adopted.iter().map(|job| job.worker.0.as_str()).collect::<Vec<_>>(), ["s-2_0", "s-2_1", "s-2_2"]);
    assert_eq!(fake.said(), ["scancel 2"], "the others would never find it");
}

#[tokio::test]
async fn a_queue_without_json_is_read_in_columns_chosen_once() {
    for without_json in ["squeue: fatal: Unable to find plugin: serializer/json", ""] {
        let (mut slurm, fake) = launcher(Cluster { without_json: Some(without_json), ..Cluster::default() });
        slurm.submit(2).await.unwrap();
        for _ in 0..3 {
            let found = slurm.poll().await.unwrap();
            let job = |id: &str| LauncherJobId(id.into());
            assert_eq!(found, [(job("1_0"), JobState::Running), (job("1_1"), JobState::Running)]);
        }
        let looks = std::mem::take(&mut fake.0.lock().unwrap().looks);
        let columns = QueueForm::Columns;
        assert_eq!(looks, [QueueForm::Json, columns, columns, columns]);
    }
    let (mut slurm, fake) = launcher(Cluster { is_blind: true, ..Cluster::default() });
    assert!(slurm.poll().await.is_err());
    assert_eq!(fake.0.lock().unwrap().looks, [QueueForm::Json], "a controller that is away says nothing of JSON");
}
