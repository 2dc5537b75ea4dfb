//! Layers on several devices as a pipeline: a pass is cut into micro-batches, and while one device computes one of them,
//! the device before it computes the next.
//!
//! One thread suffices: a GPU computes its work in order, and the host does not wait for it. Every device is given
//! micro-batches in their order, so that one of them may attend to keys that an earlier one writes. The numbers of a row
//! equal the undivided pass's, because no row's depend on its neighbours.
//!
//! A step of generation has too few rows to be cut: reading a device's weights takes as long for a few rows as for all.

use crate::kv::{ExtentId, Segment};
use std::collections::HashMap;
use std::ops::Range;
use tch::Device;

/// Minimum number of rows of a micro-batch on GPUs, which take as long for fewer.
const LEAST_ROWS: usize = 1_024;

/// Micro-batches of a pass for each stage: the first and the last stage wait for as many steps as there are stages.
const BATCHES_PER_STAGE: usize = 4;

/// Layers that make a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stages {
    /// Neighbours on one device.
    ByDevice,
    /// Every layer, with micro-batches of at least this many rows: tests on one device use it.
    EachLayer { least_rows: usize },
}

/// The stages of a model, and the division of a pass for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pipeline {
    /// The layers of each stage, in order.
    stages: Vec<Range<usize>>,
    least_rows: usize,
}

impl Pipeline {
    /// Returns the pipeline of `layers` layers, whose devices are `devices`; empty if all are on one.
    pub(crate) fn new(stages: Stages, layers: usize, devices: &[Device]) -> Self {
        let least_rows = match stages {
            Stages::ByDevice => LEAST_ROWS,
            Stages::EachLayer { least_rows } => least_rows,
        };
        let begins = |at: &usize| stages != Stages::ByDevice || devices.get(*at) != devices.get(at - 1);
        let borders: Vec<usize> = std::iter::once(0).chain((1..layers).filter(begins)).chain([layers]).collect();
        let stages = borders.iter().zip(borders.iter().skip(1)).map(|(&from, &to)| from..to).collect();
        Self { stages, least_rows }
    }

    /// Returns which segments each micro-batch of a pass has: all in one if there is a single stage.
    pub(crate) fn micro_batches(&self, segments: &[Segment]) -> Vec<Range<usize>> {
        let mut left = segments.iter().map(|segment| segment.rows).sum::<usize>();
        let least = self.least_rows.max(left.div_ceil(BATCHES_PER_STAGE * self.stages.len().max(1)));
        if self.stages.len() < 2 || left < 2 * least {
            return std::iter::once(0..segments.len()).collect();
        }
        let (mut batches, mut first, mut rows) = (Vec::new(), 0, 0);
        let writers = last_writers(segments);
        // Up to where segments write what one of those before the border needs.
        let mut until = 0;
        for (at, segment) in segments.iter().enumerate() {
            rows += segment.rows;
            left -= segment.rows;
            let needs = segment.path.iter().chain([&segment.own]).filter_map(|extent| writers.get(extent));
            until = needs.copied().max().unwrap_or(at).max(until);
            if rows >= least && left >= least && until <= at {
                batches.push(first..at + 1);
                (first, rows) = (at + 1, 0);
            }
        }
        batches.push(first..segments.len());
        batches
    }

    /// Returns the layers to compute and the micro-batch to compute them for, one after the other: as soon as its own
    /// layers before them, and the same ones of the micro-batch before it, were given to their devices.
    pub(crate) fn steps(&self, batches: usize) -> impl Iterator<Item = (&Range<usize>, usize)> {
        let waves = (self.stages.len() + batches).saturating_sub(1);
        (0..waves).flat_map(move |wave| {
            (0..batches).filter_map(move |batch| Some((self.stages.get(wave.checked_sub(batch)?)?, batch)))
        })
    }
}

/// The last segment that writes into each extent.
fn last_writers(segments: &[Segment]) -> HashMap<ExtentId, usize> {
    segments.iter().enumerate().map(|(at, segment)| (segment.own, at)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::Arena;
    use tch::Kind;

    fn stages(pipeline: &Pipeline) -> Vec<Range<usize>> {
        pipeline.stages.clone()
    }

    #[test]
    fn neighbours_on_one_device_are_a_stage() {
        let devices = [0, 0, 0, 1, 1].map(Device::Cuda);
        assert_eq!(stages(&Pipeline::new(Stages::ByDevice, 5, &devices)), [0..3, 3..5]);
        assert_eq!(stages(&Pipeline::new(Stages::ByDevice, 5, &[])), vec![0..5]);
        let each = Stages::EachLayer { least_rows: 4 };
        assert_eq!(stages(&Pipeline::new(each, 3, &[])), [0..1, 1..2, 2..3]);
    }

    /// Segments of this many rows, each with the numbers of the extents of its path, and the number of its own.
    fn segments(of: &[(usize, &[usize], usize)]) -> Vec<Segment> {
        let mut arena = Arena::new(&[Device::Cpu], 100, (1, 1), Kind::Float).unwrap();
        let extents: Vec<ExtentId> = (0..10).map(|_| arena.allocate(1).unwrap()).collect();
        let segment = |&(rows, path, own): &(usize, &[usize], usize)| Segment {
            path: path.iter().map(|&at| extents[at]).collect(),
            rows,
            ..Segment::alone(extents[own], 0, rows)
        };
        of.iter().map(segment).collect()
    }

    #[test]
    fn micro_batches_are_large_enough_and_lose_nothing() {
        let pipeline = Pipeline { stages: vec![0..1, 1..2], least_rows: 8 };
        let pass = segments(&[(5, &[], 0), (5, &[], 1), (9, &[], 2), (3, &[], 3), (4, &[], 4), (6, &[], 5)]);
        assert_eq!(pipeline.micro_batches(&pass), [0..2, 2..3, 3..6]);
        // The rest would be too small.
        assert_eq!(pipeline.micro_batches(&pass[..3]), [0..2, 2..3]);
        assert_eq!(pipeline.micro_batches(&pass[..2]), vec![0..2]);
        let one = Pipeline { stages: pipeline.stages[..1].to_vec(), ..pipeline };
        assert_eq!(one.micro_batches(&pass), vec![0..6]);
    }

    #[test]
    fn no_border_stands_before_what_an_earlier_segment_needs() {
        let pipeline = Pipeline { stages: vec![0..1, 1..2], least_rows: 2 };
        // The third writes more of the extent that the second follows.
        let pass = segments(&[(4, &[], 0), (4, &[0], 1), (4, &[], 0), (4, &[0], 2), (4, &[0], 3)]);
        assert_eq!(pipeline.micro_batches(&pass), [0..3, 3..4, 4..5]);
        // A header before all that follow it delays no other.
        let pass = segments(&[(4, &[], 0), (4, &[0], 1), (4, &[0], 2)]);
        assert_eq!(pipeline.micro_batches(&pass), [0..1, 1..2, 2..3]);
    }

    #[test]
    fn every_stage_computes_every_micro_batch_in_order() {
        let pipeline = Pipeline { stages: vec![0..2, 2..5, 5..6], least_rows: 1 };
        let steps: Vec<(usize, usize)> = pipeline.steps(2).map(|(layers, batch)| (layers.start, batch)).collect();
        assert_eq!(steps, [(0, 0), (2, 0), (0, 1), (5, 0), (2, 1), (5, 1)]);
    }
}
