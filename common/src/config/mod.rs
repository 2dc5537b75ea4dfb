//! The contract of eval.toml: parsed with positions, checked whole, then trusted.
