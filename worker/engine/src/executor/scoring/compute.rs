//! Computes a trie of texts, and reports the scores of every sample as soon as they are known.

use super::cuts::cut_apart;
use super::passes::Passes;
use super::resident::{Resident, ResidentNode};
use super::trie::Trie;
use super::{Scored, ScoringInput};
use crate::executor::score::{Precision, RowTokens, ScoresUnderWay, TokenScore, begin_scores, rows_scores};
use crate::fault::is_out_of_memory;
use crate::kernels::added_rows;
use crate::known_faults::lacks_memory;
use crate::kv::{Arena, ExtentId, Segment, reserve};
use crate::models::CausalLm;
use compass_plan::engine::{PrefixSegment, TokenCounters};
use std::collections::HashSet;
use tch::{TchError, Tensor};

/// Divisor of the arena for segments that are kept between batches.
const RESIDENT: usize = 4;

/// State that is kept between batches.
#[derive(Default)]
pub(in crate::executor) struct Scorer {
    resident: Resident,
    /// Paths of all prefix segments that were requested for the current job.
    seen: HashSet<u64>,
    /// Prefix segments of the last batches that were new and that other samples may share.
    new_segments: Vec<PrefixSegment>,
    /// Maximum number of rows of a forward pass, once memory has run out.
    max_rows: Option<usize>,
    /// Set if a pass is prepared while the device computes the one before.
    is_ahead: bool,
}

/// The model, the precision of its scores, and the counters to add to.
pub(in crate::executor) struct Work<'a> {
    pub(in crate::executor) model: &'a mut dyn CausalLm,
    pub(in crate::executor) precision: Precision,
    pub(in crate::executor) counters: &'a mut TokenCounters,
}

/// A pass that a device computes.
struct PassUnderWay {
    nodes: Vec<usize>,
    scores: ScoresUnderWay,
    /// The last hidden state of each node, `[nodes, hidden]`.
    ends: Tensor,
}

/// Scores of the tokens of a node.
struct NodeScores {
    inner_from: usize,
    inner: Vec<TokenScore>,
    /// Scores of the tokens in [`super::trie::Node::next`], in its order.
    next: Vec<TokenScore>,
}

/// Scores of the texts of a sample, or why they have no room.
pub(in crate::executor) type SampleScores = Result<Vec<Scored>, String>;

/// Scoring of one batch.
struct Run<'a, 'b> {
    work: Work<'a>,
    trie: Trie,
    samples: Vec<Pending>,
    /// For each text, its sample and its index in that sample.
    texts: Vec<(usize, usize)>,
    known: Vec<Option<NodeScores>>,
    /// The extent of each node that is computed, while something below it is not.
    extents: Vec<Option<ExtentId>>,
    /// The resident segment of each node that is one.
    resident: Vec<Option<usize>>,
    /// Number of nodes to compute at each node and below it.
    left: Vec<usize>,
    done: &'b mut dyn FnMut(usize, SampleScores),
}

struct Pending {
    texts: Vec<ScoringInput>,
    scores: Vec<Scored>,
    left: usize,
}

impl Scorer {
    /// Creates a scorer that keeps nothing yet. With `is_ahead` a pass is made ready while the one before it is computed,
    /// which is of use where the host does not compute itself.
    pub(in crate::executor) fn new(is_ahead: bool) -> Self {
        Self { is_ahead, ..Self::default() }
    }

    /// Returns whether a pass is prepared while the device computes the one before.
    pub(in crate::executor) fn is_ahead(&self) -> bool {
        self.is_ahead
    }

    /// Begins to count distinct tokens for another job; resident prefixes stay.
    pub(in crate::executor) fn begin_job(&mut self) {
        self.seen.clear();
        self.new_segments.clear();
    }

