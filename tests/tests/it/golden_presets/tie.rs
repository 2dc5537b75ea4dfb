//! Ties of greedy texts: a check whether the model itself cannot tell two continuations apart where they part.
//!
//! Matrix products of another processor differ in the last bits, so a greedy text can take another turn where two tokens
//! are equally likely. Two texts count as the same only if the logits at the first token that differs say so.

use compass_engine::tokenizer::TextTokenizer;
use compass_engine::{BareModel, DeviceChoice, Traced};
use compass_plan::{BosPolicy, Dtype};
use std::path::Path;

/// Difference of logits between processors on these models, with room: their size is about 10.
const ROUNDING: f32 = 1e-4;

/// Returns the distance from the likeliest token to the likeliest one with which the greedy text continues as `theirs` does, at
/// the first token at which it does not by itself. `None` when it does to its end.
fn gap(directory: &Path, prompt: &str, theirs: &str) -> Option<f32> {
    let tokenizer = TextTokenizer::read(directory, BosPolicy::Auto, None).unwrap();
    let mut model = BareModel::load(directory, Dtype::Float32, &DeviceChoice::Cpu, 1).unwrap();
    let prompt = tokenizer.encode(prompt).unwrap();
    let most = tokenizer.encode_plain(theirs).unwrap().len() + 8;
    let asked = Traced { sample: 0, prompt: prompt.clone(), borders: Vec::new(), tokens: most };
    let (traces, _) = model.continue_together(&[asked], 1, None).unwrap();
    let greedy = &traces[0].tokens;
    let agrees = |ids: &[u32]| theirs.starts_with(&tokenizer.decode(ids).unwrap());
    let parted = (1..=greedy.len()).find(|&count| !agrees(&greedy[..count]))? - 1;
    let read = [prompt.as_slice(), &greedy[..parted]].concat();
    let logits = model.prefill(&read).unwrap();
    let last = &logits[logits.len() - model.vocabulary()..];
    let most = |ids: &mut dyn Iterator<Item = usize>| ids.map(|id| last[id]).fold(f32::NEG_INFINITY, f32::max);
    let goes_on = |id: &usize| {
        let ids = [&greedy[..parted], &[*id as u32]].concat();
        // A token without a text of its own (a special one) ends the text.
        agrees(&ids) && tokenizer.decode(&ids).unwrap() != tokenizer.decode(&ids[..parted]).unwrap()
    };
    Some(most(&mut (0..last.len())) - most(&mut (0..last.len()).filter(goes_on)))
}

/// Asserts that `theirs` is a greedy continuation of `prompt` up to rounding at the first token at which ours differs.
pub(super) fn assert_tie(directory: &Path, prompt: &str, ours: &str, theirs: &str, at: &str) {
    let gap = gap(directory, prompt, theirs);
    let tied = gap.is_some_and(|gap| gap < ROUNDING);
    assert!(tied, "{at}: the texts differ and the logits say why not (gap {gap:?})\n ours: {ours}\ntheirs: {theirs}");
    eprintln!("{at}: equally likely continuations on this processor (gap {gap:?})");
}
