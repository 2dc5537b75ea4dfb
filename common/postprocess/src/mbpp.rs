//! Programs out of answers to MBPP's prompts, which ask for `[BEGIN]` and `[DONE]` around the code.

use super::code::fenced;
use super::pattern::constant;
use compass_pyfmt::strip;
use regex::Regex;
use std::sync::LazyLock;

/// `MBPPEvaluator._process_answer` of OpenCompass: the code of the first form of [`FORMS`] that the answer has.
pub fn mbpp(text: &str) -> String {
    static COMPILED: LazyLock<Vec<Regex>> =
        LazyLock::new(|| FORMS.iter().map(|form| constant(&format!("(?s){form}"))).collect());
    static DONE: LazyLock<Regex> = LazyLock::new(|| constant(r"'?\s*\[?DONE\]?"));
    let found = COMPILED.iter().find_map(|form| form.captures(text)).and_then(|found| found.get(1));
    let code = found.map_or(text, |code| code.as_str());
    let code = code.split("```").next().unwrap_or_default();
    let code = DONE.splitn(code, 2).next().unwrap_or_default();
    strip(&code.replace("\\_", "_")).to_owned()
}

/// From the most to the least explicit, as the original tries them.
const FORMS: [&str; 20] = [
    r"\[BEGIN\]\s*'(.*)'\s*\[DONE\]",
    r"BEGIN\s*'(.*)'\s*\[DONE\]",
    r"\[BEGIN\]\s*'(.*)'\s*DONE",
    r"BEGIN\s*'(.*)'\s*DONE",
    r"\[BEGIN\]\s*'(.*)\s*\[DONE\]",
    r"BEGIN\s*'(.*)\s*\[DONE\]",
    r"\[BEGIN\]\s*'(.*)\s*DONE",
    r"BEGIN\s*'(.*)\s*DONE",
    r"\[BEGIN\]\s*(.*)\s*\[DONE\]",
    r"BEGIN\s*(.*)\s*\[DONE\]",
    r"\[BEGIN\]\s*(.*)\s*DONE",
    r"BEGIN\s*(.*)\s*DONE",
    r"```python\s*(.*)\s*```",
    r"```\s*(.*)\s*```",
    // A newline at the end belongs to `$` in Python; the code is stripped in the end, so the very end does.
    r"```python\s*(.*)\s*$",
    r"```\s*(.*)\s*$",
    r"(.*)\s*```.*",
    r"\[BEGIN\]\s*'(.*)",
    r"\[BEGIN\](.*)",
    r"'(.*)'\s*\[DONE\]",
];

/// `MBPPEvaluator2._process_answer`: a code block or the text without its `Here ...` line, without tests and marks.
pub fn mbpp_v2(text: &str) -> String {
    static HERE: LazyLock<Regex> = LazyLock::new(|| constant(r"Here(.*?)\n"));
    static DONE: LazyLock<Regex> = LazyLock::new(|| constant(r"('\s*|)(\[DONE\]|DONE)"));
    static BEGIN: LazyLock<Regex> = LazyLock::new(|| constant(r"(\[BEGIN\]|BEGIN)('\s*|)"));
    let mut text = match text.contains("```") {
        true => fenced(text).to_owned(),
        false => HERE.replace(text, "").into_owned(),
    };
    for test in ["# Test", "#Test", "#test", "# test"] {
        if let Some(at) = text.find(test) {
            text.truncate(at);
        }
    }
    let mut code = strip(&text);
    if let Some(done) = DONE.find(code) {
        code = &code[..done.start()];
    }
    if let Some(begin) = BEGIN.find(code) {
        code = &code[begin.end()..];
    }
    let code = strip(code);
    code.strip_prefix('\'').unwrap_or(code).to_owned()
}
