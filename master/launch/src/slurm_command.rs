//! The commands of Slurm, and what is meant when it refuses them. Pure.

use super::worker_command::{WorkerCommand, quoted};
use compass_settings::SlurmConfig;
use std::path::PathBuf;

/// Longest name of a job, as OpenCompass cuts it.
const LONGEST_NAME: usize = 512;
/// Seconds before its time is up at which a worker is told to finish; Slurm may be a minute early.
const WARNING_S: u32 = 60;

/// Settings with which every job of a pool is submitted.
#[derive(Clone, Debug)]
pub struct SlurmOrder {
    pub pool: String,
    pub config: SlurmConfig,
    /// GPUs of one job.
    pub gpus: u32,
    pub worker: WorkerCommand,
    pub environment: Vec<(String, String)>,
    /// Name of the jobs.
    pub name: String,
    /// Folder of the workers' output.
    pub logs: Option<PathBuf>,
}

impl SlurmOrder {
    /// The arguments of `sbatch` for an array of so many jobs with a comment by which a later master knows them again; what
    /// the user added comes last and wins.
    pub(super) fn sbatch(&self, jobs: u32, comment: &str) -> Vec<String> {
        let SlurmConfig { partition, quotatype, qos, extra_command, log_dir: _ } = &self.config;
        let name: String = self.name.chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect();
        let mut line: Vec<String> = vec!["--parsable".into()];
        let given = [("--partition", partition), ("--quotatype", quotatype), ("--qos", qos)];
        line.extend(given.iter().filter_map(|(flag, value)| Some(format!("{flag}={}", value.as_ref()?))));
        if self.gpus > 0 {
            line.push(format!("--gres=gpu:{}", self.gpus));
        }
        line.extend(["--nodes=1", "--ntasks=1", "--requeue", "--open-mode=append"].map(str::to_owned));
        line.push(format!("--signal=B:TERM@{WARNING_S}"));
        line.push(format!("--array=0-{}", jobs.saturating_sub(1)));
        line.push(format!("--job-name={name}"));
        line.push(format!("--comment={comment}"));
        line.push(match &self.logs {
            Some(logs) => format!("--output={}", logs.join(format!("{}-%A_%a.log", self.pool)).display()),
            None => "--output=/dev/null".into(),
        });
        line.extend(extra_command.iter().cloned());
        line
    }

    /// The batch script. The shell becomes the worker, so that signals reach it.
    pub(super) fn script(&self) -> String {
        let mut script = String::from("#!/bin/sh\n");
        for (name, value) in &self.environment {
            script.push_str(&format!("export {name}={}\n", quoted(value)));
        }
        let restarts = "${SLURM_RESTART_COUNT:+r$SLURM_RESTART_COUNT}";
        let name = self.worker_name(&format!("${{SLURM_ARRAY_JOB_ID}}_${{SLURM_ARRAY_TASK_ID}}{restarts}"));
        script.push_str(&format!("exec {} --name \"{name}\"\n", self.worker.shell_line(None)));
        script
    }

    /// The name of the worker in a job.
    fn worker_name(&self, job: &str) -> String {
        format!("{}-{job}", self.pool)
    }

    /// The same of a job that was put back so often: an earlier worker of it may still run on an unreachable node.
    pub(super) fn worker_of(&self, job: &str, restarts: u64) -> String {
        let name = self.worker_name(job);
        if restarts > 0 { format!("{name}r{restarts}") } else { name }
    }

    /// The same as a person would type it.
    pub(super) fn shown(&self, jobs: u32, comment: &str) -> String {
        let words: Vec<String> = self.sbatch(jobs, comment).iter().map(|word| quoted(word)).collect();
        format!("sbatch {} <<'END'\n{}END", words.join(" "), self.script())
    }
}

/// Messages of Slurm that the way to its controller failed, or that the controller is too busy, as of `slurm_errno.c`.
const UNREACHED: [&str; 14] = [
    "contact slurm controller",
    "configuration file",
    "configuration source",
    "onnection refused",
    "onnection reset",
    "onnection timed out",
    "ocket timed out",
    "Zero Bytes were transmitted",
    "ommunication connection failure",
    "ommunication shutdown failure",
    "essage send failure",
    "essage receive failure",
    "temporarily unable to accept job",
    "Rate limit exceeded",
];

/// Returns whether Slurm itself was not reached: another time it may be.
pub(super) fn is_unreached(stderr: &str) -> bool {
    is_unknown_here(stderr) || UNREACHED.iter().any(|words| stderr.contains(words))
}

/// Returns whether munge did not vouch for the caller.
fn is_unknown_here(stderr: &str) -> bool {
    ["unge", "rotocol authentication error", "nvalid authentication credential"]
        .iter()
        .any(|words| stderr.contains(words))
}

