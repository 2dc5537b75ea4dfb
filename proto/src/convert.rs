//! Conversions between messages and domain types.

use crate::v1;
use compass_plan::engine::{PrefixSegment, TokenCounters, UnableKind};
use compass_types::ids::{Digest, GrantId};
use compass_types::intervals::IntervalSet;
use compass_types::result::{
    Execution, ExecutionClass, Finish, Generation, LoglikelihoodScore, NormalizerScore, Outcome, PplScore, PromptFit,
    PromptSha, RollingScore, SampleResult, ThinkingEnd, Thought,
};
use prost::Message as _;

/// A message that violates the protocol.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// A required field is missing.
    #[error("the field `{0}` is missing")]
    Missing(&'static str),
    /// A field has an invalid value.
    #[error("the field `{field}` is malformed: {reason}")]
    Malformed { field: &'static str, reason: &'static str },
}

/// Reads a digest of 32 bytes.
///
/// # Errors
/// The length is not 32 bytes.
pub fn digest_from_wire(bytes: &[u8]) -> Result<Digest, ParseError> {
    let bytes = bytes.try_into().map_err(|_| ParseError::Malformed { field: "digest", reason: "not 32 bytes" })?;
    Ok(Digest(bytes))
}

/// Converts intervals to messages.
pub fn intervals_to_wire(set: &IntervalSet) -> Vec<v1::Interval> {
    set.pairs().iter().map(|&(first, end)| v1::Interval { first, end }).collect()
}

/// Converts messages to a normalised set; empty intervals are dropped.
pub fn intervals_from_wire(intervals: &[v1::Interval]) -> IntervalSet {
    IntervalSet::from_pairs(intervals.iter().map(|interval| (interval.first, interval.end)))
}

impl From<GrantId> for v1::GrantId {
    fn from(grant: GrantId) -> Self {
        Self { epoch: grant.epoch.0, task: grant.task.0, attempt: grant.attempt.0 }
    }
}

impl From<v1::GrantId> for GrantId {
    fn from(grant: v1::GrantId) -> Self {
        Self::new(grant.epoch, grant.task, grant.attempt)
    }
}

/// Returns the grant that a message names.
///
/// # Errors
/// The message names none.
pub fn grant_from_wire(grant: Option<v1::GrantId>) -> Result<GrantId, ParseError> {
    grant.map(GrantId::from).ok_or(ParseError::Missing("grant"))
}

impl From<PrefixSegment> for v1::PrefixSegment {
    fn from(segment: PrefixSegment) -> Self {
        Self { path: segment.path, tokens: segment.tokens }
    }
}

impl From<v1::PrefixSegment> for PrefixSegment {
    fn from(segment: v1::PrefixSegment) -> Self {
        Self { path: segment.path, tokens: segment.tokens }
    }
}

impl From<UnableKind> for v1::UnableKind {
    fn from(kind: UnableKind) -> Self {
        match kind {
            UnableKind::Missing => Self::Missing,
            UnableKind::Content => Self::Content,
            UnableKind::Device => Self::Device,
            UnableKind::Refused => Self::Refused,
        }
    }
}

impl TryFrom<v1::UnableKind> for UnableKind {
    type Error = ParseError;

    fn try_from(kind: v1::UnableKind) -> Result<Self, ParseError> {
        match kind {
            v1::UnableKind::Unspecified => Err(ParseError::Missing("kind")),
            v1::UnableKind::Missing => Ok(Self::Missing),
            v1::UnableKind::Content => Ok(Self::Content),
            v1::UnableKind::Device => Ok(Self::Device),
            v1::UnableKind::Refused => Ok(Self::Refused),
        }
    }
}

impl From<TokenCounters> for v1::TokenCounters {
    fn from(tokens: TokenCounters) -> Self {
        Self {
            submitted: tokens.submitted,
            computed: tokens.computed,
            padded: tokens.padded,
            generated: tokens.generated,
            distinct: tokens.distinct,
        }
    }
}

impl From<v1::TokenCounters> for TokenCounters {
    fn from(tokens: v1::TokenCounters) -> Self {
        Self {
            submitted: tokens.submitted,
            computed: tokens.computed,
            padded: tokens.padded,
            generated: tokens.generated,
            distinct: tokens.distinct,
        }
    }
}

fn uneven(field: &'static str) -> ParseError {
    ParseError::Malformed { field, reason: "lists of different length" }
}

