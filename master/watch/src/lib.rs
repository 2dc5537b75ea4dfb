//! Checkpoints as they appear: the state of each, and the time at which it is evaluated.
//!
//! [`Watch`] decides, and holds neither a file nor a clock; [`look`](mod@look) and [`examine`](mod@examine) read directories,
//! [`Journal`] keeps what was decided. The master submits the jobs and reads their results.
//!
//! Invariants, checked by the property tests: a content is evaluated once, whatever its paths and however often its watcher is
//! killed; a checkpoint begins only after it was examined as whole and did not change since; records are restored.

mod checkpoint;
pub mod curve;
pub mod ending;
mod evaluation;
pub mod event;
pub mod examine;
pub mod journal;
pub mod latest;
pub mod look;
pub mod pattern;
pub mod policy;
pub mod record;
pub mod step;
pub mod watch;

pub use curve::{Curve, Point, ResultRow, WEIGHTS_GONE, rows_of};
pub use ending::{Ending, EndingKind};
pub use event::{Action, Event, Examined, Look};
pub use examine::{ModelParts, content_of, examine};
pub use journal::{Journal, JournalError};
pub use latest::{LATEST, lack};
pub use pattern::{Pattern, PatternError};
pub use policy::Policy;
pub use record::Record;
pub use step::step_of;
pub use watch::{Evaluation, EvaluationState, History, Standing, Watch};
