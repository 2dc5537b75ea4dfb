//! BIG-Bench Extra Hard: OpenCompass's `BBEHEvaluator` and `BBEHEvaluator_mcq`.

use crate::text::Pattern;
use compass_postprocess::{bbeh_freeform, bbeh_mcq};

/// Whether the processed prediction is the reference in lower case, or that without the quotation marks and brackets
/// around it, or, of lists, the same but for spaces around commas.
pub fn bbeh_freeform_equal(prediction: &str, reference: &str) -> bool {
    static COMMA: Pattern = Pattern::new(r"[\s\x1c-\x1f]*,[\s\x1c-\x1f]*");
    let (predicted, reference) = (bbeh_freeform(prediction), reference.to_lowercase());
    let joined = |text: &str| COMMA.replace_all(text, ",").into_owned();
    predicted == reference
        || predicted == reference.trim_matches(['\'', '"', '(', ')', '[', ']'])
        || (reference.contains(',') && joined(&predicted) == joined(&reference))
}

/// Whether the processed prediction is the reference's letter.
pub fn bbeh_choice_equal(prediction: &str, reference: &str) -> bool {
    bbeh_mcq(prediction) == reference.to_lowercase().trim_matches(['(', ')'])
}
