//! Two clusters behind NAT under one master, as network namespaces of this machine, with everything that goes wrong between
//! them: a partition, resets, loss, a slow link, the death of a whole pool. Encrypted, with tokens, and with the same bytes
//! as a run on this host alone.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use compass_tests::{GATE_VARIABLE, Gate, Job, Worker, assert_same, echo_job, program, undisturbed, wait_until};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Address of the master, as both clusters see it.
const HUB: &str = "10.60.0.10:50051";

/// Samples of the largest task that the job's partitioner makes.
const LARGEST_TASK: u64 = 12;

/// A running laboratory; dropping it takes it down.
struct Lab {
    prefix: String,
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("netlab").join(name)
}

impl Lab {
    /// `None` where this machine has no namespaces to give, which is reported.
    fn up() -> Option<Self> {
        let prefix = format!("n{}", std::process::id() % 10_000);
        let done = |program: &str, argument: &str| {
            Command::new(program).arg(argument).output().is_ok_and(|output| output.status.success())
        };
        let root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
        if !root || !done("ip", "-V") || !done("nft", "-v") {
            let needs = "two clusters behind NAT need root, ip and nft (apt-get install iproute2 nftables)";
            compass_needs::skipped(compass_needs::Need::Netns, needs);
            return None;
        }
        let lab = Self { prefix };
        let output = Command::new(script("up.sh")).arg(&lab.prefix).output().unwrap();
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            compass_needs::skipped(compass_needs::Need::Netns, format_args!("no network namespaces here: {said}"));
            return None;
        }
        Some(lab)
    }

    /// A command within one of the hosts.
    fn on(&self, host: &str, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &format!("{}-{host}", self.prefix)]).arg(program);
        command
    }

    fn nft(&self, words: &str) {
        let output = self.on("rt", "nft").args(words.split_whitespace()).output().unwrap();
        assert!(output.status.success(), "nft {words}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// One fault more between the clusters and the hub.
    fn fault(&self, rule: &str) {
        self.nft(&format!("add rule ip lab faults {rule}"));
    }

    fn heal(&self) {
        self.nft("flush chain ip lab faults");
    }

    fn slow(&self, host: &str) {
        let port = format!("{}-r{host}", self.prefix);
        let mut tc = self.on("rt", "tc");
        tc.args(["qdisc", "add", "dev", &port, "root", "tbf", "rate", "256kbit", "burst", "16k", "latency", "200ms"]);
        let output = tc.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn worker(&self, job: &Job, host: &str, token: &Path) -> Worker {
        let mut command = self.on(host, program("worker-with-faults"));
        command
            .args(["--master", HUB, "--device", "cpu", "--slots", "1", "--name", host])
            .arg("--token-file")
            .arg(token);
        command.env("HOME", job.path("elsewhere")).env(GATE_VARIABLE, gate(job, host).path());
        Worker::start(command, job.path(host))
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = Command::new(script("down.sh")).arg(&self.prefix).output();
    }
}

/// The gate of a host's engines.
fn gate(job: &Job, host: &str) -> Gate {
    Gate::at(job.path(&format!("{host}.gate")))
}

fn token(job: &Job, pool: &str) -> (PathBuf, Output) {
    let path = job.path(&format!("{pool}.token"));
    let mut command = Command::new(program("compass-master"));
    command.args(["token", "create", "--pool", pool, "--ttl", "1h", "--uses", "1", "--out"]).arg(&path);
    command.arg("--config").arg(job.path("eval.toml")).env("HOME", job.path("home"));
    let output = command.output().unwrap();
    (path, output)
}

#[test]
#[ignore = "nightly"]
fn two_clusters_behind_nat_with_all_that_goes_wrong_between_them() {
    let Some(lab) = Lab::up() else { return };
    let runner = "[[pool]]\nname = \"s\"\nlauncher = \"none\"\n[[pool]]\nname = \"aliyun\"\nlauncher = \"none\"\n[infer.partitioner]\ntype = \"size\"\nmax_task_size = 12\ngen_task_coef = 3\n";
    let mut job = echo_job("advertise = \"10.60.0.10\"", runner);
    job.set_env("HOME", &job.path("home").display().to_string());
    let plain = job.command(&[]);
    let mut master = lab.on("hub", plain.get_program());
    master.args(plain.get_args()).current_dir(job.path(".")).stdin(Stdio::null()).stdout(Stdio::null());
    master.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut master = master.stderr(File::create(job.path("master.log")).unwrap()).spawn().unwrap();
    wait_until("the master listens", || job.log("master.log").contains(HUB).then_some(()));
    let tokens = ["s", "aliyun"].map(|pool| token(&job, pool));
    assert!(tokens.iter().all(|(_, output)| output.status.success()), "{tokens:?}");
    let (s, a) = (gate(&job, "s1"), gate(&job, "a1"));
    [&s, &a].iter().for_each(|gate| gate.admit(0));
    let workers = [("s1", &tokens[0].0), ("a1", &tokens[1].0)].map(|(host, token)| lab.worker(&job, host, token));
    for worker in &workers {
        wait_until("both pools work", || worker.said().contains("welcomed by the master").then_some(()));
    }
    // No host dials in, and clusters do not see each other.
    for (from, to) in [("hub", "10.61.0.11"), ("a1", "10.61.0.11")] {
        let dial = format!("exec 3<>/dev/tcp/{to}/22");
        let reached = lab.on(from, "timeout").args(["2", "bash", "-c", &dial]).stderr(Stdio::null()).status().unwrap();
        assert_eq!(reached.code(), Some(124), "a packet from {from} to {to} is dropped, not answered");
    }
    let recorded = |count: usize| wait_until("results are recorded", || (job.results_written() >= count).then_some(()));
    [&s, &a].iter().for_each(|gate| gate.admit(20));
    recorded(40);
    lab.fault("iifname brA drop");
    lab.fault("oifname brA drop");
    // Longer than a lease: what the cut-off pool holds is others' meanwhile.
    job.wait_until_lost("a1");
    s.admit_more(20);
    recorded(60);
    lab.heal();
    lab.fault("iifname brS meta l4proto tcp reject with tcp reset");
    wait_until("S notices", || workers[0].said().contains("no session; dialling again").then_some(()));
    lab.heal();
    lab.fault("iifname { brS, brA } numgen random mod 100 < 30 drop");
    lab.slow("a1");
    // What A had begun of a task that is others' by now counts no more: a task has no more samples than this.
    a.admit_more(20 + LARGEST_TASK);
    s.admit_more(20);
    recorded(100);
    // A whole pool dies; the other brings the run to its end over what is left of its link.
    compass_tests::kill(workers[1].pid(), "KILL");
    s.open();
    let status = wait_until("the run ends", || master.try_wait().unwrap());
    let words = || format!("{}\n{}\n{}", job.log("master.log"), workers[0].said(), workers[1].said());
    assert_eq!(status.code(), Some(0), "{}", words());
    assert_same(&job, &undisturbed());
    let facts = job.facts();
    assert_eq!(facts["divergences"], 0, "{facts}");
    assert!(facts["workers"]["a1"]["results"].as_u64().unwrap() >= 40, "both pools took part: {facts}");
}
