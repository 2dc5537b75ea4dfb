//! Thinking with a budget, at a server that continues texts: it is asked for the thinking, which is closed here, then for the answer.
//!
//! The server counts the tokens, so that a thinking has its budget exactly where each mark is one token.

use super::answer::{Stopped, Usage, estimated, generation, stopped_by, told};
use super::asker::{Asker, Unanswered};
use super::body::Wish;
use super::sent::{Bound, Read, SentPrompt};
use compass_plan::EXTENSION;
use compass_plan::prompt::RenderedPrompt;
use compass_postprocess::thinking::{Opened, split};
use compass_types::result::{Finish, Generation, ThinkingEnd, Thought};

/// Tokens beyond thinking and answer that marks and the lines around them may take.
const MARK_TOKENS: u64 = 16;

/// Stop strings in the blank lines before an answer, each of which takes a request.
const MOST_BLANK: u32 = 8;

/// End of a thinking.
#[derive(Debug)]
enum End {
    /// The model closed it with this mark.
    Closed(String),
    AtBudget,
    /// The model ended.
    Ended,
}

/// A sample's answer in the making.
struct Asking<'a> {
    asker: &'a Asker,
    wish: &'a Wish,
    /// Index of the sample, and which of its answers it is.
    place: (u32, u32),
    /// Prompt tokens of all requests.
    read: Read,
}

/// A continued text.
struct Part {
    generation: Generation,
    stopped: Stopped,
}

impl Bound {
    /// Tokens of thinking behind a prompt: fewer where the context does not hold both and the answer.
    async fn tokens(&self, asking: &mut Asking<'_>, prompt: &str) -> Result<u32, Unanswered> {
        let forced = self.forced.as_ref().map_or(0, |text| estimated(text.len()));
        let rest = u64::from(self.answer).saturating_add(2 * forced).saturating_add(MARK_TOKENS);
        let most = u64::from(self.budget).saturating_add(rest);
        // A token has a byte at least.
        match self.context.map(u64::from) {
            Some(context) if most.saturating_add(prompt.len() as u64) > context => {
                let prompt = asking.prompt_tokens(prompt).await?;
                let left = context.saturating_sub(prompt).saturating_sub(rest);
                Ok(self.budget.min(u32::try_from(left).unwrap_or(u32::MAX)))
            }
            _ => Ok(self.budget),
        }
    }
}

/// Asks for one answer behind a prompt whose thinking is bounded, with the prompt tokens of all requests that it took.
///
/// # Errors
/// There is no answer, for this reason.
pub(crate) async fn bounded(
    asker: &Asker,
    wish: &Wish,
    bound: &Bound,
    prompt: &SentPrompt,
    place: (u32, u32),
) -> Result<(Generation, Read), Unanswered> {
    let RenderedPrompt::Text(text) = &prompt.prompt else {
        return Err(Unanswered::Sample("a prompt of messages has no bounded thinking".into()));
    };
    let mut asking = Asking { asker, wish, place, read: 0 };
    // A start mark that the model writes is not a token of the thinking.
    let start = u32::from(prompt.opened != Opened::Yes);
    let budget = bound.tokens(&mut asking, text).await?.saturating_add(start);
    let (mut thought, mut spent, mut extended) = (String::new(), 0, 0);
    let end = loop {
        if spent >= budget {
            break End::AtBudget;
        }
        let part = asking.continued(format!("{text}{thought}"), budget - spent, &bound.marks.ends).await?;
        if thought.is_empty() && prompt.opened != Opened::Yes && !bound.marks.begins(&part.generation.text) {
            // The model answers at once.
            let answer = asking.answer(text.clone()).await?;
            return Ok((cut_at_stops(answer, &wish.stops), asking.read));
        }
        spent += part.generation.tokens;
        thought.push_str(&part.generation.text);
        match part.stopped {
            Stopped::AtLength => break End::AtBudget,
            Stopped::ByModel => break End::Ended,
            Stopped::ByText(_) | Stopped::Unsaid if extended < bound.extend && spent < budget => {
                extended += 1;
                thought.push_str(EXTENSION);
            }
            Stopped::ByText(mark) => break End::Closed(mark),
            Stopped::Unsaid => break End::Closed(bound.marks.end().to_owned()),
        }
    };
    let (closing, is_forced) = match (end, &bound.forced) {
        (End::Closed(mark), _) => (mark, false),
        (End::AtBudget, Some(forced)) => (forced.clone(), true),
        (end, _) => {
            // The end token of a model is none of its thinking.
            let (end, marks) = match end {
                End::Ended => (ThinkingEnd::Ended, start + 1),
                _ => (ThinkingEnd::Cut, start),
            };
            let tokens = spent.saturating_sub(marks);
            return Ok((unfinished(bound, prompt, &thought, tokens, end), asking.read));
        }
    };
    thought.push_str(&closing);
    let answer = asking.answer(format!("{text}{thought}")).await?;
    let whole = thought + &answer.text;
    let parts = split(&whole, &bound.marks, prompt.opened);
    let end = match (parts.closed, is_forced, answer.finish) {
        (true, true, _) => ThinkingEnd::Forced,
        (true, false, _) => ThinkingEnd::Closed,
        (false, _, Finish::Length) => ThinkingEnd::Cut,
        (false, ..) => ThinkingEnd::Ended,
    };
    let marks = start + u32::from(!is_forced);
    let tokens = spent.saturating_sub(marks);
    let thought = Thought { text: parts.thinking.unwrap_or_default().to_owned(), tokens, end };
    let answer = Generation::new(parts.answer, answer.tokens, answer.finish);
    Ok((Generation { thinking: Some(thought), ..cut_at_stops(answer, &wish.stops) }, asking.read))
}