fn ppl_scores(scores: v1::PplScores) -> Result<Vec<PplScore>, ParseError> {
    let (normalizers, count) = (scores.normalizer_nll_sum.len(), scores.nll_sum.len());
    let even = normalizers == scores.normalizer_tokens.len() && (normalizers == 0 || normalizers == count);
    if count != scores.tokens.len() || !even {
        return Err(uneven("ppl"));
    }
    let normalizers = scores.normalizer_nll_sum.into_iter().zip(scores.normalizer_tokens);
    let mut normalizers = normalizers.map(|(nll_sum, tokens)| NormalizerScore { nll_sum, tokens });
    let pairs = scores.nll_sum.into_iter().zip(scores.tokens);
    Ok(pairs.map(|(nll_sum, tokens)| PplScore { nll_sum, tokens, normalizer: normalizers.next() }).collect())
}

impl From<&Generation> for v1::Generation {
    fn from(generation: &Generation) -> Self {
        let finish = match generation.finish {
            Finish::Length => v1::Finish::Length,
            Finish::Stop => v1::Finish::Stop,
            Finish::Eos => v1::Finish::Eos,
        };
        let thinking = generation.thinking.as_ref().map(v1::Thought::from);
        Self { text: generation.text.clone(), tokens: generation.tokens, finish: finish.into(), thinking }
    }
}

impl From<&Thought> for v1::Thought {
    fn from(thought: &Thought) -> Self {
        let end = match thought.end {
            ThinkingEnd::Closed => v1::ThinkingEnd::Closed,
            ThinkingEnd::Forced => v1::ThinkingEnd::Forced,
            ThinkingEnd::Cut => v1::ThinkingEnd::Cut,
            ThinkingEnd::Ended => v1::ThinkingEnd::Ended,
        };
        Self { text: thought.text.clone(), tokens: thought.tokens, end: end.into() }
    }
}

impl TryFrom<v1::Thought> for Thought {
    type Error = ParseError;

    fn try_from(wire: v1::Thought) -> Result<Self, ParseError> {
        let end = match wire.end() {
            v1::ThinkingEnd::Closed => ThinkingEnd::Closed,
            v1::ThinkingEnd::Forced => ThinkingEnd::Forced,
            v1::ThinkingEnd::Cut => ThinkingEnd::Cut,
            v1::ThinkingEnd::Ended => ThinkingEnd::Ended,
            v1::ThinkingEnd::Unspecified => return Err(ParseError::Missing("thinking.end")),
        };
        Ok(Self { text: wire.text, tokens: wire.tokens, end })
    }
}

impl TryFrom<v1::Generation> for Generation {
    type Error = ParseError;

    fn try_from(wire: v1::Generation) -> Result<Self, ParseError> {
        let finish = match wire.finish() {
            v1::Finish::Length => Finish::Length,
            v1::Finish::Stop => Finish::Stop,
            v1::Finish::Eos => Finish::Eos,
            v1::Finish::Unspecified => return Err(ParseError::Missing("generation.finish")),
        };
        let thinking = wire.thinking.map(Thought::try_from).transpose()?;
        Ok(Self { text: wire.text, tokens: wire.tokens, finish, thinking })
    }
}

impl From<&Execution> for v1::Execution {
    fn from(execution: &Execution) -> Self {
        let class = match execution.class {
            ExecutionClass::Passed => v1::ExecutionClass::Passed,
            ExecutionClass::WrongAnswer => v1::ExecutionClass::WrongAnswer,
            ExecutionClass::Failed => v1::ExecutionClass::Failed,
            ExecutionClass::Timeout => v1::ExecutionClass::Timeout,
            ExecutionClass::Memory => v1::ExecutionClass::Memory,
            ExecutionClass::Output => v1::ExecutionClass::Output,
            ExecutionClass::Killed => v1::ExecutionClass::Killed,
        };
        Self { class: class.into(), result: execution.result.clone() }
    }
}

impl TryFrom<v1::Execution> for Execution {
    type Error = ParseError;

    fn try_from(wire: v1::Execution) -> Result<Self, ParseError> {
        let class = match wire.class() {
            v1::ExecutionClass::Passed => ExecutionClass::Passed,
            v1::ExecutionClass::WrongAnswer => ExecutionClass::WrongAnswer,
            v1::ExecutionClass::Failed => ExecutionClass::Failed,
            v1::ExecutionClass::Timeout => ExecutionClass::Timeout,
            v1::ExecutionClass::Memory => ExecutionClass::Memory,
            v1::ExecutionClass::Output => ExecutionClass::Output,
            v1::ExecutionClass::Killed => ExecutionClass::Killed,
            v1::ExecutionClass::Unspecified => return Err(ParseError::Missing("execution.class")),
        };
        Ok(Self { class, result: wire.result, answer: String::new() })
    }
}

