//! The bounds of real size, and what was measured against each.

/// The most memory of a master, in MiB.
pub(crate) const MASTER_MIB: f64 = 1_536.0;
/// The longest until a finished run is open again, in seconds.
pub(crate) const OPEN_S: f64 = 10.0;
/// The longest wait for a grant of 99 in 100, in milliseconds.
pub(crate) const GRANT_P99_MS: f64 = 50.0;
/// The most that open pages may add to that wait: the median ratio of alternating pairs.
pub(crate) const GRANT_P99_WITH_PAGES: f64 = 1.1;
/// The most computed tokens for each distinct one.
pub(crate) const COMPUTED_PER_DISTINCT: f64 = 1.02;

/// Measured values of one bound; the worst of them decides.
#[derive(Clone, Debug)]
struct Bound {
    name: &'static str,
    limit: f64,
    worst: f64,
    case: String,
}

/// All bounds that were measured, and what else was wrong.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bounds {
    bounds: Vec<Bound>,
    faults: Vec<String>,
}

impl Bounds {
    /// Adds what `case` measured of the bound `name`.
    pub(crate) fn measure(&mut self, name: &'static str, limit: f64, value: f64, case: &str) {
        let case = case.to_owned();
        match self.bounds.iter_mut().find(|bound| bound.name == name) {
            // What is not a number is worse than any.
            Some(bound) if value > bound.worst || value.is_nan() => (bound.worst, bound.case) = (value, case),
            Some(_) => {}
            None => self.bounds.push(Bound { name, limit, worst: value, case }),
        }
    }

    /// Adds what is wrong with `case`.
    pub(crate) fn fault(&mut self, case: &str, what: &str) {
        self.faults.push(format!("{case}: {what}"));
    }

    /// Prints a line for each bound and each fault; whether all is well.
    pub(crate) fn outcome(&self) -> bool {
        let mut holds = self.faults.is_empty();
        for Bound { name, limit, worst, case } in &self.bounds {
            let is_kept = worst <= limit;
            holds &= is_kept;
            let outcome = if is_kept { "kept" } else { "BROKEN" };
            println!("{outcome:<6}  {name}: at most {limit}, worst {worst:.2} ({case})");
        }
        for fault in &self.faults {
            println!("BROKEN  {fault}");
        }
        if self.faults.is_empty() {
            println!("kept    counts, scores and bytes of results/, nothing run twice, no violation, no divergence");
        }
        println!("{}", if holds { "every bound holds" } else { "a bound is broken" });
        holds
    }
}
