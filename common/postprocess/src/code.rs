//! Programs out of answers: code blocks and completions of function bodies.

use super::pattern::constant;
use compass_pyfmt::{is_space, string_literal, strip};
use regex::Regex;
use std::sync::LazyLock;

/// Choice among a text's blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    First,
    Last,
}

/// OpenCompass's `humaneval_postprocess_v2` (the first block) and `v3` (the last): the content of a fenced code block,
/// the text itself without one; stripped on the left.
pub fn code_block(text: &str, which: Block) -> String {
    static BLOCK: LazyLock<Regex> = LazyLock::new(|| constant(r"(?s)```\w*\n(.*?)```"));
    let mut blocks = BLOCK.captures_iter(text);
    let block = if which == Block::First { blocks.next() } else { blocks.last() };
    let code = block.and_then(|block| block.get(1)).map_or(text, |code| code.as_str());
    code.trim_start_matches(is_space).to_owned()
}

/// OpenCompass's `humaneval_internal_v2_postprocess`: the indented lines at the start, which complete a function.
pub fn function_body(text: &str) -> String {
    let mut text = text.to_owned();
    if text.starts_with("   ") && !text.starts_with("    ") {
        text.insert(0, ' ');
    }
    let body = text.split("\n\n\n").next().unwrap_or_default();
    let body = body.split("\n```").next().unwrap_or_default();
    let lines = body.split('\n').take_while(|line| line.is_empty() || line.starts_with(' '));
    lines.collect::<Vec<_>>().join("\n")
}

/// OpenCompass's `humaneval_internal_v1_postprocess`: the body of the function in a code block or in the text, indented by
/// four spaces, up to where the indentation falls back.
///
/// A text that is a Python string literal stands for its value. The original evaluates any Python expression; nothing of
/// a model is evaluated here.
pub fn function_body_from_block(text: &str) -> String {
    let text = string_literal(text).unwrap_or_else(|| text.to_owned());
    let mut text = fenced(text.trim_start_matches('\n')).to_owned();
    if strip(&text).starts_with("from") || strip(&text).starts_with("import") {
        text = after_definition(&text).to_owned();
    }
    let lines: Vec<&str> = text.split('\n').filter(|line| !line.is_empty()).collect();
    let mut text = lines.join("\n");
    if strip(&text).starts_with("def") {
        text = text.split_once('\n').map(|(_, rest)| rest.to_owned()).unwrap_or_default();
    }
    text = match text.starts_with(' ') {
        true => format!("    {}", text.trim_start_matches(is_space)),
        false => text.split('\n').map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n"),
    };
    up_to_dedent(&text)
}

/// The older `humaneval_postprocess` of OpenCompass's Claude wrapper: as [`function_body_from_block`] after the first line,
/// but neither blank lines nor what follows the body are dropped.
pub fn function_body_after_first_line(text: &str) -> String {
    let text = text.split_once('\n').map(|(_, rest)| strip(rest)).unwrap_or_default();
    let mut text = fenced(text);
    if strip(text).starts_with("from") || strip(text).starts_with("import") {
        text = after_definition(text);
    }
    if strip(text).starts_with("def") {
        text = text.split_once('\n').map_or("", |(_, rest)| rest);
    }
    if text.starts_with("    ") {
        return text.to_owned();
    }
    match text.starts_with(' ') {
        true => format!("    {}", text.trim_start_matches(is_space)),
        false => text.split('\n').map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n"),
    }
}

/// The first fenced block without its language; what follows the fence when none closes it; else the text.
pub(super) fn fenced(text: &str) -> &str {
    let Some((_, after)) = text.split_once("```") else { return text };
    match after.split_once("```") {
        None => after,
        Some((block, _)) if block.starts_with('\n') => block,
        Some((block, _)) => block.split_once('\n').map_or(block, |(_, code)| code),
    }
}

/// Returns the text after the line of the first `def`.
fn after_definition(text: &str) -> &str {
    let Some(def) = text.find("def") else { return text };
    text[def..].split_once('\n').map_or(text, |(_, rest)| rest)
}

/// The lines before the first that is indented less than one before it; blank lines, comments and strings do not count.
///
/// The original measures the indentation as `len(line.rstrip()) - len(line.strip())`.
fn up_to_dedent(text: &str) -> String {
    let mut least = None;
    let dedents = |line: &&str| {
        let content = strip(line);
        if content.is_empty() || content.starts_with(['\'', '"', '#']) {
            return false;
        }
        let indent = line.trim_end_matches(is_space).chars().count() - content.chars().count();
        let less = least.is_some_and(|least| indent < least);
        least.get_or_insert(indent);
        less
    };
    let mut dedents = dedents;
    text.split('\n').take_while(|line| !dedents(line)).collect::<Vec<_>>().join("\n")
}
