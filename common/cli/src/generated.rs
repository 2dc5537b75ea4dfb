//! Completions and man pages, made from the definition of a command line.

use crate::version;
use clap::{Command, Subcommand};
use clap_complete::Shell;
use clap_mangen::Man;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Hidden commands that write what belongs to a program beside itself; `deploy/package.sh` calls them.
#[derive(Clone, Debug, Subcommand)]
pub enum Generated {
    /// Print the completions for a shell
    #[command(hide = true)]
    Completions {
        /// The shell that reads them
        shell: Shell,
    },
    /// Write the man pages, one of each command, into a folder
    #[command(hide = true)]
    ManPages {
        /// A folder that exists
        folder: PathBuf,
    },
}

impl Generated {
    /// Writes what was asked for, of the program with this command line.
    ///
    /// # Errors
    /// Standard output or a file of the folder cannot be written.
    pub fn write(&self, command: Command) -> io::Result<()> {
        match self {
            Self::Completions { shell } => io::stdout()
                .write_all(&completions(*shell, &command))
                .map_err(|error| named(&error, "to standard output")),
            Self::ManPages { folder } => write_man_pages(command, folder),
        }
    }
}

fn completions(shell: Shell, command: &Command) -> Vec<u8> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut shown(command), command.get_name(), &mut text);
    text
}

/// The command without hidden flags and commands, which clap_complete would offer.
fn shown(command: &Command) -> Command {
    let arguments = command.get_arguments().filter(|argument| !argument.is_hide_set()).cloned();
    let commands = command.get_subcommands().filter(|inner| !inner.is_hide_set()).map(shown);
    let about = command.get_about().cloned().unwrap_or_default();
    let shown = Command::new(command.get_name().to_owned()).about(about).args(arguments).subcommands(commands);
    match command.get_version() {
        Some(version) => shown.version(version.to_owned()),
        None => shown,
    }
}

fn write_man_pages(command: Command, folder: &Path) -> io::Result<()> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    write_with_commands(&command, folder)
}

/// Writes the page of a built command, and the pages of its commands that are not hidden.
fn write_with_commands(command: &Command, folder: &Path) -> io::Result<()> {
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        write_with_commands(inner, folder)?;
    }
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let man = Man::new(command.clone()).title(name).source(version()).manual("Compass");
    let mut page = Vec::new();
    man.render(&mut page)?;
    let path = folder.join(man.get_filename());
    fs::write(&path, readable(&String::from_utf8_lossy(&page))).map_err(|error| named(&error, &path.to_string_lossy()))
}

/// The error with what could not be written.
fn named(error: &io::Error, what: &str) -> io::Error {
    io::Error::new(error.kind(), format!("cannot write {what}: {error}"))
}

/// The page with its examples shown line by line, in a section of a name that man pages use, and with the missing date in quotes,
/// without which the version takes the place of the date.
fn readable(page: &str) -> String {
    let mut text = String::new();
    let mut within = false;
    for line in page.lines() {
        if within && line.starts_with(".SH ") {
            text.push_str(".fi\n");
            within = false;
        }
        if line == ".SH EXTRA" {
            text.push_str(".SH NOTES\n.nf\n");
            within = true;
            continue;
        }
        match line.strip_prefix(".TH ") {
            Some(title) => text.push_str(&format!(".TH {}", title.replacen(" 1  ", " 1 \"\" ", 1))),
            None => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory, Parser};

    /// Plays.
    #[derive(Debug, Parser)]
    #[command(name = "player", version = "1", after_help = "Examples:\n  player play   a song\n  player stop")]
    struct Player {
        #[command(subcommand)]
        command: PlayerCommand,
    }

    #[derive(Debug, Subcommand)]
    enum PlayerCommand {
        /// Plays a song
        Play {
            /// Its volume
            #[arg(long)]
            volume: Option<u32>,
            #[arg(long, hide = true)]
            rehearsal: bool,
        },
        #[command(flatten)]
        Generated(Generated),
    }

    #[test]
    fn completions_know_commands_and_flags_and_not_what_is_hidden() {
        Player::command().debug_assert();
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let text = String::from_utf8(completions(shell, &Player::command())).unwrap();
            assert!(text.contains("player") && text.contains("play") && text.contains("volume"), "{shell}: {text}");
            assert!(!text.contains("rehearsal") && !text.contains("man-pages"), "{shell}: {text}");
        }
    }

    #[test]
    fn man_pages_are_of_all_visible_commands() {
        let folder = tempfile::tempdir().unwrap();
        Generated::ManPages { folder: folder.path().to_owned() }.write(Player::command()).unwrap();
        let mut names: Vec<String> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        assert_eq!(names, ["player-play.1", "player.1"]);
        let page = fs::read_to_string(folder.path().join("player.1")).unwrap();
        assert!(page.contains(".SH NOTES\n.nf\nExamples:\n  player play   a song\n"), "{page}");
        assert!(page.contains("\n.fi\n.SH VERSION\n"), "{page}");
        let page = fs::read_to_string(folder.path().join("player-play.1")).unwrap();
        assert!(page.contains("\n.TH player-play 1 \"\" "), "{page}");
        let missing = Generated::ManPages { folder: folder.path().join("missing") };
        assert_eq!(missing.write(Player::command()).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
