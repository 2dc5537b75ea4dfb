//! Answers that are one line of the text, or what follows a mark in it.

use compass_pyfmt::strip;

/// OpenCompass's `Xsum_postprocess`: the first line of the stripped text, stripped.
pub fn first_line(text: &str) -> String {
    strip(first(strip(text))).to_owned()
}

/// OpenCompass's `flores_postprocess`: the first line of the stripped text, unchanged.
pub fn flores(text: &str) -> String {
    first(strip(text)).to_owned()
}

/// LongBench's `triviaqa`, `trec`, `lsht` and `samsum` postprocessors: the first line that is not empty.
pub fn longbench(text: &str) -> String {
    first(text.trim_start_matches('\n')).to_owned()
}

/// OpenCompass's `lcsts_postprocess`: the first line without a list mark at its start and without quotation marks, commas,
/// full stops and exclamation marks of Chinese at both ends.
pub fn lcsts(text: &str) -> String {
    // The word is one that an early model put into its Chinese summaries.
    let line = first(strip(text)).replace("своей", "");
    let mut line = strip(&line).to_owned();
    for mark in ["1. ", "- "] {
        if line.starts_with(mark) {
            line = line.replace(mark, "");
        }
    }
    line.trim_matches(['“', '，', '。', '！', '”']).to_owned()
}

/// OpenCompass's `ReCoRD_postprocess`: the first line without `Answer: `.
pub fn record(text: &str) -> String {
    strip(&first(strip(text)).replace("Answer: ", "")).to_owned()
}

/// OpenCompass's `cmrc_postprocess` and `drcd_postprocess`: what follows the first `答案是` up to the next.
pub fn after_answer_mark(text: &str) -> String {
    text.split("答案是").nth(1).unwrap_or(text).to_owned()
}

fn first(text: &str) -> &str {
    text.split('\n').next().unwrap_or_default()
}
