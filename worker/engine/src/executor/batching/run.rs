//! The loop: admit, compute one pass, hand out logits, let go.

use super::queue::{Ask, Queue};
use super::slots::{Admission, Slots};
use crate::blocks::{Segment, added_rows};
use crate::fault::is_out_of_memory;
use crate::models::CausalLm;
use compass_plan::engine::TokenCounters;
use tch::{Kind, TchError, Tensor};

/// Rows of one pass at most, but for a single piece: bounds what activations take.
const ROWS: usize = 1024;

/// Waiting prompts that are looked at for one that need not wait for another.
const LOOK: usize = 64;

/// What becomes of a sequence after one more step.
pub(crate) enum Heard<T> {
    /// It goes on with this token.
    Next(u32),
    /// It is over; these follow.
    Over(Vec<Ask<T>>),
}

/// Who decides how sequences go on.
pub(crate) trait Listener<T> {
    /// `logits`, `[1, vocabulary]` in f32, of what comes after `seen`, of which the last `generated` tokens are not the
    /// prompt's.
    ///
    /// # Errors
    /// libtorch's, which end the pack.
    fn hear(&mut self, who: &T, seen: &[u32], generated: usize, logits: &Tensor) -> Result<Heard<T>, TchError>;

    /// Whether anybody still waits for the sequence.
    fn is_wanted(&self, who: &T) -> bool;
}

/// A sequence in its slot.
struct Running<T> {
    ask: Ask<T>,
    slot: usize,
    /// The prompt and what was generated; the last token is still to be fed, once there is one that is not the prompt's.
    seen: Vec<u32>,
}

impl<T> Running<T> {
    fn generated(&self) -> usize {
        self.seen.len() - self.ask.prompt.len()
    }
}

/// Continues every prompt, and those that follow, as `listener` says.
///
/// What becomes of a sequence is a function of its prompt alone: rows are computed in the segments of its own cuts and then
/// one by one, whatever else is in a pass.
///
/// # Errors
/// libtorch's. When memory is short, half as many sequences run from then on, and those that ran begin anew: the listener
/// hears their tokens again, which are the same.
pub(crate) fn continue_all<T>(
    model: &mut dyn CausalLm,
    slots: &mut Slots,
    asks: Vec<Ask<T>>,
    listener: &mut dyn Listener<T>,
    counters: &mut TokenCounters,
) -> Result<(), TchError> {
    let mut queue = Queue::new(asks.into_iter().map(|ask| ask.cut_for(model)).collect());
    let mut running: Vec<Running<T>> = Vec::new();
    loop {
        queue.retain(|ask| listener.is_wanted(&ask.who));
        running.retain(|one| {
            let wanted = listener.is_wanted(&one.ask.who);
            if !wanted {
                slots.release(one.slot);
            }
            wanted
        });
        let step = admit(model, slots, &mut queue, &mut running)
            .and_then(|()| step(model, slots, &mut queue, &mut running, listener, counters));
        match step {
            Ok(()) if running.is_empty() && queue.is_empty() => return Ok(()),
            Ok(()) => {}
            Err(error) if is_out_of_memory(&error) && slots.shrink() => {
                tracing::warn!(slots = slots.most(), "memory is short; fewer sequences run at once");
                queue.push_front(running.drain(..).map(|one| one.ask).collect());
            }
            Err(error) => {
                slots.release_all();
                return Err(error);
            }
        }
    }
}

fn admit<T>(
    model: &dyn CausalLm,
    slots: &mut Slots,
    queue: &mut Queue<T>,
    running: &mut Vec<Running<T>>,
) -> Result<(), TchError> {
    let mut place = 0;
    while running.len() < slots.most() && place < LOOK {
        let Some(ask) = queue.get(place) else { return Ok(()) };
        match slots.admit(model, &ask.prompt, ask.room())? {
            Admission::Full => return Ok(()),
            Admission::Wait => place += 1,
            Admission::Slot(slot) => {
                let Some(ask) = queue.remove(place) else { return Ok(()) };
                running.push(Running { seen: ask.prompt.ids().to_vec(), ask, slot });
            }
        }
    }
    Ok(())
}

