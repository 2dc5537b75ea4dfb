//! An engine whose weights are files: it returns no result once one of them was written to.
//!
//! On the CPU tensors are views of mapped files, so that a trainer that writes over a checkpoint changes the model in the
//! middle of a batch. The files are checked before every result is returned.

use crate::fault::missing_fault;
use crate::weights::UnchangedFile;
use compass_plan::engine::{Added, BatchSpec, Engine, EngineFault, ModelFacts, PrefixSegment, Request, TokenCounters};
use compass_types::result::SampleResult;

/// An engine and the files that its tensors lie in.
pub(crate) struct Guarded<E> {
    engine: E,
    files: Vec<UnchangedFile>,
}

impl<E> Guarded<E> {
    /// Guards an engine; without files every result is returned.
    pub(crate) fn new(engine: E, files: Vec<UnchangedFile>) -> Self {
        Self { engine, files }
    }
}

impl<E: Engine> Engine for Guarded<E> {
    fn facts(&self) -> &ModelFacts {
        self.engine.facts()
    }

    fn run(
        &mut self,
        batch: &BatchSpec,
        requests: &[Request<'_>],
        emit: &mut dyn FnMut(SampleResult),
    ) -> Result<TokenCounters, EngineFault> {
        self.run_open(batch, requests, &mut |_| {}, emit)
    }

    fn run_open(
        &mut self,
        batch: &BatchSpec,
        requests: &[Request<'_>],
        added: &mut Added<'_>,
        emit: &mut dyn FnMut(SampleResult),
    ) -> Result<TokenCounters, EngineFault> {
        let (files, mut is_changed) = (&self.files, false);
        let run = self.engine.run_open(batch, requests, added, &mut |result| {
            is_changed = is_changed || files.iter().any(|file| file.changed().is_some());
            if !is_changed {
                emit(result);
            }
        });
        match files.iter().find_map(UnchangedFile::changed) {
            Some(path) => Err(missing_fault(path, "it was written to while the model was in use")),
            None => run,
        }
    }

    fn begin_job(&mut self) {
        self.engine.begin_job();
    }

    fn take_notes(&mut self) -> Vec<String> {
        self.engine.take_notes()
    }

    fn take_prefix_segments(&mut self) -> Vec<PrefixSegment> {
        self.engine.take_prefix_segments()
    }
}
