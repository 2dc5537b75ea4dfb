//! The usual way of generating: static batches, padded on the left.

use compass_engine::tokenizer::TextTokenizer;
use compass_plan::BosPolicy;
use compass_tests::bench::{
    BenchFolder, Options, PaddedLlama, Questions, Seconds, Transformers, Watch, beside_transformers,
};

/// Prompts of a batch.
const BATCH: usize = 8;

/// Batches that are run in turn with transformers.
const IN_TURN: usize = 2;

/// Findings of the baseline.
pub(crate) struct Usual {
    /// Tokenising included.
    pub(crate) seconds: Seconds,
    /// In the order of the questions.
    pub(crate) answers: Vec<Answer>,
}

/// One continuation.
#[derive(Clone, Default)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) tokens: usize,
}

/// Continues every prompt by at most `most` tokens.
///
/// # Errors
/// What keeps it from being done, in words.
pub(crate) fn run(place: &BenchFolder, options: &Options, set: &Questions, most: usize) -> Result<Usual, String> {
    let tokenizer = TextTokenizer::read(&place.tokenizer, BosPolicy::Auto, None).map_err(|fault| fault.to_string())?;
    let mut model = PaddedLlama::load(&place.model(), place.shape, options.threads)?;
    let mut eos = place.shape.eos();
    eos.extend(tokenizer.eos_id());
    let watch = Watch::start();
    let texts = set.requests().iter().flat_map(|request| set.texts(request)).collect::<Vec<_>>();
    let prompts: Vec<Vec<u32>> = texts.iter().map(|text| tokenizer.encode(text)).collect::<Result<_, String>>()?;
    let mut order: Vec<usize> = (0..prompts.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(prompts.get(at).map_or(0, Vec::len)));
    let ids = |batch: &[usize]| -> Vec<&[u32]> {
        batch.iter().filter_map(|&at| prompts.get(at)).map(Vec::as_slice).collect()
    };
    let mut answers = vec![Answer::default(); prompts.len()];
    let (mut rows, mut generated) = (0, 0);
    for batch in order.chunks(BATCH) {
        let (continued, computed) = model.generate(&ids(batch), most, &eos)?;
        rows += computed;
        for (&at, tokens) in batch.iter().zip(continued) {
            generated += tokens.len();
            if let Some(answer) = answers.get_mut(at) {
                *answer = Answer { text: tokenizer.decode(&tokens)?, tokens: tokens.len() };
            }
        }
    }
    let seconds = watch.seconds();
    println!(
        "usual way: {} prompts in batches of {BATCH}, {rows} tokens computed with padding, {generated} generated, \
         {seconds}: {:.0} generated tokens/s",
        prompts.len(),
        generated as f64 / seconds.wall
    );
    let step = (order.len() / BATCH / IN_TURN).max(1);
    let batches: Vec<&[usize]> = order.chunks(BATCH).step_by(step).take(IN_TURN).collect();
    match Transformers::start(&place.model(), options.threads) {
        Err(why) => eprintln!("skipped: the baseline is not measured beside transformers: {why}"),
        Ok(mut transformers) => {
            let versions = transformers.versions.clone();
            beside_transformers(
                &batches,
                &versions,
                |batch| {
                    let watch = Watch::start();
                    let (_, rows) = model.generate(&ids(batch), most, &eos)?;
                    Ok((watch.seconds(), rows))
                },
                |batch| transformers.generate(&ids(batch), most, &eos).map(|(seconds, _)| seconds),
            )?;
        }
    }
    Ok(Usual { seconds, answers })
}
