//! Keys of config.json that have other names in some versions of transformers. Families read the first name of each.

use serde_json::Value;

/// A key as families read it, and another name of it, which counts where a file lacks the first.
const NAMES: [(&str, &str); 6] = [
    // transformers 5 has the base and the part of a head that is rotated in it, too: `RopeConfig::read`.
    ("rope_parameters", "rope_scaling"),
    ("rope_theta", "rotary_emb_base"),
    ("partial_rotary_factor", "rotary_pct"),
    // transformers 5 saves the experts of some families under one name.
    ("num_experts", "num_local_experts"),
    ("n_routed_experts", "num_local_experts"),
    ("num_local_experts", "num_experts"),
];

/// Gives keys the names that families read.
pub(super) fn with_known_names(keys: &mut Value) {
    let Value::Object(keys) = keys else { return };
    for (name, other) in NAMES {
        if keys.get(name).is_none_or(Value::is_null)
            && let Some(value) = keys.get(other).filter(|value| !value.is_null()).cloned()
        {
            keys.insert(name.to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_name_that_families_read_takes_precedence() {
        let mut keys =
            json!({"num_local_experts": 4, "rope_scaling": null, "rotary_pct": 0.25, "partial_rotary_factor": 0.5});
        with_known_names(&mut keys);
        assert_eq!((&keys["num_experts"], &keys["n_routed_experts"]), (&json!(4), &json!(4)));
        assert_eq!((keys.get("rope_parameters"), &keys["partial_rotary_factor"]), (None, &json!(0.5)));
        let mut odd = json!([1]);
        with_known_names(&mut odd);
        assert_eq!(odd, json!([1]));
    }
}
