//! The command line with which a run goes on: as it was typed, without what names another run.

use compass_launch::quoted;

/// Flags that are left out: a resumed run is named by its own `-r`.
const REUSE: [&str; 2] = ["-r", "--reuse"];
/// Flags that are left out of `submit`, too: the run continues where no server is.
const OF_SUBMIT: [&str; 5] = ["-r", "--reuse", "--wait", "--priority", "--state-dir"];
/// The flag among these that has no value.
const WITHOUT_VALUE: &str = "--wait";

/// The command line of this process for a shell, the program by its name, so that `-r RUN` may follow.
pub(super) fn command_line(words: impl IntoIterator<Item = String>) -> String {
    let mut words = words.into_iter().skip(1).peekable();
    let left_out: &[&str] = if words.next_if(|word| word == "submit").is_some() { &OF_SUBMIT } else { &REUSE };
    let mut line = "compass-master".to_owned();
    while let Some(word) = words.next() {
        // No other flag begins like one of these, and no value with a dash.
        if left_out.iter().any(|flag| word.starts_with(flag)) {
            if left_out.contains(&word.as_str()) && word != WITHOUT_VALUE {
                let _ = words.next_if(|value| !value.starts_with('-'));
            }
        } else if word == "--" {
            // Behind it only the file may stand, and no flag could follow.
            line.extend(words.next().map(|file| format!(" {}", quoted(&format!("--config={file}")))));
        } else {
            line.push(' ');
            line.push_str(&quoted(&word));
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &[&str]) -> String {
        command_line(["/opt/bin/compass-master"].iter().chain(words).map(|word| (*word).to_owned()))
    }

    #[test]
    fn every_flag_is_kept_as_a_shell_takes_it() {
        assert_eq!(
            line(&["h.toml", "--limit", "1900", "--datasets", "g", "--debug", "-w", "out h"]),
            "compass-master h.toml --limit 1900 --datasets g --debug -w 'out h'"
        );
        assert_eq!(
            line(&["--hf-path", "it's", "--datasets", "a*"]),
            "compass-master --hf-path 'it'\\''s' --datasets 'a*'"
        );
        assert_eq!(line(&["--datasets", "a", "--", "-e.toml"]), "compass-master --datasets a --config=-e.toml");
        assert_eq!(line(&["watch", "runs", "--config", "e.toml"]), "compass-master watch runs --config e.toml");
    }

    #[test]
    fn the_run_that_was_named_is_left_out() {
        for reuse in
            [&["-r"][..], &["-r", "20260101_000000"], &["-r20260101_000000"], &["--reuse=latest"], &["--reuse"]]
        {
            assert_eq!(line(&[reuse, &["-c", "e.toml"]].concat()), "compass-master -c e.toml", "{reuse:?}");
            assert_eq!(line(&[&["-c", "e.toml"], reuse].concat()), "compass-master -c e.toml", "{reuse:?}");
        }
    }

    #[test]
    fn a_job_of_a_server_goes_on_without_one() {
        let submitted = ["submit", "--wait", "e.toml", "--priority", "3", "--state-dir=s", "--retry", "1", "-r"];
        assert_eq!(line(&submitted), "compass-master e.toml --retry 1");
    }
}
