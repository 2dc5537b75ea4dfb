//! `compass-master datasets` and `models`: what ships with the program, and one of the data sets in full.

use compass_cli::wrapping::wrapped_text;
use compass_common::words::counted;
use compass_config::{Preset, model_presets, preset_datasets, preset_later, presets};
use compass_diagnostic::spelling::nearest;
use compass_diagnostic::{Diagnostic, Diagnostics};
use compass_planning::rendered_sample;
use std::fmt::Write as _;
use std::path::Path;

/// Indent of lines that are broken.
const INDENT: usize = 4;

/// One line for each preset that a filter means, no wider than `width`; without filters for all. `matches` says whether a filter
/// means a name.
///
/// # Errors
/// A filter means none.
pub fn list_presets<F: AsRef<str>>(
    filters: &[F],
    matches: impl Fn(&F, &str) -> bool,
    width: Option<usize>,
) -> Result<String, Diagnostic> {
    let all = presets();
    let names = |preset: &Preset| preset.aliases.iter().chain([&preset.name]).cloned().collect::<Vec<String>>();
    let known: Vec<String> = all.iter().flat_map(names).collect();
    refuse_empty(filters, &matches, &known, "data set", "datasets")?;
    let is_meant = |name: &String| filters.is_empty() || filters.iter().any(|filter| matches(filter, name));
    let meant = all.iter().filter(|preset| names(preset).iter().any(is_meant));
    let meant: Vec<(String, &str)> = meant.map(|preset| (shown_name(preset), preset.about.as_str())).collect();
    let closing = match meant.len() == all.len() {
        true => format!("{} presets; `compass-master datasets NAME` shows one", all.len()),
        false => format!("{} of {} presets; `compass-master datasets NAME` shows one", meant.len(), all.len()),
    };
    Ok(listed(&meant, width) + &wrapped_text(&(closing + "\n"), width, INDENT))
}

/// One line for each model that comes by name and that a filter means, as for [`list_presets`].
///
/// # Errors
/// A filter means none.
pub fn list_models<F: AsRef<str>>(
    filters: &[F],
    matches: impl Fn(&F, &str) -> bool,
    width: Option<usize>,
) -> Result<String, Diagnostic> {
    let all = model_presets();
    let known: Vec<String> = all.iter().map(|model| model.name.clone()).collect();
    refuse_empty(filters, &matches, &known, "model", "models")?;
    let is_meant = |name: &str| filters.is_empty() || filters.iter().any(|filter| matches(filter, name));
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
    let closing = format!("{count}; looked for in the local cache of the hub (HF_HOME, HF_HUB_CACHE)\n");
    Ok(listed(&meant, width) + &wrapped_text(&closing, width, INDENT))
}

