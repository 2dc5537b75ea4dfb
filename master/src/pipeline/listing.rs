//! `compass-master datasets`: the presets, and one of them in full.

use super::dataset_plan::rendered_sample;
use compass_common::words::counted;
use compass_config::{Preset, model_presets, preset_datasets, preset_later, presets};
use compass_diagnostic::Diagnostic;
use std::fmt::Write as _;
use std::path::Path;

/// One line for each preset of which `is_meant` says yes, no wider than `width`; empty where there is none.
pub fn list_presets(is_meant: impl Fn(&str) -> bool, width: Option<usize>) -> String {
    let all = presets();
    let names = |preset: &Preset| preset.aliases.iter().chain([&preset.name]).any(|name| is_meant(name));
    let meant: Vec<(String, &str)> =
        all.iter().filter(|preset| names(preset)).map(|preset| (shown_name(preset), preset.about.as_str())).collect();
    if meant.is_empty() {
        return String::new();
    }
    let closing = match meant.len() == all.len() {
        true => format!("{} presets; `compass-master datasets NAME` shows one", all.len()),
        false => format!("{} of {} presets; `compass-master datasets NAME` shows one", meant.len(), all.len()),
    };
    listed(&meant, width) + &closing + "\n"
}

/// One line for each model that comes by name and of which `is_meant` says yes, no wider than `width`.
pub fn list_models(is_meant: impl Fn(&str) -> bool, width: Option<usize>) -> String {
    let all = model_presets();
    let about = |path: &str, chat: bool| if chat { format!("{path}  (chat)") } else { path.to_owned() };
    let meant: Vec<(String, String)> = all
        .iter()
        .filter(|model| is_meant(&model.name))
        .map(|model| (model.name.clone(), about(&model.path, model.chat)))
        .collect();
    let count = match meant.len() == all.len() {
        true => counted(all.len() as u64, "model"),
        false => format!("{} of {}", meant.len(), counted(all.len() as u64, "model")),
    };
    listed(&meant, width) + &format!("{count}; looked for in the local cache of the hub (HF_HOME, HF_HUB_CACHE)\n")
}

/// Names with what they are, beside one another where that fits, else below.
fn listed(lines: &[(String, impl AsRef<str>)], width: Option<usize>) -> String {
    let longest = lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    // Few names are as long as the longest: on a terminal these do not set the others in.
    let column = longest.min(width.map_or(longest, |width| width / 2));
    let word = lines.iter().flat_map(|(_, about)| about.as_ref().split(' ')).map(|word| word.chars().count()).max();
    // What stands below is set in less where a word would not fit beside.
    let indent = match width {
        Some(width) if column + 2 + word.unwrap_or(0) > width => 4,
        _ => column + 2,
    };
    let mut text = String::new();
    for (name, about) in lines {
        let mut line = format!("{name:column$}  ");
        let mut used = name.chars().count().max(column) + 2;
        for word in about.as_ref().split(' ') {
            let length = word.chars().count();
            if width.is_some_and(|width| used + length > width) && used > indent {
                text.push_str(line.trim_end());
                text.push('\n');
                line = " ".repeat(indent);
                used = indent;
            }
            line.push_str(word);
            line.push(' ');
            used += length + 1;
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
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
    let _ = writeln!(text, "{}: {}", counted(names.len() as u64, "data set"), names.join(", "));
    let Some(first) = datasets.into_iter().next() else { return Ok(text) };
    let _ = writeln!(text, "\nthe first sample of {}, {}:", first.abbr, first.infer.mode());
    match rendered_sample(first) {
        Ok(sample) => text.push_str(&sample),
        Err(faults) => text.push_str(&faults.to_string()),
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_and_the_width_of_the_terminal() {
        let text = list_presets(|name| name.contains("mmlu"), Some(80));
        assert!(text.lines().count() > 3 && text.contains(" of ") && !text.contains("piqa"), "{text}");
        for text in [list_presets(|_| true, Some(80)), list_models(|_| true, Some(80))] {
            for line in text.lines() {
                assert!(line.chars().count() <= 80, "{line}");
            }
        }
        assert!(list_presets(|_| false, None).is_empty());
        let models = list_models(|name| name.contains("qwen"), None);
        assert!(models.contains("qwen") && !models.contains("llama"), "{models}");
    }

    #[test]
    fn what_does_not_fit_beside_stands_below() {
        let lines = [("short".to_owned(), "one two three"), ("a-very-long-name".to_owned(), "four")];
        assert_eq!(listed(&lines, None), "short             one two three\na-very-long-name  four\n");
        assert_eq!(
            listed(&lines, Some(20)),
            "short       one two\n            three\na-very-long-name\n            four\n"
        );
    }
}