/// Failure in an encoded [`v1::SampleResult`]; the rest of it is skipped.
#[derive(Clone, PartialEq, prost::Message)]
pub struct FailureMark {
    #[prost(uint32, tag = "1")]
    pub index: u32,
    /// Reason why there is no score.
    #[prost(string, optional, tag = "8")]
    pub failed: Option<String>,
    /// Set if another try may succeed.
    #[prost(bool, tag = "14")]
    pub engine_failed: bool,
}

/// The first field of an encoded [`v1::SampleResult`]; the rest of it is skipped.
#[derive(Clone, PartialEq, prost::Message)]
pub struct IndexMark {
    #[prost(uint32, tag = "1")]
    pub index: u32,
}

/// Encodes a result, given by its own canonical encoding, as that of the sample at `index`. The index stands first and the rest does not
/// depend on it, so that nothing is parsed but the index. Bytes that are no result stay as they are.
pub fn encoded_under(index: u32, result: &[u8]) -> Vec<u8> {
    let known = IndexMark::decode(result).ok().and_then(|known| result.get(known.encoded_len()..));
    known.map_or_else(|| result.to_vec(), |rest| [IndexMark { index }.encode_to_vec().as_slice(), rest].concat())
}

impl From<&SampleResult> for v1::SampleResult {
    fn from(result: &SampleResult) -> Self {
        use v1::sample_result::Outcome as Wire;
        let outcome = match &result.outcome {
            Outcome::Ppl(scores) => Wire::Ppl(v1::PplScores {
                nll_sum: scores.iter().map(|score| score.nll_sum).collect(),
                tokens: scores.iter().map(|score| score.tokens).collect(),
                normalizer_nll_sum: scores.iter().filter_map(|score| Some(score.normalizer?.nll_sum)).collect(),
                normalizer_tokens: scores.iter().filter_map(|score| Some(score.normalizer?.tokens)).collect(),
            }),
            Outcome::Loglikelihood(scores) => Wire::Loglikelihood(v1::LoglikelihoodScores {
                sum: scores.iter().map(|score| score.sum).collect(),
                tokens: scores.iter().map(|score| score.tokens).collect(),
                is_greedy: scores.iter().map(|score| score.is_greedy).collect(),
            }),
            Outcome::Clp(log_probs) => Wire::Clp(v1::ClpScores { log_prob: log_probs.clone() }),
            Outcome::Rolling(score) => Wire::Rolling(v1::RollingScore { sum: score.sum, tokens: score.tokens }),
            Outcome::Generated(generations) => match generations.as_slice() {
                [only] => Wire::Generation(only.into()),
                several => Wire::Generations(v1::Generations { generations: several.iter().map(Into::into).collect() }),
            },
            Outcome::Executed(executions) => {
                Wire::Executions(v1::Executions { executions: executions.iter().map(Into::into).collect() })
            }
            Outcome::Failed { reason } => Wire::Failed(reason.clone()),
            Outcome::NoRoom { reason } => Wire::NoRoom(reason.clone()),
        };
        Self {
            index: result.index,
            shots_kept: result.fit.shots_kept,
            tokens: result.fit.tokens,
            truncated_from: result.fit.truncated_from,
            outcome: Some(outcome),
            engine_failed: false,
            prompt_sha: result.fit.prompt_sha.map(|PromptSha(prefix)| prefix),
            rendered: result.fit.rendered.clone(),
        }
    }
}

impl TryFrom<v1::SampleResult> for SampleResult {
    type Error = ParseError;

