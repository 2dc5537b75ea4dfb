//! Flags that describe a model or a data set without a file.

use super::number::whole;
use clap::{Args, ValueEnum};
use compass_common::regular_file;
use compass_config::{CustomDataset, HfKind, HfModel, ModelFlags};
use std::path::{Path, PathBuf};

/// What kind of model `--hf-path` names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum HfType {
    /// `chat` where the tokenizer has a chat template, `base` where it has none.
    #[default]
    Auto,
    /// Prompts as they are.
    Base,
    /// Prompts through the tokenizer's chat template.
    Chat,
}

/// A model by flags, and flags over the models of the file.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Model (of --hf-path, or over every model of the file)")]
pub struct ModelArguments {
    /// Directory of a Hugging Face model; the job then has it alone
    #[arg(long, value_name = "DIR")]
    pub hf_path: Option<String>,

    /// Whether it is a base model or a chat model; `ppl` data sets are scored under each
    #[arg(long, value_enum, default_value_t = HfType::Auto, requires = "hf_path")]
    pub hf_type: HfType,

    /// Directory of its tokenizer [default: the model's]
    #[arg(long, value_name = "DIR")]
    pub tokenizer_path: Option<String>,

    /// Directory of an adapter (LoRA, DoRA) as `peft` saves it, merged into the weights
    #[arg(long, value_name = "DIR")]
    pub peft_path: Option<String>,

    /// For the model, as transformers has them
    #[arg(long, num_args = 1.., value_name = "K=V", value_parser = key_value)]
    pub model_kwargs: Vec<(String, String)>,

    /// padding_side=left truncation=left use_fast=False ...
    #[arg(long, num_args = 1.., value_name = "K=V", value_parser = key_value)]
    pub tokenizer_kwargs: Vec<(String, String)>,

    /// do_sample=True temperature=0.7 top_p=0.9 ...
    #[arg(long, num_args = 1.., value_name = "K=V", value_parser = key_value)]
    pub generation_kwargs: Vec<(String, String)>,

    /// Longest input in tokens
    #[arg(long, value_name = "N", value_parser = whole)]
    pub max_seq_len: Option<u32>,

    /// Tokens to generate where the data set does not say
    #[arg(long, value_name = "N", value_parser = whole)]
    pub max_out_len: Option<u32>,

    /// Fewest tokens to generate where the data set does not say
    #[arg(long, value_name = "N", value_parser = whole)]
    pub min_out_len: Option<u32>,

    /// Accepted; batches follow from the memory, and no score depends on them
    #[arg(long, value_name = "N")]
    pub batch_size: Option<String>,

    /// Accepted; nothing is padded
    #[arg(long)]
    pub no_batch_padding: bool,

    /// Whose formulas hold where they differ, for every model of the job [default: canonical, and `ll` data sets as OpenCompass]
    #[arg(long, value_name = "PROFILE", value_parser = ["canonical", "opencompass", "lm-eval-hf"])]
    pub profile: Option<String>,

    /// GPUs of one replica
    #[arg(long, alias = "hf-num-gpus", value_name = "N", value_parser = whole)]
    pub num_gpus: Option<u32>,

    /// Where models run. `cuda` needs a GPU and takes the checkpoint's own dtype where none is given; `cpu` leaves GPUs
    /// alone; `auto` takes a GPU where a worker has one
    #[arg(long, value_name = "DEVICE", value_parser = ["auto", "cpu", "cuda"])]
    pub device: Option<String>,

    /// Strings that end a generation
    #[arg(long, num_args = 1.., value_name = "TEXT")]
    pub stop_words: Option<Vec<String>>,
}

/// A data set by flags.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "A data set of your own")]
pub struct CustomArguments {
    /// A .jsonl or .csv file with the columns question, answer and, for multiple choice, A, B, C, ...
    #[arg(long, value_name = "FILE")]
    pub custom_dataset_path: Option<PathBuf>,

    /// What the columns do not tell, in JSON: abbr, data_type, infer_method, human_prompt, bot_prompt, options, test_range
    /// ... [default: FILE.meta.json, if it is there]
    #[arg(long, value_name = "FILE", requires = "custom_dataset_path")]
    pub custom_dataset_meta_path: Option<PathBuf>,

    /// Multiple choice, or questions and answers [default: by the columns]
    #[arg(long, value_name = "KIND", value_parser = ["mcq", "qa"], requires = "custom_dataset_path")]
    pub custom_dataset_data_type: Option<String>,

    /// Generate the answer, or compare options by perplexity [default: gen]
    #[arg(long, value_name = "METHOD", value_parser = ["gen", "ppl"], requires = "custom_dataset_path")]
    pub custom_dataset_infer_method: Option<String>,
}

impl ModelArguments {
    /// The model that is described, if one is.
    pub(super) fn hf(&self) -> Option<HfModel> {
        let kind = match self.hf_type {
            HfType::Auto => HfKind::Auto,
            HfType::Base => HfKind::Base,
            HfType::Chat => HfKind::Chat,
        };
        self.hf_path.clone().map(|path| HfModel { path, kind })
    }

    /// Returns what holds for every model.
    pub(super) fn flags(&self) -> ModelFlags {
        ModelFlags {
            tokenizer_path: self.tokenizer_path.clone(),
            peft_path: self.peft_path.clone(),
            max_seq_len: self.max_seq_len,
            max_out_len: self.max_out_len,
            min_out_len: self.min_out_len,
            batch_size: self.batch_size.clone(),
            profile: self.profile.clone(),
            num_gpus: self.num_gpus,
            device: self.device.clone(),
            stop_words: self.stop_words.clone(),
            model_kwargs: self.model_kwargs.clone(),
            tokenizer_kwargs: self.tokenizer_kwargs.clone(),
            generation_kwargs: self.generation_kwargs.clone(),
        }
    }
}

impl CustomArguments {
    /// The data set that is described, if one is. Its columns are those of its first row; a file that cannot be read has
    /// none, and is reported when it is looked for.
    pub(super) fn dataset(&self) -> Option<CustomDataset> {
        let path = self.custom_dataset_path.as_ref()?;
        let rows = compass_data::read(path).ok();
        let columns = rows.and_then(|rows| Some(rows.first()?.keys().cloned().collect()));
        Some(CustomDataset {
            path: path.display().to_string(),
            data_type: self.custom_dataset_data_type.clone(),
            infer_method: self.custom_dataset_infer_method.clone(),
            columns,
            meta: self.meta(path),
        })
    }
}

impl CustomArguments {
    fn meta(&self, data: &Path) -> Option<(String, Result<serde_json::Value, String>)> {
        let beside = || {
            let mut name = data.as_os_str().to_owned();
            name.push(".meta.json");
            Some(PathBuf::from(name)).filter(|path| path.exists())
        };
        let path = self.custom_dataset_meta_path.clone().or_else(beside)?;
        let read = regular_file::read_text(&path, regular_file::SMALL).map_err(|error| error.to_string());
        let read = read.and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()));
        Some((path.display().to_string(), read))
    }
}

fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write key=value".to_owned()),
    }
}
