//! Llama 3's kind of `tokenizer.model` compared with tiktoken.

use crate::tokenizer::support::{golden, golden_json, ids};
use compass_engine::tokenizer::TextTokenizer;
use compass_plan::BosPolicy;

#[test]
fn ids_equal_tiktokens() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(golden("ranks.model"), folder.path().join("tokenizer.model")).unwrap();
    let tokenizer = TextTokenizer::read(folder.path(), BosPolicy::Auto, None).unwrap();
    let document = golden_json("tiktoken.json");
    let number = |key: &str| document[key].as_u64().unwrap() as u32;
    let cases = document["cases"].as_array().unwrap();
    for case in cases {
        let (text, expected) = (case["text"].as_str().unwrap(), ids(&case["ids"]));
        assert_eq!(tokenizer.encode_plain(text).unwrap(), expected, "{text:?}");
        let framed = tokenizer.encode(text).unwrap();
        assert_eq!((framed[0], &framed[1..]), (number("bos"), expected.as_slice()), "{text:?}");
        if !text.contains("<|") {
            assert_eq!(tokenizer.decode(&expected).unwrap(), text);
        }
    }
    assert!(cases.len() > 30, "{}", cases.len());
    assert_eq!(tokenizer.eos_id(), Some(number("eos")));
    assert_eq!(tokenizer.prefix(), Some((number("bos"), "<|begin_of_text|>")));
}