/// Refuses the first filter that means none of the names.
fn refuse_empty<F: AsRef<str>>(
    filters: &[F],
    matches: impl Fn(&F, &str) -> bool,
    known: &[String],
    what: &str,
    command: &str,
) -> Result<(), Diagnostic> {
    let empty = filters.iter().find(|filter| !known.iter().any(|name| matches(filter, name)));
    let Some(filter) = empty.map(AsRef::as_ref) else { return Ok(()) };
    if let Some((why, meanwhile)) = preset_later(filter).filter(|_| command == "datasets") {
        return Err(Diagnostic::error(format!("`{filter}` is not yet supported: {why}")).with_help(meanwhile));
    }
    let near = nearest(filter, known.iter().map(String::as_str));
    let help = near
        .map_or_else(|| format!("`compass-master {command}` lists them all"), |near| format!("did you mean `{near}`?"));
    Err(Diagnostic::error(format!("no {what} is called like `{filter}`")).with_help(help))
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

/// Describes what a preset evaluates, where its data comes from and whether it is there, and its first sample as it would be asked;
/// `None` where no preset is called `name`. Lines that are wider than `width` are broken, but for the sample.
pub fn show_preset(name: &str, data_dir: Option<&Path>, width: Option<usize>) -> Option<String> {
    let all = presets();
    let preset = all.iter().find(|preset| preset.name == name || preset.aliases.iter().any(|alias| alias == name))?;
    let datasets = preset_datasets(name, data_dir)?;
    let mut text = format!("{}\n{}\ndata: {}\n", shown_name(preset), preset.about, preset.source);
    let datasets = match datasets {
        Ok(datasets) => datasets,
        Err(missing) => {
            text.push_str("\nnot to be evaluated here yet (--data-dir names the folder of the data):\n");
            text.push_str(&what_lacks(&missing));
            return Some(wrapped_text(&text, width, INDENT));
        }
    };
    let names: Vec<&str> = datasets.iter().map(|dataset| dataset.abbr.as_str()).collect();
    let _ = writeln!(text, "{}: {}", counted(names.len() as u64, "data set"), names.join(", "));
    let Some(first) = datasets.into_iter().next() else { return Some(wrapped_text(&text, width, INDENT)) };
    let _ = writeln!(text, "\nthe first sample of {}, {}:", first.abbr, first.infer.mode());
    let text = wrapped_text(&text, width, INDENT);
    Some(match rendered_sample(first) {
        Ok(sample) => text + &sample,
        Err(faults) => text + &wrapped_text(&what_lacks(&faults), width, INDENT),
    })
}

/// A line for each kind of fault with its remedy below: of faults that differ in what they quote alone, the first and how many
/// there are.
fn what_lacks(faults: &Diagnostics) -> String {
    let mut kinds: Vec<(String, &Diagnostic, usize)> = Vec::new();
    for fault in faults.iter() {
        // Every other piece between backquotes is quoted.
        let kind: String = fault.message.split('`').step_by(2).collect::<Vec<_>>().join("`");
        match kinds.iter_mut().find(|(known, ..)| *known == kind) {
            Some((.., count)) => *count += 1,
            None => kinds.push((kind, fault, 1)),
        }
    }
    let mut text = String::new();
    for (_, fault, count) in kinds {
        let more = match count {
            1 => String::new(),
            _ => format!(", and {} more of this kind", count - 1),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}{more}", fault.message);
        if let Some(help) = &fault.help {
            let _ = writeln!(text, "  help: {help}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(filter: &&str, name: &str) -> bool {
        name.contains(*filter)
    }

    #[test]
    fn filters_and_the_width_of_the_terminal() {
        let none: [&str; 0] = [];
        let text = list_presets(&["mmlu", "siqa"], contains, Some(80)).unwrap();
        assert!(text.lines().count() > 3 && text.contains(" of ") && text.contains("siqa"), "{text}");
        assert!(!text.contains("gsm8k"), "{text}");
        for text in [
            list_presets(&none, contains, Some(80)).unwrap(),
            list_models(&none, contains, Some(80)).unwrap(),
            list_models(&["llama"], contains, Some(80)).unwrap(),
            show_preset("mmlu_gen", Some(Path::new("/nowhere")), Some(80)).unwrap(),
        ] {
            for line in text.lines() {
                assert!(line.chars().count() <= 80, "{line}");
            }
        }
        let models = list_models(&["qwen"], contains, None).unwrap();
        assert!(models.contains("qwen") && !models.contains("llama"), "{models}");
    }

    #[test]
    fn a_filter_that_means_nothing_is_refused_with_the_nearest_name() {
        let said = |result: Result<String, Diagnostic>| result.unwrap_err().to_string();
        assert_eq!(
            said(list_models(&["qwen", "zzz"], contains, None)),
            "error: no model is called like `zzz`\n  = help: `compass-master models` lists them all"
        );
        assert_eq!(
            said(list_presets(&["mmlu_gne"], contains, None)),
            "error: no data set is called like `mmlu_gne`\n  = help: did you mean `mmlu_gen`?"
        );
    }

    #[test]
    fn faults_of_a_kind_are_one_line() {
        let text = show_preset("mmlu_gen", Some(Path::new("/nowhere")), None).unwrap();
        assert_eq!(text.matches("no file `").count(), 1, "{text}");
        assert!(text.contains(".csv`, and 56 more of this kind\n  help: looked for `/nowhere/"), "{text}");
        assert!(!text.contains("nothing was started") && !text.contains("error"), "{text}");
        assert!(show_preset("nosuch", None, None).is_none());
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
