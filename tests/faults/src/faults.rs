//! Faults of an engine, by environment variable. A text is looked for in the request of a sample.
//!
//! | variable | what happens |
//! |---|---|
//! | `COMPASS_FAULT_GATE` | samples begin only as far as this file says, see [`Gate`] |
//! | `COMPASS_FAULT_DELAY_MS` | each sample begins after this many milliseconds |
//! | `COMPASS_FAULT_DIE_ON` | the process aborts at a sample with this text |
//! | `COMPASS_FAULT_HANG_ON` | computing stops at a sample with this text |
//! | `COMPASS_FAULT_NO_ROOM` | a sample with this text has no room in memory |
//! | `COMPASS_FAULT_MISSING` | the model of this path is missing on the host |
//! | `COMPASS_FAULT_LOST` | while this file exists, the device is gone |
//! | `COMPASS_FAULT_TRACE` | each sample that ran adds a line to this file, the digest of what it asks |

use crate::gate::Gate;
use compass_plan::engine::{BatchSpec, Engine, EngineFault, ModelFacts, PrefixSegment, Request, TokenCounters};
use compass_types::result::{Outcome, PromptFit, SampleResult};
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// Faults that an engine has.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    gate: Option<Gate>,
    delay: Duration,
    die_on: Option<String>,
    hang_on: Option<String>,
    no_room_on: Option<String>,
    missing: Option<String>,
    lost: Option<PathBuf>,
    trace: Option<File>,
}

impl Faults {
    /// Reads the faults of this process; `None` where it has none.
    pub(crate) fn from_environment() -> Option<Self> {
        let given = |name: &str| std::env::var_os(format!("COMPASS_FAULT_{name}")).filter(|value| !value.is_empty());
        let text = |name: &str| given(name).and_then(|value| value.into_string().ok());
        let path = |name: &str| given(name).map(PathBuf::from);
        let known = ["GATE", "DELAY_MS", "DIE_ON", "HANG_ON", "NO_ROOM", "MISSING", "LOST", "TRACE"];
        known.into_iter().find_map(|name| -> Option<OsString> { given(name) })?;
        Some(Self {
            gate: path("GATE").map(Gate),
            delay: Duration::from_millis(text("DELAY_MS").and_then(|text| text.parse().ok()).unwrap_or(0)),
            die_on: text("DIE_ON"),
            hang_on: text("HANG_ON"),
            no_room_on: text("NO_ROOM"),
            missing: text("MISSING"),
            lost: path("LOST"),
            trace: path("TRACE").and_then(|path| File::options().create(true).append(true).open(path).ok()),
        })
    }

    /// # Errors
    /// The model counts as missing, or the device is gone.
    pub(crate) fn before_loading(&self) -> Result<(), EngineFault> {
        if let Some(path) = &self.missing {
            return Err(EngineFault::Missing(format!("{path} is missing")));
        }
        if self.has_lost_device() {
            return Err(EngineFault::Device("the engine's device is gone".into()));
        }
        Ok(())
    }

    fn has_lost_device(&self) -> bool {
        self.lost.as_ref().is_some_and(|path| path.exists())
    }

    /// Applies the faults that come before a sample that asks `asked`.
    fn before_sample(&self, asked: &str) {
        #[expect(clippy::disallowed_methods, reason = "a slow engine is what the test asks for")]
        std::thread::sleep(self.delay);
        if let Some(gate) = &self.gate {
            gate.pass();
        }
        if self.die_on.as_ref().is_some_and(|poison| asked.contains(poison)) {
            eprintln!("worker-with-faults: told to die at this prompt");
            std::process::abort();
        }
        while self.hang_on.as_ref().is_some_and(|poison| asked.contains(poison)) {
            std::thread::park();
        }
    }

    /// Notes that a sample ran.
    fn after_sample(&self, asked: &str) {
        if let Some(mut trace) = self.trace.as_ref() {
            // A single write, so that lines of several engines do not mix. Errors are ignored: a short trace shows them.
            let _ = trace.write_all(format!("{}\n", blake3::hash(asked.as_bytes()).to_hex()).as_bytes());
        }
    }
}

/// An engine that computes one sample at a time, with faults before and after each.
pub(crate) struct FaultyEngine {
    pub(crate) inner: Box<dyn Engine>,
    pub(crate) faults: Faults,
}

impl Engine for FaultyEngine {
    fn facts(&self) -> &ModelFacts {
        self.inner.facts()
    }

    fn run(
        &mut self,
        batch: &BatchSpec,
        requests: &[Request<'_>],
        emit: &mut dyn FnMut(SampleResult),
    ) -> Result<TokenCounters, EngineFault> {
        let mut tokens = TokenCounters::default();
        for request in requests {
            let asked = asked(request);
            self.faults.before_sample(&asked);
            if self.faults.has_lost_device() {
                return Err(EngineFault::Lost("libtorch failed: CUDA error: unknown error".into()));
            }
            if self.faults.no_room_on.as_ref().is_some_and(|large| asked.contains(large)) {
                let outcome = Outcome::NoRoom { reason: "not enough memory for this sample".into() };
                emit(SampleResult { index: request.sample.index, fit: PromptFit::default(), outcome });
                continue;
            }
            tokens.add(&self.inner.run(batch, std::slice::from_ref(request), emit)?);
            self.faults.after_sample(&asked);
        }
        Ok(tokens)
    }

    fn begin_job(&mut self) {
        self.inner.begin_job();
    }

    fn take_notes(&mut self) -> Vec<String> {
        self.inner.take_notes()
    }

    fn take_prefix_segments(&mut self) -> Vec<PrefixSegment> {
        self.inner.take_prefix_segments()
    }
}

/// Returns the request of a sample with its shots, as text: equal for equal requests.
fn asked(request: &Request<'_>) -> String {
    // Plain data always serialises.
    let body = serde_json::to_string(&request.sample.body).unwrap_or_default();
    let shots = serde_json::to_string(&request.shots).unwrap_or_default();
    body + &shots
}
