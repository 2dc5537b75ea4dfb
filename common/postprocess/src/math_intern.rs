//! InternLM's extractor for competition mathematics.

use compass_pyfmt::strip;

/// OpenCompass's `math_intern_postprocess`: the answer after the first mark that the text has, of those that InternLM's
/// prompts use; `None` when it has none.
pub fn math_intern(text: &str) -> Option<String> {
    if let Some((_, after)) = text.split_once("The final answer is ") {
        // Python's slice [1:find("$.")], where a missing end is -1: all but the last character.
        let end = after.find("$.").unwrap_or_else(|| last_char_start(after));
        let start = after.chars().next().map_or(0, char::len_utf8);
        return Some(clean(after.get(start..end).unwrap_or_default()));
    }
    if let Some((answer, _)) = text.split_once("\n\nQuestion:") {
        let mark = "The answer is";
        return match answer.find(mark) {
            // Position 0 is false in the original, which then continues with the other marks.
            Some(0) => marked(answer),
            Some(at) => Some(clean(&answer[at + mark.len()..])),
            // And -1 is true: the text from the mark's length minus one on.
            None => Some(clean(&skip_chars(answer, mark.chars().count() - 1))),
        };
    }
    marked(text)
}

fn marked(text: &str) -> Option<String> {
    let after = |mark: &str| text.split_once(mark).map(|(_, after)| clean(after));
    after("# Answer").or_else(|| after("The answer is:")).or_else(|| after("####")).or_else(|| {
        let (_, inside) = text.split_once("\\boxed{")?;
        Some(clean(up_to_closing_brace(inside)))
    })
}

/// Stripped, doubled braces single, without one full stop at the end.
fn clean(text: &str) -> String {
    let text = strip(text).replace("{{", "{").replace("}}", "}");
    text.strip_suffix(['.', '。']).map(str::to_owned).unwrap_or(text)
}

/// Up to the brace that closes the one before the text; all but the last character when none does.
fn up_to_closing_brace(text: &str) -> &str {
    let mut depth = 1_i64;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[..at];
        }
    }
    &text[..last_char_start(text)]
}

fn last_char_start(text: &str) -> usize {
    text.char_indices().next_back().map_or(0, |(at, _)| at)
}

fn skip_chars(text: &str, count: usize) -> String {
    text.chars().skip(count).collect()
}
