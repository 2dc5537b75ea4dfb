//! The worker's command line, as every launcher has it run.
//!
//! Nothing secret stands in it: `ps` shows it to every user. Tokens reach workers through files.

use std::path::PathBuf;
use tokio::sync::watch;

/// Choice whether a stage runs programs that a model wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Programs {
    /// It does not: agents need not look for a sandbox.
    None,
    /// Runs model-written programs only inside a working sandbox.
    Contained,
    /// It does, as plain processes where no isolation works.
    Unsafe,
}

/// Addresses where workers find the master that launches them, and the masters that stand by for it.
#[derive(Clone, Debug)]
pub struct MasterAddresses {
    own: String,
    /// As far as they are known by now.
    others: Option<watch::Receiver<Vec<String>>>,
}

impl MasterAddresses {
    /// One master, at `host:port`.
    pub fn alone(own: impl Into<String>) -> Self {
        Self { own: own.into(), others: None }
    }

    /// A master, and others that may lead after it.
    pub fn with_others(own: impl Into<String>, others: watch::Receiver<Vec<String>>) -> Self {
        Self { own: own.into(), others: Some(others) }
    }

    /// All of them, as `--master` takes them: this one first.
    pub fn told(&self) -> String {
        let others = self.others.as_ref().map(|others| others.borrow().clone()).unwrap_or_default();
        let others = others.into_iter().filter(|other| *other != self.own);
        std::iter::once(self.own.clone()).chain(others).collect::<Vec<_>>().join(",")
    }

    /// Returns whether a worker that was told these addresses finds this master.
    pub(super) fn are_found_by(&self, told: &str) -> bool {
        told.split(',').any(|address| address == self.own)
    }
}

/// Worker's command line, as every launcher has it run.
#[derive(Clone, Debug)]
pub struct WorkerCommand {
    pub binary: PathBuf,
    pub master: MasterAddresses,
    /// Replicas that one agent runs.
    pub slots: u32,
    /// `auto`, `cpu` or `cuda:N`.
    pub device: String,
    /// Terms for programs that a model wrote, as the agent is told them.
    pub programs: Programs,
    /// The `[[pool]]` that it works for; `None` where there are none.
    pub pool: Option<String>,
}

impl WorkerCommand {
    /// The words of the command line; without a name, the worker takes one from its host or its launcher's environment.
    pub fn words(&self, name: Option<&str>) -> Vec<String> {
        let (slots, master) = (self.slots.to_string(), self.master.told());
        let mut line = vec![self.binary.display().to_string()];
        for (flag, value) in [("--master", &master), ("--device", &self.device), ("--slots", &slots)] {
            line.extend([flag.to_owned(), value.clone()]);
        }
        for (flag, value) in [("--name", name), ("--pool", self.pool.as_deref())] {
            line.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value.to_owned()]));
        }
        match self.programs {
            Programs::None => line.push("--no-sandbox".into()),
            Programs::Contained => {}
            Programs::Unsafe => line.push("--unsafe-local-exec".into()),
        }
        line
    }

    /// The same for a POSIX shell: every word that needs it is quoted.
    pub fn shell_line(&self, name: Option<&str>) -> String {
        self.words(name).iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }
}

/// A word as a POSIX shell takes it for itself.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn a_shell_takes_quoted_words_for_what_they_were(words in proptest::collection::vec("[^\u{0}]{0,12}", 1..5)) {
            let line: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            let script = format!("printf '%s\\0' {}", line.join(" "));
            let output = std::process::Command::new("sh").arg("-c").arg(script).output().unwrap();
            let expected: String = words.iter().map(|word| format!("{word}\0")).collect();
            prop_assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
        }
    }

    #[test]
    fn workers_are_told_of_every_master_that_is_known() {
        let (known, others) = watch::channel(Vec::new());
        let masters = MasterAddresses::with_others("head1:1", others);
        assert_eq!(masters.told(), "head1:1");
        known.send_replace(vec!["head2:1".into(), "head1:1".into()]);
        assert_eq!(masters.told(), "head1:1,head2:1");
        assert!(MasterAddresses::alone("head2:1").are_found_by(&masters.told()));
        assert!(!MasterAddresses::alone("head2:11").are_found_by(&masters.told()));
    }

    #[test]
    fn the_line_names_what_is_known() {
        let command = WorkerCommand {
            binary: "/opt/it's here/compass-worker".into(),
            master: MasterAddresses::alone("head:1"),
            slots: 2,
            device: "cpu".into(),
            programs: Programs::None,
            pool: Some("s".into()),
        };
        let expected =
            r"'/opt/it'\''s here/compass-worker' --master head:1 --device cpu --slots 2 --name w --pool s --no-sandbox";
        assert_eq!(command.shell_line(Some("w")), expected);
    }
}
