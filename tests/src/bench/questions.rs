//! The questions of one data set of a preset: read and rendered as the planner does it.

use super::BenchFolder;
use compass_config::{Overrides, load};
use compass_data::read_split;
use compass_plan::engine::{BatchSpec, Request};
use compass_plan::prompt::{Prompt, RenderedDataset, RenderedPrompt, render};
use compass_plan::{Body, InferSpec};
use compass_settings::DatasetConfig;

/// A data set, ready to be run.
pub struct Questions {
    pub abbr: String,
    pub pack: BatchSpec,
    rendered: RenderedDataset,
}

impl Questions {
    /// The first `limit` questions of each of `datasets`, `preset/name`, read as `eval.toml` would have them read.
    ///
    /// # Errors
    /// Whatever is wrong with preset or data, in words.
    pub fn read(place: &BenchFolder, datasets: &[String], limit: usize) -> Result<Vec<Self>, String> {
        let file = place.write_config()?;
        let overrides = Overrides {
            datasets: Some(datasets.to_vec()),
            data_dir: Some(place.data.clone()),
            limit: Some(limit as u32),
            ..Overrides::default()
        };
        let loaded = load(Some(&file), &overrides).map_err(|faults| faults.to_string())?;
        loaded.config.datasets.into_iter().map(Self::render).collect()
    }

    fn render(dataset: DatasetConfig) -> Result<Self, String> {
        let lines =
            |faults: Vec<compass_data::DataError>| faults.iter().map(|fault| format!("{fault}\n")).collect::<String>();
        let mut test =
            read_split(&dataset.test, "test_range", &dataset.test_range).map_err(lines)?.rows().collect::<Vec<_>>();
        test.truncate(dataset.limit.map_or(usize::MAX, |limit| limit as usize));
        let train = dataset.train.as_ref().map(|train| read_split(train, "train_range", &dataset.train_range));
        let train = train.transpose().map_err(lines)?.map_or_else(Vec::new, |train| train.rows().collect());
        let gold = dataset.output_column.as_deref();
        let rendered = render(&dataset.prompt, &dataset.infer, gold, &dataset.retriever, &test, &train);
        let rendered =
            rendered.map_err(|faults| faults.iter().map(|fault| format!("{fault}\n")).collect::<String>())?;
        let pack = BatchSpec {
            infer: dataset.infer,
            shot_format: rendered.format.clone(),
            meta_template: None,
            takes_programs: false,
        };
        Ok(Self { abbr: dataset.abbr, pack, rendered })
    }

    /// Has at most `tokens` generated for each question, whatever the preset says.
    pub fn cap(&mut self, tokens: u32) {
        if let InferSpec::Gen(spec) = &mut self.pack.infer {
            spec.max_out_len = Some(tokens);
        }
    }

    /// One request for each question.
    pub fn requests(&self) -> Vec<Request<'_>> {
        let shots = |shots: &[u32]| shots.iter().filter_map(|&at| self.rendered.shots.get(at as usize)).collect();
        self.rendered.samples.iter().map(|sample| Request::new(sample, shots(&sample.shots))).collect()
    }

    /// The texts of one question as the peers give them to a model: one for each option, or the prompt alone.
    pub fn texts(&self, request: &Request<'_>) -> Vec<String> {
        let text = |prompt: &Prompt| match request.render(prompt, request.shots.len(), &self.pack) {
            RenderedPrompt::Text(text) => text,
            RenderedPrompt::Messages(messages) => messages.into_iter().map(|message| message.content).collect(),
        };
        match &request.sample.body {
            Body::Ppl { options } => options.iter().map(|option| text(&option.prompt)).collect(),
            Body::Gen { prompt } => vec![text(prompt)],
            _ => Vec::new(),
        }
    }
}
