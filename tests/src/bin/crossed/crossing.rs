//! One job: its configuration, what happens to it, what it leaves.

use crate::factors::Combination;
use crate::options::Options;
use crate::served::{Server, copy_with_template};
use compass_tests::{Job, Running, Slurm, Tree, Worker, demo_model, free_port, kill, results_in, worker_command};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Answers to each question of a job that draws.
const DRAWS: u32 = 3;

/// Time that an answer of the echo engine takes, so that a job is under way for a while.
const ECHO_DELAY_MS: &str = "10";

/// Files of a run that must not depend on how it went.
pub(crate) struct Files(Tree);

impl Files {
    /// Differences of another run's files from these, a line each.
    pub(crate) fn differences(&self, other: &Self) -> Vec<String> {
        let names: std::collections::BTreeSet<_> = self.0.keys().chain(other.0.keys()).collect();
        let differing = names.into_iter().filter(|name| self.0.get(*name) != other.0.get(*name));
        differing.map(|name| format!("differs from the plain run: {name}")).collect()
    }
}

/// All jobs' surroundings: two endpoints and, where it is installed, a Slurm.
pub(crate) struct Lab {
    completions: Server,
    chat: Server,
    slurm: Option<Slurm>,
    rows: usize,
    limit: Duration,
    _folder: tempfile::TempDir,
}

impl Lab {
    /// Starts them; says what is missing.
    pub(crate) fn open(options: &Options) -> Option<Self> {
        let folder = tempfile::tempdir().ok()?;
        let with_template = folder.path().join("model");
        let servers = copy_with_template(&with_template)
            .and_then(|()| Some((Server::start(&demo_model(), false)?, Server::start(&with_template, true)?)));
        let Some((completions, chat)) = servers else {
            eprintln!("crossed: the endpoints do not start");
            return None;
        };
        let slurm = Slurm::start("crossed", 2, 1);
        Some(Self { completions, chat, slurm, rows: options.rows, limit: options.limit, _folder: folder })
    }

    /// Returns whether this machine can run a combination.
    pub(crate) fn offers(&self, job: &Combination) -> bool {
        self.slurm.is_some() || !job.is("runner", "slurm2")
    }

    /// Runs a job to its end.
    ///
    /// # Errors
    /// All that was wrong with it, a line each.
    pub(crate) fn run(&self, combination: &Combination) -> Result<Files, Vec<String>> {
        // The harness fails by panicking, at a broken invariant of the scheduler for example.
        let run = || Crossing::new(self, combination).run();
        catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Err(vec!["the harness failed, see above".into()]))
    }

    fn configuration(&self, job: &Combination) -> String {
        let model = match job.value("model") {
            "echo" => "type = \"echo\"\n".to_owned(),
            "engine" => format!("path = '{}'\nmax_seq_len = 512\ndevice = \"cpu\"\n", demo_model().display()),
            // The same model, which thinks with a budget, here and behind an endpoint that continues texts.
            "thinking" => format!("path = '{}'\nchat = true\n{}", demo_model().display(), thinking()),
            "bounded" => format!(
                "endpoint = {{ url = \"{}\", model = \"demo\", api = \"completions\" }}\n{}",
                self.completions.url,
                thinking()
            ),
            api => {
                let server = if api == "chat" { &self.chat } else { &self.completions };
                format!(
                    "endpoint = {{ url = \"{}\", model = \"demo\", api = \"{api}\" }}\nmax_seq_len = 512\n",
                    server.url
                )
            }
        };
        let models: &[u8] = if job.is("models", "two") { &[0, 1] } else { &[0] };
        let sets: &[&str] = if job.is("sets", "three") { &["a", "b", "c"] } else { &["a"] };
        let models = models.iter().map(|number| format!("[[model]]\nabbr = \"m{number}\"\nmax_out_len = 6\n{model}"));
        let sets = sets.iter().enumerate().map(|(place, name)| dataset(job, name, self.rows - 7 * place));
        let cut = match job.value("cut") {
            "size" => "type = \"size\"\nmax_task_size = 300\ngen_task_coef = 20".to_owned(),
            "num_worker" => "type = \"num_worker\"\nnum_worker = 4".to_owned(),
            kind => format!("type = \"{kind}\""),
        };
        models.chain(sets).collect::<String>() + &format!("[infer.partitioner]\n{cut}\n")
    }
}