/// An answer whose thinking did not end.
fn unfinished(bound: &Bound, prompt: &SentPrompt, thought: &str, tokens: u32, end: ThinkingEnd) -> Generation {
    let thinking = split(thought, &bound.marks, prompt.opened).thinking.unwrap_or(thought).to_owned();
    let finish = if end == ThinkingEnd::Cut { Finish::Length } else { Finish::Eos };
    Generation { thinking: Some(Thought { text: thinking, tokens, end }), ..Generation::new("", 0, finish) }
}

fn cut_at_stops(mut answer: Generation, stops: &[String]) -> Generation {
    let found = stops.iter().filter(|stop| !stop.is_empty()).filter_map(|stop| answer.text.find(stop.as_str()));
    if let Some(end) = found.min() {
        answer.text.truncate(end);
        answer.finish = Finish::Stop;
    }
    answer
}

impl Asking<'_> {
    /// Continues a text for thinking, until one of the `ends`.
    async fn continued(&mut self, text: String, tokens: u32, ends: &[String]) -> Result<Part, Unanswered> {
        self.ask(&self.wish.part(tokens, ends.to_vec()), text).await
    }

    /// Continues a text for the answer. A stop string in the blank lines before an answer does not end it; after [`MOST_BLANK`] of
    /// them the rest is asked for without stop strings, at which the caller cuts it.
    async fn answer(&mut self, text: String) -> Result<Generation, Unanswered> {
        let (mut wish, mut said, mut tokens, mut blank) = (self.wish.answering(), String::new(), 0, 0);
        loop {
            let Part { generation, stopped } = self.ask(&wish, format!("{text}{said}")).await?;
            let is_blank = said.trim().is_empty() && generation.text.trim().is_empty();
            // A server may count no token for a stop string.
            match (stopped, wish.less(generation.tokens.max(1))) {
                (Stopped::ByText(stop), Some(less)) if is_blank && blank < MOST_BLANK => {
                    said = said + &generation.text + &stop;
                    tokens += generation.tokens;
                    blank += 1;
                    wish = less;
                }
                // It may have been a stop string.
                (Stopped::ByText(_) | Stopped::Unsaid, _) if is_blank && wish.sends_stops() => wish.stops.clear(),
                _ => {
                    let text = said + &generation.text;
                    return Ok(Generation::new(text, tokens + generation.tokens, generation.finish));
                }
            }
        }
    }

    async fn ask(&mut self, wish: &Wish, text: String) -> Result<Part, Unanswered> {
        let (length, characters) = (wish.most_tokens(), text.chars().count());
        let (model, (index, sequence)) = (&self.asker.endpoint.model, self.place);
        let mut body = wish.request(model, &RenderedPrompt::Text(text), index, sequence);
        let read = |answer: &serde_json::Value| {
            let generated = generation(answer, wish.reading(self.asker.endpoint.api, &[], Opened::No))?;
            let length = generated.as_ref().map_or(0, |said| said.text.chars().count());
            let usage = Usage::of(answer, characters, length);
            Ok(((generated, stopped_by(answer), usage.prompt), usage))
        };
        let expected = estimated(characters).saturating_add(length);
        let (generated, stopped, read) = self.asker.ask(&mut body, expected, read).await?;
        self.read += read;
        Ok(Part { generation: generated.map_err(Unanswered::Sample)?, stopped })
    }

    /// Returns the tokens of a prompt as the server counts them.
    async fn prompt_tokens(&mut self, prompt: &str) -> Result<u64, Unanswered> {
        let (model, (index, sequence)) = (&self.asker.endpoint.model, self.place);
        let wish = self.wish.part(1, Vec::new());
        let mut body = wish.request(model, &RenderedPrompt::Text(prompt.to_owned()), index, sequence);
        let characters = prompt.chars().count();
        let count = |answer: &serde_json::Value| {
            let tokens = told(answer, "prompt_tokens").ok_or("an answer without `usage.prompt_tokens`")?;
            Ok((tokens, Usage::of(answer, characters, 1)))
        };
        let tokens = self.asker.ask(&mut body, estimated(characters) + 1, count).await?;
        self.read += tokens;
        Ok(tokens)
    }
}
