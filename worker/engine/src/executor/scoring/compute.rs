//! Computes a trie of texts, and reports the scores of every sample as soon as they are known.

use super::cuts::cut_apart;
use super::passes::{Passes, PendingNode};
use super::resident::{Resident, ResidentNode};
use super::trie::Trie;
use super::{Scored, ScoringInput};
use crate::blocks::Segment;
use crate::executor::score::{Precision, RowTokens, TokenScore, rows_scores};
use crate::fault::is_out_of_memory;
use crate::kernels::added_rows;
use crate::models::CausalLm;
use compass_plan::engine::{PrefixSegment, TokenCounters};
use std::collections::HashSet;
use tch::{TchError, Tensor};

/// State that is kept between batches.
#[derive(Default)]
pub(in crate::executor) struct Scorer {
    resident: Resident,
    /// Paths of all prefix segments that were ever requested.
    seen: HashSet<u64>,
    /// Prefix segments of the last batches that were new and that other samples may share.
    new_segments: Vec<PrefixSegment>,
    /// Maximum number of rows of a forward pass, once memory has run out.
    max_rows: Option<usize>,
}

/// The model, the precision of its scores, and the counters to add to.
pub(in crate::executor) struct Work<'a> {
    pub(in crate::executor) model: &'a mut dyn CausalLm,
    pub(in crate::executor) precision: Precision,
    pub(in crate::executor) counters: &'a mut TokenCounters,
}

/// Scores of the tokens of a node.
struct NodeScores {
    inner_from: usize,
    inner: Vec<TokenScore>,
    /// Scores of the tokens in [`super::trie::Node::next`], in its order.
    next: Vec<TokenScore>,
}

/// Scores of the texts of a sample, or why there are none.
pub(in crate::executor) type SampleScores = Result<Vec<Scored>, String>;

/// Scoring of one batch.
struct Run<'a, 'b> {
    work: Work<'a>,
    trie: Trie,
    samples: Vec<Pending>,
    /// For each text, its sample and its index in that sample.
    texts: Vec<(usize, usize)>,
    known: Vec<Option<NodeScores>>,
    done: &'b mut dyn FnMut(usize, SampleScores),
}

struct Pending {
    texts: Vec<ScoringInput>,
    scores: Vec<Scored>,
    left: usize,
}

impl Scorer {
    /// Scores the texts of every sample; `done` is called once per sample, with its index in `samples`.
    ///
    /// # Errors
    /// Errors of libtorch, except for a lack of memory while a pass can still be made smaller.
    pub(in crate::executor) fn run(
        &mut self,
        work: Work<'_>,
        samples: Vec<Vec<ScoringInput>>,
        done: &mut dyn FnMut(usize, SampleScores),
    ) -> Result<(), TchError> {
        let mut run = Run {
            work,
            trie: Trie::default(),
            samples: Vec::with_capacity(samples.len()),
            texts: Vec::new(),
            known: Vec::new(),
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
        let result = self.walk(&mut run);
        if result.is_err() {
            self.resident.forget_all();
        }
        result
    }

    /// Returns new prefix segments since the last call that other engines may compute too.
    pub(in crate::executor) fn take_prefix_segments(&mut self) -> Vec<PrefixSegment> {
        std::mem::take(&mut self.new_segments)
    }

    fn walk(&mut self, run: &mut Run<'_, '_>) -> Result<(), TchError> {
        self.resident.reserve(run.work.model, run.trie.longest())?;
        let assignments = self.resident.assign_stacks(&run.trie);

        for assignment in &assignments {
            for (depth, &node) in assignment.known.iter().enumerate() {
                run.take_over(node, &self.resident.paths[assignment.stack][depth])?;
            }
        }
        let mut passes = Passes::new(&run.trie, &assignments);
        let unit = run.work.model.rows_at_once();
        loop {
            let rows = self.max_rows.unwrap_or(unit);
            let items = passes.next(&run.trie, rows);
            if items.is_empty() {
                return Ok(());
            }
            match self.pass(run, &items) {
                Ok(()) => passes.advance(items.len()),
                Err(error) if is_out_of_memory(&error) => {
                    let taken: usize = items.iter().map(|item| run.trie.nodes[item.node].tokens.len()).sum();
                    if items.len() == 1 {
                        let why = format!("not enough memory for a prefix segment of {taken} tokens");
                        run.give_up(items[0].node, &why);
                        passes.skip_subtree(&run.trie);
                    }
                    tracing::warn!(rows = taken, "out of memory; continuing with half as many rows per pass");
                    self.max_rows = Some((taken.min(rows) / 2).max(1));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Runs one forward pass over some nodes.
    fn pass(&mut self, run: &mut Run<'_, '_>, items: &[PendingNode]) -> Result<(), TchError> {
        let nodes = &run.trie.nodes;
        let tokens: Vec<u32> = items.iter().flat_map(|item| nodes[item.node].tokens.iter().copied()).collect();
        let segment = |item: &PendingNode| {
            let node = &nodes[item.node];
            Segment { cache: item.stack, position: node.position, rows: node.tokens.len() }
        };
        let segments: Vec<Segment> = items.iter().map(segment).collect();
        for item in items {
            self.resident.truncate(item.stack, item.depth);
        }
        let hidden = run.work.model.hidden(&tokens, &segments, &mut self.resident.caches)?;
        let mut ends = Vec::with_capacity(items.len());
        let mut wanted = Vec::new();
        let mut start = 0;
        for item in items {
            let node = &nodes[item.node];
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
        let mut scores = rows_scores(run.work.model, &hidden, &wanted, run.work.precision)?.into_iter();
        let ends = Tensor::f_from_slice(&ends)?.f_to_device(hidden.device())?;
        let ends = hidden.f_index_select(0, &ends)?;
        run.work.counters.computed += start as u64;
        run.work.counters.padded += added_rows(start as i64, hidden.device()) as u64;
        for (row, item) in items.iter().enumerate() {
            let node = &run.trie.nodes[item.node];
            let rows = node.tokens.len();
            let inner_from = node.inner_from.min(rows - 1);
            let inner: Vec<TokenScore> = scores.by_ref().take(rows - 1 - inner_from).collect();
            let next = scores.by_ref().take(node.next.len()).collect();
            let last = ends.f_narrow(0, row as i64, 1)?;
            self.resident.truncate(item.stack, item.depth);
            let held = ResidentNode { tokens: node.tokens.clone(), inner_from, inner: inner.clone(), last };
            self.resident.paths[item.stack].push(held);
            run.learn(item.node, NodeScores { inner_from, inner, next });
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

    /// Reuses the state of a node that an earlier batch has computed.
    fn take_over(&mut self, node: usize, held: &ResidentNode) -> Result<(), TchError> {
        let tokens: Vec<u32> = self.trie.nodes[node].next.iter().copied().collect();
        let wanted = if tokens.is_empty() { Vec::new() } else { vec![RowTokens { row: 0, tokens }] };
        let next = rows_scores(self.work.model, &held.last, &wanted, self.work.precision)?;
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
        for below in self.trie.subtree(node, &[]) {
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
