//! A text split where a tokenizer allows it has the tokens of the whole.

use crate::tokenizer::support::{golden_json, shared};
use compass_engine::tokenizer::TextTokenizer;
use compass_plan::BosPolicy;

#[test]
fn halves_have_the_tokens_of_the_whole() {
    let document = golden_json("transformers.json");
    let mut text =
        String::from("The quick brown fox isn't There; Are 3 cats e\u{301} a\u{308}b and <|endoftext|> so  on\n\n");
    for own in document["inputs"].as_array().unwrap() {
        text.push_str(own.as_str().unwrap());
        text.push_str(" of the x");
    }
    for name in ["tokenizers/gpt2", "tokenizers/gpt_neox_20b", "tokenizers/dolma2"] {
        let Some(directory) = shared(name) else { continue };
        let tokenizer = TextTokenizer::read(&directory, BosPolicy::Auto, None).unwrap();
        let whole = tokenizer.encode_plain(&text).unwrap();
        let (mut beginning, mut tried) = (text.as_str(), 0);
        while let Some(border) = tokenizer.last_border(beginning) {
            let mut ids = tokenizer.encode_plain(&text[..border]).unwrap();
            ids.extend(tokenizer.encode_plain(&text[border..]).unwrap());
            assert!(ids == whole, "{name}: {:?}", &text[border.saturating_sub(9)..]);
            (beginning, tried) = (&text[..border], tried + 1);
        }
        eprintln!("{name}: {tried} places");
        assert!(tried > 50, "{name} splits at words");
    }
}

#[test]
fn tokenizer_that_marks_the_start_of_texts_is_not_split() {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/demo/model");
    let demo = TextTokenizer::read(&directory, BosPolicy::Auto, None).unwrap();
    if let Some(border) = demo.last_border("one two three") {
        let mut ids = demo.encode_plain("one two three"[..border].as_ref()).unwrap();
        ids.extend(demo.encode_plain(&"one two three"[border..]).unwrap());
        assert_eq!(ids, demo.encode_plain("one two three").unwrap());
    }
}
