//! Requests to endpoints and their cost, for `logs/run.json` and the notes below the table; and what they may cost, before.

use compass_plan::{ENDPOINT_REFUSED, Endpoint, InferSpec, ModelPlan, Plan};
use compass_progress::EndpointFacts;
use compass_scoring::Answers;
use compass_types::ids::UnitId;
use compass_types::intervals::IntervalSet;
use std::collections::BTreeMap;

/// Characters of a token, for estimates.
const CHARACTERS_PER_TOKEN: u64 = 4;

fn endpoints(plan: &Plan) -> impl Iterator<Item = (&ModelPlan, &Endpoint)> {
    plan.models.iter().filter_map(|model| Some((model, model.endpoint.as_ref()?)))
}

/// Returns the usage of the recorded answers, by the name of the model.
pub fn usage(plan: &Plan, answers: &Answers) -> BTreeMap<String, EndpointFacts> {
    let named = |(model, endpoint): (&ModelPlan, &Endpoint)| {
        let facts =
            EndpointFacts { url: endpoint.url.clone(), model: endpoint.model.clone(), ..EndpointFacts::default() };
        (model.abbr.clone(), facts)
    };
    let mut all: BTreeMap<String, EndpointFacts> = endpoints(plan).map(named).collect();
    for (unit, entries) in &answers.0 {
        let Some(model) = plan.unit(*unit).map(|unit| unit.model) else { continue };
        let Some(facts) = all.get_mut(&model.abbr) else { continue };
        for result in entries.results.values() {
            facts.samples += 1;
            facts.prompt_tokens += u64::from(result.fit.tokens);
            facts.generated_tokens += result.generated_tokens();
        }
    }
    for (model, endpoint) in endpoints(plan) {
        if let (Some(facts), Some(price)) = (all.get_mut(&model.abbr), endpoint.budget.price) {
            facts.cost = Some(price.of(facts.prompt_tokens, facts.generated_tokens));
        }
    }
    all
}

/// A note below the table for each of them: its numbers are not those of weights that anybody can load again.
pub fn notes(plan: &Plan, answers: &Answers) -> Vec<String> {
    let note = |(abbr, facts): (String, EndpointFacts)| {
        let EndpointFacts { url, model, prompt_tokens, generated_tokens, cost, .. } = facts;
        let cost = cost.map(|cost| format!(", cost {cost:.4}")).unwrap_or_default();
        format!(
            "{abbr}: asked at {url} as {model}, its texts may differ between runs; {prompt_tokens} tokens read, \
             {generated_tokens} generated{cost}"
        )
    };
    usage(plan, answers).into_iter().map(note).collect()
}

/// Estimates the usage and cost of the questions of a job, before anything is asked; models without a price are left out.
pub fn estimates(plan: &Plan) -> Vec<String> {
    let estimate = |(model, endpoint): (&ModelPlan, &Endpoint)| {
        let price = endpoint.budget.price?;
        let (mut read, mut most) = (0, 0);
        for unit in plan.units().filter(|unit| unit.model.abbr == model.abbr) {
            read += unit.dataset.characters / CHARACTERS_PER_TOKEN;
            if let InferSpec::Gen(spec) = &unit.dataset.infer {
                let answers = u64::from(spec.decoding.over(&model.decoding).sequences());
                let length = u64::from(model.longest_answer(spec));
                most += u64::from(unit.dataset.samples) * length * answers;
            }
        }
        let (least, most_cost) = (price.of(read, 0), price.of(read, most));
        Some(format!(
            "{}: about {read} tokens to be read and at most {most} to be generated, for {least:.2} to {most_cost:.2}",
            model.abbr
        ))
    };
    endpoints(plan).filter_map(estimate).collect()
}

/// Returns whether an endpoint refused the job: another try would find the same until somebody has changed the configuration.
pub fn is_refused(failures: &[(UnitId, IntervalSet, String)]) -> bool {
    failures.iter().any(|(.., reason)| reason.contains(ENDPOINT_REFUSED))
}
