//! Costs of the answers of endpoints, and the models that have spent the money that they may.

use compass_plan::{MAX_COST_REACHED, Plan, Price};
use compass_types::ids::ModelId;
use compass_types::result::SampleResult;
use std::collections::BTreeMap;

/// Accounts of the models that have a bound.
#[derive(Clone, Debug, Default)]
pub struct Costs(BTreeMap<ModelId, Account>);

#[derive(Clone, Copy, Debug)]
struct Account {
    price: Price,
    most: f64,
    spent: f64,
    is_told: bool,
}

impl Costs {
    /// Nothing is spent yet.
    pub fn new(plan: &Plan) -> Self {
        let account = |at: ModelId, budget: &compass_plan::EndpointBudget| {
            let (price, most) = (budget.price?, budget.max_cost?);
            Some((at, Account { price, most, spent: 0.0, is_told: false }))
        };
        let bounded = plan.models().filter_map(|(at, model)| account(at, &model.endpoint.as_ref()?.budget));
        Self(bounded.collect())
    }

    /// Returns whether results of a model are counted.
    pub fn counts(&self, model: ModelId) -> bool {
        self.0.contains_key(&model)
    }

    /// Takes note of a result that was paid for.
    pub fn add(&mut self, model: ModelId, result: &SampleResult) {
        if let Some(account) = self.0.get_mut(&model) {
            account.spent += account.price.of(result.fit.tokens.into(), result.generated_tokens());
        }
    }

    /// The next model that has spent what it may and was not named before, and the reason for which it ends.
    pub(super) fn next_spent(&mut self) -> Option<(ModelId, String)> {
        let (at, account) = self.0.iter_mut().find(|(_, account)| !account.is_told && account.spent >= account.most)?;
        account.is_told = true;
        let help = "raise `max_cost` and continue the run with -r";
        Some((*at, format!("{MAX_COST_REACHED}: {:.4} of {} spent; help: {help}", account.spent, account.most)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_types::result::{Finish, Generation, Outcome, PromptFit, ThinkingEnd, Thought};

    #[test]
    fn a_model_that_has_spent_its_money_is_named_once() {
        let price = Price { input: 1000.0, output: 2000.0 };
        let account = Account { price, most: 0.05, spent: 0.0, is_told: false };
        let mut costs = Costs(BTreeMap::from([(ModelId(1), account)]));
        // Thinking is paid for too.
        let thinking = Some(Thought { text: String::new(), tokens: 2, end: ThinkingEnd::Closed });
        let generation = Generation { thinking, ..Generation::new("", 3, Finish::Stop) };
        let fit = PromptFit { tokens: 10, ..PromptFit::default() };
        let result = SampleResult { index: 0, fit, outcome: Outcome::Generated(vec![generation]) };
        for _ in 0..2 {
            costs.add(ModelId(1), &result);
            costs.add(ModelId(0), &result);
            assert_eq!(costs.next_spent(), None);
        }
        costs.add(ModelId(1), &result);
        let (model, reason) = costs.next_spent().unwrap();
        assert_eq!(model, ModelId(1));
        assert!(reason.starts_with("max_cost is reached: 0.0600 of 0.05 spent"), "{reason}");
        assert_eq!(costs.next_spent(), None);
    }
}
