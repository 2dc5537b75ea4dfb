//! Pace of requests to an endpoint: within the budget, and below it as fast as the server takes requests without refusing any.
//!
//! Requests at once begin at a few, double with every round of answers, and after the first refusal grow by one a round (slow
//! start, additive increase). A server that is overloaded (503, 529) has them cut by a part. One that limits the rate (429)
//! has the rate set a little below what it has taken; from there it grows slowly, and slower near the rate that was refused
//! last. A cut counts for all that was sent before it. Nothing here reads a clock: times are arguments, in milliseconds.

use compass_plan::EndpointBudget;
use std::collections::VecDeque;

/// Requests at once, at first.
const FIRST_WINDOW: f64 = 4.0;
/// Part of the requests at once that is left when the server is overloaded.
const WINDOW_LEFT: f64 = 0.7;
/// Part of the rate that was taken that is left when more was refused.
const RATE_LEFT: f64 = 0.95;
/// Growth of the rate in a second: far below the rate that was refused last, near it, and once that is long ago.
const GROWTH: f64 = 0.02;
const GROWTH_NEAR: f64 = 0.003;
const GROWTH_LATER: f64 = 0.05;
/// Part of the rate that was refused last from which a rate counts as near it.
const NEAR: f64 = 0.97;
/// Time after which a refusal is long ago, in milliseconds.
const LATER_MS: u64 = 30_000;
/// Time after a cut in which nothing grows.
const STILL_MS: u64 = 500;
/// Number of latest requests whose outcomes give the rate that a server takes; with fewer than `FEWEST_MEASURED`, it is halved.
const MEASURED: usize = 64;
const FEWEST_MEASURED: usize = 4;
const HALF: f64 = 0.5;
/// Requests a millisecond that are always tried: one a minute.
const LEAST_RATE: f64 = 1.0 / 60_000.0;
/// Refusals in a row after which everything waits as long as the server asks for.
const HOLD_AFTER: u32 = 3;
/// Time for which everything then waits if the server gives none, and the longest time.
const HOLD_MS: u64 = 1_000;
const MOST_HOLD_MS: u64 = 120_000;
/// Requests that were late are made up for, within this time.
const CATCH_UP_MS: f64 = 50.0;
/// Seconds of the token budget that may be used at once.
const TOKEN_BURST_S: f64 = 10.0;
const MINUTE_MS: f64 = 60_000.0;

/// Reason why a request waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Until this time.
    Until(u64),
    /// Until another one is answered.
    ForAnswer,
}

/// Reason why a server refused a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Too many requests in a time.
    Rate,
    /// Too many at once.
    Load,
}

#[derive(Debug)]
pub(crate) struct Pace {
    budget: EndpointBudget,
    in_flight: u32,
    /// Requests at once.
    window: f64,
    is_slow_start: bool,
    /// Requests a millisecond; `None` as long as nothing limits them.
    rate: Option<f64>,
    /// The rate that was refused last.
    refused_rate: f64,
    /// Time at which the next request may be sent.
    next_ms: f64,
    cut_ms: Option<u64>,
    grown_ms: u64,
    hold_until_ms: u64,
    refused_in_row: u32,
    /// Latest requests since the cut: the time at which each was sent, and whether it was answered.
    outcomes: VecDeque<(u64, bool)>,
    tokens: f64,
    filled_ms: u64,
}

impl Pace {
    /// Within the share of a budget.
    pub(crate) fn new(budget: EndpointBudget, now: u64) -> Self {
        Self {
            budget,
            in_flight: 0,
            window: FIRST_WINDOW.min(f64::from(budget.max_concurrency)),
            is_slow_start: true,
            rate: None,
            refused_rate: f64::INFINITY,
            next_ms: now as f64,
            cut_ms: None,
            grown_ms: now,
            hold_until_ms: 0,
            refused_in_row: 0,
            outcomes: VecDeque::with_capacity(MEASURED),
            tokens: token_burst(&budget),
            filled_ms: now,
        }
    }

    /// Admits a request of about this many tokens, or returns what it waits for.
    pub(crate) fn admit(&mut self, now: u64, tokens: u64) -> Result<(), Wait> {
        self.grow(now);
        if now < self.hold_until_ms {
            return Err(Wait::Until(self.hold_until_ms));
        }
        if f64::from(self.in_flight) >= self.window.floor().max(1.0) {
            return Err(Wait::ForAnswer);
        }
        if self.next_ms > now as f64 {
            return Err(Wait::Until(self.next_ms.ceil() as u64));
        }
        if let Some(until) = self.lacks_tokens(now, tokens) {
            return Err(Wait::Until(until));
        }
        if let Some(rate) = self.allowed_rate() {
            self.next_ms = self.next_ms.max(now as f64 - CATCH_UP_MS) + 1.0 / rate;
        }
        self.in_flight += 1;
        Ok(())
    }

