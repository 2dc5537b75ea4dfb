//! From a postprocessor to its function.

use super::capital::NO_CHOICE;
use super::*;
use compass_pyfmt::{NONE, string_literal};

impl Postprocessor {
    /// Extracts from `text`, byte for byte as OpenCompass's function of that name where it has one; `None` where that returns nothing.
    ///
    /// # Errors
    /// A pattern of the configuration takes too many steps on this text, or a function of the user's own fails on it.
    pub fn extract(&self, text: &str) -> Result<Option<String>, Undecided> {
        Ok(Some(match self {
            Self::General => general(text),
            Self::GeneralCn => general_cn(text),
            Self::GeneralEval(then) => {
                let text = string_literal(text).unwrap_or_else(|| text.to_owned());
                return then.as_ref().map_or_else(|| Ok(Some(text.clone())), |then| then.extract(&text));
            }
            Self::FirstCapital => first_capital(text),
            Self::FirstCapitalMulti => first_capital_multi(text),
            Self::LastCapital => last_capital(text),
            Self::MultipleSelect => multiple_select(text),
            Self::FirstOption(option) => option.apply(text),
            Self::LastOption(options) => last_option(text, options),
            Self::GpqaSimpleEval => return Ok(gpqa(text)),
            Self::FirstNumber => return Ok(first_number(text)),
            Self::FirstUnsignedNumber => return Ok(first_unsigned_number(text)),
            Self::MatchAnswerPattern(pattern) => pattern.first_group(text)?.unwrap_or_default().to_owned(),
            Self::XmlTag(tag) => xml_tag(text, tag),
            Self::ExtractNonReasoningContent(tokens) => without_reasoning(text, tokens),
            Self::ThinkPred(pattern) => think_pred(text, pattern)?,
            Self::Gsm8k => gsm8k(text),
            Self::Gsm8kDataset => gsm8k_dataset(text),
            Self::Math => math(text),
            Self::MathV2 => math_v2(text),
            Self::MathBoxed => boxed_answer(text).unwrap_or_default().to_owned(),
            Self::MathIntern => return Ok(math_intern(text)),
            Self::AgievalMath => return agieval_math(text),
            Self::Mathbench { chinese } => mathbench(text, *chinese),
            Self::Mgsm { answer } => mgsm(text, answer),
            Self::Humaneval => function_body_after_first_line(text),
            Self::HumanevalV2 => code_block(text, Block::First),
            Self::HumanevalV3 => code_block(text, Block::Last),
            Self::HumanevalInternalV1 => function_body_from_block(text),
            Self::HumanevalInternalV2 => function_body(text),
            Self::Mbpp => mbpp(text),
            Self::MbppV2 => mbpp_v2(text),
            Self::BbhMcq => bbh_mcq(text),
            Self::BbhFreeform => bbh_freeform(text),
            Self::BbehMcq => bbeh_mcq(text),
            Self::BbehFreeform => bbeh_freeform(text),
            Self::Needlebench => text.to_owned(),
            Self::Strategyqa => strategyqa(text),
            Self::StrategyqaDataset => strategyqa_dataset(text),
            Self::Theoremqa => theoremqa(text),
            Self::TheoremqaV2 => theoremqa_v2(text),
            Self::Xsum => first_line(text),
            Self::Flores => flores(text),
            Self::FloresChinese => flores_chinese(text),
            Self::Lcsts => lcsts(text),
            Self::Record => record(text),
            Self::Cmrc => after_answer_mark(text),
            Self::Longbench => longbench(text),
            Self::Crowspairs => crows_pairs(text),
            Self::TriviaqaAnswer => triviaqa(text),
            Self::NqAnswer => nq(text),
            Self::LambadaAnswer => lambada(text),
            Self::Answer(kind) => answer(text, kind).map(|found| found.text).unwrap_or_default(),
            Self::Interpreted(function) => return function.extract(text),
        }))
    }

    /// As [`Postprocessor::extract`], with Python's `None` as a text where there is nothing: evaluators compare `str()` of
    /// it.
    ///
    /// # Errors
    /// As [`Postprocessor::extract`].
    pub fn apply(&self, text: &str) -> Result<String, Undecided> {
        Ok(self.extract(text)?.unwrap_or_else(|| NONE.to_owned()))
    }
}

/// Applies the postprocessors to `text`, each to the result of the one before it.
///
/// # Errors
/// As [`Postprocessor::extract`].
pub fn apply_all(kinds: &[Postprocessor], text: String) -> Result<String, Undecided> {
    kinds.iter().try_fold(text, |text, kind| kind.apply(&text))
}

/// Returns the result of the postprocessors for a text in which they find nothing, as for an empty one: `""`, `NULL`, `invalid`,
/// `None`. `None` for postprocessors that look for nothing, for example the ones that drop articles.
pub fn nothing_found(kinds: &[Postprocessor]) -> Option<String> {
    const MARKS: [&str; 5] = ["", NO_NUMBER, NO_ANSWER, NO_CHOICE, NONE];
    let looks = |kind: &Postprocessor| !matches!(kind, Postprocessor::General | Postprocessor::GeneralCn);
    let nothing = kinds.iter().any(looks).then(|| apply_all(kinds, String::new()))?.ok()?;
    MARKS.contains(&nothing.as_str()).then_some(nothing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_the_order_written() {
        let text = || "#### 1,200.5 the end".to_string();
        assert_eq!(apply_all(&[], text()).unwrap(), "#### 1,200.5 the end");
        assert_eq!(apply_all(&[Postprocessor::Gsm8kDataset, Postprocessor::Gsm8k], text()).unwrap(), "1200.5");
        assert_eq!(apply_all(&[Postprocessor::Gsm8k, Postprocessor::General], text()).unwrap(), "200");
    }

    #[test]
    fn what_nothing_reads_as() {
        for (kind, nothing) in [
            (Postprocessor::MathBoxed, Some("")),
            (Postprocessor::Gsm8k, Some("NULL")),
            (Postprocessor::GpqaSimpleEval, Some("None")),
            (Postprocessor::Crowspairs, Some("invalid")),
            (Postprocessor::General, None),
        ] {
            assert_eq!(nothing_found(std::slice::from_ref(&kind)).as_deref(), nothing, "{kind:?}");
        }
        assert_eq!(nothing_found(&[]), None);
    }

    #[test]
    fn none_is_a_text_only_where_it_is_compared() {
        assert_eq!(Postprocessor::GpqaSimpleEval.extract("no"), Ok(None));
        assert_eq!(Postprocessor::GpqaSimpleEval.apply("no").unwrap(), "None");
    }
}
