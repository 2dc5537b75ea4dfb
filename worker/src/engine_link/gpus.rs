//! GPUs visible to each slot's engine.
//!
//! Pure. An engine sees only its own replica's devices, through CUDA_VISIBLE_DEVICES: it cannot use memory of others,
//! and `cuda:0` is its own first device. If there are more slots than replicas fit on the GPUs, slots share them
//! evenly.

/// The agent's GPUs and slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gpus {
    /// Names as in CUDA_VISIBLE_DEVICES; empty without GPUs, or if the engine is to choose itself.
    names: Vec<String>,
    slots: usize,
    /// Set if all slots compute on one GPU that was named.
    is_one: bool,
}

/// A slot's share of the GPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GpuShare {
    /// Value for CUDA_VISIBLE_DEVICES.
    pub(super) visible: String,
    /// Engines that share these GPUs, this slot's included.
    pub(super) colocated_engines: u32,
}

impl Gpus {
    /// Distributes the GPUs of `visible`, the value of CUDA_VISIBLE_DEVICES, or else `count` GPUs of this machine,
    /// among `slots` slots on `device`.
    pub fn new(device: &str, visible: Option<&str>, count: usize, slots: usize) -> Self {
        let names = match (device, visible) {
            // An explicit device applies to all slots.
            (device, _) if device != "auto" => Vec::new(),
            (_, Some(visible)) => {
                let names = visible.split(',').map(str::trim).filter(|name| !name.is_empty());
                // CUDA stops at the first unknown name, which -1 always is.
                names.take_while(|name| !name.starts_with('-')).map(str::to_owned).collect()
            }
            (_, None) => (0..count).map(|gpu| gpu.to_string()).collect(),
        };
        Self { names, slots, is_one: device.starts_with("cuda") }
    }

    /// Engines on the GPUs of a slot that has this share of them, its own included.
    pub(super) fn colocated_engines(&self, share: Option<&GpuShare>) -> u32 {
        let all = if self.is_one { u32::try_from(self.slots.max(1)).unwrap_or(u32::MAX) } else { 1 };
        share.map_or(all, |share| share.colocated_engines)
    }

    /// Returns the share of a slot whose model takes `per_replica` GPUs (0 counts as one); `None` leaves all visible.
    pub(super) fn share(&self, slot: usize, per_replica: u32) -> Option<GpuShare> {
        let each = per_replica.max(1) as usize;
        let groups = self.names.len() / each;
        if groups == 0 {
            return None;
        }
        let group = slot % groups;
        let colocated_engines = (self.slots.max(slot + 1) - group).div_ceil(groups);
        let visible = self.names.get(group * each..(group + 1) * each)?.join(",");
        Some(GpuShare { visible, colocated_engines: u32::try_from(colocated_engines).unwrap_or(u32::MAX) })
    }
}

/// Number of GPUs shown by the driver.
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
    fn each_replica_has_its_own_gpus() {
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
    fn gpus_stay_visible_without_anything_to_share() {
        for gpus in
            [Gpus::new("auto", None, 0, 2), Gpus::new("auto", Some(""), 4, 2), Gpus::new("auto", Some("-1"), 4, 2)]
        {
            assert_eq!(shares(&gpus, 1), []);
        }
        let one = Gpus::new("cuda:1", None, 4, 2);
        assert_eq!((shares(&one, 1), one.colocated_engines(None)), (vec![], 2), "an explicit device applies to all");
        assert_eq!(Gpus::new("cpu", None, 4, 2).colocated_engines(None), 1);
        assert_eq!(shares(&Gpus::new("auto", Some("0,-1,2"), 4, 1), 1), named(&[("0", 1)]), "CUDA stops at -1");
        assert_eq!(shares(&Gpus::new("auto", None, 1, 1), 2), [], "the engine reports the missing GPU");
    }
}
