//! The decode loop: admit sequences, launch one pass, pass logits to the callback, release finished sequences.
//!
//! If a device computes asynchronously, the step after the next token is launched before the host has read that token: the
//! device takes it from where it was chosen. The host does its work for a step while the device computes the next one; a
//! sequence whose end shows only in its token has one row too many, which is not read.
//!
//! Between two launches the slots of long answers grow. Where the memory is full, the youngest sequence goes back to the queue
//! and begins again later, from its prompt: so its bits are the same. The oldest never does, so that one sequence after the
//! other comes to its end; and one that went back asks for the room that it needed, so that it does not go back for the same
//! growth again.

use super::callback::{DecodeCallback, StepOutcome};
use super::packed::Packed;
use super::predictions::{Predictions, PredictionsUnderWay};
use super::queue::{Queue, SequenceRequest};
use super::running_sequence::RunningSequence;
use super::slots::{Admission, Slots};
use crate::fault::is_out_of_memory;
use crate::kv::{Arena, Segment};
use crate::models::CausalLm;
use compass_plan::engine::TokenCounters;
use std::collections::HashMap;
use tch::{TchError, Tensor};

/// Most rows of one pass where the device prefers fewer, unless a single piece is longer: bounds the memory of activations.
const MAX_ROWS: usize = 1024;

/// Pending prompts that are examined for one that need not wait for another.
const LOOKAHEAD: usize = 64;

/// A step that was launched.
struct Step {
    /// Numbers of the sequences whose tokens it chooses, in the order of its predictions, and whether the token that it fed of
    /// each was late.
    sequences: Vec<(u64, bool)>,
    predictions: PredictionsUnderWay,
}

impl Step {
    /// Returns the row of each sequence's prediction.
    fn rows(&self) -> HashMap<u64, i64> {
        self.sequences.iter().zip(0..).map(|(&(number, _), row)| (number, row)).collect()
    }

    /// Takes back the counts of sequences that had ended: their rows were computed for nothing.
    fn discount(&self, has_ended: impl Fn(u64) -> bool, counters: &mut TokenCounters) {
        let surplus = self.sequences.iter().filter(|(number, late)| *late && has_ended(*number)).count() as u64;
        counters.distinct -= surplus;
        counters.computed -= surplus;
        counters.padded += surplus;
    }
}

/// Continues every prompt, the prompts that follow, and those that arrive meanwhile, as `callback` decides.
///
/// The bits of a sequence depend on its prompt alone: rows are computed in the segments of its own cuts and then one by
/// one, each over its own header and what follows it, for any composition of a pass.
///
/// # Errors
/// Errors of libtorch; nothing is kept for later batches then. When memory runs out, half as many sequences run from then on,
/// and the running ones restart: the callback gets equal logits again.
pub(crate) fn continue_all<T>(
    model: &mut dyn CausalLm,
    (slots, arena): (&mut Slots, &mut Arena),
    sequences: Vec<SequenceRequest<T>>,
    callback: &mut dyn DecodeCallback<T>,
    counters: &mut TokenCounters,
) -> Result<(), TchError> {
    let queue = Queue::new(sequences.into_iter().map(|sequence| sequence.cut_for(model)).collect());
    let mut batch = Batch { queue, running: Vec::new(), begun: 0, under_way: None };
    loop {
        if batch.running.is_empty() && batch.queue.is_empty() {
            callback.prepare();
        }
        if batch.queue.len() < slots.most() {
            let arrived = callback.arrivals().into_iter().map(|sequence| sequence.cut_for(model));
            batch.queue.push_back(arrived.collect());
        }
        batch.drop_unwanted(slots, callback);
        if batch.running.is_empty() && batch.queue.is_empty() {
            batch.under_way.into_iter().for_each(|step| step.discount(|_| true, counters));
            return Ok(());
        }
        match batch.advance(model, (slots, arena), callback, counters) {
            Ok(()) => {}
            Err(error) if is_out_of_memory(&error) && slots.shrink(arena) => {
                tracing::warn!(slots = slots.most(), "memory is short; fewer sequences run at once");
                // The running sequences are computed again: a step under way is of no use.
                batch.under_way = None;
                batch.queue.push_front(batch.running.drain(..).map(|one| one.sequence).collect());
            }
            Err(error) => {
                slots.forget(arena);
                return Err(error);
            }
        }
    }
}

