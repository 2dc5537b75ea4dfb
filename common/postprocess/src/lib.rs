//! Postprocessors and filters: pure functions from the text of an answer to the answer.
//!
//! [`Postprocessor`] and [`Filter`] are also the data by which a plan names them with their parameters.

mod agieval;
mod answer;
mod apply;
mod arguments;
mod bbeh;
mod boxed;
mod capital;
mod chinese;
mod code;
mod filter;
mod general;
mod gsm8k;
mod interpreted;
mod kind;
mod line;
mod math;
mod math_intern;
mod mbpp;
mod name_error;
mod named;
mod number;
mod open_qa;
mod option;
mod pattern;
mod reasoning;
mod tags;
pub mod thinking;
mod words;

pub use agieval::agieval_math;
pub use answer::{AnswerKind, FoundAnswer, FoundBy, answer};
pub use apply::{apply_all, nothing_found};
pub use bbeh::{bbeh_freeform, bbeh_mcq};
pub use boxed::{boxed_answer, last_boxed, unwrapped_boxed_answer};
pub use capital::{crows_pairs, first_capital, first_capital_multi, last_capital, multiple_select};
pub use chinese::{flores_chinese, general_cn};
pub use code::{Block, code_block, function_body, function_body_after_first_line, function_body_from_block};
pub use filter::{Filter, FilterError, MultiChoice, Selector, apply_filters};
pub use general::general;
pub use gsm8k::{NO_NUMBER, gsm8k, gsm8k_dataset};
pub use interpreted::Interpreted;
pub use kind::Postprocessor;
pub use line::{after_answer_mark, first_line, flores, lcsts, longbench, record};
pub use math::{math, math_v2, normalize_final_answer};
pub use math_intern::math_intern;
pub use mbpp::{mbpp, mbpp_v2};
pub use name_error::NameError;
pub use number::{MGSM_ANSWERS, first_number, first_unsigned_number, mathbench, mgsm};
pub use open_qa::{lambada, nq, triviaqa};
pub use option::{FirstOption, Letters, LettersError, gpqa, last_option};
pub use pattern::{Found, Groups, Pattern, PatternError, Undecided};
pub use reasoning::{bbh_freeform, bbh_mcq, strategyqa, strategyqa_dataset, theoremqa, theoremqa_v2};
pub use tags::{NO_ANSWER, Tag, TagError, ThinkTokens, think_pred, without_reasoning, xml_tag};
pub use words::words;
