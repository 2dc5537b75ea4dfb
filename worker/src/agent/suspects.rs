//! Which samples may have killed an engine, and which one did.
//!
//! Pure. A pack that dies makes suspects of its samples without a result; a suspect is run alone; one that kills its
//! engine twice alone is condemned. Innocent neighbours of a poison sample cost one extra pack each, no more.

use std::collections::BTreeMap;

/// Deaths in a pack of its own that a sample is allowed.
const DEATHS_ALONE: u32 = 2;

/// Suspects of one grant with how often each died alone.
#[derive(Clone, Debug, Default)]
pub(super) struct Suspects(BTreeMap<u32, u32>);

impl Suspects {
    /// Whether the sample must be run alone.
    pub(super) fn contains(&self, sample: u32) -> bool {
        self.0.contains_key(&sample)
    }

    /// The sample has a result.
    pub(super) fn cleared(&mut self, sample: u32) {
        self.0.remove(&sample);
    }

    /// The engine died on a pack of `pack_size` samples before `unfinished` had results. Returns those that must not be
    /// tried again.
    pub(super) fn engine_died(&mut self, pack_size: usize, unfinished: &[u32]) -> Vec<u32> {
        let mut condemned = Vec::new();
        for &sample in unfinished {
            let deaths = self.0.entry(sample).or_default();
            *deaths += u32::from(pack_size == 1);
            if *deaths >= DEATHS_ALONE {
                condemned.push(sample);
                self.0.remove(&sample);
            }
        }
        condemned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs packs as the agent does, with an engine that computes in order and dies at `poison`.
    fn run(samples: &[u32], poison: &[u32]) -> (Vec<u32>, Vec<u32>, u32) {
        let (mut suspects, mut done, mut condemned, mut deaths) = (Suspects::default(), Vec::new(), Vec::new(), 0);
        let mut packs = vec![samples.to_vec()];
        while let Some(pack) = packs.pop() {
            let alive = pack.iter().take_while(|sample| !poison.contains(sample)).count();
            done.extend(&pack[..alive]);
            pack[..alive].iter().for_each(|&sample| suspects.cleared(sample));
            if alive == pack.len() {
                continue;
            }
            deaths += 1;
            let ended = suspects.engine_died(pack.len(), &pack[alive..]);
            let again = pack[alive..].iter().filter(|sample| !ended.contains(sample));
            packs.extend(again.map(|&sample| {
                assert!(suspects.contains(sample));
                vec![sample]
            }));
            condemned.extend(ended);
        }
        done.sort_unstable();
        condemned.sort_unstable();
        (done, condemned, deaths)
    }

    #[test]
    fn poison_is_condemned_and_everyone_else_gets_through() {
        let samples: Vec<u32> = (0..16).collect();
        let (done, condemned, deaths) = run(&samples, &[3, 11]);
        assert_eq!(condemned, [3, 11]);
        assert_eq!(done.len(), 14);
        assert_eq!(deaths, 1 + 2 + 2);
    }

    #[test]
    fn a_poison_sample_in_a_pack_of_its_own_dies_twice() {
        assert_eq!(run(&[7], &[7]), (vec![], vec![7], 2));
    }

    #[test]
    fn a_chance_death_condemns_nobody() {
        let mut suspects = Suspects::default();
        assert!(suspects.engine_died(1, &[5]).is_empty());
        suspects.cleared(5);
        assert!(suspects.engine_died(1, &[5]).is_empty());
    }
}
