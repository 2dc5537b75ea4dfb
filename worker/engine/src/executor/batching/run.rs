//! The decode loop: admit sequences, compute one pass, pass logits to the callback, release finished sequences.

use super::queue::{Queue, SequenceRequest};
use super::slots::{Admission, Slots};
use crate::fault::is_out_of_memory;
use crate::kernels::{Warp, added_rows};
use crate::kv::{Arena, Segment};
use crate::models::CausalLm;
use compass_plan::engine::TokenCounters;
use tch::{TchError, Tensor};

/// Most rows of one pass where the device prefers fewer, unless a single piece is longer: bounds the memory of activations.
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

/// What the model says of the token after a sequence.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Prediction<'a> {
    /// The token with the largest logit, the lowest of equals.
    Best(Option<u32>),
    /// A token drawn on the device, if the logits are a distribution.
    Drawn(Option<u32>),
    /// All logits.
    Logits(&'a [f32]),
}

/// How tokens are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Choice {
    /// A draw from the distribution that this transforms; the largest logit without one.
    pub(crate) warp: Option<Warp>,
    /// Factor of the repetition penalty, where rules change logits before: [`DecodeCallback::changes`].
    pub(crate) rules: Option<f32>,
}

/// Tokens whose logits rules change before one is chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// Each once.
    pub(crate) penalised: Vec<u32>,
    pub(crate) forbidden: Vec<u32>,
}

/// Chooses the tokens of sequences.
pub(crate) trait DecodeCallback<T> {
    /// How tokens are chosen.
    fn choice(&self) -> Choice;

    /// What rules change of the logits after `seen`, of which the last `generated` tokens do not belong to the prompt.
    fn changes(&self, _seen: &[u32], _generated: usize) -> Changes {
        Changes::default()
    }

    /// The number in [0, 1) for the draw of a sequence after so many generated tokens.
    fn uniform(&self, _id: &T, _generated: usize) -> f64 {
        0.0
    }

    /// Takes what the model predicts after `seen`, of which the last `generated` tokens do not belong to the prompt.
    ///
    /// # Errors
    /// Errors of libtorch, which end the batch.
    fn on_logits(
        &mut self,
        id: &T,
        seen: &[u32],
        generated: usize,
        prediction: Prediction<'_>,
    ) -> Result<StepOutcome<T>, TchError>;

    /// Takes that a sequence is not continued: the memory has no room for the keys and values of so many tokens.
    fn no_room(&mut self, id: &T, tokens: usize);