/// The sequences of a batch.
struct Batch<T> {
    queue: Queue<T>,
    running: Vec<RunningSequence<T>>,
    /// Number of sequences that were given a slot so far.
    begun: u64,
    /// The step that the device computes.
    under_way: Option<Step>,
}

impl<T> Batch<T> {
    fn drop_unwanted(&mut self, slots: &mut Slots, callback: &dyn DecodeCallback<T>) {
        self.queue.retain(|sequence| callback.is_wanted(&sequence.id));
        self.running.retain(|one| {
            let wanted = callback.is_wanted(&one.sequence.id);
            if !wanted {
                slots.release(one.slot);
            }
            wanted
        });
    }

    /// Launches the next step, and reads the one that is computed: the one before it where the device computes ahead.
    fn advance(
        &mut self,
        model: &mut dyn CausalLm,
        (slots, arena): (&mut Slots, &mut Arena),
        callback: &mut dyn DecodeCallback<T>,
        counters: &mut TokenCounters,
    ) -> Result<(), TchError> {
        self.grow(slots, arena)?;
        for refused in self.admit(model, (slots, arena))? {
            callback.no_room(&refused.id, refused.most());
        }
        let next = self.launch(model, (slots, arena), callback, counters)?;
        if next.is_some() && self.queue.len() < slots.most() {
            callback.prepare();
        }
        let read = if slots.is_ahead() { std::mem::replace(&mut self.under_way, next) } else { next };
        match read {
            Some(step) => self.settle(step, model, slots, callback, counters),
            None => Ok(()),
        }
    }

    /// Gives room to running sequences for what the next step feeds of them. Where the memory is full, the youngest go back to the
    /// queue.
    fn grow(&mut self, slots: &mut Slots, arena: &mut Arena) -> Result<(), TchError> {
        let is_short = |one: &&RunningSequence<T>| one.room_wanted(slots, arena) > slots.room(arena, one.slot);
        let short: Vec<u64> = self.running.iter().filter(is_short).map(|one| one.number).collect();
        for number in short {
            while let Some(one) = self.running.iter().find(|one| one.number == number) {
                if slots.grow(arena, one.slot, one.room_wanted(slots, arena))? {
                    break;
                }
                self.send_back_youngest(slots, arena);
            }
        }
        Ok(())
    }

    /// Returns the youngest running sequence to the queue.
    fn send_back_youngest(&mut self, slots: &mut Slots, arena: &Arena) {
        let youngest = self.running.iter().enumerate().max_by_key(|(_, one)| one.number);
        let Some((place, _)) = youngest else { return };
        let mut one = self.running.swap_remove(place);
        tracing::debug!(generated = one.generated(), "memory is full; the youngest sequence begins again later");
        one.sequence.before.room = one.room_wanted(slots, arena);
        // What is computed of it was of use, unlike what follows an end.
        let rows = self.under_way.iter_mut().flat_map(|step| &mut step.sequences);
        rows.filter(|(number, _)| *number == one.number).for_each(|(_, late)| *late = false);
        slots.release(one.slot);
        self.queue.push_front(vec![one.sequence]);
    }