    /// Scores the texts of every sample; `done` is called once per sample, with its index in `samples`, and `meanwhile` after
    /// each pass that was begun, while a GPU computes: repeatedly, until the scores of the pass before have arrived or it returns
    /// `false` because it has nothing to do.
    ///
    /// # Errors
    /// Errors of libtorch, except for a lack of memory while a pass can still be made smaller.
    pub(in crate::executor) fn run(
        &mut self,
        work: Work<'_>,
        arena: &mut Arena,
        samples: Vec<Vec<ScoringInput>>,
        meanwhile: &mut dyn FnMut() -> bool,
        done: &mut dyn FnMut(usize, SampleScores),
    ) -> Result<(), TchError> {
        let mut run = Run {
            work,
            trie: Trie::default(),
            samples: Vec::with_capacity(samples.len()),
            texts: Vec::new(),
            known: Vec::new(),
            extents: Vec::new(),
            resident: Vec::new(),
            left: Vec::new(),
            done,
        };
        for texts in samples {
            run.add(texts);
        }
        run.known.resize_with(run.trie.nodes.len(), || None);
        for node in &run.trie.nodes {
            if self.seen.insert(node.path) {
                run.work.counters.distinct += node.tokens.len() as u64;
                if node.is_common {
                    self.new_segments.push(PrefixSegment { path: node.path, tokens: node.tokens.len() as u32 });
                }
            }
        }
        let result = self.walk(&mut run, arena, meanwhile);
        if result.is_err() {
            // The progress of a failed pass is unknown.
            self.forget(arena);
        }
        result
    }

    /// Frees the arena of everything that is kept between batches.
    pub(in crate::executor) fn forget(&mut self, arena: &mut Arena) {
        self.resident.clear();
        arena.clear();
    }

    /// Returns new prefix segments since the last call that other engines may compute too.
    pub(in crate::executor) fn take_prefix_segments(&mut self) -> Vec<PrefixSegment> {
        std::mem::take(&mut self.new_segments)
    }

    fn walk(
        &mut self,
        run: &mut Run<'_, '_>,
        arena: &mut Arena,
        meanwhile: &mut dyn FnMut() -> bool,
    ) -> Result<(), TchError> {
        // Room for a path and for computing on it, wherever the holes are.
        let least = run.trie.longest() * 2;
        if arena.capacity() < least {
            self.resident.clear();
            arena.replace(|freed| reserve(&*run.work.model, least, freed))?;
        }
        let known = self.resident.find(&run.trie);
        let mut passes = Passes::new(&run.trie, &known);
        run.begin(&passes, &known);
        for (node, resident) in known.iter().enumerate() {
            if let Some(resident) = resident.and_then(|number| self.resident.get(number)) {
                run.take_over(node, resident, arena)?;
            }
        }
        let unit = run.work.model.rows_at_once();
        // While a GPU computes a pass the next one is made ready.
        let mut under_way: Option<PassUnderWay> = None;
        loop {
            let rows = self.max_rows.unwrap_or(unit);
            let wanted = passes.next(&run.trie, rows);
            let Some(&first) = wanted.first() else { break };
            let nodes = self.with_room(run, arena, wanted);
            if nodes.is_empty() {
                if let Some(before) = under_way.take() {
                    self.settle(run, arena, before)?;
                    continue;
                }
                let tokens = run.trie.nodes[first].tokens.len();
                run.give_up(first, &lacks_memory(&format!("keys and values of {tokens} tokens")));
                passes.skip_subtree(&run.trie).into_iter().for_each(|node| run.finish(node, arena));
                continue;
            }
            match Self::launch(run, arena, &nodes) {
                Ok(launched) => {
                    passes.advance(nodes.len());
                    // As long as the host would wait otherwise.
                    let awaited = under_way.as_ref().unwrap_or(&launched);
                    while meanwhile() && !awaited.scores.are_there() {}
                    let settled = if self.is_ahead { under_way.replace(launched) } else { Some(launched) };
                    if let Some(pass) = settled {
                        self.settle(run, arena, pass)?;
                    }
                }
                Err(error) if is_out_of_memory(&error) => {
                    if let Some(before) = under_way.take() {
                        self.settle(run, arena, before)?;
                        continue;
                    }
                    let taken: usize = nodes.iter().map(|&node| run.trie.nodes[node].tokens.len()).sum();
                    if nodes.len() == 1 {
                        let why = lacks_memory(&format!("a prefix segment of {taken} tokens"));
                        run.give_up(first, &why);
                        passes.skip_subtree(&run.trie).into_iter().for_each(|node| run.finish(node, arena));
                    }
                    tracing::warn!(rows = taken, "out of memory; continuing with half as many rows per pass");
                    self.max_rows = Some((taken.min(rows) / 2).max(1));
                }
                Err(error) => return Err(error),
            }
        }
        if let Some(last) = under_way {
            self.settle(run, arena, last)?;
        }
        self.resident.trim(arena, arena.capacity() / RESIDENT);
        Ok(())
    }

