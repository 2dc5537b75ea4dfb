//! Whether what is asked for stands in the output: RULER and NeedleBench.

/// RULER's share of the answers that are part of the prediction in any case, in 0..=1; `None` without answers.
pub fn ruler_share(prediction: &str, answers: &[&str]) -> Option<f64> {
    let prediction = prediction.to_lowercase();
    let held = answers.iter().filter(|answer| prediction.contains(&answer.to_lowercase())).count();
    (!answers.is_empty()).then(|| held as f64 / answers.len() as f64)
}

/// RULER's question answering: 1 when any answer is part of the prediction in any case, else 0; `None` without answers.
pub fn ruler_any(prediction: &str, answers: &[&str]) -> Option<f64> {
    ruler_share(prediction, answers).map(|share| f64::from(share > 0.0))
}

/// `NeedleBenchOriginEvaluator`: whether the keyword is part of the prediction. References are `text*keyword`; `None` for
/// another form.
pub fn needle_found(prediction: &str, reference: &str) -> Option<bool> {
    reference.split('*').nth(1).map(|keyword| prediction.contains(keyword))
}