/// One pass: a row of each sequence that is being continued, and pieces of prompts as far as rows allow.
fn step<T>(
    model: &mut dyn CausalLm,
    slots: &mut Slots,
    queue: &mut Queue<T>,
    running: &mut Vec<Running<T>>,
    listener: &mut dyn Listener<T>,
    counters: &mut TokenCounters,
) -> Result<(), TchError> {
    let mut pass = Packed::default();
    let mut speaking = Vec::new();
    // A prompt that was in place as a whole needs no row of its own to be heard.
    let mut kept: Vec<Tensor> = Vec::new();
    for (number, one) in running.iter().enumerate().filter(|(_, one)| one.generated() > 0) {
        let position = one.seen.len() - 1;
        counters.distinct += 1;
        speaking.push((number, Row::Computed(pass.push(one.slot, position, &one.seen[position..]))));
    }
    let (mut read, mut rows) = (Vec::new(), 0);
    for (number, one) in running.iter().enumerate().filter(|(_, one)| one.generated() == 0) {
        let (done, last) = slots.progress(one.slot);
        if let Some(last) = last.filter(|_| done == one.ask.prompt.len()) {
            speaking.push((number, Row::Kept(kept.len())));
            kept.push(last.shallow_clone());
            continue;
        }
        for (start, end) in one.ask.prompt.pieces(done) {
            if rows > 0 && rows + end - start > ROWS {
                break;
            }
            rows += end - start;
            let row = pass.push(one.slot, start, &one.seen[start..end]);
            if slots.is_new(&one.ask.prompt, (start, end)) {
                counters.distinct += (end - start) as u64;
            }
            let whole = end == one.ask.prompt.len();
            read.push((one.slot, end, row, whole));
            if whole {
                speaking.push((number, Row::Computed(row)));
            }
        }
    }
    let hidden = pass.compute(model, slots, counters)?;
    for (slot, end, row, whole) in read {
        let state = hidden.as_ref().filter(|_| whole);
        // A view would keep the whole pass.
        let state = state.map(|hidden| hidden.f_narrow(0, row, 1)?.f_detach_copy()).transpose()?;
        slots.computed(slot, end, state);
    }
    let logits = logits_of(model, hidden.as_ref(), &kept, &speaking)?;
    let mut over = Vec::new();
    let mut follow = Vec::new();
    for (row, (number, _)) in speaking.iter().enumerate() {
        let Some(one) = running.get_mut(*number) else { continue };
        let own = logits.f_narrow(0, row as i64, 1)?;
        let generated = one.generated();
        match listener.hear(&one.ask.who, &one.seen, generated, &own)? {
            Heard::Next(token) => one.seen.push(token),
            Heard::Over(asks) => {
                over.push(*number);
                follow.extend(asks);
            }
        }
    }
    over.sort_unstable();
    for number in over.into_iter().rev() {
        slots.release(running.swap_remove(number).slot);
    }
    queue.push_front(follow.into_iter().map(|ask| ask.cut_for(model)).collect());
    Ok(())
}

/// Where the state is of which the logits are wanted.
enum Row {
    /// A row of the pass.
    Computed(i64),
    /// One of those kept with their prompts.
    Kept(usize),
}

/// `[speaking, vocabulary]`; nothing is computed where nobody speaks.
fn logits_of(
    model: &dyn CausalLm,
    hidden: Option<&Tensor>,
    kept: &[Tensor],
    speaking: &[(usize, Row)],
) -> Result<Tensor, TchError> {
    let states = speaking.iter().filter_map(|(_, row)| match row {
        Row::Computed(row) => hidden.map(|hidden| hidden.f_narrow(0, *row, 1)),
        Row::Kept(which) => kept.get(*which).map(|state| Ok(state.shallow_clone())),
    });
    let states: Vec<Tensor> = states.collect::<Result<_, TchError>>()?;
    if states.is_empty() {
        return Tensor::f_empty([0, 0], (Kind::Float, tch::Device::Cpu));
    }
    model.logits(&Tensor::f_cat(&states, 0)?)
}

/// The segments of one pass.
#[derive(Default)]
struct Packed {
    tokens: Vec<u32>,
    segments: Vec<Segment>,
}

impl Packed {
    /// Adds tokens of a slot's sequence, the first of them at `position`; returns the row of the last one.
    fn push(&mut self, slot: usize, position: usize, tokens: &[u32]) -> i64 {
        self.segments.push(Segment { cache: slot, position, rows: tokens.len() });
        self.tokens.extend_from_slice(tokens);
        self.tokens.len() as i64 - 1
    }

    /// `[rows, hidden]`, or nothing of nothing.
    fn compute(
        &self,
        model: &mut dyn CausalLm,
        slots: &mut Slots,
        counters: &mut TokenCounters,
    ) -> Result<Option<Tensor>, TchError> {
        if self.tokens.is_empty() {
            return Ok(None);
        }
        let hidden = model.hidden(&self.tokens, &self.segments, &mut slots.caches)?;
        counters.computed += self.tokens.len() as u64;
        counters.padded += added_rows(self.tokens.len() as i64, hidden.device()) as u64;
        Ok(Some(hidden))
    }
}
