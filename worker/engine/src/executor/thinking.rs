//! Thinking in the decode loop: the place of a sequence between its marks, and the tokens that are put in place of its own.
//!
//! The state of a sequence is a function of its prompt and its generated tokens, so that a sequence that begins again has the same
//! one. Texts are split by [`compass_postprocess::thinking::split`] in the end; the tracker tells at every step what that would say.

use super::answer::RunError;
use crate::fault::file_fault;
use crate::tokenizer::TextTokenizer;
use compass_plan::engine::EngineFault;
use compass_plan::{AtBudget, EXTENSION, REST, Thinking};
use compass_postprocess::thinking::{Marks, Opened, begun_answer, split};
use compass_types::result::{Finish, ThinkingEnd, Thought};
use std::path::Path;

/// Tokens after which a text that is blank so far has begun its answer.
const MOST_BLANK: usize = 32;

/// Tokens beyond thinking and answer that the model's own marks and the lines around them may take.
const MARK_TOKENS: usize = 16;

/// Thinking of a model: its marks, and what happens at its budget.
#[derive(Clone, Debug)]
pub(super) struct ThinkingRules {
    pub(super) marks: Marks,
    budget: Option<usize>,
    answer_tokens: Option<usize>,
    /// Tokens that end the thinking at its budget; empty where the generation ends there.
    forced: Vec<u32>,
    /// Tokens in the place of an early end mark, and the number of marks that give way.
    extension: (Vec<u32>, u32),
    /// The end mark, where it is one token.
    end: Option<u32>,
    /// Number of last tokens in which an end mark that the last one completes can lie.
    window: usize,
}

/// Lengths of a sequence that thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lengths {
    /// Most tokens of thinking; `None` where thinking and answer share `total`.
    budget: Option<usize>,
    answer: usize,
    pub(super) total: usize,
}

/// Place of a sequence in its text; numbers are of generated tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It is open whether the tokens from here on begin thinking: at the beginning, and right behind an end mark, which
    /// begins at token `mark`.
    Undecided {
        from: usize,
        mark: Option<usize>,
    },
    Thinking {
        from: usize,
    },
    /// Tokens that are put behind the thinking: the number of them so far, of the forced end or of the extension.
    Forcing {
        done: usize,
    },
    Extending {
        done: usize,
    },
    /// The answer, behind the end mark that begins at token `mark`; without one the whole text is the answer.
    Answer {
        from: usize,
        mark: Option<usize>,
    },
}

/// State of one sequence.
#[derive(Clone, Debug)]
pub(super) struct Tracker {
    opened: Opened,
    lengths: Lengths,
    phase: Phase,
    /// Number of tokens read.
    read: usize,
    /// Tokens of thinking so far.
    thought: usize,
    is_forced: bool,
    extended: u32,
}

/// The next token of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextToken {
    Token(u32),
    /// The generation ends without another token.
    Cut,
}

impl ThinkingRules {
    /// # Errors
    /// [`EngineFault::Model`] where the tokenizer cannot encode the marks, or thinking is to be extended and its end is several tokens.
    pub(super) fn new(
        marks: Marks,
        thinking: &Thinking,
        tokenizer: &TextTokenizer,
        folder: &Path,
    ) -> Result<Self, EngineFault> {
        let encode = |text: &str| {
            tokenizer.encode_plain(text).map_err(|error| file_fault(folder, format!("cannot encode {text:?}: {error}")))
        };
        let forced = match &thinking.at_budget {
            AtBudget::Force { text } => encode(&marks.forced_end(text))?,
            AtBudget::Cut => Vec::new(),
        };
        let end = match encode(marks.end())?.as_slice() {
            [only] => Some(*only),
            _ => None,
        };
        if thinking.extend > 0 && end.is_none() {
            let what = format!("`extend` needs an end of thinking that is one token, and {:?} is several", marks.end());
            return Err(file_fault(folder, what));
        }
        let longest = marks.ends.iter().map(String::len).max().unwrap_or(0);
        Ok(Self {
            budget: thinking.budget.map(|budget| budget as usize),
            answer_tokens: thinking.answer_tokens.map(|tokens| tokens as usize),
            forced,
            extension: (encode(EXTENSION)?, thinking.extend),
            end,
            // A visible token shows at least a byte; a few may be invisible.
            window: longest + 8,
            marks,
        })
    }