    /// Gives slots to pending sequences. Returns the sequences that have no room even alone.
    fn admit(
        &mut self,
        model: &dyn CausalLm,
        (slots, arena): (&mut Slots, &mut Arena),
    ) -> Result<Vec<SequenceRequest<T>>, TchError> {
        let Self { queue, running, begun, .. } = self;
        let (mut index, mut refused) = (0, Vec::new());
        while running.len() < slots.most() && index < LOOKAHEAD {
            let Some(sequence) = queue.get(index) else { break };
            match slots.admit(model, arena, &sequence.prompt, sequence.room())? {
                Admission::Full if running.is_empty() => refused.extend(queue.remove(index)),
                Admission::Full => break,
                Admission::Wait => index += 1,
                Admission::Slot(slot) => {
                    let Some(sequence) = queue.remove(index) else { break };
                    *begun += 1;
                    let seen = sequence.prompt.ids().to_vec();
                    running.push(RunningSequence { seen, sequence, slot, number: *begun, late: 0 });
                }
            }
        }
        Ok(refused)
    }

    /// Computes one pass: a row of each sequence that is being decoded, and pieces of prompts as far as rows allow. `None` if
    /// no sequence has anything to compute before the step under way is read.
    fn launch(
        &mut self,
        model: &mut dyn CausalLm,
        (slots, arena): (&mut Slots, &mut Arena),
        callback: &dyn DecodeCallback<T>,
        counters: &mut TokenCounters,
    ) -> Result<Option<Step>, TchError> {
        let mut pass = Packed::default();
        let mut decoding = Vec::new();
        // A prompt that is wholly in a cache needs no row of its own: its last hidden state was kept.
        let mut kept: Vec<Tensor> = Vec::new();
        // Rows on the same header attend to it in one call.
        self.running.sort_by_key(|one| slots.header(one.slot));
        let looks_ahead = model.takes_late_tokens() && callback.choice().rules.is_none_or(|penalty| penalty == 1.0);
        let rows_before = self.under_way.as_ref().filter(|_| looks_ahead).map(Step::rows).unwrap_or_default();
        for (number, one) in self.running.iter_mut().enumerate().filter(|(_, one)| one.generated_then() > 0) {
            let position = one.seen.len() + one.late - 1;
            let late = match one.late {
                0 => None,
                // The last token that it may generate is not fed; keys that depend on the length want tokens on the host.
                _ if callback.decides_next(&one.sequence.id, one.generated()) => continue,
                _ if position >= one.sequence.most() || !model.shares_prefixes(one.sequence.most()) => continue,
                _ => match rows_before.get(&one.number) {
                    Some(&row) => Some(row),
                    None => continue,
                },
            };
            let counted = &mut one.sequence.before.counted;
            if position >= *counted {
                counters.distinct += 1;
                *counted = position + 1;
            }
            let segment = Segment { decodes: true, ..slots.segment(one.slot, position, 1) };
            let row = match late {
                Some(before) => pass.push_late(segment, before),
                None => pass.push(segment, &one.seen[position..]),
            };
            decoding.push((number, StateRow::Computed(row), late.is_some()));
        }
        let (mut read, mut rows) = (Vec::new(), 0);
        let most_rows = model.rows_at_once().max(MAX_ROWS);
        for (number, one) in self.running.iter().enumerate().filter(|(_, one)| one.generated_then() == 0) {
            let (done, last) = slots.progress(one.slot);
            if let Some(last) = last.filter(|_| done == one.sequence.prompt.len()) {
                decoding.push((number, StateRow::Kept(kept.len()), false));
                kept.push(last.shallow_clone());
                continue;
            }
            for (start, end) in one.sequence.prompt.pieces(done) {
                if rows > 0 && rows + end - start > most_rows {
                    break;
                }
                rows += end - start;
                let row = pass.push(slots.segment(one.slot, start, end - start), &one.seen[start..end]);
                if slots.is_new(&one.sequence.prompt, (start, end)) {
                    counters.distinct += (end - start) as u64;
                }
                let whole = end == one.sequence.prompt.len();
                read.push((one.slot, end, row, whole));
                if whole {
                    decoding.push((number, StateRow::Computed(row), false));
                }
            }
        }
        if pass.is_empty() && decoding.is_empty() {
            return Ok(None);
        }
        let before = self.under_way.as_ref().map(|step| &step.predictions);
        let hidden = pass.compute(model, arena, before, counters)?;
        for (slot, end, row, whole) in read {
            let state = hidden.as_ref().filter(|_| whole);
            // A view would keep the whole pass.
            let state = state.map(|hidden| hidden.f_narrow(0, row, 1)?.f_detach_copy()).transpose()?;
            slots.computed(slot, end, state);
        }
        let (logits, decoding) = logits_of(model, hidden.as_ref(), &kept, decoding)?;
        let decoded: Vec<&RunningSequence<T>> =
            decoding.iter().filter_map(|(number, _)| self.running.get(*number)).collect();
        let predictions = PredictionsUnderWay::begin(model, logits.as_ref(), callback, &decoded, slots.is_ahead())?;
        let mut sequences = Vec::with_capacity(decoding.len());
        for (number, late) in decoding {
            if let Some(one) = self.running.get_mut(number) {
                sequences.push((one.number, late));
                one.late += 1;
            }
        }
        Ok(Some(Step { sequences, predictions }))
    }

