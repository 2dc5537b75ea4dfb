//! Reach of an interval to either side of its difference with another number of pairs.

use compass_stats::{normal_tail, tango_of_shares, two_sided_t, two_sided_z};

/// A standard error up to this, in any unit, comes from rounding: no value differs from another.
pub(crate) const NO_SPREAD: f64 = 1e-12;

/// One way in which the interval of an estimate is made, so that it can be foreseen. Lengths are in the unit of the metric.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reach {
    /// Tango's, of the shares of pairs that only the second and only the first run has right, times `scale`; a pair counts as so
    /// many `units`, which is less than one where clusters are counted.
    Tango { gained: f64, lost: f64, units: f64, scale: f64 },
    /// Student's t of a standard error, with a degree of freedom less than there are units.
    Student { stderr: f64, units: f64 },
    /// Interval of the bootstrap, whose ends come closer with the square root of the pairs.
    Bootstrap { down: f64, up: f64 },
    /// Intervals of the subsets of a group, whose pairs stay in proportion.
    Group(Vec<Part>),
}

/// A subset of a group.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    pub weight: f64,
    pub pairs: u64,
    pub stderr: f64,
    pub reach: Vec<Reach>,
}

impl Reach {
    /// In a unit that is `factor` times smaller.
    pub(crate) fn scaled(self, factor: f64) -> Self {
        match self {
            Self::Tango { gained, lost, units, scale } => Self::Tango { gained, lost, units, scale: scale * factor },
            Self::Student { stderr, units } => Self::Student { stderr: stderr * factor, units },
            Self::Bootstrap { down, up } => Self::Bootstrap { down: down * factor, up: up * factor },
            Self::Group(parts) => {
                let scaled = |part: Part| Part {
                    stderr: part.stderr * factor,
                    reach: part.reach.into_iter().map(|reach| reach.scaled(factor)).collect(),
                    ..part
                };
                Self::Group(parts.into_iter().map(scaled).collect())
            }
        }
    }

    /// Downwards and upwards, with so many pairs where `observed` were seen.
    fn at(&self, observed: f64, pairs: f64, confidence: f64) -> (f64, f64) {
        let shrunk = (observed / pairs).sqrt();
        match self {
            Self::Tango { gained, lost, units, scale } => {
                let found = tango_of_shares(*gained, *lost, pairs * units, two_sided_z(confidence));
                let difference = gained - lost;
                ((difference - found.low) * scale, (found.high - difference) * scale)
            }
            Self::Student { stderr, units } => {
                let half = two_sided_t(confidence, pairs * units - 1.0) * stderr * shrunk;
                (half, half)
            }
            Self::Bootstrap { down, up } => (down * shrunk, up * shrunk),
            Self::Group(parts) => of_group(parts, pairs / observed, confidence),
        }
    }
}

/// The widest of several ways.
pub(crate) fn widest(reach: &[Reach], observed: u64, growth: f64, confidence: f64) -> (f64, f64) {
    let observed = observed as f64;
    let ends = reach.iter().map(|reach| reach.at(observed, observed * growth, confidence));
    ends.fold((0.0, 0.0), |(down, up): (f64, f64), end| (down.max(end.0), up.max(end.1)))
}

/// The interval of a group where there are `growth` times as many pairs: the distances of its subsets' ends, times their weights,
/// added as squares (MOVER: Zou, Huang and Zhang, Computational Statistics and Data Analysis 53, 1080-1085, 2009), each no
/// shorter than the normal interval of its error. A subset in which nothing differs has no error, and yet an interval.
pub(crate) fn of_group(parts: &[Part], growth: f64, confidence: f64) -> (f64, f64) {
    let z = two_sided_z(confidence);
    let squares = parts.iter().map(|part| {
        let normal = z * part.stderr / growth.sqrt();
        let (down, up) = widest(&part.reach, part.pairs, growth, confidence);
        let (down, up) = if part.weight < 0.0 { (up, down) } else { (down, up) };
        let square = |end: f64| (part.weight * end.max(normal)) * (part.weight * end.max(normal));
        (square(down), square(up))
    });
    let sums = squares.fold((0.0, 0.0), |sums, part| (sums.0 + part.0, sums.1 + part.1));
    (sums.0.sqrt(), sums.1.sqrt())
}

/// The standard error of a group towards its lower or its upper end. Of a subset without an error it is its interval's reach over
/// z, so that no group is more certain than its subsets.
pub(crate) fn error_of_group(parts: &[Part], is_down: bool, confidence: f64) -> f64 {
    let square = |part: &Part| {
        let error = match part.stderr > NO_SPREAD {
            true => part.stderr,
            false => {
                let (down, up) = widest(&part.reach, part.pairs, 1.0, confidence);
                (if is_down == (part.weight >= 0.0) { down } else { up }) / two_sided_z(confidence)
            }
        };
        (part.weight * error) * (part.weight * error)
    };
    parts.iter().map(square).sum::<f64>().sqrt()
}

/// The two-sided p-value of no difference in a group, by the normal distribution.
pub(crate) fn p_of_group(parts: &[Part], difference: f64, confidence: f64) -> f64 {
    let error = error_of_group(parts, difference > 0.0, confidence);
    match (difference == 0.0, error == 0.0) {
        (true, _) => 1.0,
        (false, true) => 0.0,
        (false, false) => 2.0 * normal_tail((difference / error).abs()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_the_pairs_that_were_seen_it_is_the_interval() {
        let all = [
            Reach::Tango { gained: 0.02, lost: 0.05, units: 1.0, scale: 100.0 },
            Reach::Student { stderr: 1.5, units: 0.25 },
            Reach::Bootstrap { down: 2.0, up: 3.0 },
        ];
        let tango = compass_stats::tango(4, 10, 200, two_sided_z(0.95));
        let student = two_sided_t(0.95, 49.0) * 1.5;
        let expected = [(-3.0 - 100.0 * tango.low, 100.0 * tango.high + 3.0), (student, student), (2.0, 3.0)];
        for (reach, expected) in all.iter().zip(expected) {
            let found = reach.at(200.0, 200.0, 0.95);
            assert!((found.0 - expected.0).abs() < 1e-9 && (found.1 - expected.1).abs() < 1e-9, "{found:?}");
        }
        let widest = widest(&all, 200, 1.0, 0.95);
        assert!(widest.1 == all.iter().map(|reach| reach.at(200.0, 200.0, 0.95).1).fold(0.0, f64::max), "{widest:?}");
    }
}
