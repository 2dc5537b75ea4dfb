//! Two runs question by question, a gate over them, and a leaderboard of many.
//!
//! Pure: what is read of run folders comes in as [`RunData`], what is shown goes out as text. Pairs are made by content, the
//! statistics are those of `compass-stats`, and the same runs give the same bytes on every machine. Reading run folders,
//! command lines and files are the master's.

mod clusters;
mod compare;
mod comparison;
mod corpus;
mod estimate;
mod flip;
pub mod gate;
mod group;
pub mod leaderboard;
mod observed;
mod pairing;
mod pairs_that_tell;
mod reach;
pub mod report;
mod row;
mod run;
mod values;

pub use clusters::ClusterBy;
pub use compare::compare;
pub use comparison::{CompareError, Comparison, LEAST_SHARE, Options, PairedUnit};
pub use estimate::{Estimate, Method, POWER};
pub use flip::Flip;
pub use observed::{
    BITS_PER_BYTE, Column, Hit, QuestionReader, SampleFacts, Series, UnitBuilder, UnitData, question_text,
};
pub use pairing::{OtherGold, Pairing, pair};
pub use row::{Conclusion, Row, against_margin};
pub use run::{Difference, Facts, RunData};
pub use values::{Direction, direction};
