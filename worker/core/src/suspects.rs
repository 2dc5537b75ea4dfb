//! Which samples may have killed an engine, and which one did.
//!
//! Pure. A pack that dies makes suspects of its samples without a result; suspects are run in packs of half as many, down
//! to one; a sample that kills its engine twice alone is condemned. So a poison sample costs its neighbours a pack for each
//! halving, and a chance death costs two packs in place of one.

use std::collections::BTreeMap;

/// Deaths in a pack of its own that a sample is allowed.
const DEATHS_ALONE: u32 = 2;

/// Suspects of one grant.
#[derive(Clone, Debug, Default)]
pub struct Suspects(BTreeMap<u32, Suspicion>);

#[derive(Clone, Copy, Debug)]
struct Suspicion {
    /// How many suspects may be run together with it, itself included.
    together: usize,
    /// How often it died alone.
    deaths: u32,
}

impl Suspects {
    /// In packs of how many a suspect is run, of its like; `None` when the sample is no suspect.
    pub fn together(&self, sample: u32) -> Option<usize> {
        self.0.get(&sample).map(|suspicion| suspicion.together)
    }

    /// The sample has a result.
    pub fn cleared(&mut self, sample: u32) {
        self.0.remove(&sample);
    }

    /// The engine died on a pack of `pack_size` samples before `unfinished` had results. Returns those that must not be
    /// tried again.
    pub fn engine_died(&mut self, pack_size: usize, unfinished: &[u32]) -> Vec<u32> {
        let mut condemned = Vec::new();
        let together = unfinished.len().div_ceil(2).max(1);
        for &sample in unfinished {
            let suspicion = self.0.entry(sample).or_insert(Suspicion { together, deaths: 0 });
            suspicion.together = together;
            suspicion.deaths += u32::from(pack_size == 1);
            if suspicion.deaths >= DEATHS_ALONE {
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

    /// Runs packs as the agent does, with an engine that dies at `poison`: before it was there it has computed everything,
    /// or, when it computes all `at_once`, nothing. Returns who is done, who is condemned, and the deaths.
    fn run(samples: &[u32], poison: &[u32], at_once: bool) -> (Vec<u32>, Vec<u32>, u32) {
        let (mut suspects, mut done, mut condemned, mut deaths) = (Suspects::default(), Vec::new(), Vec::new(), 0);
        let mut packs = vec![samples.to_vec()];
        while let Some(pack) = packs.pop() {
            let alive = match pack.iter().position(|sample| poison.contains(sample)) {
                None => pack.len(),
                Some(_) if at_once => 0,
                Some(place) => place,
            };
            done.extend(&pack[..alive]);
            pack[..alive].iter().for_each(|&sample| suspects.cleared(sample));
            if alive == pack.len() {
                continue;
            }
            deaths += 1;
            let ended = suspects.engine_died(pack.len(), &pack[alive..]);
            let again: Vec<u32> = pack[alive..].iter().copied().filter(|sample| !ended.contains(sample)).collect();
            let together = again.first().and_then(|&sample| suspects.together(sample)).unwrap_or(1);
            packs.extend(again.chunks(together).map(<[u32]>::to_vec));
            condemned.extend(ended);
        }
        done.sort_unstable();
        condemned.sort_unstable();
        (done, condemned, deaths)
    }

    #[test]
    fn poison_is_condemned_and_everyone_else_gets_through() {
        let samples: Vec<u32> = (0..64).collect();
        for at_once in [false, true] {
            let (done, condemned, deaths) = run(&samples, &[3, 11], at_once);
            assert_eq!(condemned, [3, 11]);
            assert_eq!(done.len(), 62);
            // Of 64, 32, 16 and 8 or less together; then each on its own way down to 1, twice.
            assert!(deaths <= 3 + 2 * (3 + 2), "{deaths}");
        }
    }

    #[test]
    fn a_poison_sample_in_a_pack_of_its_own_dies_twice() {
        assert_eq!(run(&[7], &[7], true), (vec![], vec![7], 2));
    }

    #[test]
    fn a_chance_death_condemns_nobody() {
        let mut suspects = Suspects::default();
        assert!(suspects.engine_died(1, &[5]).is_empty());
        suspects.cleared(5);
        assert!(suspects.engine_died(1, &[5]).is_empty());
    }
}
