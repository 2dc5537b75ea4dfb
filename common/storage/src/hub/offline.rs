//! Variables of the environment that forbid the network.

use crate::variables::Variables;

/// Any of them is enough, as each of the libraries reads them.
const NAMES: [&str; 4] = ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE", "HF_EVALUATE_OFFLINE"];

/// The variable that says so, with its value.
pub fn forbids_network(variables: &Variables) -> Option<String> {
    let is_on = |value: &str| matches!(value.to_uppercase().as_str(), "1" | "ON" | "YES" | "TRUE");
    NAMES.iter().find_map(|name| {
        let value = variables.get(name).filter(|value| is_on(value))?;
        Some(format!("{name}={value}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_variable_is_enough() {
        let of =
            |name: &str, value: &str| forbids_network(&[(name.to_owned(), value.to_owned())].into_iter().collect());
        for name in NAMES {
            assert_eq!(of(name, "1"), Some(format!("{name}=1")));
            assert_eq!(of(name, "true"), Some(format!("{name}=true")));
            assert_eq!((of(name, "0"), of(name, "")), (None, None));
        }
    }
}
