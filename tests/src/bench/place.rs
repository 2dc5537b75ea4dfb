//! Folder in which a benchmark finds its model, tokenizer and data: made by the benchmark, or beside the checkout.

use super::{Options, RandomLlama, self_made};
use crate::{demo_model, shared_folder};
use std::path::PathBuf;

/// The folders of one run of a benchmark.
pub struct BenchFolder {
    folder: tempfile::TempDir,
    /// Path that presets take for the data folder.
    pub data: PathBuf,
    /// The tokenizer's folder.
    pub tokenizer: PathBuf,
    /// Shape of the model.
    pub shape: RandomLlama,
}

impl BenchFolder {
    /// Makes the model, and with `--small` the questions too. `None`, said loudly, where the reference data is missing.
    ///
    /// `eos_every` is the model's, by size: of the large one, of the small one.
    ///
    /// # Errors
    /// Errors of the disk, in words.
    pub fn make(
        options: &Options,
        subjects: &[String],
        questions: usize,
        eos_every: (usize, usize),
    ) -> Result<Option<Self>, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let place = if options.small {
            let data = folder.path().join("data");
            self_made::write_mmlu(&data, subjects, questions)?;
            self_made::write_gsm8k(&data, questions)?;
            let tokenizer = demo_model();
            Self { folder, data, tokenizer, shape: RandomLlama { eos_every: eos_every.1, ..RandomLlama::SMALL } }
        } else {
            let found = (shared_folder("data/mmlu"), shared_folder("tokenizers/gpt_neox_20b"));
            let (Some(data), Some(tokenizer)) = found else { return Ok(None) };
            let (data, tokenizer) = (data.join("data"), tokenizer.join("tokenizers/gpt_neox_20b"));
            Self { folder, data, tokenizer, shape: RandomLlama { eos_every: eos_every.0, ..RandomLlama::MILLIONS_17 } }
        };
        std::fs::create_dir_all(place.model()).map_err(|error| error.to_string())?;
        place.shape.write(&place.model(), options.seed)?;
        let millions = place.shape.parameters() as f64 / 1e6;
        let (seed, threads) = (options.seed, options.threads);
        println!(
            "random Llama of {millions:.1} million parameters, seed {seed}, fp32, {threads} thread(s) on every side"
        );
        Ok(Some(place))
    }

    /// Writes an eval.toml that names the model; returns where it lies.
    pub(super) fn write_config(&self) -> Result<PathBuf, String> {
        let file = self.folder.path().join("eval.toml");
        let (state, model) = (self.folder.path().display(), self.model());
        let (model, tokenizer) = (model.display(), self.tokenizer.display());
        let text = format!(
            "[master]\nstate_dir = '{state}'\n[[model]]\nabbr = 'random'\npath = '{model}'\ntokenizer_path = '{tokenizer}'\n"
        );
        std::fs::write(&file, text).map_err(|error| error.to_string())?;
        Ok(file)
    }

    /// The model's folder.
    pub fn model(&self) -> PathBuf {
        self.folder.path().join("model")
    }
}
