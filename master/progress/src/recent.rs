//! Counts of what came from a worker in each of the last minutes.

/// Minutes that are kept, the running one included.
pub(crate) const MINUTES: usize = 10;

/// Counts by minute of the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecentMinutes {
    /// The minute of the last count.
    minute: u64,
    counts: [u64; MINUTES],
}

impl RecentMinutes {
    /// Counts in a minute that is not before the last one.
    pub fn add(&mut self, minute: u64, count: u64) {
        self.counts = self.at(minute);
        self.minute = self.minute.max(minute);
        if let Some(running) = self.counts.last_mut() {
            *running += count;
        }
    }

    /// Returns the counts as they are in a minute: the oldest first, the running one last.
    pub fn at(&self, minute: u64) -> [u64; MINUTES] {
        let passed = usize::try_from(minute.saturating_sub(self.minute)).unwrap_or(MINUTES).min(MINUTES);
        let mut counts = [0; MINUTES];
        counts[..MINUTES - passed].copy_from_slice(&self.counts[passed..]);
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_pass_and_the_oldest_is_forgotten() {
        let mut recent = RecentMinutes::default();
        recent.add(0, 4);
        recent.add(0, 1);
        recent.add(2, 7);
        assert_eq!(recent.at(2), [0, 0, 0, 0, 0, 0, 0, 5, 0, 7]);
        assert_eq!(recent.at(9), [5, 0, 7, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(recent.at(11), [7, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(recent.at(90), [0; MINUTES]);
        recent.add(90, 3);
        assert_eq!(recent.at(90)[MINUTES - 1], 3);
        assert_eq!(recent.at(90).iter().sum::<u64>(), 3);
        // A clock that is behind loses nothing.
        recent.add(89, 2);
        assert_eq!(recent.at(90)[MINUTES - 1], 5);
    }
}
