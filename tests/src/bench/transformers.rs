//! A Python with transformers that runs the same batches as the baseline, to see that the baseline is not a straw man.

use super::Seconds;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Found when this was built: the program is run from a checkout.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/bench/transformers.py");

/// A process with the model loaded, which answers batch after batch.
pub struct Transformers {
    child: Child,
    ask: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// In words.
    pub versions: String,
}

impl Transformers {
    /// Starts COMPASS_PYTHON, else `python3`, on the model in `folder`.
    ///
    /// # Errors
    /// The reason why transformers cannot be used.
    pub fn start(folder: &Path, threads: u32) -> Result<Self, String> {
        let program = std::env::var("COMPASS_PYTHON").unwrap_or_else(|_| "python3".into());
        let missing = || format!("{program} has not both torch and transformers (set COMPASS_PYTHON)");
        let mut command = Command::new(&program);
        command.arg(SCRIPT).arg(folder).arg(threads.to_string());
        command.env("MKL_CBWR", "AUTO,STRICT").env("PYTHONDONTWRITEBYTECODE", "1");
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = spawned.map_err(|error| format!("{program}: {error}"))?;
        let (Some(ask), Some(answers)) = (child.stdin.take(), child.stdout.take()) else { return Err(missing()) };
        let mut this = Self { child, ask, answers: BufReader::new(answers), versions: String::new() };
        let hello = this.hear().map_err(|_| missing())?;
        this.versions = hello["versions"].as_str().map(str::to_owned).ok_or_else(missing)?;
        Ok(this)
    }

    /// Scores one batch as the baseline does: seconds, and per text the sum of -log p(t2..tn).
    ///
    /// # Errors
    /// What broke.
    pub fn score(&mut self, texts: &[&[u32]]) -> Result<(Seconds, Vec<f64>), String> {
        let answer = self.ask(&json!({"do": "score", "ids": texts}))?;
        let numbers = answer["sums"].as_array().map(Vec::as_slice).unwrap_or_default();
        Ok((seconds(&answer)?, numbers.iter().filter_map(Value::as_f64).collect()))
    }

    /// Continues one batch greedily as the baseline does: seconds, and the tokens generated for each text.
    ///
    /// # Errors
    /// What broke.
    pub fn generate(&mut self, texts: &[&[u32]], most: usize, eos: &[u32]) -> Result<(Seconds, Vec<Vec<u32>>), String> {
        let answer = self.ask(&json!({"do": "generate", "ids": texts, "most": most, "eos": eos}))?;
        let rows = answer["answers"].as_array().map(Vec::as_slice).unwrap_or_default();
        let ids = |row: &Value| {
            let ids = row.as_array().map(Vec::as_slice).unwrap_or_default();
            ids.iter().filter_map(Value::as_u64).map(|id| id as u32).collect()
        };
        Ok((seconds(&answer)?, rows.iter().map(ids).collect()))
    }

    fn ask(&mut self, question: &Value) -> Result<Value, String> {
        let sent = writeln!(self.ask, "{question}").and_then(|()| self.ask.flush());
        sent.map_err(|error| format!("{SCRIPT}: {error}"))?;
        self.hear()
    }

    fn hear(&mut self) -> Result<Value, String> {
        let mut line = String::new();
        self.answers.read_line(&mut line).map_err(|error| format!("{SCRIPT}: {error}"))?;
        serde_json::from_str(&line).map_err(|_| format!("{SCRIPT} ended early"))
    }
}

impl Drop for Transformers {
    fn drop(&mut self) {
        // It waits for a question, and has nothing to lose.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn seconds(answer: &Value) -> Result<Seconds, String> {
    match (answer["wall"].as_f64(), answer["processor"].as_f64()) {
        (Some(wall), Some(processor)) => Ok(Seconds { wall, processor }),
        _ => Err(format!("{SCRIPT} measured no time")),
    }
}
