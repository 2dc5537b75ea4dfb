//! Samples whose requests are equal: a model answers all of them alike, so that one of them is computed and its result is
//! recorded for every one.
//!
//! Equal are requests whose kind with all its settings, whose prompts, options and shots are; gold answers and evaluators
//! play no part, but that programs are decoded in their own way. Where tokens are drawn, every sample has draws of its own and
//! none is a duplicate.

use super::{InferSpec, ModelPlan, Plan, Unit};
use compass_types::ids::{Digest, UnitId};
use serde::{Deserialize, Serialize};

/// Groups of samples with equal requests, whatever the model. A file of the plan, named by [`Plan::duplicates`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DuplicateGroups {
    /// Each of two samples or more: position of the data set and index, ascending.
    groups: Vec<Vec<(u32, u32)>>,
}

impl DuplicateGroups {
    /// Groups the samples of data sets by digests of their requests, which come in sample order.
    pub fn find<'a>(datasets: impl IntoIterator<Item = &'a [Digest]>) -> Self {
        let datasets: Vec<&[Digest]> = datasets.into_iter().collect();
        let digest = |&(dataset, index): &(u32, u32)| datasets.get(dataset as usize)?.get(index as usize);
        let of_dataset =
            |(dataset, requests): (u32, &&[Digest])| (0..requests.len() as u32).map(move |index| (dataset, index));
        // Sorted positions take a sixth of the memory of a map from digests to groups.
        let mut positions: Vec<(u32, u32)> = (0..).zip(&datasets).flat_map(of_dataset).collect();
        positions.sort_unstable_by(|a, b| digest(a).cmp(&digest(b)).then(a.cmp(b)));
        let alike = positions.chunk_by(|a, b| digest(a) == digest(b));
        let mut groups: Vec<Vec<(u32, u32)>> = alike.filter(|group| group.len() > 1).map(<[_]>::to_vec).collect();
        groups.sort_unstable();
        Self { groups }
    }

    /// Returns `true` if no two requests are equal.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The groups as they are for each model of `plan`: without the units that draw tokens, and those that are not asked for.
    pub fn of_units<'a>(&'a self, plan: &'a Plan) -> impl Iterator<Item = Vec<(UnitId, u32)>> + 'a {
        let datasets = plan.datasets.len();
        plan.models.iter().enumerate().flat_map(move |(at, model)| {
            let draws: Vec<bool> = plan.datasets.iter().map(|dataset| draws(&dataset.infer, model)).collect();
            self.groups.iter().filter_map(move |group| {
                let computed = group.iter().filter(|(dataset, _)| draws.get(*dataset as usize) == Some(&false));
                let unit = |dataset: u32| UnitId((at * datasets) as u32 + dataset);
                let asked = computed.map(|&(dataset, index)| (unit(dataset), index));
                let group: Vec<_> = asked.filter(|(unit, _)| !plan.left_out.contains(unit)).collect();
                (group.len() > 1).then_some(group)
            })
        })
    }
}

impl Unit<'_> {
    /// Returns whether tokens are drawn: the answers of a sample hang on its index then.
    pub fn draws(&self) -> bool {
        draws(&self.dataset.infer, self.model)
    }
}

/// Returns whether a model draws tokens when it answers requests of this kind.
fn draws(infer: &InferSpec, model: &ModelPlan) -> bool {
    infer.generation().is_some_and(|spec| spec.decoding.over(&model.decoding).samples())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::EvaluatorSpec;
    use crate::prompt::ShotFormat;
    use crate::{DatasetPlan, Decoding, EvalSpec, GenSpec, ModelKind, PLAN_FORMAT};

    fn dataset(infer: InferSpec) -> DatasetPlan {
        DatasetPlan {
            abbr: "d".into(),
            version: "000000".into(),
            infer,
            shot_format: ShotFormat::default(),
            eval: EvalSpec::new(EvaluatorSpec::Acc),
            samples: 4,
            characters: 0,
            prefix_runs: Vec::new(),
            labels: None,
            own_questions: 0,
            entries: Vec::new(),
            parts: Vec::new(),
        }
    }

    #[test]
    fn equal_requests_are_grouped_across_data_sets_but_not_where_tokens_are_drawn() {
        let [a, b, c] = [b"a", b"b", b"c"].map(|text| Digest::of(text));
        let found = DuplicateGroups::find([&[a, b, a][..], &[c, a, b, b]]);
        assert_eq!(found.groups, [vec![(0, 0), (0, 2), (1, 1)], vec![(0, 1), (1, 2), (1, 3)]]);
        assert!(DuplicateGroups::find([&[a, b][..], &[c]]).is_empty());
        let json = serde_json::to_vec(&found).unwrap();
        assert_eq!(serde_json::from_slice::<DuplicateGroups>(&json).unwrap(), found);

        let drawing = Decoding { do_sample: Some(true), ..Decoding::default() };
        let generation =
            |decoding: &Decoding| InferSpec::Gen(GenSpec { decoding: decoding.clone(), ..GenSpec::default() });
        let greedy = ModelPlan::new("greedy", ModelKind::Echo, "");
        let warm = ModelPlan { decoding: drawing.clone(), ..ModelPlan::new("warm", ModelKind::Echo, "") };
        let plan = |second: &Decoding| Plan {
            format: PLAN_FORMAT,
            config: Digest::of(b""),
            models: vec![greedy.clone(), warm.clone()],
            datasets: vec![dataset(InferSpec::Ppl), dataset(generation(second))],
            duplicates: None,
            left_out: std::collections::BTreeSet::new(),
        };
        let unit = |id: u32, index: u32| (UnitId(id), index);
        let groups: Vec<_> = found.of_units(&plan(&Decoding::default())).collect();
        let of_greedy = [vec![unit(0, 0), unit(0, 2), unit(1, 1)], vec![unit(0, 1), unit(1, 2), unit(1, 3)]];
        assert_eq!(groups, [of_greedy.to_vec(), vec![vec![unit(2, 0), unit(2, 2)]]].concat(), "scores are never drawn");
        let groups: Vec<_> = found.of_units(&plan(&drawing)).collect();
        assert_eq!(groups, [vec![unit(0, 0), unit(0, 2)], vec![unit(2, 0), unit(2, 2)]]);
    }
}