/// Keys of a model that thinks: what it writes before its `=`.
fn thinking() -> String {
    let tokenizer = demo_model().join("../../../examples/data/thinking");
    format!(
        "tokenizer_path = '{}'\nmax_seq_len = 512\n\
         thinking = {{ marks = {{ start = \"+\", end = \"=\" }}, budget = 2, at_budget = {{ text = \" \" }} }}\n",
        tokenizer.display()
    )
}

fn runner(job: &Combination) -> &'static str {
    match job.value("runner") {
        "local1" => "type = \"local\"\nmax_num_workers = 1\n",
        "hand2" => "type = \"none\"\n",
        "slurm2" => "type = \"slurm\"\nmax_num_workers = 2\n",
        "command2" => "type = \"command\"\ntemplate = \"{task_cmd}\"\npipe = true\nmax_num_workers = 2\n",
        _ => "type = \"local\"\nmax_num_workers = 2\n",
    }
}

/// The table of a data set: `rows` questions about sums, or about the larger of two numbers.
fn dataset(job: &Combination, name: &str, rows: usize) -> String {
    let data = demo_model().join("../data");
    let has_shots = !job.is("shots", "zero");
    let retriever = match job.value("shots") {
        "shared" => "{ type = \"fix_k\", ids = [0, 1, 2, 3, 4] }",
        "first_n" => "{ type = \"first_n\", k = 3 }",
        "random" => "{ type = \"random\", ice_num = 2 }",
        "bm25" => "{ type = \"bm25\", ice_num = 2 }",
        _ => "\"zero\"",
    };
    let begin = if has_shots { "</E>" } else { "" };
    let draws =
        format!(", generation_kwargs = {{ do_sample = true, temperature = 0.8, num_return_sequences = {DRAWS} }}");
    let draws = if job.is("infer", "draws") { draws.as_str() } else { "" };
    let (evaluator, shot, asked) = match job.value("infer") {
        "ppl" => (
            "\"acc\"",
            "[dataset.infer_cfg.ice_template]\n0 = \"Larger of {a} and {b}: {a}\"\n1 = \"Larger of {a} and {b}: {b}\"\n",
            format!(
                "[dataset.infer_cfg.prompt_template]\n0 = \"{begin}Larger of {{a}} and {{b}}: {{a}}\"\n\
                 1 = \"{begin}Larger of {{a}} and {{b}}: {{b}}\"\n"
            ),
        ),
        "loglikelihood" => (
            "{ type = \"multiple_choice\", metrics = [\"acc\"] }",
            "ice_template = \"Larger of {a} and {b}: {label}\"\n",
            format!(
                "prompt_template = \"{begin}Larger of {{a}} and {{b}}:\"\n\
                 options = {{ jinja = \"{{{{ [a|string, b|string] }}}}\" }}\n"
            ),
        ),
        "clp" => (
            "\"acc\"",
            "ice_template = \"Larger of {a} and {b}: {label}\"\n",
            format!("prompt_template = \"{begin}Is {{b}} larger than {{a}}?\"\noptions = [\"no\", \"yes\"]\n"),
        ),
        _ if ["chat", "thinking", "bounded"].contains(&job.value("model")) => (
            "\"em\"",
            "ice_template = { round = [{ role = \"HUMAN\", prompt = \"{question}\" }, { role = \"BOT\", prompt = \"{answer}\" }] }\n",
            format!(
                "inferencer = {{ type = \"gen\", max_out_len = 6{draws} }}\n\
                 prompt_template = {{ begin = \"{begin}\", round = [{{ role = \"HUMAN\", prompt = \"{{question}}\" }}] }}\n"
            ),
        ),
        _ => (
            "\"em\"",
            "ice_template = \"{question} {answer}\"\n",
            format!(
                "inferencer = {{ type = \"gen\", max_out_len = 6, stopping_criteria = [\"\\n\"]{draws} }}\n\
                 prompt_template = \"{begin}{{question}}\"\n"
            ),
        ),
    };
    let shot = if has_shots { shot } else { "" };
    let (file, columns, output) = match evaluator {
        "\"em\"" => ("sums", "[\"question\"]", "answer"),
        _ => ("larger", "[\"a\", \"b\"]", "label"),
    };
    let inferencer = match job.value("infer") {
        "gen" | "draws" => String::new(),
        kind => format!("inferencer = \"{kind}\"\n"),
    };
    // Keys come before tables.
    let (tables, keys): (Vec<&str>, Vec<&str>) =
        [shot, asked.as_str()].into_iter().partition(|text| text.starts_with('['));
    let (tables, keys, data) = (tables.concat(), keys.concat(), data.display());
    format!(
        "[[dataset]]\nabbr = \"{name}\"\n\
         reader_cfg = {{ input_columns = {columns}, output_column = \"{output}\", test_range = \"[:{rows}]\" }}\n\
         eval_cfg = {{ evaluator = {evaluator} }}\ntest = {{ path = '{data}/{file}_test.jsonl' }}\n\
         train = {{ path = '{data}/{file}_train.jsonl' }}\n[dataset.infer_cfg]\nretriever = {retriever}\n{inferencer}{keys}{tables}"
    )
}

