//! Chat templates beside transformers' own output, and what they say of thinking.

mod families;
mod transformers;