    fn try_from(wire: v1::SampleResult) -> Result<Self, ParseError> {
        use v1::sample_result::Outcome as Wire;
        let outcome = match wire.outcome.ok_or(ParseError::Missing("outcome"))? {
            Wire::Ppl(scores) => Outcome::Ppl(ppl_scores(scores)?),
            Wire::Clp(scores) => Outcome::Clp(scores.log_prob),
            Wire::Rolling(score) => Outcome::Rolling(RollingScore { sum: score.sum, tokens: score.tokens }),
            Wire::Loglikelihood(scores) => {
                if scores.sum.len() != scores.tokens.len() || scores.sum.len() != scores.is_greedy.len() {
                    return Err(uneven("loglikelihood"));
                }
                let rows = scores.sum.into_iter().zip(scores.tokens).zip(scores.is_greedy);
                Outcome::Loglikelihood(
                    rows.map(|((sum, tokens), is_greedy)| LoglikelihoodScore { sum, tokens, is_greedy }).collect(),
                )
            }
            Wire::Generation(generation) => Outcome::Generated(vec![generation.try_into()?]),
            Wire::Generations(several) => {
                let generations: Result<_, _> = several.generations.into_iter().map(Generation::try_from).collect();
                Outcome::Generated(generations?)
            }
            Wire::Executions(several) => {
                let executions: Result<_, _> = several.executions.into_iter().map(Execution::try_from).collect();
                Outcome::Executed(executions?)
            }
            Wire::Failed(reason) => Outcome::Failed { reason },
            Wire::NoRoom(reason) => Outcome::NoRoom { reason },
        };
        let fit = PromptFit {
            shots_kept: wire.shots_kept,
            tokens: wire.tokens,
            truncated_from: wire.truncated_from,
            prompt_sha: wire.prompt_sha.map(PromptSha),
            rendered: wire.rendered,
        };
        Ok(Self { index: wire.index, fit, outcome })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(outcome: Outcome) {
        let (prompt_sha, rendered) = (Some(PromptSha(u64::MAX)), Some("user: é".to_owned()));
        let fit = PromptFit { shots_kept: 2, tokens: 77, truncated_from: 99, prompt_sha, rendered };
        let result = SampleResult { index: 5, fit, outcome };
        let wire = v1::SampleResult::from(&result);
        let bytes = wire.encode_to_vec();
        let back = SampleResult::try_from(v1::SampleResult::decode(bytes.as_slice()).unwrap()).unwrap();
        assert_eq!(back, result);
        for index in [0, 5, 127, 128, u32::MAX] {
            let other = v1::SampleResult { index, engine_failed: true, ..wire.clone() }.encode_to_vec();
            let same = v1::SampleResult { index: 300, engine_failed: true, ..wire.clone() }.encode_to_vec();
            assert_eq!(encoded_under(index, &same), other);
            assert_eq!(encoded_under(300, &other), same);
        }
    }

    #[test]
    fn every_outcome_survives_the_wire_to_the_bit() {
        round_trip(Outcome::Ppl(vec![
            PplScore { nll_sum: 0.1 + 0.2, tokens: 3, normalizer: None },
            PplScore { nll_sum: -0.0, tokens: 1, normalizer: None },
        ]));
        let normalizer = Some(NormalizerScore { nll_sum: 2.5, tokens: 4 });
        round_trip(Outcome::Ppl(vec![PplScore { nll_sum: 1.5, tokens: 3, normalizer }]));
        round_trip(Outcome::Clp(vec![-0.5, f64::NEG_INFINITY]));
        round_trip(Outcome::Rolling(RollingScore { sum: -1234.5, tokens: 99 }));
        round_trip(Outcome::Loglikelihood(vec![LoglikelihoodScore { sum: -1e-300, tokens: 4, is_greedy: true }]));
        let text = "é\u{1F600}\n".to_owned();
        let generation = Generation::new(text, 9, Finish::Stop);
        for end in [ThinkingEnd::Closed, ThinkingEnd::Forced, ThinkingEnd::Cut, ThinkingEnd::Ended] {
            let thinking = Some(Thought { text: "so\n".to_owned(), tokens: 3, end });
            round_trip(Outcome::Generated(vec![Generation { thinking, ..generation.clone() }]));
        }
        round_trip(Outcome::Generated(vec![generation.clone()]));
        round_trip(Outcome::Generated(vec![generation.clone(), generation]));
        round_trip(Outcome::Generated(Vec::new()));
        let result = "failed: é".to_owned();
        round_trip(Outcome::Executed(vec![Execution { class: ExecutionClass::Memory, result, answer: String::new() }]));
        round_trip(Outcome::Executed(Vec::new()));
        round_trip(Outcome::Failed { reason: "too long".into() });
        round_trip(Outcome::NoRoom { reason: "too little memory".into() });
    }

    #[test]
    fn uneven_lists_and_missing_outcomes_are_refused() {
        let scores = v1::PplScores { nll_sum: vec![1.0], ..Default::default() };
        let outcome = Some(v1::sample_result::Outcome::Ppl(scores));
        assert!(SampleResult::try_from(v1::SampleResult { outcome, ..Default::default() }).is_err());
        assert_eq!(SampleResult::try_from(v1::SampleResult::default()), Err(ParseError::Missing("outcome")));
    }
}