/// One sentence for what a command of Slurm said on its standard error.
pub(super) fn sentence(program: &str, stderr: &str, config: &SlurmConfig) -> String {
    let has = |words: &str| stderr.contains(words);
    let named = |value: &Option<String>| value.clone().unwrap_or_default();
    if has("nvalid partition") {
        return match &config.partition {
            Some(partition) => format!("Slurm has no partition `{partition}`; `sinfo` lists what there is (-p NAME)"),
            None => "Slurm has no default partition; name one with -p (`sinfo` lists them)".to_owned(),
        };
    }
    if has("--quotatype") && !has("unrecognized option") {
        let quotatype = named(&config.quotatype);
        return format!("this Slurm takes no --quotatype={quotatype} ({}); name another with -q", last(stderr));
    }
    if has("--quotatype") {
        return format!(
            "this Slurm does not know --quotatype={}, which some sites add to it; leave -q away",
            named(&config.quotatype)
        );
    }
    if has("nvalid qos") {
        return format!(
            "Slurm has no quality of service `{}` for you; leave --qos away, or ask who runs it",
            named(&config.qos)
        );
    }
    if has("unrecognized option") || has("invalid option") {
        let line = stderr.lines().find(|line| line.contains("option")).unwrap_or_default();
        return format!("`extra_command` holds what sbatch does not know ({})", bare(line));
    }
    if has("node configuration is not available") {
        return "no node of the partition has what a job asks for (GPUs, memory, CPUs): look at `sinfo -N -l`, and lower \
                run_cfg.num_gpus or change extra_command"
            .to_owned();
    }
    if is_unknown_here(stderr) {
        return format!(
            "munge, by which Slurm knows who asks, does not answer on this host: start munged ({})",
            last(stderr)
        );
    }
    if is_unreached(stderr) {
        return format!("slurmctld does not answer: is it running, and is SLURM_CONF right? ({})", last(stderr));
    }
    if has("AssocMaxSubmitJobLimit") || has("QOSMaxSubmitJob") || has("job submit limit") {
        return "your quota of submitted jobs is used up; lower --max-num-workers".to_owned();
    }
    format!("{program} refused: {}", last(stderr))
}

/// The last line that says something, without who says it.
fn last(stderr: &str) -> String {
    bare(stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no reason given"))
}

fn bare(line: &str) -> String {
    let line = line.trim();
    let line = ["sbatch: ", "squeue: ", "scancel: ", "slurm_load_jobs ", "fatal: "]
        .iter()
        .fold(line, |line, who| line.strip_prefix(who).unwrap_or(line));
    line.strip_prefix("error: ").unwrap_or(line).trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::worker_command::{MasterAddresses, Programs};
    use super::*;

    fn order() -> SlurmOrder {
        SlurmOrder {
            pool: "slurm".into(),
            config: SlurmConfig {
                partition: Some("llmeval".into()),
                quotatype: Some("auto".into()),
                qos: None,
                extra_command: vec!["--signal=B:TERM@10".into()],
                log_dir: None,
            },
            gpus: 2,
            worker: WorkerCommand {
                binary: "/opt/compass-worker".into(),
                master: MasterAddresses::alone("head:50051"),
                slots: 1,
                device: "auto".into(),
                programs: Programs::None,
                pool: None,
            },
            environment: vec![("HF_HOME".into(), "/a b".into())],
            name: "compass 20260102_030405 [m/d,m/e]".into(),
            logs: Some("/runs/1/logs/infer".into()),
        }
    }

    #[test]
    fn the_commands_as_they_are_shown() {
        let expected = "\
sbatch --parsable --partition=llmeval --quotatype=auto --gres=gpu:2 --nodes=1 --ntasks=1 --requeue --open-mode=append \
--signal=B:TERM@60 --array=0-3 '--job-name=compass 20260102_030405 [m/d,m/e]' '--comment=compass run=20260102_030405' \
--output=/runs/1/logs/infer/slurm-%A_%a.log --signal=B:TERM@10 <<'END'
#!/bin/sh
export HF_HOME='/a b'
exec /opt/compass-worker --master head:50051 --device auto --slots 1 --no-sandbox --name \
\"slurm-${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}${SLURM_RESTART_COUNT:+r$SLURM_RESTART_COUNT}\"
END";
        assert_eq!(order().shown(4, "compass run=20260102_030405"), expected);
        let long = SlurmOrder { name: "é".repeat(600), gpus: 0, ..order() };
        let line = long.sbatch(1, "c");
        assert!(line.contains(&format!("--job-name={}", "é".repeat(512))));
        assert!(!line.iter().any(|word| word.starts_with("--gres")));
    }

    /// As Slurm 22.05.8 says it.
    #[test]
    fn each_refusal_has_its_sentence() {
        let config = SlurmConfig {
            partition: Some("nowhere".into()),
            quotatype: Some("auto".into()),
            qos: Some("gold".into()),
            ..SlurmConfig::default()
        };
        for (stderr, expected) in [
            (
                "sbatch: error: invalid partition specified: nowhere\nsbatch: error: Batch job submission failed: Invalid partition name specified\n",
                "Slurm has no partition `nowhere`",
            ),
            (
                "sbatch: unrecognized option '--quotatype=auto'\nTry \"sbatch --help\" for more information\n",
                "leave -q away",
            ),
            (
                "sbatch: error: bad --quotatype=auto\nsbatch: error: Invalid --quotatype argument: auto\n",
                "takes no --quotatype=auto (Invalid --quotatype argument: auto); name another with -q",
            ),
            (
                "sbatch: unrecognized option '--colour=1'\nTry \"sbatch --help\"",
                "`extra_command` holds what sbatch does not know",
            ),
            (
                "sbatch: error: Batch job submission failed: Invalid qos specification\n",
                "Slurm has no quality of service `gold` for you; leave --qos away",
            ),
            (
                "sbatch: error: Batch job submission failed: Requested node configuration is not available",
                "no node of the partition",
            ),
            (
                "sbatch: error: If munged is up, restart with --num-threads=10\nsbatch: error: Munge encode failed: Failed to access",
                "start munged",
            ),
            (
                "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)",
                "slurmctld does not answer",
            ),
            (
                "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation",
                "slurmctld does not answer: is it running, and is SLURM_CONF right? (Batch job submission failed: Socket timed out",
            ),
            ("sbatch: error: Something else.", "sbatch refused: Something else"),
        ] {
            let said = sentence("sbatch", stderr, &config);
            assert_eq!(is_unreached(stderr), said.contains("does not answer"), "{said}");
            assert!(said.contains(expected), "{said}");
            assert!(!said.contains('\n'));
        }
    }
}