    /// Returns the lengths of a sequence whose data set asks for an answer of `max_out_len` tokens. `positions` are those that the
    /// model has left, `context` what its longest input has. Where both do not fit, thinking is shorter; an answer of [`REST`] has
    /// what the budget leaves.
    pub(super) fn lengths(&self, max_out_len: usize, positions: usize, context: usize) -> Lengths {
        let answer = self.answer_tokens.unwrap_or(max_out_len);
        let Some(budget) = self.budget else { return Lengths::of_answer(answer.min(positions)) };
        let room = positions.min(context);
        let taken = budget + self.forced.len() + MARK_TOKENS;
        let answer = if answer == REST as usize { room.saturating_sub(taken).max(1) } else { answer };
        let rest = answer.saturating_add(self.forced.len()).saturating_add(MARK_TOKENS);
        let budget = budget.min(room.saturating_sub(rest));
        Lengths { budget: Some(budget), answer, total: budget.saturating_add(rest).min(room) }
    }

    /// Returns the part of a text behind its thinking where stop strings count.
    fn answer_of<'t>(&self, text: &'t str, has_mark: bool) -> &'t str {
        if !has_mark {
            return text;
        }
        let ends = self.marks.ends.iter().filter_map(|end| Some(text.find(end.as_str())? + end.len()));
        let behind = &text[ends.min().unwrap_or(0)..];
        &behind[begun_answer(behind, &self.marks)..]
    }
}

impl Lengths {
    /// For a text of at most `total` tokens, thinking among them.
    pub(super) fn of_answer(total: usize) -> Self {
        Self { budget: None, answer: total, total }
    }
}

impl Tracker {
    pub(super) fn new(opened: Opened, lengths: Lengths) -> Self {
        let phase = match opened {
            Opened::Yes => Phase::Thinking { from: 0 },
            Opened::No | Opened::Unknown => Phase::Undecided { from: 0, mark: None },
        };
        Self { opened, lengths, phase, read: 0, thought: 0, is_forced: false, extended: 0 }
    }

    /// Reads the tokens that were generated since; begins again where there are fewer than before.
    ///
    /// # Errors
    /// The tokenizer's.
    pub(super) fn read(
        &mut self,
        rules: &ThinkingRules,
        tokenizer: &TextTokenizer,
        generated: &[u32],
    ) -> Result<(), RunError> {
        if generated.len() < self.read {
            *self = Self::new(self.opened, self.lengths);
        }
        while self.read < generated.len() {
            self.read += 1;
            self.push(rules, tokenizer, &generated[..self.read])?;
        }
        Ok(())
    }

    /// Takes the last of the `generated` tokens.
    fn push(&mut self, rules: &ThinkingRules, tokenizer: &TextTokenizer, generated: &[u32]) -> Result<(), RunError> {
        let last = generated.len() - 1;
        match self.phase {
            Phase::Answer { .. } => {}
            Phase::Undecided { from, mark } => {
                let text = tokenizer.decode_whole(&generated[from..])?;
                let text = text.trim_start();
                let begins = |start: &String| text.starts_with(start.as_str());
                let may_begin = |start: &String| start.starts_with(text);
                if rules.marks.starts.iter().any(begins) {
                    self.phase = Phase::Thinking { from: last + 1 };
                } else if generated.len() - from > MOST_BLANK || !rules.marks.starts.iter().any(may_begin) {
                    self.phase = Phase::Answer { from, mark };
                }
            }
            Phase::Forcing { done } if done + 1 < rules.forced.len() => self.phase = Phase::Forcing { done: done + 1 },
            Phase::Forcing { .. } => {
                let mark = generated.len() - rules.forced.len();
                self.phase = Phase::Answer { from: generated.len(), mark: Some(mark) };
            }
            Phase::Extending { done } => {
                self.thought += 1;
                let next = Phase::Extending { done: done + 1 };
                self.phase = if done + 1 < rules.extension.0.len() { next } else { Phase::Thinking { from: last + 1 } };
            }
            Phase::Thinking { from } => {
                if let Some(mark) = end_mark(rules, tokenizer, generated, from)? {
                    // Tokens of the mark were taken for thinking while it was not whole.
                    self.thought -= last - mark;
                    self.phase = Phase::Undecided { from: last + 1, mark: Some(mark) };
                } else {
                    self.thought += 1;
                }
            }
        }
        Ok(())
    }

    fn is_at_budget(&self) -> bool {
        self.lengths.budget.is_some_and(|budget| self.thought >= budget)
    }

    /// Returns whether the token after `generated` ones may be another than the model's, so that it is not fed before the host has
    /// seen it.
    pub(super) fn decides_next(&self, rules: &ThinkingRules, generated: usize) -> bool {
        match self.phase {
            // The sequence begins again, and its state is of before.
            _ if self.read != generated => true,
            Phase::Forcing { .. } | Phase::Extending { .. } => true,
            Phase::Thinking { .. } => self.is_at_budget() || self.extended < rules.extension.1,
            Phase::Undecided { .. } | Phase::Answer { .. } => false,
        }
    }

