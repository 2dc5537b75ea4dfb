//! Message for a command line that describes no job: it names every way to do so, not only a configuration.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The flag that is missed as the parser names it, and what may stand in its place.
const CONFIG: &str = "--config <FILE>";
const ANY_OF: &str = "one of --config <FILE>, --hf-path <DIR> and --models <ABBR>...";

/// The error with all the ways to describe a job, where it asks for the configuration alone.
pub(super) fn with_every_way(mut error: clap::Error) -> clap::Error {
    if error.kind() != ErrorKind::MissingRequiredArgument {
        return error;
    }
    if let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg).cloned() {
        let named = missing.into_iter().map(|flag| if flag == CONFIG { ANY_OF.to_owned() } else { flag });
        let named = ContextValue::Strings(named.collect());
        error.insert(ContextKind::InvalidArg, named);
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::arguments::Cli;
    use clap::Parser as _;

    #[test]
    fn data_sets_alone_are_told_every_way_to_a_model() {
        for line in [&["m", "--datasets", "piqa_ppl"][..], &["m", "submit"]] {
            let said = with_every_way(Cli::try_parse_from(line).unwrap_err()).to_string();
            assert!(said.contains(ANY_OF), "{said}");
        }
        let other = with_every_way(Cli::try_parse_from(["m", "compare", "a"]).unwrap_err()).to_string();
        assert!(other.contains("<RUN_B>"), "{other}");
    }
}