    /// Returns the time at which there are tokens for a request; `None` where there are, which are taken.
    fn lacks_tokens(&mut self, now: u64, tokens: u64) -> Option<u64> {
        if self.budget.tpm == 0 {
            return None;
        }
        let (rate, burst) = (self.budget.tpm as f64 / MINUTE_MS, token_burst(&self.budget));
        self.tokens = (self.tokens + now.saturating_sub(self.filled_ms) as f64 * rate).min(burst);
        self.filled_ms = now;
        // A request larger than the burst is sent when the burst is full, and leaves a debt.
        let lacks = (tokens as f64).min(burst) - self.tokens;
        if lacks > 0.0 {
            return Some(now + (lacks / rate).ceil().max(1.0) as u64);
        }
        self.tokens -= tokens as f64;
        None
    }

    /// A request, sent at `sent`, was answered; it was taken for `estimated` tokens and had `tokens`.
    pub(crate) fn answered(&mut self, sent: u64, estimated: u64, tokens: u64) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.refused_in_row = 0;
        self.tokens += estimated as f64 - tokens as f64;
        self.note(sent, true);
        let step = if self.is_slow_start { 1.0 } else { 1.0 / self.window.max(1.0) };
        self.window = (self.window + step).min(f64::from(self.budget.max_concurrency));
    }

    /// A request had no answer, for a reason that says nothing about the pace.
    pub(crate) fn failed(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// A request, sent at `sent`, was refused until the server has more room; it may say how long that takes.
    pub(crate) fn refused(&mut self, now: u64, sent: u64, what: Refusal, retry_after_ms: Option<u64>) {
        let at_once = f64::from(self.in_flight);
        self.in_flight = self.in_flight.saturating_sub(1);
        // A request sent before a cut says nothing about the pace since.
        if self.cut_ms.is_some_and(|cut| sent < cut) {
            return;
        }
        self.refused_in_row += 1;
        if self.refused_in_row >= HOLD_AFTER {
            let doublings = (self.refused_in_row - HOLD_AFTER).min(6);
            let wait = retry_after_ms.unwrap_or(HOLD_MS << doublings).min(MOST_HOLD_MS);
            self.hold_until_ms = self.hold_until_ms.max(now + wait);
        }
        self.note(sent, false);
        if what == Refusal::Rate && self.outcomes.len() < FEWEST_MEASURED && self.rate.is_none() {
            return;
        }
        self.cut_ms = Some(now);
        self.is_slow_start = false;
        match what {
            Refusal::Rate => {
                let taken = self.taken(now);
                let rate = taken * RATE_LEFT;
                (self.refused_rate, self.rate) = (taken, Some(rate));
                self.next_ms = self.next_ms.max(now as f64 + 1.0 / rate);
            }
            Refusal::Load => self.window = (at_once.min(self.window) * WINDOW_LEFT).floor().max(1.0),
        }
        // The next measurement begins here.
        self.outcomes.clear();
    }

    fn note(&mut self, sent: u64, is_answered: bool) {
        if self.cut_ms.is_some_and(|cut| sent < cut) {
            return;
        }
        if self.outcomes.len() == MEASURED {
            self.outcomes.pop_front();
        }
        self.outcomes.push_back((sent, is_answered));
    }

    /// The rate that the server has taken lately.
    fn taken(&self, now: u64) -> f64 {
        let first = self.outcomes.iter().map(|(sent, _)| *sent).min().unwrap_or(now);
        let last = self.outcomes.iter().map(|(sent, _)| *sent).max().unwrap_or(now);
        let answered = self.outcomes.iter().filter(|(_, answered)| *answered).count() as f64;
        let sent = self.outcomes.len() as f64;
        let measured = sent / last.saturating_sub(first).max(1) as f64 * (answered / sent.max(1.0));
        match self.rate {
            Some(rate) if self.outcomes.len() < FEWEST_MEASURED || answered == 0.0 => rate * HALF,
            // It cannot have taken more than it was asked for.
            Some(rate) => measured.min(rate),
            None => measured.max(LEAST_RATE),
        }
    }

    fn grow(&mut self, now: u64) {
        let since = now.saturating_sub(self.grown_ms);
        self.grown_ms = now;
        let (Some(rate), Some(cut)) = (self.rate, self.cut_ms) else { return };
        let still = now.saturating_sub(cut);
        if still < STILL_MS {
            return;
        }
        let growth = match rate < NEAR * self.refused_rate {
            _ if still > LATER_MS => GROWTH_LATER,
            true => GROWTH,
            false => GROWTH_NEAR,
        };
        self.rate = Some(rate * (1.0 + growth * since.min(1_000) as f64 / 1_000.0));
    }

    /// Requests a millisecond that the budget and the server allow.
    fn allowed_rate(&self) -> Option<f64> {
        let of_budget = (self.budget.rpm > 0).then(|| f64::from(self.budget.rpm) / MINUTE_MS);
        match (of_budget, self.rate) {
            (Some(budget), Some(rate)) => Some(budget.min(rate)),
            (budget, rate) => budget.or(rate),
        }
    }
}

fn token_burst(budget: &EndpointBudget) -> f64 {
    budget.tpm as f64 / 60.0 * TOKEN_BURST_S
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;
