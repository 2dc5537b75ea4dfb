//! `compass-master datasets`: the presets, and one of them in full.

use super::planner::rendered_sample;
use compass_config::{Preset, model_presets, preset_datasets, preset_later, presets};
use compass_diagnostic::Diagnostic;
use std::fmt::Write as _;
use std::path::Path;

/// One line for each preset.
pub fn list_presets() -> String {
    let all = presets();
    let width = all.iter().map(|preset| shown_name(preset).chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for preset in &all {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:width$}  {}", shown_name(preset), preset.about);
    }
    let _ = writeln!(text, "{} presets; `compass-master datasets NAME` shows one", all.len());
    text
}

/// One line for each model that comes by name.
pub fn list_models() -> String {
    let all = model_presets();
    let width = all.iter().map(|model| model.name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for model in &all {
        let chat = if model.chat { "  (chat)" } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:width$}  {}{chat}", model.name, model.path);
    }
    let _ = writeln!(
        text,
        "{} models; they are looked for in the local cache of the hub (HF_HOME, HF_HUB_CACHE)",
        all.len()
    );
    text
}

/// The name that people type first, and the one that names the prompt.
fn shown_name(preset: &Preset) -> String {
    match preset.aliases.first() {
        Some(alias) => format!("{alias} ({})", preset.name),
        None => preset.name.clone(),
    }
}

/// What a preset evaluates, where its data comes from and whether it is there, and its first sample as it would be asked.
///
/// # Errors
/// There is no such preset.
pub fn show_preset(name: &str, data_dir: Option<&Path>) -> Result<String, Diagnostic> {
    let all = presets();
    let known = |preset: &&Preset| preset.name == name || preset.aliases.iter().any(|alias| alias == name);
    let (Some(preset), Some(datasets)) = (all.iter().find(known), preset_datasets(name, data_dir)) else {
        if let Some((why, meanwhile)) = preset_later(name) {
            return Err(Diagnostic::error(format!("`{name}` is not yet supported: {why}")).with_help(meanwhile));
        }
        let help = "`compass-master datasets` lists them all";
        return Err(Diagnostic::error(format!("there is no preset `{name}`")).with_help(help));
    };
    let mut text = format!("{}\n{}\ndata: {}\n", shown_name(preset), preset.about, preset.source);
    let datasets = match datasets {
        Ok(datasets) => datasets,
        Err(missing) => {
            let _ =
                writeln!(text, "\nnot to be evaluated here yet (--data-dir names the folder of the data):\n{missing}");
            return Ok(text);
        }
    };
    let names: Vec<&str> = datasets.iter().map(|dataset| dataset.abbr.as_str()).collect();
    let _ = writeln!(text, "{} data sets: {}", names.len(), names.join(", "));
    let Some(first) = datasets.into_iter().next() else { return Ok(text) };
    let _ = writeln!(text, "\nthe first sample of {}, {}:", first.abbr, first.infer.mode());
    match rendered_sample(first) {
        Ok(sample) => text.push_str(&sample),
        Err(faults) => text.push_str(&faults.to_string()),
    }
    Ok(text)
}
