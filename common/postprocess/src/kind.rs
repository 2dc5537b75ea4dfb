//! The postprocessor that a data set or a model names, with its parameters.

use super::answer::AnswerKind;
use super::interpreted::Interpreted;
use super::option::{FirstOption, Letters};
use super::pattern::Pattern;
use super::tags::{Tag, ThinkTokens};
use serde::{Deserialize, Serialize};

/// The postprocessors by OpenCompass's names; each is described at its function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Postprocessor {
    /// [`super::general`].
    General,
    /// [`super::general_cn`].
    GeneralCn,
    /// The value of a text that is a Python string literal, else the text; then the other one, if any.
    GeneralEval(Option<Box<Postprocessor>>),
    /// [`super::first_capital`].
    FirstCapital,
    /// [`super::first_capital_multi`].
    FirstCapitalMulti,
    /// [`super::last_capital`].
    LastCapital,
    /// [`super::multiple_select`].
    MultipleSelect,
    /// [`super::FirstOption`].
    FirstOption(FirstOption),
    /// [`super::last_option`].
    LastOption(Letters),
    /// [`super::gpqa`].
    GpqaSimpleEval,
    /// [`super::first_number`].
    FirstNumber,
    /// [`super::first_unsigned_number`].
    FirstUnsignedNumber,
    /// The first group of the pattern; empty where it is not found.
    MatchAnswerPattern(Pattern),
    /// [`super::xml_tag`].
    XmlTag(Tag),
    /// [`super::without_reasoning`].
    ExtractNonReasoningContent(ThinkTokens),
    /// [`super::think_pred`].
    ThinkPred(Pattern),
    /// [`super::gsm8k`].
    Gsm8k,
    /// [`super::gsm8k_dataset`].
    Gsm8kDataset,
    /// [`super::math`].
    Math,
    /// [`super::math_v2`].
    MathV2,
    /// [`super::boxed_answer`]; empty without one.
    MathBoxed,
    /// [`super::math_intern`].
    MathIntern,
    /// [`super::agieval_math`].
    AgievalMath,
    /// [`super::mathbench`].
    Mathbench { chinese: bool },
    /// [`super::mgsm`], with the language's word for answer.
    Mgsm { answer: String },
    /// [`super::function_body_after_first_line`].
    Humaneval,
    /// [`super::code_block`], the first.
    HumanevalV2,
    /// [`super::code_block`], the last.
    HumanevalV3,
    /// [`super::function_body_from_block`].
    HumanevalInternalV1,
    /// [`super::function_body`].
    HumanevalInternalV2,
    /// [`super::mbpp`].
    Mbpp,
    /// [`super::mbpp_v2`].
    MbppV2,
    /// [`super::bbh_mcq`].
    BbhMcq,
    /// [`super::bbh_freeform`].
    BbhFreeform,
    /// [`super::bbeh_mcq`].
    BbehMcq,
    /// [`super::bbeh_freeform`].
    BbehFreeform,
    /// The text as it is.
    Needlebench,
    /// [`super::strategyqa`].
    Strategyqa,
    /// [`super::strategyqa_dataset`].
    StrategyqaDataset,
    /// [`super::theoremqa`].
    Theoremqa,
    /// [`super::theoremqa_v2`].
    TheoremqaV2,
    /// [`super::first_line`].
    Xsum,
    /// [`super::flores`].
    Flores,
    /// [`super::flores_chinese`].
    FloresChinese,
    /// [`super::lcsts`].
    Lcsts,
    /// [`super::record`].
    Record,
    /// [`super::after_answer_mark`].
    Cmrc,
    /// [`super::longbench`].
    Longbench,
    /// [`super::crows_pairs`].
    Crowspairs,
    /// [`super::triviaqa`].
    TriviaqaAnswer,
    /// [`super::nq`].
    NqAnswer,
    /// [`super::lambada`].
    LambadaAnswer,
    /// [`super::answer()`]: the text of the answer, empty where none is found.
    Answer(AnswerKind),
    /// A function of the user's own OpenCompass.
    Interpreted(Interpreted),
}
