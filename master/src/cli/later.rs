//! What the command line of the contract names and a later version serves.

/// Flags and commands that are known by name and served by a later version.
const NOT_YET: &[(&str, &str)] = &[
    ("--slurm", "use [infer.runner] type = \"local\", or \"none\" and start compass-worker under srun yourself"),
    ("-p", "it belongs to --slurm"),
    ("--partition", "it belongs to --slurm"),
    ("-q", "it belongs to --slurm"),
    ("--quotatype", "it belongs to --slurm"),
    ("--qos", "it belongs to --slurm"),
    ("--dlc", "use [infer.runner] type = \"none\" and start compass-worker yourself"),
    ("--aliyun-cfg", "it belongs to --dlc"),
    ("--max-gpus", "bound the replicas with --max-num-workers"),
    ("serve", "run one job with --config"),
    ("submit", "run one job with --config"),
    ("status", "the run prints its progress"),
    ("cancel", "stop the run with Ctrl-C"),
    ("explain", "the log of the run says what it waits for"),
    ("token", "masters listen on loopback only"),
];

/// The message for the first argument that a later version will serve, if there is one.
pub fn not_yet(arguments: &[String]) -> Option<String> {
    for (at, argument) in arguments.iter().enumerate().skip(1) {
        let name = argument.split('=').next().unwrap_or_default();
        // A word without dashes is a command only in first place; elsewhere it is some flag's value.
        let known = NOT_YET.iter().find(|(known, _)| *known == name && (name.starts_with('-') || at == 1));
        if let Some((name, instead)) = known {
            return Some(format!("error: `{name}` is not yet supported\n  = help: {instead}"));
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
        assert!(not_yet(&words("m --config e.toml --slurm -p x")).unwrap().contains("`--slurm` is not yet supported"));
        assert!(not_yet(&words("m serve")).unwrap().contains("`serve`"));
        assert!(not_yet(&words("m --config e.toml --models serve status")).is_none());
    }
}