/// A job that runs.
struct Crossing<'a> {
    lab: &'a Lab,
    combination: &'a Combination,
    job: Job,
    address: String,
    until: Instant,
    workers: Vec<Worker>,
}

/// Cause of its end before it had an exit code.
enum Ended {
    Code(Option<i32>),
    /// Its time was up.
    Never,
}

impl<'a> Crossing<'a> {
    fn new(lab: &'a Lab, combination: &'a Combination) -> Self {
        let (mut job, address) = (Job::new(""), format!("127.0.0.1:{}", free_port()));
        job.set_env("COMPASS_FAULT_DELAY_MS", ECHO_DELAY_MS);
        if let Some(slurm) = &lab.slurm {
            job.set_env("SLURM_CONF", &slurm.conf());
        }
        let state = job.path("state");
        let master = format!("[master]\nstate_dir = '{}'\nlisten = \"{address}\"\n", state.display());
        let runner = format!("[infer.runner]\n{}", runner(combination));
        let of_job = format!("work_dir = \"out\"\n{}", lab.configuration(combination));
        if combination.is("server", "serve") {
            job.write("serve.toml", &format!("{master}{runner}"));
            job.write("eval.toml", &format!("{of_job}[master]\nstate_dir = '{}'\n", state.display()));
        } else {
            job.write("eval.toml", &format!("{of_job}{runner}{master}"));
        }
        Self { lab, combination, job, address, until: Instant::now() + lab.limit, workers: Vec::new() }
    }

    fn run(mut self) -> Result<Files, Vec<String>> {
        let ended = if self.combination.is("server", "serve") { self.under_a_server() } else { self.alone() };
        self.workers.clear();
        let mut faults = match ended {
            Ended::Code(Some(0)) => Vec::new(),
            Ended::Code(code) => vec![format!("exit code {code:?}")],
            Ended::Never => vec![format!("did not end in {} s", self.lab.limit.as_secs())],
        };
        faults.extend(self.left_behind());
        if !faults.is_empty() {
            let screen = self.job.log("screen.log");
            let last: Vec<&str> = screen.lines().rev().take(6).collect();
            faults.extend(last.into_iter().rev().map(|line| format!("| {line}")));
            return Err(faults);
        }
        let mut files = Tree::new();
        for part in ["results", "predictions"] {
            files.extend(self.job.tree(part).into_iter().map(|(name, bytes)| (format!("{part}/{name}"), bytes)));
        }
        Ok(Files(files))
    }

    fn alone(&mut self) -> Ended {
        let half = (self.lab.rows / 2).to_string();
        let life = self.combination.value("life");
        let first: &[&str] = match life {
            "stages" => &["-m", "infer"],
            "limit" => &["--limit", &half],
            _ => &[],
        };
        let master = self.master(first);
        self.by_hand();
        let mut master = master;
        match life {
            "kill" | "interrupt" => {
                self.until_under_way(|| master.has_ended());
                if !master.has_ended() {
                    master.signal(if life == "kill" { "KILL" } else { "INT" });
                }
            }
            "worker" => self.kill_a_worker(|| master.has_ended()),
            _ => {}
        }
        let ended = self.finish(master);
        if matches!(life, "straight" | "worker") || matches!(ended, Ended::Never) {
            return ended;
        }
        self.workers.clear();
        let again: &[&str] = match (life, self.job.runs().is_empty()) {
            ("stages", _) => &["-r", "-m", "eval"],
            (_, true) => &[],
            (_, false) => &["-r"],
        };
        let master = self.master(again);
        if life != "stages" {
            self.by_hand();
        }
        self.finish(master)
    }

