//! Models that the slots of a worker hold: as its loads tell, and as its grants let expect.

use compass_types::ids::ModelId;
use std::collections::BTreeMap;

/// Models of a worker's slots, and its grants by model.
#[derive(Clone, Debug, Default)]
pub(super) struct SlotModels {
    /// By slot; what a slot is expected to load counts as held.
    slots: Vec<Option<ModelId>>,
    /// Slots in order of their latest change, the latest last.
    order: Vec<usize>,
    grants: BTreeMap<ModelId, u32>,
    /// Models of grants for which no slot is free yet.
    ahead: Vec<ModelId>,
    /// Models that slots, or what is ahead of them, have come to hold (true) or to hold no more, since this was asked last.
    changes: Vec<(ModelId, bool)>,
}

impl SlotModels {
    pub(super) fn new(slots: u32) -> Self {
        let order = (0..slots as usize).collect();
        Self { slots: vec![None; slots as usize], order, ..Self::default() }
    }

    /// Slots that hold a model.
    pub(super) fn slots_of(&self, model: ModelId) -> u32 {
        self.slots.iter().filter(|held| **held == Some(model)).count() as u32
    }

    /// Grants of a model.
    fn grants_of(&self, model: ModelId) -> u32 {
        self.grants.get(&model).copied().unwrap_or(0)
    }

    /// Models that slots hold, each once, the latest first.
    pub(super) fn models(&self) -> Vec<ModelId> {
        let mut models = Vec::with_capacity(self.slots.len().min(8));
        for model in self.order.iter().rev().filter_map(|&slot| self.slots.get(slot).copied().flatten()) {
            if !models.contains(&model) {
                models.push(model);
            }
        }
        models
    }

    /// As [`Self::models`], those first whose slots have the fewest grants each: a slot that ends the last of its model's
    /// finds only another model's ahead.
    pub(super) fn models_by_grants(&self) -> Vec<ModelId> {
        let mut models = self.models();
        models.sort_by_key(|model| self.grants_of(*model) * 1000 / self.slots_of(*model).max(1));
        models
    }

    /// Slots that are free for a grant of a model that they hold.
    pub(super) fn idle_of(&self, model: ModelId) -> u32 {
        self.slots_of(model).saturating_sub(self.grants_of(model))
    }

    /// A slot that has nothing to do: an empty one, or the one that was changed least recently.
    fn idle(&self) -> Option<usize> {
        let empty = self.slots.iter().position(Option::is_none);
        empty.or_else(|| {
            let is_idle =
                |&&slot: &&usize| self.slots.get(slot).copied().flatten().is_some_and(|held| self.idle_of(held) > 0);
            self.order.iter().find(is_idle).copied()
        })
    }

    /// Returns whether a slot has nothing to do.
    pub(super) fn has_idle(&self) -> bool {
        self.idle().is_some()
    }

    /// Grants that wait behind others for a slot.
    pub(super) fn queued(&self) -> u32 {
        self.grants.iter().map(|(&model, &grants)| grants.saturating_sub(self.slots_of(model))).sum()
    }

    /// Takes note of a grant; with `loads` an idle slot is expected to load its model.
    pub(super) fn granted(&mut self, model: ModelId, loads: bool) {
        if loads && let Some(slot) = self.idle() {
            self.put(slot, Some(model));
        }
        *self.grants.entry(model).or_default() += 1;
        self.follow();
    }

    /// Takes note that a grant is over.
    pub(super) fn ended(&mut self, model: ModelId) {
        if let Some(grants) = self.grants.get_mut(&model) {
            *grants -= 1;
            if *grants == 0 {
                self.grants.remove(&model);
            }
        }
        self.follow();
    }

    /// Grants of models that no slot holds go to idle slots, as the agent does it.
    fn follow(&mut self) {
        while let Some(&model) = self.grants.keys().find(|&&model| self.slots_of(model) == 0) {
            let Some(slot) = self.idle() else { break };
            self.put(slot, Some(model));
        }
        let Self { slots, grants, ahead, changes, .. } = self;
        let waits = |model: &ModelId| grants.contains_key(model) && !slots.contains(&Some(*model));
        ahead.retain(|model| {
            let stays = waits(model);
            if !stays {
                changes.push((*model, false));
            }
            stays
        });
        for model in grants.keys().filter(|model| waits(model)) {
            if !ahead.contains(model) {
                ahead.push(*model);
                changes.push((*model, true));
            }
        }
    }

    /// A slot has loaded a model.
    pub(super) fn loaded(&mut self, slot: u32, model: ModelId) {
        let slot = slot as usize;
        if self.slots.get(slot).is_none_or(|held| *held == Some(model)) {
            return;
        }
        // Another one was expected to: the two have changed places.
        match self.slots.iter().position(|held| *held == Some(model)) {
            Some(other) if self.grants_of(model) <= self.slots_of(model) => self.slots.swap(slot, other),
            _ => self.put(slot, Some(model)),
        }
    }

    /// No slot holds a model any more.
    pub(super) fn unload(&mut self, model: ModelId) {
        for held in self.slots.iter_mut().filter(|held| **held == Some(model)) {
            *held = None;
            self.changes.push((model, false));
        }
        self.follow();
    }

    fn put(&mut self, slot: usize, model: Option<ModelId>) {
        if let Some(held) = self.slots.get_mut(slot) {
            let before = std::mem::replace(held, model);
            self.changes.extend(before.map(|model| (model, false)));
            self.changes.extend(model.map(|model| (model, true)));
        }
        self.order.retain(|&other| other != slot);
        self.order.push(slot);
    }

    /// Models of slots and of what is ahead of them, as often as they are held.
    pub(super) fn held(&self) -> impl Iterator<Item = ModelId> + '_ {
        self.slots.iter().flatten().chain(&self.ahead).copied()
    }

    /// Takes the changes of [`Self::held`] since the last call: each model that came (true) or went.
    pub(super) fn take_changes(&mut self) -> impl Iterator<Item = (ModelId, bool)> + '_ {
        self.changes.drain(..)
    }
}
