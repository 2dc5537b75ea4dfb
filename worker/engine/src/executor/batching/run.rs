//! The decode loop: admit sequences, compute one pass, pass logits to the callback, release finished sequences.

use super::queue::{Queue, SequenceRequest};
use super::slots::{Admission, Slots};
use crate::fault::is_out_of_memory;
use crate::kernels::added_rows;
use crate::kv::{Arena, ExtentId, Segment};
use crate::models::CausalLm;
use compass_plan::engine::TokenCounters;
use tch::{Kind, TchError, Tensor};

/// Most rows of one pass, unless a single piece is longer: bounds the memory of activations.
const MAX_ROWS: usize = 1024;

/// Pending prompts that are examined for one that need not wait for another.
const LOOKAHEAD: usize = 64;

/// Outcome of one decode step of a sequence.
pub(crate) enum StepOutcome<T> {
    /// The sequence continues with this token.
    Next(u32),
    /// The sequence is finished; these sequences follow it.
    Finished(Vec<SequenceRequest<T>>),
}

/// Chooses the tokens of sequences.
pub(crate) trait DecodeCallback<T> {
    /// Takes `logits`, `[1, vocabulary]` in f32, of the token after `seen`, of which the last `generated` tokens do not belong
    /// to the prompt.
    ///
    /// # Errors
    /// Errors of libtorch, which end the batch.
    fn on_logits(
        &mut self,
        id: &T,
        seen: &[u32],
        generated: usize,
        logits: &Tensor,
    ) -> Result<StepOutcome<T>, TchError>;

    /// Whether the sequence is still needed.
    fn is_wanted(&self, id: &T) -> bool;
}

/// A sequence in its slot.
struct RunningSequence<T> {
    sequence: SequenceRequest<T>,
    slot: usize,
    /// Tokens of the prompt and those generated; the last one is not fed yet, once it is a generated one.
    seen: Vec<u32>,
}

impl<T> RunningSequence<T> {
    fn generated(&self) -> usize {
        self.seen.len() - self.sequence.prompt.len()
    }
}

