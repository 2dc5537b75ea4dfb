//! CPython's printing, reading and drawing, to the byte: prompts, answers and shots must be the peers' own.

mod dialect;
mod float_text;
mod json;
mod json_number;
pub mod literal;
mod number;
mod random;
mod string_literal;
mod text;
mod whole_number;

pub use dialect::{Dollar, translate};
pub use float_text::float_text;
pub use json::{json_float, json_text};
pub use json_number::{python_json_word, whole_numbers_kept, without_python_words};
pub use number::{NONE, float, int, is_digit, is_space, is_word, strip};
pub use random::PythonRandom;
pub use string_literal::string_literal;
pub use text::{python_repr, python_repr_text, python_str};
pub use whole_number::{digits_beyond_64_bits, holds_beyond_64_bits, whole_number, with_texts};