    /// Reads a step, and takes its tokens; sequences that had ended before are skipped.
    fn settle(
        &mut self,
        step: Step,
        model: &dyn CausalLm,
        slots: &mut Slots,
        callback: &mut dyn DecodeCallback<T>,
        counters: &mut TokenCounters,
    ) -> Result<(), TchError> {
        let places: HashMap<u64, usize> =
            self.running.iter().enumerate().map(|(place, one)| (one.number, place)).collect();
        step.discount(|number| !places.contains_key(&number), counters);
        let Step { sequences, predictions } = step;
        let predictions: Predictions = predictions.read()?;
        let (mut over, mut follow) = (Vec::new(), Vec::new());
        for (row, (number, _)) in sequences.iter().enumerate() {
            let Some(&place) = places.get(number) else { continue };
            let Some(one) = self.running.get_mut(place) else { continue };
            one.late -= 1;
            match callback.on_logits(&one.sequence.id, &one.seen, one.generated(), predictions.of(row))? {
                StepOutcome::Next(token) => one.seen.push(token),
                StepOutcome::Finished(sequences) => {
                    over.push(place);
                    follow.extend(sequences);
                }
            }
        }
        over.sort_unstable();
        for place in over.into_iter().rev() {
            slots.release(self.running.swap_remove(place).slot);
        }
        self.queue.push_front(follow.into_iter().map(|sequence| sequence.cut_for(model)).collect());
        Ok(())
    }
}

/// Hidden state of which the logits are computed.
enum StateRow {
    /// Row of the pass.
    Computed(i64),
    /// Index of a state that was kept with its prompt.
    Kept(usize),
}

/// A running sequence that decodes, and whether the token that is fed of it is late.
type Decoding = (usize, bool);

/// Returns logits, `[decoding, vocabulary]`, and the running sequences that they are of, in order; none is computed where
/// no sequence decodes.
fn logits_of(
    model: &dyn CausalLm,
    hidden: Option<&Tensor>,
    kept: &[Tensor],
    decoding: Vec<(usize, StateRow, bool)>,
) -> Result<(Option<Tensor>, Vec<Decoding>), TchError> {
    let (mut rows, mut order, mut others, mut states) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (number, row, late) in decoding {
        match row {
            StateRow::Computed(row) => {
                rows.push(row);
                order.push((number, late));
            }
            StateRow::Kept(which) => {
                states.extend(kept.get(which).map(Tensor::shallow_clone));
                others.push((number, late));
            }
        }
    }
    order.append(&mut others);
    if let Some(hidden) = hidden.filter(|_| !rows.is_empty()) {
        let kernels = model.kernels();
        states.insert(0, kernels.embed(hidden, &kernels.to_device(&rows, hidden.device())?)?);
    }
    let states = match states.as_slice() {
        [] => return Ok((None, order)),
        [one] => one.shallow_clone(),
        many => Tensor::f_cat(many, 0)?,
    };
    Ok((Some(model.wide_logits(&states)?), order))
}