    /// Assigns extents to nodes, in order, as far as there is room or room can be made; returns the nodes that have one.
    fn with_room(&mut self, run: &mut Run<'_, '_>, arena: &mut Arena, mut nodes: Vec<usize>) -> Vec<usize> {
        for (number, &node) in nodes.iter().enumerate() {
            let tokens = run.trie.nodes[node].tokens.len();
            while run.extents[node].is_none() {
                run.extents[node] = arena.allocate(tokens);
                if run.extents[node].is_none() && !self.resident.evict(arena) {
                    nodes.truncate(number);
                    return nodes;
                }
            }
        }
        nodes
    }

    /// Has one forward pass over some nodes computed.
    fn launch(run: &mut Run<'_, '_>, arena: &mut Arena, pending: &[usize]) -> Result<PassUnderWay, TchError> {
        let nodes = &run.trie.nodes;
        let tokens: Vec<u32> = pending.iter().flat_map(|&node| nodes[node].tokens.iter().copied()).collect();
        let segments: Vec<Segment> = pending.iter().filter_map(|&node| run.segment(node)).collect();
        let hidden = run.work.model.hidden(&tokens, &segments, arena)?;
        let mut ends = Vec::with_capacity(pending.len());
        let mut wanted = Vec::new();
        let mut start = 0;
        for &node in pending {
            let node = &nodes[node];
            let rows = node.tokens.len();
            let inner = (node.inner_from..rows - 1)
                .map(|row| RowTokens { row: (start + row) as i64, tokens: vec![node.tokens[row + 1]] });
            wanted.extend(inner);
            start += rows;
            ends.push(start as i64 - 1);
            if !node.next.is_empty() {
                wanted.push(RowTokens { row: start as i64 - 1, tokens: node.next.iter().copied().collect() });
            }
        }
        let scores = begin_scores(run.work.model, &hidden, wanted, run.work.precision)?;
        let ends = run.work.model.kernels().to_device(&ends, hidden.device())?;
        let ends = hidden.f_index_select(0, &ends)?;
        run.work.counters.computed += start as u64;
        run.work.counters.padded += added_rows(start as i64, hidden.device()) as u64;
        Ok(PassUnderWay { nodes: pending.to_vec(), scores, ends })
    }

    /// Reads the scores of a pass, and frees the segments that nothing follows.
    fn settle(&mut self, run: &mut Run<'_, '_>, arena: &mut Arena, pass: PassUnderWay) -> Result<(), TchError> {
        let PassUnderWay { nodes, scores, ends } = pass;
        let mut scores = scores.read()?.into_iter();
        for (row, &number) in nodes.iter().enumerate() {
            let node = &run.trie.nodes[number];
            let rows = node.tokens.len();
            let inner_from = node.inner_from.min(rows - 1);
            let inner: Vec<TokenScore> = scores.by_ref().take(rows - 1 - inner_from).collect();
            let next = scores.by_ref().take(node.next.len()).collect();
            let parent = node.parent.map(|parent| run.resident[parent]);
            if let (true, Some(extent), None | Some(Some(_))) = (node.is_common, run.extents[number], parent) {
                // A view would keep the states of all.
                let last = ends.f_narrow(0, row as i64, 1)?.f_detach_copy()?;
                let kept = ResidentNode { tokens: node.tokens.clone(), extent, inner_from, inner: inner.clone(), last };
                run.resident[number] = Some(self.resident.keep(arena, parent.flatten(), kept));
            }
            run.learn(number, NodeScores { inner_from, inner, next });
            run.finish(number, arena);
        }
        Ok(())
    }
}

impl Run<'_, '_> {
    /// Adds the texts of a sample to the trie.
    fn add(&mut self, mut texts: Vec<ScoringInput>) {
        let sample = self.samples.len();
        // Up to its last structural border a text may share a prefix with other samples.
        let common: Vec<usize> = texts.iter().map(|text| text.cuts.iter().copied().max().unwrap_or(0)).collect();
        cut_apart(&mut texts, |length| self.work.model.shares_prefixes(length));
        let mut left = 0;
        for (index, text) in texts.iter().enumerate().filter(|(_, text)| !text.fed.is_empty()) {
            self.work.counters.submitted += text.fed.len() as u64;
            let end = self.trie.insert(self.texts.len(), text);
            self.trie.mark_common(end, common[index]);
            self.texts.push((sample, index));
            left += 1;
        }
        let scores = vec![Vec::new(); texts.len()];
        if left == 0 {
            (self.done)(sample, Ok(scores));
            self.samples.push(Pending { texts, scores: Vec::new(), left });
        } else {
            self.samples.push(Pending { texts, scores, left });
        }
    }

