//! `compare`, `gate` and `leaderboard`: recorded runs, read from their folders and compared question by question. What is computed is
//! `compass-compare`'s.

mod command;
mod facts;
mod files;
mod flips;
mod gate_command;
mod leaderboard_command;
mod reading;

pub use command::compared;
pub use command::run;
pub use gate_command::run as gate;
pub use leaderboard_command::run as leaderboard;
pub use leaderboard_command::{board_of, read_run, step_pattern};
pub(crate) use reading::find_run;
