//! Check that a server scores texts right, before the first sample, since a wrong sum is a wrong choice without an error.

use super::asker::{Asker, Unanswered};
use super::score::{Token, score};

/// A text, and where its first half ends: before a space, so that tokens part there.
const TEXT: &str = "The quick brown fox jumps over the lazy dog, and 2 + 2 = 4 as everybody knows.";
const HALF: usize = "The quick brown fox jumps over the lazy dog,".len();
/// Largest difference of the same token when it is scored again.
const TOLERANCE: f64 = 1e-2;
/// Tokens that the text has at least.
const FEWEST_TOKENS: usize = 8;

const ONLY_GENERATED: &str = "this server does not give log-probabilities of the tokens of a prompt, at most of those that it \
                              generates (as llama.cpp's does), so that `ppl` and `loglikelihood` cannot be run on it; help: use a \
                              server that scores prompts (vLLM, SGLang), or evaluate with `gen`";

/// Demands a number for every token, the same for a beginning scored alone as within the whole.
///
/// # Errors
/// [`Unanswered::Refused`] with the reason, where the server cannot score.
pub(crate) async fn probe(asker: &Asker) -> Result<(), Unanswered> {
    let scored = async |text: &str| match score(asker, text).await {
        Err(Unanswered::Sample(why)) => Err(Unanswered::Refused(format!("{ONLY_GENERATED} (it answers: {why})"))),
        other => other,
    };
    let (whole, half) = (scored(TEXT).await?, scored(&TEXT[..HALF]).await?);
    match misfit(&whole, &half) {
        None => Ok(()),
        Some(why) => Err(Unanswered::Refused(format!(
            "the log-probabilities of this server cannot be used: {why}; help: evaluate with `gen`, or use another server"
        ))),
    }
}

/// Returns why the scores of a text and of its first half do not agree.
fn misfit(whole: &[Token], half: &[Token]) -> Option<String> {
    if whole.len() < FEWEST_TOKENS || half.len() >= whole.len() {
        return Some(format!(
            "a text of {} characters has {} tokens, its half {}",
            TEXT.len(),
            whole.len(),
            half.len()
        ));
    }
    let same = |(a, b): (&Token, &Token)| match (a.log_prob, b.log_prob) {
        (Some(a), Some(b)) => (a - b).abs() <= TOLERANCE,
        (a, b) => a.is_none() && b.is_none(),
    };
    let differs = whole.iter().zip(half).position(|(a, b)| a.text != b.text || !same((a, b)))?;
    let shown = |token: &Token| format!("`{}` with {:?}", token.text, token.log_prob);
    Some(format!(
        "token {differs} is {} in a text and {} in its first half",
        whole.get(differs).map(shown).unwrap_or_default(),
        half.get(differs).map(shown).unwrap_or_default()
    ))
}
