//! Test keys: one in sixteen, chosen by hash.

/// Returns whether the item with this name is only for testing, never for training. FNV-1a, finished by a multiplication
/// so that its upper bits, which decide, depend on every character.
pub(crate) fn held_out(key: &str) -> bool {
    let hash = key
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    (hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60) == 0
}