/// Continues every prompt, and those that follow, as `callback` decides.
///
/// The bits of a sequence depend on its prompt alone: rows are computed in the segments of its own cuts and then one by one,
/// for any composition of a pass.
///
/// # Errors
/// Errors of libtorch. When memory runs out, half as many sequences run from then on, and the running ones restart: the
/// callback gets equal logits again.
pub(crate) fn continue_all<T>(
    model: &mut dyn CausalLm,
    (slots, arena): (&mut Slots, &mut Arena),
    sequences: Vec<SequenceRequest<T>>,
    callback: &mut dyn DecodeCallback<T>,
    counters: &mut TokenCounters,
) -> Result<(), TchError> {
    let mut queue = Queue::new(sequences.into_iter().map(|sequence| sequence.cut_for(model)).collect());
    let mut running: Vec<RunningSequence<T>> = Vec::new();
    loop {
        queue.retain(|sequence| callback.is_wanted(&sequence.id));
        running.retain(|one| {
            let wanted = callback.is_wanted(&one.sequence.id);
            if !wanted {
                slots.release(one.slot);
            }
            wanted
        });
        let step = admit(model, (slots, arena), &mut queue, &mut running)
            .and_then(|()| step(model, (slots, arena), &mut queue, &mut running, callback, counters));
        match step {
            Ok(()) if running.is_empty() && queue.is_empty() => return Ok(()),
            Ok(()) => {}
            Err(error) if is_out_of_memory(&error) && slots.shrink(arena) => {
                tracing::warn!(slots = slots.most(), "memory is short; fewer sequences run at once");
                queue.push_front(running.drain(..).map(|one| one.sequence).collect());
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
    (slots, arena): (&mut Slots, &mut Arena),
    queue: &mut Queue<T>,
    running: &mut Vec<RunningSequence<T>>,
) -> Result<(), TchError> {
    let mut index = 0;
    while running.len() < slots.most() && index < LOOKAHEAD {
        let Some(sequence) = queue.get(index) else { return Ok(()) };
        match slots.admit(model, arena, &sequence.prompt, sequence.room())? {
            Admission::Full => return Ok(()),
            Admission::Wait => index += 1,
            Admission::Slot(slot) => {
                let Some(sequence) = queue.remove(index) else { return Ok(()) };
                running.push(RunningSequence { seen: sequence.prompt.ids().to_vec(), sequence, slot });
            }
        }
    }
    Ok(())
}

/// Computes one pass: a row of each sequence that is being decoded, and pieces of prompts as far as rows allow.
fn step<T>(
    model: &mut dyn CausalLm,
    (slots, arena): (&mut Slots, &mut Arena),
    queue: &mut Queue<T>,
    running: &mut Vec<RunningSequence<T>>,
    callback: &mut dyn DecodeCallback<T>,
    counters: &mut TokenCounters,
) -> Result<(), TchError> {
    let mut pass = Packed::default();
    let mut decoding = Vec::new();
    // A prompt that is wholly in a cache needs no row of its own: its last hidden state was kept.
    let mut kept: Vec<Tensor> = Vec::new();
    for (number, one) in running.iter().enumerate().filter(|(_, one)| one.generated() > 0) {
        let position = one.seen.len() - 1;
        counters.distinct += 1;
        decoding.push((number, StateRow::Computed(pass.push(slots.extent(one.slot), position, &one.seen[position..]))));
    }
    let (mut read, mut rows) = (Vec::new(), 0);
    for (number, one) in running.iter().enumerate().filter(|(_, one)| one.generated() == 0) {
        let (done, last) = slots.progress(one.slot);
        if let Some(last) = last.filter(|_| done == one.sequence.prompt.len()) {
            decoding.push((number, StateRow::Kept(kept.len())));
            kept.push(last.shallow_clone());
            continue;
        }
        for (start, end) in one.sequence.prompt.pieces(done) {
            if rows > 0 && rows + end - start > MAX_ROWS {
                break;
            }
            rows += end - start;
            let row = pass.push(slots.extent(one.slot), start, &one.seen[start..end]);
            if slots.is_new(&one.sequence.prompt, (start, end)) {
                counters.distinct += (end - start) as u64;
            }
            let whole = end == one.sequence.prompt.len();
            read.push((one.slot, end, row, whole));
            if whole {
                decoding.push((number, StateRow::Computed(row)));
            }
        }
    }
    let hidden = pass.compute(model, arena, counters)?;
    for (slot, end, row, whole) in read {
        let state = hidden.as_ref().filter(|_| whole);
        // A view would keep the whole pass.
        let state = state.map(|hidden| hidden.f_narrow(0, row, 1)?.f_detach_copy()).transpose()?;
        slots.computed(slot, end, state);
    }
    let logits = logits_of(model, hidden.as_ref(), &kept, &decoding)?;
    let mut over = Vec::new();
    let mut follow = Vec::new();
    for (row, (number, _)) in decoding.iter().enumerate() {
        let Some(one) = running.get_mut(*number) else { continue };
        let own = logits.f_narrow(0, row as i64, 1)?;
        let generated = one.generated();
        match callback.on_logits(&one.sequence.id, &one.seen, generated, &own)? {
            StepOutcome::Next(token) => one.seen.push(token),
            StepOutcome::Finished(sequences) => {
                over.push(*number);
                follow.extend(sequences);
            }
        }
    }
    over.sort_unstable();
    for number in over.into_iter().rev() {
        slots.release(running.swap_remove(number).slot);
    }
    queue.push_front(follow.into_iter().map(|sequence| sequence.cut_for(model)).collect());
    Ok(())
}

/// Hidden state of which the logits are computed.
enum StateRow {
    /// Row of the pass.
    Computed(i64),
    /// Index of a state that was kept with its prompt.
    Kept(usize),
}

/// Returns logits, `[decoding, vocabulary]`; nothing is computed where no sequence decodes.
fn logits_of(
    model: &dyn CausalLm,
    hidden: Option<&Tensor>,
    kept: &[Tensor],
    decoding: &[(usize, StateRow)],
) -> Result<Tensor, TchError> {
    let states = decoding.iter().filter_map(|(_, row)| match row {
        StateRow::Computed(row) => hidden.map(|hidden| hidden.f_narrow(0, *row, 1)),
        StateRow::Kept(which) => kept.get(*which).map(|state| Ok(state.shallow_clone())),
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
    /// Adds tokens of a sequence, the first of them at `position`. Returns the row of the last one.
    fn push(&mut self, extent: ExtentId, position: usize, tokens: &[u32]) -> i64 {
        self.segments.push(Segment::alone(extent, position, tokens.len()));
        self.tokens.extend_from_slice(tokens);
        self.tokens.len() as i64 - 1
    }

    /// Returns hidden states, `[rows, hidden]`; `None` for a pass without rows.
    fn compute(
        &self,
        model: &mut dyn CausalLm,
        arena: &mut Arena,
        counters: &mut TokenCounters,
    ) -> Result<Option<Tensor>, TchError> {
        if self.tokens.is_empty() {
            return Ok(None);
        }
        let hidden = model.hidden(&self.tokens, &self.segments, arena)?;
        counters.computed += self.tokens.len() as u64;
        counters.padded += added_rows(self.tokens.len() as i64, hidden.device()) as u64;
        Ok(Some(hidden))
    }
}