    fn under_a_server(&mut self) -> Ended {
        let mut server = self.serve();
        self.by_hand();
        let submit = ["submit", "--config", "eval.toml", "--wait"];
        let mut waiting = self.job.command_line(&submit).spawn_logged(&self.job.path("screen.log"));
        match self.combination.value("life") {
            "kill" => {
                self.until_under_way(|| waiting.has_ended());
                let was_ended = waiting.has_ended();
                kill(server.pid(), "KILL");
                server.finish();
                if was_ended {
                    return self.finish(waiting);
                }
                drop(waiting);
                server = self.serve();
                // The job continues on its own: its table is the last that it writes.
                let ended = self.until(|| self.has_table().then_some(()));
                server.signal("TERM");
                server.finish();
                return ended.map_or(Ended::Never, |()| Ended::Code(Some(0)));
            }
            "worker" => self.kill_a_worker(|| waiting.has_ended()),
            _ => {}
        }
        let ended = self.finish(waiting);
        server.signal("TERM");
        server.finish();
        ended
    }

    fn master(&self, arguments: &[&str]) -> Running {
        let words = [&["--config", "eval.toml"], arguments].concat();
        self.job.command_line(&words).spawn_logged(&self.job.path("screen.log"))
    }

    fn serve(&self) -> Running {
        let server = self.job.command_line(&["serve", "--config", "serve.toml"]);
        let server = server.spawn_logged(&self.job.path("serve.log"));
        self.until(|| {
            let status = self.job.command_line(&["status", "--config", "serve.toml"]).run();
            (status.code == Some(0)).then_some(())
        });
        server
    }

    /// Two workers by hand, once the master has left the token with which they join.
    fn by_hand(&mut self) {
        if !self.combination.is("runner", "hand2") {
            return;
        }
        let token = self.job.path("state/join");
        self.until(|| fs::read_dir(&token).ok()?.next().map(|_| ()));
        for name in ["w1", "w2"] {
            let mut command = worker_command(&self.address, &self.job.path("home"));
            command.args(["--name", name, "--slots", "1"]).envs(self.job.environment());
            self.workers.push(Worker::start(command, self.job.path(&format!("{name}.log"))));
        }
    }

    fn kill_a_worker(&mut self, mut has_ended: impl FnMut() -> bool) {
        self.until_under_way(&mut has_ended);
        // Killed as it is dropped.
        drop(self.workers.pop());
    }

    /// Waits until a fifth of the first data set is in the ledger, or until nothing more is to be expected.
    fn until_under_way(&self, mut has_ended: impl FnMut() -> bool) {
        let results = || self.job.runs().last().map_or(0, |run| results_in(run));
        self.until(|| (results() >= self.lab.rows / 5 || has_ended()).then_some(()));
    }

    fn has_table(&self) -> bool {
        let summary: Option<PathBuf> = self.job.runs().pop().map(|run| run.join("summary"));
        let mut files = summary.into_iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
        files.any(|file| file.path().extension().is_some_and(|extension| extension == "csv"))
    }

    /// Waits for a master's end, and kills one whose time is up.
    fn finish(&self, mut master: Running) -> Ended {
        match self.until(|| master.has_ended().then_some(())) {
            Some(()) => Ended::Code(master.finish().code),
            None => Ended::Never,
        }
    }

    /// Waits for a condition as long as the job has time.
    fn until<T>(&self, mut condition: impl FnMut() -> Option<T>) -> Option<T> {
        loop {
            if let Some(found) = condition() {
                return Some(found);
            }
            if Instant::now() >= self.until {
                return None;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Processes of the job, known by their home, which a while later are still there; they are killed.
    fn left_behind(&self) -> Vec<String> {
        let home = format!("HOME={}", self.job.path("home").display());
        let is_ours = |pid: u32| {
            let variables = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            variables.split(|byte| *byte == 0).any(|variable| variable == home.as_bytes())
        };
        let ours = || -> Vec<u32> {
            let all = fs::read_dir("/proc").into_iter().flatten().flatten();
            let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
            pids.filter(|pid| compass_tests::is_alive(*pid) && is_ours(*pid)).collect()
        };
        // Agents see their master's end at once, and end their engines.
        let deadline = Instant::now() + Duration::from_secs(20);
        while !ours().is_empty() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(50));
        }
        let left = ours();
        let named = left.iter().map(|pid| {
            let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            format!("left behind: {}", String::from_utf8_lossy(&command).replace('\0', " "))
        });
        let named = named.collect();
        left.into_iter().for_each(|pid| kill(pid, "KILL"));
        named
    }
}