    /// Notes the known nodes, and the nodes to compute.
    fn begin(&mut self, passes: &Passes, known: &[Option<usize>]) {
        self.extents = vec![None; self.trie.nodes.len()];
        self.resident = known.to_vec();
        self.left = vec![0; self.trie.nodes.len()];
        for &node in passes.left() {
            for at in self.trie.path(node) {
                self.left[at] += 1;
            }
        }
    }

    /// Notes that a node is computed; extents on which nothing remains to be computed are released.
    fn finish(&mut self, node: usize, arena: &mut Arena) {
        for at in self.trie.path(node) {
            self.left[at] -= 1;
            if self.left[at] == 0
                && let Some(extent) = self.extents[at].take()
            {
                arena.release(extent);
            }
        }
    }

    /// Returns the segment of a node, whose path and itself have extents.
    fn segment(&self, node: usize) -> Option<Segment> {
        let path = self.trie.path(node);
        let (_, above) = path.split_last()?;
        let of = &self.trie.nodes[node];
        Some(Segment {
            path: above.iter().map(|&at| self.extents[at]).collect::<Option<Vec<_>>>()?.into(),
            own: self.extents[node]?,
            before: 0,
            position: of.position,
            rows: of.tokens.len(),
            decodes: false,
        })
    }

    /// Reuses the state of a node that an earlier batch has computed.
    fn take_over(&mut self, node: usize, held: &ResidentNode, arena: &mut Arena) -> Result<(), TchError> {
        if self.left[node] > 0 {
            arena.retain(held.extent);
            self.extents[node] = Some(held.extent);
        }
        let tokens: Vec<u32> = self.trie.nodes[node].next.iter().copied().collect();
        let wanted = if tokens.is_empty() { Vec::new() } else { vec![RowTokens { row: 0, tokens }] };
        let next = rows_scores(self.work.model, &held.last, wanted, self.work.precision)?;
        self.learn(node, NodeScores { inner_from: held.inner_from, inner: held.inner.clone(), next });
        Ok(())
    }

    fn learn(&mut self, node: usize, known: NodeScores) {
        self.known[node] = Some(known);
        for end in 0..self.trie.nodes[node].ends.len() {
            let (sample, index) = self.texts[self.trie.nodes[node].ends[end]];
            let scores = self.scores_of(&self.samples[sample].texts[index], node);
            let pending = &mut self.samples[sample];
            if pending.left == 0 {
                continue;
            }
            pending.scores[index] = scores;
            pending.left -= 1;
            if pending.left == 0 {
                (self.done)(sample, Ok(std::mem::take(&mut pending.scores)));
            }
        }
    }

    /// Returns the scores of a text that ends in `node`.
    fn scores_of(&self, text: &ScoringInput, node: usize) -> Scored {
        let mut scores = Vec::with_capacity(text.fed.len().saturating_sub(text.first) + text.next.len());
        for at in self.trie.path(node) {
            let (of, Some(known)) = (&self.trie.nodes[at], &self.known[at]) else { continue };
            let from = text.first.max(of.position + 1) - of.position - 1;
            scores.extend(known.inner.get(from.saturating_sub(known.inner_from)..).unwrap_or_default());
            let next = |token: &u32| {
                let index = of.next.iter().position(|wanted| wanted == token)?;
                known.next.get(index).copied()
            };
            if at == node {
                scores.extend(text.next.iter().filter_map(next));
            } else if of.end() >= text.first {
                scores.extend(text.fed.get(of.end()).and_then(next));
            }
        }
        scores
    }

    /// Fails all samples with a text through `node`.
    fn give_up(&mut self, node: usize, why: &str) {
        for below in self.trie.subtree(node) {
            for end in 0..self.trie.nodes[below].ends.len() {
                let (sample, _) = self.texts[self.trie.nodes[below].ends[end]];
                let pending = &mut self.samples[sample];
                if pending.left > 0 {
                    pending.left = 0;
                    (self.done)(sample, Err(why.to_owned()));
                }
            }
        }
    }
}
