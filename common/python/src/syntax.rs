//! CPython's names for an error of the parser: its class and its text, where it is a common mistake.

use ruff_python_parser::{LexicalErrorType, ParseError, ParseErrorType};
use ruff_text_size::{Ranged, TextRange, TextSize};

/// Class, text and place of an error in `source`.
pub(crate) fn placed(error: &ParseError, source: &str) -> (&'static str, String, TextRange) {
    let (class, text) = told(error, source);
    let at = error.range().start().to_usize();
    let is_later = |from: usize| {
        source.get(from..at).is_some_and(|between| between.contains('\n')) || at >= source.trim_end().len()
    };
    match crate::brackets::fault(source) {
        Some(fault) if class == "SyntaxError" && (!fault.is_open || is_later(fault.range.start)) => {
            let bound = |at: usize| TextSize::try_from(at).unwrap_or_default();
            ("SyntaxError", fault.text, TextRange::new(bound(fault.range.start), bound(fault.range.end)))
        }
        _ => (class, text, error.range()),
    }
}

/// Class and text of an error in `source`.
fn told(error: &ParseError, source: &str) -> (&'static str, String) {
    let at = error.range().start().to_usize();
    let before = source.get(..at).unwrap_or(source);
    match &error.error {
        ParseErrorType::UnexpectedIndentation => ("IndentationError", "unexpected indent".to_owned()),
        ParseErrorType::Lexical(LexicalErrorType::IndentationError) if mixes(source, before) => {
            ("TabError", "inconsistent use of tabs and spaces in indentation".to_owned())
        }
        ParseErrorType::Lexical(kind @ LexicalErrorType::IndentationError) => ("IndentationError", kind.to_string()),
        ParseErrorType::SimpleStatementsOnSameLine if last_word(before) == "print" => {
            ("SyntaxError", "Missing parentheses in call to 'print'. Did you mean print(...)?".to_owned())
        }
        ParseErrorType::OtherError(text) => match text.strip_prefix("Expected an indented block after ") {
            Some(header) => ("IndentationError", unfinished(header, before)),
            None => ("SyntaxError", text.clone()),
        },
        other => ("SyntaxError", other.to_string()),
    }
}

/// The text of a header without a block, which ends on the last line before that has anything.
fn unfinished(header: &str, before: &str) -> String {
    let header = match header {
        "`class` definition" => "class definition".to_owned(),
        "`case` block" => "'case' statement".to_owned(),
        header => header.replace(" clause", " statement").replace('`', "'"),
    };
    let lines: Vec<&str> = before.lines().map(str::trim).collect();
    let line = lines.iter().rposition(|line| !line.is_empty() && !line.starts_with('#')).map_or(1, |at| at + 1);
    format!("expected an indented block after {header} on line {line}")
}

/// Returns whether the line of an error begins with tabs and one above it with spaces, or the other way round.
fn mixes(source: &str, before: &str) -> bool {
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let begins = |line: &str, with: char| line.get(..indent(line)).is_some_and(|indent| indent.contains(with));
    let (above, line) = (before.get(..start).unwrap_or_default(), source.get(start..).unwrap_or_default());
    let line = line.lines().next().unwrap_or_default();
    let last = above.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    begins(line, '\t') && begins(last, ' ') || begins(line, ' ') && begins(last, '\t')
}

fn last_word(before: &str) -> &str {
    let line = before.rsplit('\n').next().unwrap_or_default().trim_end();
    line.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
}
