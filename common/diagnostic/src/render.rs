//! Findings as a person reads them.
//!
//! An excerpt of a file is drawn by `annotate-snippets`: it marks what is meant whatever the width of the characters
//! before it, shows of a very long line a window, and makes control characters visible. Without an excerpt it would still
//! draw a gutter, an empty one, so those few lines are written here.

use super::diagnostic::{Diagnostic, Origin, Severity, Snippet};
use super::diagnostics::Diagnostics;
use annotate_snippets::renderer::{
    DEFAULT_ERROR_STYLE, DEFAULT_HELP_STYLE, DEFAULT_NOTE_STYLE, DEFAULT_WARNING_STYLE, Style,
};
use annotate_snippets::{AnnotationKind, Level, Renderer};
use std::fmt;

/// Use of colours, which a text for a terminal may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colour {
    #[default]
    Never,
    Always,
}

impl Colour {
    fn paint(self, style: Style, text: &str) -> String {
        match self {
            Self::Never => text.to_owned(),
            Self::Always => format!("{style}{text}{style:#}"),
        }
    }
}

impl Severity {
    fn level(self) -> Level<'static> {
        match self {
            Self::Error => Level::ERROR,
            Self::Warning => Level::WARNING,
            Self::Note => Level::NOTE,
        }
    }

    fn painted(self, colour: Colour) -> String {
        match self {
            Self::Error => colour.paint(DEFAULT_ERROR_STYLE, "error"),
            Self::Warning => colour.paint(DEFAULT_WARNING_STYLE, "warning"),
            Self::Note => colour.paint(DEFAULT_NOTE_STYLE, "note"),
        }
    }
}

impl Diagnostic {
    /// The text of the finding, without an end of line.
    pub fn render(&self, colour: Colour) -> String {
        match self.place.as_deref() {
            Some((origin, snippet)) => self.with_excerpt(origin, snippet, colour),
            None => self.without_excerpt(colour),
        }
    }

    fn with_excerpt(&self, origin: &Origin, snippet: &Snippet, colour: Colour) -> String {
        let path = origin.file.display().to_string();
        // A span of bytes that no character has would end the program.
        let marked = match snippet.line.get(snippet.marked.clone()) {
            Some(_) => snippet.marked.clone(),
            None => 0..0,
        };
        let excerpt = annotate_snippets::Snippet::source(snippet.line.as_str())
            .path(path.as_str())
            .line_start(origin.line)
            .annotation(AnnotationKind::Primary.span(marked));
        let mut report = self.severity.level().primary_title(self.message.as_str()).element(excerpt);
        for (label, text) in &self.facts {
            report = report.element(Level::NOTE.with_name(label.as_ref()).message(text.as_str()));
        }
        if let Some(help) = &self.help {
            report = report.element(Level::HELP.message(help.as_str()));
        }
        let renderer = match colour {
            Colour::Never => Renderer::plain(),
            Colour::Always => Renderer::styled().hyperlink(false),
        };
        renderer.render(&[report])
    }

    fn without_excerpt(&self, colour: Colour) -> String {
        let mut text = format!("{}: {}", self.severity.painted(colour), self.message);
        for (label, fact) in &self.facts {
            text.push_str(&format!("\n  = {}: {fact}", colour.paint(DEFAULT_NOTE_STYLE, label)));
        }
        if let Some(help) = &self.help {
            text.push_str(&format!("\n  = {}: {help}", colour.paint(DEFAULT_HELP_STYLE, "help")));
        }
        text
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Colour::Never))
    }
}

