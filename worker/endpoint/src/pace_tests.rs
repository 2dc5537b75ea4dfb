//! The pace against servers that are simulated: a rate limit, an overload, a budget.

use super::*;

/// A server with a rate of requests, a burst, and a latency in milliseconds.
struct Server {
    per_ms: f64,
    burst: f64,
    tokens: f64,
    filled: u64,
    latency: u64,
}

impl Server {
    fn takes(&mut self, now: u64) -> bool {
        self.tokens = (self.tokens + (now - self.filled) as f64 * self.per_ms).min(self.burst);
        self.filled = now;
        let takes = self.tokens >= 1.0;
        self.tokens -= f64::from(u8::from(takes));
        takes
    }
}

/// Runs requests for a time; returns how many were answered and refused after `from`.
fn run(pace: &mut Pace, server: &mut Server, from: u64, until: u64, retry_after: Option<u64>) -> (u32, u32) {
    // When each ends, when it was sent, whether it was taken.
    let mut flying: VecDeque<(u64, u64, bool)> = VecDeque::new();
    let (mut answered, mut refused) = (0, 0);
    for now in 0..until {
        while let Some(&(_, sent, taken)) = flying.front().filter(|(end, ..)| *end <= now) {
            flying.pop_front();
            match taken {
                true => pace.answered(sent, 0, 0),
                false => pace.refused(now, sent, Refusal::Rate, retry_after),
            }
            if now >= from {
                *(if taken { &mut answered } else { &mut refused }) += 1;
            }
        }
        while pace.admit(now, 0).is_ok() {
            let taken = server.takes(now);
            flying.push_back((now + server.latency, now, taken));
        }
    }
    (answered, refused)
}

#[test]
fn a_rate_limit_is_used_and_seldom_hit() {
    for (latency, burst) in [(5, 1.0), (5, 50.0), (40, 5.0), (200, 10.0), (1000, 50.0)] {
        for retry_after in [None, Some(1_000)] {
            let mut pace = Pace::new(EndpointBudget { max_concurrency: 256, ..EndpointBudget::default() }, 0);
            let mut server = Server { per_ms: 0.05, burst, tokens: burst, filled: 0, latency };
            let (answered, refused) = run(&mut pace, &mut server, 30_000, 330_000, retry_after);
            let limit = 0.05 * 300_000.0;
            let used = f64::from(answered) / limit;
            let share = f64::from(refused) / f64::from(answered + refused);
            assert!(used >= 0.9, "latency {latency}, burst {burst}, {retry_after:?}: {used} of the limit");
            assert!(share <= 0.02, "latency {latency}, burst {burst}, {retry_after:?}: {share} refused");
        }
    }
}

#[test]
fn a_budget_is_never_exceeded() {
    let budget = EndpointBudget { rpm: 600, max_concurrency: 8, ..EndpointBudget::default() };
    let mut pace = Pace::new(budget, 0);
    let mut server = Server { per_ms: 1e9, burst: 1e9, tokens: 1e9, filled: 0, latency: 7 };
    let (answered, refused) = run(&mut pace, &mut server, 0, 60_000, None);
    assert!((590..=602).contains(&answered) && refused == 0, "{answered}");
}

#[test]
fn tokens_are_budgeted_and_settled() {
    let mut pace = Pace::new(EndpointBudget { tpm: 6_000, ..EndpointBudget::default() }, 0);
    // The burst is 1,000 tokens.
    assert_eq!(pace.admit(0, 900), Ok(()));
    assert_eq!(pace.admit(0, 200), Err(Wait::Until(1_000)));
    // It had fewer than was thought.
    pace.answered(10, 900, 100);
    assert_eq!(pace.admit(10, 200), Ok(()));
    // A larger one than the burst waits for all of it, and leaves a debt.
    assert_eq!(pace.admit(20, 5_000), Err(Wait::Until(3_000)));
    assert_eq!(pace.admit(3_001, 5_000), Ok(()));
    assert!(matches!(pace.admit(3_002, 100), Err(Wait::Until(until)) if until > 40_000));
}

#[test]
fn requests_at_once_double_until_the_server_is_overloaded() {
    let mut pace = Pace::new(EndpointBudget { max_concurrency: 100, ..EndpointBudget::default() }, 0);
    let fill = |pace: &mut Pace, now| {
        let mut count = 0;
        while pace.admit(now, 0).is_ok() {
            count += 1;
        }
        count
    };
    assert_eq!(fill(&mut pace, 0), 4);
    (0..4).for_each(|_| pace.answered(10, 0, 0));
    assert_eq!(fill(&mut pace, 10), 8);
    (0..8).for_each(|_| pace.answered(20, 0, 0));
    assert_eq!(fill(&mut pace, 20), 16);
    pace.refused(30, 20, Refusal::Load, None);
    // The others were sent before the cut.
    pace.refused(30, 20, Refusal::Load, None);
    (0..14).for_each(|_| pace.answered(31, 0, 0));
    let grown = fill(&mut pace, 31);
    assert!((11..=12).contains(&grown), "{grown}");
}

#[test]
fn a_server_that_refuses_everything_is_left_alone() {
    let mut pace = Pace::new(EndpointBudget::default(), 0);
    for _ in 0..3 {
        pace.admit(5, 0).unwrap();
        pace.refused(5, 5, Refusal::Rate, Some(20_000));
    }
    assert_eq!(pace.admit(6, 0), Err(Wait::Until(20_005)));
    assert_eq!(pace.admit(20_005, 0), Ok(()));
}
