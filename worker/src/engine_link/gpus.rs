//! Which GPUs each slot's engine sees.
//!
//! Pure. An engine sees only its own replica's devices, through CUDA_VISIBLE_DEVICES: it cannot take memory on another's, and
//! `cuda:0` is the first of its own. Slots beyond what the GPUs give a replica each share them evenly.

/// What an agent was started with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gpus {
    /// As CUDA_VISIBLE_DEVICES names them; empty where there are none, or the engine is to choose for itself.
    names: Vec<String>,
    slots: usize,
}

/// A slot's share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Share {
    /// For CUDA_VISIBLE_DEVICES.
    pub(super) visible: String,
    /// Engines that share these GPUs, this slot's included.
    pub(super) colocated_engines: u32,
}

impl Gpus {
    /// The GPUs of this machine as `visible`, the value of CUDA_VISIBLE_DEVICES, leaves them, or else `count` of them, for
    /// `slots` slots on `device`.
    pub fn new(device: &str, visible: Option<&str>, count: usize, slots: usize) -> Self {
        let names = match (device, visible) {
            // A device that is named is the one for all slots.
            (device, _) if device != "auto" => Vec::new(),
            (_, Some(visible)) => {
                let names = visible.split(',').map(str::trim).filter(|name| !name.is_empty());
                // CUDA stops at the first that it does not know, which -1 always is.
                names.take_while(|name| !name.starts_with('-')).map(str::to_owned).collect()
            }
            (_, None) => (0..count).map(|gpu| gpu.to_string()).collect(),
        };
        Self { names, slots }
    }

    /// What the engine of a slot sees whose model takes `per_replica` GPUs (0 counts as one); `None` leaves it all.
    pub(super) fn share(&self, slot: usize, per_replica: u32) -> Option<Share> {
        let each = per_replica.max(1) as usize;
        let groups = self.names.len() / each;
        if groups == 0 {
            return None;
        }
        let group = slot % groups;
        let colocated_engines = (self.slots.max(slot + 1) - group).div_ceil(groups);
        let visible = self.names.get(group * each..(group + 1) * each)?.join(",");
        Some(Share { visible, colocated_engines: u32::try_from(colocated_engines).unwrap_or(u32::MAX) })
    }
}

/// GPUs that the driver shows.
pub fn count_gpus() -> usize {
    let entries = std::fs::read_dir("/dev").into_iter().flatten().flatten();
    let numbered = entries.filter(|entry| {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("nvidia"));
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()))
    });
    numbered.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(gpus: &Gpus, per_replica: u32) -> Vec<(String, u32)> {
        let share = |slot| gpus.share(slot, per_replica).map(|share| (share.visible, share.colocated_engines));
        (0..gpus.slots).filter_map(share).collect()
    }

    fn named(shares: &[(&str, u32)]) -> Vec<(String, u32)> {
        shares.iter().map(|(visible, colocated_engines)| ((*visible).to_owned(), *colocated_engines)).collect()
    }

    #[test]
    fn each_replica_has_its_own() {
        let gpus = Gpus::new("auto", None, 4, 2);
        assert_eq!(shares(&gpus, 2), named(&[("0,1", 1), ("2,3", 1)]));
        assert_eq!(shares(&gpus, 0), named(&[("0", 1), ("1", 1)]));
        let four = Gpus::new("auto", Some("7, GPU-ab,3"), 8, 3);
        assert_eq!(shares(&four, 1), named(&[("7", 1), ("GPU-ab", 1), ("3", 1)]));
    }

    #[test]
    fn more_slots_than_gpus_share_them() {
        let gpus = Gpus::new("auto", None, 2, 5);
        assert_eq!(shares(&gpus, 1), named(&[("0", 3), ("1", 2), ("0", 3), ("1", 2), ("0", 3)]));
        assert_eq!(shares(&gpus, 2), named(&[("0,1", 5); 5]));
    }

    #[test]
    fn nothing_is_hidden_where_there_is_nothing_to_share_out() {
        for gpus in
            [Gpus::new("auto", None, 0, 2), Gpus::new("auto", Some(""), 4, 2), Gpus::new("auto", Some("-1"), 4, 2)]
        {
            assert_eq!(shares(&gpus, 1), []);
        }
        assert_eq!(shares(&Gpus::new("cuda:1", None, 4, 2), 1), [], "a device that is named is the one for all");
        assert_eq!(shares(&Gpus::new("auto", Some("0,-1,2"), 4, 1), 1), named(&[("0", 1)]), "CUDA stops at -1");
        assert_eq!(shares(&Gpus::new("auto", None, 1, 1), 2), [], "the engine says that it lacks one");
    }
}