impl Diagnostics {
    /// Renders all findings, without an end of line; an empty line separates them if any shows an excerpt of a file.
    pub fn render(&self, colour: Colour) -> String {
        let apart = if self.findings.iter().any(|finding| finding.place.is_some()) { "\n\n" } else { "\n" };
        let texts = self.findings.iter().map(|finding| finding.render(colour)).chain(self.closing.clone());
        texts.collect::<Vec<_>>().join(apart)
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Colour::Never))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(line: &str, marked: &str, number: usize) -> Diagnostic {
        let start = line.rfind(marked).unwrap();
        let column = line[..start].chars().count() + 1;
        Diagnostic::error("no such thing").at(
            Origin { file: "eval.toml".into(), line: number, column },
            Snippet { line: line.into(), marked: start..start + marked.len() },
        )
    }

    #[test]
    fn a_finding_has_its_place_its_facts_and_its_remedy() {
        let finding = placed("größe = 5", "5", 12).with_help("write 6").with_fact("without a score", "m/d");
        let expected = "\
error: no such thing
  --> eval.toml:12:9
   |
12 | größe = 5
   |         ^
   |
   = without a score: m/d
   = help: write 6";
        assert_eq!(finding.to_string(), expected);
    }

    #[test]
    fn a_finding_without_a_place_is_its_message_and_its_remedy() {
        let finding = Diagnostic::note("nothing runs").with_help("start something").with_fact("seen", "0");
        assert_eq!(finding.to_string(), "note: nothing runs\n  = seen: 0\n  = help: start something");
        assert_eq!(Diagnostic::warning("late").to_string(), "warning: late");
    }

    #[test]
    fn of_a_very_long_line_a_window_is_shown() {
        let long = format!("[{}, 7, {}]", "x".repeat(100_000), "y".repeat(100_000));
        let shown = placed(&long, "7", 3).to_string();
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[1], " --> eval.toml:3:100004");
        assert!(lines[3].chars().count() < 160 && lines[3].starts_with("3 | ...x") && lines[3].ends_with("y..."));
        let column = lines[4].find('^').unwrap();
        assert_eq!(&lines[3][column..=column], "7", "{shown}");
    }

    #[test]
    fn what_a_terminal_would_obey_is_made_visible_and_ends_nothing() {
        let shown = placed("a = \"\u{1b}[2J\t中\r\" x", "x", 1).to_string();
        assert!(!shown.contains(['\u{1b}', '\r', '\t']), "{shown:?}");
        let at = |line: &str, marked| {
            Diagnostic::error("broken").at(Origin::default(), Snippet { line: line.into(), marked }).to_string()
        };
        assert!(at("中", 1..9).contains("| 中"), "{}", at("中", 1..9));
        assert!(at("", 0..0).ends_with('^'), "{}", at("", 0..0));
    }

    #[test]
    fn colours_are_for_those_who_ask_for_them() {
        for finding in [placed("a = 5", "5", 1), Diagnostic::error("gone").with_help("look")] {
            assert!(!finding.to_string().contains('\u{1b}'));
            let coloured = finding.render(Colour::Always);
            assert!(coloured.contains("\u{1b}[1m\u{1b}[91merror\u{1b}[0m"), "{coloured:?}");
        }
    }

    #[test]
    fn excerpts_stand_apart_and_single_lines_do_not() {
        let lines = Diagnostics::from(vec![Diagnostic::error("a"), Diagnostic::note("b")]).with_closing("the end");
        assert_eq!(lines.to_string(), "error: a\nnote: b\nthe end");
        assert_eq!((lines.message().as_str(), lines.help()), ("a\nb\nthe end", None));
        let excerpts = Diagnostics::nothing_started(vec![placed("a", "a", 1), Diagnostic::error("b")]).to_string();
        assert!(excerpts.ends_with("\n\nerror: b\n\n2 errors; nothing was started"), "{excerpts}");
    }

    #[test]
    fn causes_follow_what_they_caused() {
        #[derive(Debug)]
        struct Outer(std::io::Error);
        impl fmt::Display for Outer {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("cannot read `x`")
            }
        }
        impl std::error::Error for Outer {
            fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
                Some(&self.0)
            }
        }
        let error = Outer(std::io::Error::other("the disk is gone"));
        assert_eq!(Diagnostic::of(&error), Diagnostic::error("cannot read `x`: the disk is gone"));
    }
}