    /// Returns sequences that are to be continued too, since the last call.
    fn arrivals(&mut self) -> Vec<SequenceRequest<T>> {
        Vec::new()
    }

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

/// Continues every prompt, those that follow, and those that arrive meanwhile, as `callback` decides.
///
/// The bits of a sequence depend on its prompt alone: rows are computed in the segments of its own cuts and then one by
/// one, each over its own header and what follows it, for any composition of a pass.
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
        if queue.len() < slots.most() {
            queue.push_back(callback.arrivals().into_iter().map(|sequence| sequence.cut_for(model)).collect());
        }
        queue.retain(|sequence| callback.is_wanted(&sequence.id));
        running.retain(|one| {
            let wanted = callback.is_wanted(&one.sequence.id);
            if !wanted {
                slots.release(one.slot);
            }
            wanted
        });
        let step = admit(model, (slots, arena), &mut queue, &mut running).and_then(|refused| {
            refused.iter().for_each(|one| callback.no_room(&one.id, one.room()));
            step(model, (slots, arena), &mut queue, &mut running, callback, counters)
        });
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

/// Gives slots to pending sequences. Returns those that have no room even alone.
fn admit<T>(
    model: &dyn CausalLm,
    (slots, arena): (&mut Slots, &mut Arena),
    queue: &mut Queue<T>,
    running: &mut Vec<RunningSequence<T>>,
) -> Result<Vec<SequenceRequest<T>>, TchError> {
    let (mut index, mut refused) = (0, Vec::new());
    while running.len() < slots.most() && index < LOOKAHEAD {
        let Some(sequence) = queue.get(index) else { break };
        match slots.admit(model, arena, &sequence.prompt, sequence.room())? {
            Admission::Full if running.is_empty() => refused.extend(queue.remove(index)),
            Admission::Full => break,
            Admission::Wait => index += 1,
            Admission::Slot(slot) => {
                let Some(sequence) = queue.remove(index) else { break };
                running.push(RunningSequence { seen: sequence.prompt.ids().to_vec(), sequence, slot });
            }
        }
    }
    Ok(refused)
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
    // Rows on the same header attend to it in one call.
    running.sort_by_key(|one| slots.header(one.slot));
    for (number, one) in running.iter().enumerate().filter(|(_, one)| one.generated() > 0) {
        let position = one.seen.len() - 1;
        counters.distinct += 1;
        let segment = Segment { decodes: true, ..slots.segment(one.slot, position, 1) };
        let row = pass.push(segment, &one.seen[position..]);
        decoding.push((number, StateRow::Computed(row)));
    }
    let (mut read, mut rows) = (Vec::new(), 0);
    let most_rows = model.rows_at_once().max(MAX_ROWS);
    for (number, one) in running.iter().enumerate().filter(|(_, one)| one.generated() == 0) {
        let (done, last) = slots.progress(one.slot);
        if let Some(last) = last.filter(|_| done == one.sequence.prompt.len()) {
            decoding.push((number, StateRow::Kept(kept.len())));
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
    let (logits, decoding) = logits_of(model, hidden.as_ref(), &kept, decoding)?;
    let decoded: Vec<&RunningSequence<T>> = decoding.iter().filter_map(|number| running.get(*number)).collect();
    let predictions = Predictions::read(model, logits.as_ref(), callback, &decoded)?;
    let mut over = Vec::new();
    let mut follow = Vec::new();
    for (row, number) in decoding.iter().enumerate() {
        let Some(one) = running.get_mut(*number) else { continue };
        let generated = one.generated();
        match callback.on_logits(&one.sequence.id, &one.seen, generated, predictions.of(row))? {
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

/// Returns logits, `[decoding, vocabulary]`, and the running sequences that they are of, in order; none is computed where
/// no sequence decodes.
fn logits_of(
    model: &dyn CausalLm,
    hidden: Option<&Tensor>,
    kept: &[Tensor],
    decoding: Vec<(usize, StateRow)>,
) -> Result<(Option<Tensor>, Vec<usize>), TchError> {
    let (mut rows, mut order, mut others, mut states) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (number, row) in decoding {
        match row {
            StateRow::Computed(row) => {
                rows.push(row);
                order.push(number);
            }
            StateRow::Kept(which) => {
                states.extend(kept.get(which).map(Tensor::shallow_clone));
                others.push(number);
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

/// Returns where in the logits of all rows together rules change something: what is penalised, and what is forbidden.
fn places<T>(
    vocabulary: usize,
    callback: &dyn DecodeCallback<T>,
    decoded: &[&RunningSequence<T>],
) -> (Vec<i64>, Vec<i64>) {
    let (mut penalised, mut forbidden) = (Vec::new(), Vec::new());
    for (row, one) in decoded.iter().enumerate() {
        let place = |id: &u32| (row * vocabulary + *id as usize) as i64;
        let is_known = |id: &&u32| (**id as usize) < vocabulary;
        let changes = callback.changes(&one.seen, one.generated());
        penalised.extend(changes.penalised.iter().filter(is_known).map(place));
        forbidden.extend(changes.forbidden.iter().filter(is_known).map(place));
    }
    (penalised, forbidden)
}

/// What the host reads of the logits of a step: one copy.
enum Predictions {
    Best(Vec<i64>),
    Drawn(Vec<i64>),
    Logits(Vec<f32>, usize),
}

impl Predictions {
    fn read<T>(
        model: &dyn CausalLm,
        logits: Option<&Tensor>,
        callback: &dyn DecodeCallback<T>,
        decoded: &[&RunningSequence<T>],
    ) -> Result<Self, TchError> {
        let Some(logits) = logits else { return Ok(Self::Best(Vec::new())) };
        let kernels = model.kernels();
        let Choice { warp, rules } = callback.choice();
        if (warp.is_some() || rules.is_some()) && kernels.host_chooses(logits.device()) {
            return Ok(Self::Logits(kernels.floats_to_host(logits)?, model.vocabulary()));
        }
        if let Some(penalty) = rules {
            let (penalised, forbidden) = places(model.vocabulary(), callback, decoded);
            kernels.change(logits, &penalised, penalty, &forbidden)?;
        }
        let Some(warp) = warp else { return Ok(Self::Best(kernels.ids_to_host(&kernels.best(logits)?)?)) };
        let uniforms: Vec<f64> =
            decoded.iter().map(|one| callback.uniform(&one.sequence.id, one.generated())).collect();
        Ok(Self::Drawn(kernels.ids_to_host(&kernels.draw(logits, warp, &uniforms)?)?))
    }

    fn of(&self, row: usize) -> Prediction<'_> {
        match self {
            Self::Best(best) => Prediction::Best(best.get(row).and_then(|&id| u32::try_from(id).ok())),
            Self::Drawn(drawn) => Prediction::Drawn(drawn.get(row).and_then(|&id| u32::try_from(id).ok())),
            Self::Logits(all, vocabulary) => {
                Prediction::Logits(all.get(row * vocabulary..(row + 1) * vocabulary).unwrap_or_default())
            }
        }
    }
}

/// The segments of one pass.
#[derive(Default)]
struct Packed {
    tokens: Vec<u32>,
    segments: Vec<Segment>,
}

impl Packed {
    /// Adds the tokens of a segment. Returns the row of the last one.
    fn push(&mut self, segment: Segment, tokens: &[u32]) -> i64 {
        self.segments.push(segment);
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
