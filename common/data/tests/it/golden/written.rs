//! Templates as an evaluation's TOML writes them, read by the configuration's own reader.

use compass_config::{Overrides, load};
use compass_plan::prompt::{Prompt, RenderedDataset, Row, Shot, render};
use compass_settings::DatasetConfig;
use serde_json::Value;

/// A data set of the given `infer_cfg`, the lines of that table, and gold answers in `output`.
pub(super) fn dataset(output: &str, infer_cfg: &str) -> DatasetConfig {
    let folder = tempfile::tempdir().unwrap();
    // What judges it does not matter here, but it must fit.
    let said = infer_cfg.contains("target = ") && infer_cfg.contains("\"loglikelihood\"");
    let evaluator = if infer_cfg.contains("\"rolling\"") || said { "perplexity" } else { "acc" };
    let toml = format!(
        "[[model]]\nabbr = \"m\"\ntype = \"echo\"\n[[dataset]]\nabbr = \"d\"\n\
         reader_cfg = {{ input_columns = [\"x\"], output_column = \"{output}\" }}\n\
         test = {{ path = \"rows.jsonl\" }}\ntrain = {{ path = \"rows.jsonl\" }}\neval_cfg = {{ evaluator = \"{evaluator}\" }}\n\
         [dataset.infer_cfg]\n{infer_cfg}"
    );
    for (file, text) in [("eval.toml", toml.as_str()), ("rows.jsonl", "{}")] {
        std::fs::write(folder.path().join(file), text).unwrap();
    }
    let overrides = Overrides { home: Some(folder.path().into()), ..Overrides::default() };
    let loaded = load(Some(&folder.path().join("eval.toml")), &overrides);
    loaded.unwrap_or_else(|errors| panic!("{errors}\n{toml}")).config.datasets.remove(0)
}

/// Renders it.
pub(super) fn rendered(dataset: &DatasetConfig, test: &[Row], train: &[Row]) -> RenderedDataset {
    let gold = dataset.output_column.as_deref();
    let rendered = render(&dataset.prompt, &dataset.infer, gold, &dataset.retriever, &test.to_vec(), &train.to_vec());
    rendered.unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// Returns the prompt that the model without a meta template read, all shots in place, as OpenCompass prints it.
pub(super) fn printed(rendered: &RenderedDataset, prompt: &Prompt, shots: &[&Shot], dataset: &DatasetConfig) -> Value {
    prompt.render_for(shots, &rendered.format, None, dataset.infer.prompt_mode()).printed()
}

/// A TOML basic string.
pub(super) fn quoted(text: &str) -> String {
    toml_string(text)
}

fn toml_string(text: &str) -> String {
    // JSON's escapes are TOML's, all but the solidus, which serde_json leaves alone.
    serde_json::to_string(text).unwrap()
}
