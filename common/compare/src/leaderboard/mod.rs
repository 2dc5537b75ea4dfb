//! Many runs by many data sets: numbers with their intervals, tiers of what is statistically tied, curves over steps, and how
//! much signal each data set has over its noise.

mod board;
mod curve;
mod entry;
mod number;
mod show;
mod signal;
mod tensorboard;
mod tiers;

pub use board::{Board, board};
pub use entry::{Cell, Entry};
pub use show::{board_body, board_csv, board_html, board_json, board_text};
pub use signal::{Signal, signals};
pub use tensorboard::events;
