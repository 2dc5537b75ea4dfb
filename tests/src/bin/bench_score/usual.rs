//! The usual way of scoring, on some of the questions.

use compass_engine::tokenizer::TextTokenizer;
use compass_plan::BosPolicy;
use compass_tests::bench::{
    BenchFolder, Options, PaddedLlama, Questions, Seconds, Transformers, Watch, beside_transformers,
};

/// Texts of a batch: OpenCompass's default of many configurations, and what memory allows with whole logits.
const BATCH: usize = 8;

/// Batches that are run in turn with transformers.
const IN_TURN: usize = 3;

/// Findings of the baseline.
pub(crate) struct Usual {
    /// For all questions: measured on some, and multiplied by the tokens of all over theirs.
    pub(crate) seconds: Seconds,
    /// By data set: (question, per-token losses of its options).
    pub(crate) losses: Vec<Vec<(usize, Vec<f64>)>>,
}

/// One option's text.
struct Text {
    set: usize,
    question: usize,
    ids: Vec<u32>,
}

/// Scores every `every`-th question.
///
/// # Errors
/// What keeps it from being done, in words.
pub(crate) fn run(place: &BenchFolder, options: &Options, sets: &[Questions], every: usize) -> Result<Usual, String> {
    let tokenizer = TextTokenizer::read(&place.tokenizer, BosPolicy::Auto, None).map_err(|fault| fault.to_string())?;
    let mut model = PaddedLlama::load(&place.model(), place.shape, options.threads)?;
    let watch = Watch::start();
    let all = texts(&tokenizer, sets)?;
    let tokenising = watch.seconds();
    let padded = |texts: &[&Text]| -> usize {
        texts.chunks(BATCH).map(|batch| batch.len() * batch.first().map_or(0, |text| text.ids.len())).sum()
    };
    let rows_of_all = padded(&longest_first(&all, 1));
    let some = longest_first(&all, every);
    let mut losses: Vec<Vec<(usize, Vec<f64>)>> = sets.iter().map(|_| Vec::new()).collect();
    let mut scored: Vec<(&Text, f64)> = Vec::with_capacity(some.len());
    let (mut seconds, mut rows) = (Seconds::default(), 0);
    for batch in some.chunks(BATCH) {
        let (taken, sums, computed) = score(&mut model, batch)?;
        seconds += taken;
        rows += computed;
        scored.extend(batch.iter().copied().zip(sums));
    }
    // Back into the order of questions and options: the texts lie in one list, in that order.
    scored.sort_by_key(|(text, _)| std::ptr::from_ref(*text));
    for (text, sum) in scored {
        let Some(of_set) = losses.get_mut(text.set) else { continue };
        let loss = sum / text.ids.len() as f64;
        match of_set.last_mut().filter(|(question, _)| *question == text.question) {
            Some((_, options)) => options.push(loss),
            None => of_set.push((text.question, vec![loss])),
        }
    }
    let mut whole = seconds * (rows_of_all as f64 / rows as f64);
    whole += tokenising;
    println!(
        "usual way: every {every}th question, {} texts in batches of {BATCH}, {rows} tokens computed with padding, \
         {seconds}: {:.0} tokens/s; for all {rows_of_all} tokens {whole}, tokenising included ({:.2} s)",
        some.len(),
        rows as f64 / seconds.wall,
        tokenising.wall
    );
    let step = (some.len() / BATCH / IN_TURN).max(1);
    let batches: Vec<&[&Text]> = some.chunks(BATCH).step_by(step).take(IN_TURN).collect();
    match Transformers::start(&place.model(), options.threads) {
        Err(why) => eprintln!("skipped: the baseline is not measured beside transformers: {why}"),
        Ok(mut transformers) => {
            let versions = transformers.versions.clone();
            beside_transformers(
                &batches,
                &versions,
                |batch| score(&mut model, batch).map(|(seconds, _, rows)| (seconds, rows)),
                |batch| transformers.score(&ids(batch)).map(|(seconds, _)| seconds),
            )?;
        }
    }
    Ok(Usual { seconds: whole, losses })
}

fn texts(tokenizer: &TextTokenizer, sets: &[Questions]) -> Result<Vec<Text>, String> {
    let mut all = Vec::new();
    for (set, questions) in sets.iter().enumerate() {
        for (question, request) in questions.requests().iter().enumerate() {
            for text in questions.texts(request) {
                all.push(Text { set, question, ids: tokenizer.encode(&text)? });
            }
        }
    }
    Ok(all)
}

/// The texts of every `every`-th question, the longest first, as lm-eval sorts them: the least padding.
fn longest_first(all: &[Text], every: usize) -> Vec<&Text> {
    let mut some: Vec<&Text> = all.iter().filter(|text| text.question % every.max(1) == 0).collect();
    some.sort_by_key(|text| std::cmp::Reverse(text.ids.len()));
    some
}

fn ids<'a>(batch: &[&'a Text]) -> Vec<&'a [u32]> {
    batch.iter().map(|text| text.ids.as_slice()).collect()
}

fn score(model: &mut PaddedLlama, batch: &[&Text]) -> Result<(Seconds, Vec<f64>, u64), String> {
    let watch = Watch::start();
    let (sums, rows) = model.score(&ids(batch))?;
    Ok((watch.seconds(), sums, rows))
}