    /// Returns what follows where the model predicts `token`, one of the `eos` or another; to be called once for each token.
    pub(super) fn next(&mut self, rules: &ThinkingRules, token: u32, eos: &[u32]) -> NextToken {
        let put = |tokens: &[u32], at: usize| NextToken::Token(tokens.get(at).copied().unwrap_or(token));
        match self.phase {
            Phase::Forcing { done } => put(&rules.forced, done),
            Phase::Extending { done } => put(&rules.extension.0, done),
            Phase::Thinking { .. } if eos.contains(&token) => NextToken::Token(token),
            Phase::Thinking { .. } if self.is_at_budget() && rules.end != Some(token) => {
                if rules.forced.is_empty() {
                    return NextToken::Cut;
                }
                self.is_forced = true;
                self.phase = Phase::Forcing { done: 0 };
                put(&rules.forced, 0)
            }
            Phase::Thinking { .. }
                if rules.end == Some(token) && self.extended < rules.extension.1 && !self.is_at_budget() =>
            {
                self.extended += 1;
                self.phase = Phase::Extending { done: 0 };
                put(&rules.extension.0, 0)
            }
            _ => NextToken::Token(token),
        }
    }

    /// Returns whether the tokens read end within thinking.
    pub(super) fn is_thinking(&self) -> bool {
        matches!(self.phase, Phase::Thinking { .. } | Phase::Forcing { .. } | Phase::Extending { .. })
    }

    /// Returns whether the answer has as many tokens as it may.
    pub(super) fn is_full(&self) -> bool {
        match self.phase {
            Phase::Answer { from, .. } | Phase::Undecided { from, mark: Some(_) } => {
                self.lengths.budget.is_some() && self.read - from >= self.lengths.answer
            }
            _ => false,
        }
    }

    /// Returns whether one of the stop strings that `occurs` finds is in the answer so far. Thinking has none.
    ///
    /// # Errors
    /// The tokenizer's.
    pub(super) fn is_stopped(
        &self,
        rules: &ThinkingRules,
        tokenizer: &TextTokenizer,
        generated: &[u32],
        occurs: impl Fn(&str) -> bool,
    ) -> Result<bool, RunError> {
        let (Phase::Answer { from, mark } | Phase::Undecided { from, mark: mark @ Some(_) }) = self.phase else {
            return Ok(false);
        };
        if generated.len() <= from {
            return Ok(false);
        }
        let text = tokenizer.decode_whole(&generated[mark.unwrap_or(0)..])?;
        Ok(occurs(rules.answer_of(&text, mark.is_some())))
    }

    /// Returns the thinking of a finished text and its answer, with the answer's tokens.
    pub(super) fn finished<'t>(
        &self,
        rules: &ThinkingRules,
        text: &'t str,
        finish: Finish,
    ) -> (Option<Thought>, &'t str, usize) {
        let parts = split(text, &rules.marks, self.opened);
        let Some(thinking) = parts.thinking else { return (None, text, self.read) };
        let end = match (parts.closed, finish) {
            (true, _) if self.is_forced => ThinkingEnd::Forced,
            (true, _) => ThinkingEnd::Closed,
            (false, Finish::Length) => ThinkingEnd::Cut,
            (false, _) => ThinkingEnd::Ended,
        };
        let answered = match self.phase {
            Phase::Answer { from, .. } | Phase::Undecided { from, mark: Some(_) } => self.read - from,
            _ => 0,
        };
        let thought = Thought { text: thinking.to_owned(), tokens: self.thought as u32, end };
        (Some(thought), parts.answer, answered)
    }
}

/// Returns the token at which an end mark begins that the last of the `generated` tokens completes; it lies behind token `from`.
fn end_mark(
    rules: &ThinkingRules,
    tokenizer: &TextTokenizer,
    generated: &[u32],
    from: usize,
) -> Result<Option<usize>, RunError> {
    let last = generated.len() - 1;
    if rules.end == Some(generated[last]) {
        return Ok(Some(last));
    }
    let has_mark = |from: usize| -> Result<bool, RunError> {
        let text = tokenizer.decode_whole(&generated[from..])?;
        Ok(rules.marks.ends.iter().any(|end| text.contains(end.as_str())))
    };
    let least = from.max(generated.len().saturating_sub(rules.window));
    if !has_mark(least)? {
        return Ok(None);
    }
    let mut mark = last;
    while mark > least && !has_mark(mark)? {
        mark -= 1;
    }
    Ok(Some(mark))
}
