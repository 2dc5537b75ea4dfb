//! Assigns a model's layers to devices when one device is not enough: a pure function of sizes and free memory.
//!
//! Layers stay in order, a run of them on each device, so that hidden states change devices once for each device used.
//! GPUs share the layers by their memory, as with transformers' `device_map = "auto"`; the remaining layers are on the
//! CPU. Everything outside the layers (embeddings, the last norm, the head) is on the first device, where tokens enter
//! and logits leave.

/// Sizes of a model's parts in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Everything outside the layers.
    pub(crate) outside: u64,
    /// Each layer.
    pub(crate) layers: Vec<u64>,
    /// Minimum size of keys and values of one layer.
    pub(crate) cache: u64,
}

impl Sizes {
    /// All of it but caches.
    pub(crate) fn all(&self) -> u64 {
        self.outside + self.layers.iter().sum::<u64>()
    }

    /// A layer in the mean; 0 without layers.
    pub(crate) fn of_layer(&self) -> u64 {
        self.layers.iter().sum::<u64>() / self.layers.len().max(1) as u64
    }
}

/// Free bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rooms {
    /// On each GPU, in order.
    pub(crate) gpus: Vec<u64>,
    /// In the CPU's memory.
    pub(crate) cpu: u64,
}

/// Percentage of a device's free memory for weights and caches; the rest is for activations.
const USABLE: u64 = 90;

/// Number of shares of the GPUs' memory that are tried.
const STEPS: u64 = 200;

/// Returns the device of each layer: the index of a GPU, or the number of GPUs for the CPU. `None` if the memory does
/// not suffice.
pub(crate) fn place_layers(sizes: &Sizes, rooms: &Rooms) -> Option<Vec<usize>> {
    // The smallest share of every GPU that holds all layers: the GPUs are then evenly loaded.
    (1..=STEPS).find_map(|share| fill(sizes, rooms, share, 0)).or_else(|| fill(sizes, rooms, STEPS, rooms.cpu))
}

/// Fills the devices in order, each up to its share.
fn fill(sizes: &Sizes, rooms: &Rooms, share: u64, cpu: u64) -> Option<Vec<usize>> {
    let usable =
        |bytes: u64, share: u64| (u128::from(bytes) * u128::from(USABLE * share) / u128::from(100 * STEPS)) as u64;
    let rooms: Vec<u64> = rooms.gpus.iter().map(|&gpu| usable(gpu, share)).chain([usable(cpu, STEPS)]).collect();
    let mut device = 0;
    let mut left = rooms.first()?.checked_sub(sizes.outside)?;
    let mut places = Vec::with_capacity(sizes.layers.len());
    for &layer in &sizes.layers {
        let needs = layer.saturating_add(sizes.cache);
        while left < needs {
            device += 1;
            left = *rooms.get(device)?;
        }
        left -= needs;
        places.push(device);
    }
    Some(places)
}

/// Number of workers with weights and caches of this size that fit on a device of `total` bytes.
pub(crate) fn workers_that_fit(total: u64, each: u64) -> u64 {
    (u128::from(total) * u128::from(USABLE) / 100 / u128::from(each.max(1))) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GIB: u64 = 1 << 30;

    fn sizes(outside: u64, layers: usize, each: u64) -> Sizes {
        Sizes { outside, layers: vec![each; layers], cache: 0 }
    }

    fn counts(places: &[usize]) -> Vec<usize> {
        let most = places.iter().copied().max().unwrap_or(0);
        (0..=most).map(|device| places.iter().filter(|&&place| place == device).count()).collect()
    }

    #[test]
    fn gpus_share_the_layers_by_their_memory() {
        let even = Rooms { gpus: vec![80 * GIB; 4], cpu: 0 };
        assert_eq!(counts(&place_layers(&sizes(0, 80, GIB), &even).unwrap()), [20; 4]);
        // The first one also has the embeddings.
        assert_eq!(counts(&place_layers(&sizes(4 * GIB, 76, GIB), &even).unwrap()), [16, 20, 20, 20]);
        let uneven = Rooms { gpus: vec![60 * GIB, 20 * GIB], cpu: 500 * GIB };
        assert_eq!(counts(&place_layers(&sizes(0, 40, GIB), &uneven).unwrap()), [30, 10]);
    }

    #[test]
    fn cpu_memory_is_used_last() {
        let rooms = Rooms { gpus: vec![20 * GIB, 20 * GIB], cpu: 100 * GIB };
        assert_eq!(counts(&place_layers(&sizes(0, 36, GIB), &rooms).unwrap()), [18, 18]);
        assert_eq!(counts(&place_layers(&sizes(0, 60, GIB), &rooms).unwrap()), [18, 18, 24]);
        assert_eq!(place_layers(&sizes(0, 200, GIB), &rooms), None);
        assert_eq!(place_layers(&sizes(30 * GIB, 1, GIB), &rooms), None, "embeddings cannot be split");
        let caches = Sizes { cache: GIB, ..sizes(0, 36, GIB) };
        assert_eq!(counts(&place_layers(&caches, &rooms).unwrap()), [9, 9, 18], "layers need memory for their caches");
    }

    #[test]
    fn number_of_workers_on_one_device() {
        assert_eq!(workers_that_fit(140 * GIB, 16 * GIB), 7);
        assert_eq!(workers_that_fit(10 * GIB, 16 * GIB), 0);
    }

    proptest! {
        #[test]
        fn layers_stay_in_order_and_within_the_memory(outside in 0u64..50, layers in proptest::collection::vec(1u64..40, 1..60),
                                                      gpus in proptest::collection::vec(0u64..900, 1..5), cpu in 0u64..900) {
            let (sizes, rooms) = (Sizes { outside, layers, cache: 1 }, Rooms { gpus, cpu });
            if let Some(places) = place_layers(&sizes, &rooms) {
                prop_assert!(places.is_sorted() && places.len() == sizes.layers.len());
                for (device, &room) in rooms.gpus.iter().chain([&rooms.cpu]).enumerate() {
                    let held = places.iter().zip(&sizes.layers).filter(|(place, _)| **place == device);
                    let own = held.map(|(_, layer)| layer + sizes.cache).sum::<u64>() + if device == 0 { outside } else { 0 };
                    prop_assert!(own <= room);
                }
            }
        }
    }
}
