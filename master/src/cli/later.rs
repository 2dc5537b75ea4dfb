//! Parts of the contract's command line that a later version serves.

use compass_diagnostic::Diagnostic;

/// Flags and commands that are known by name and served by a later version.
const NOT_YET: &[(&str, &str)] = &[
    ("--lark", "watch the exit code, or logs/run.json"),
    ("-l", "it is short for --lark"),
    ("--dump-res-length", "logs/run.json counts tokens"),
    ("--dump-extract-rate", "results/ list the samples without an answer"),
    ("--analysis-repeat", "look at predictions/"),
];

/// OpenCompass's flags for which there is no use here, with the reason.
const NEVER: &[(&str, &str)] = &[
    ("--peft-kwargs", "remove it: an adapter is merged when it is loaded, as its adapter_config.json says"),
    ("-a", "it is short for --accelerator"),
    ("--accelerator", "remove it: the engine that is included batches and shares prefixes by itself"),
    ("--config-dir", "presets come with the program; name further files in `include`"),
    ("--config-verbose", "the resolved configuration stands in configs/ of the run"),
    ("--pad-token-id", "remove it: nothing is padded"),
    ("-sp", "it is short for --station-path"),
    ("--station-path", "runs are resumed by content with -r; copy the run folder to share it"),
    ("--station-overwrite", "it belongs to --station-path"),
    ("--read-from-station", "score the run again: -m eval -r RUN"),
    ("--dump-only-message-path", "`compass-master datasets NAME` shows a rendered sample; plan/ holds every prompt"),
];

/// The message for the first argument that a later version will serve, if there is one.
pub fn not_yet(arguments: &[String]) -> Option<Diagnostic> {
    let refusal = |message: String, help: &str| Some(Diagnostic::error(message).with_help(help));
    for (at, argument) in arguments.iter().enumerate().skip(1) {
        let name = argument.split('=').next().unwrap_or_default();
        // A word without dashes is a command only in first place; elsewhere it is some flag's value.
        let known = NOT_YET.iter().find(|(known, _)| *known == name && (name.starts_with('-') || at == 1));
        if let Some((name, instead)) = NEVER.iter().find(|(known, _)| *known == name) {
            return refusal(format!("there is no `{name}`"), instead);
        }
        if let Some((name, instead)) = known {
            return refusal(format!("`{name}` is not yet supported"), instead);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn later_flags_are_refused_by_name() {
        let said = |line: &str| not_yet(&words(line)).unwrap().to_string();
        assert_eq!(
            said("m --config e.toml --lark"),
            "error: `--lark` is not yet supported\n  = help: watch the exit code, or logs/run.json"
        );
        assert!(not_yet(&words("m token list")).is_none());
        assert!(not_yet(&words("m --config e.toml --models token")).is_none());
        assert!(not_yet(&words("m serve")).is_none());
        assert!(said("m --config e.toml -a vllm").contains("there is no `-a`"));
        assert!(not_yet(&words("m eval_demo.py --slurm")).is_none());
    }
}
