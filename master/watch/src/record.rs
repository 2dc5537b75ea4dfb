//! Memory of a watch: the lines of its journal.

use super::ending::Ending;
use compass_types::ids::Digest;
use serde::{Deserialize, Serialize};

/// Something that was found out or decided. The state of a watch is the fold of its records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case", deny_unknown_fields)]
pub enum Record {
    /// A checkpoint was whole and had this content while its files looked so.
    Seen { name: String, fingerprint: Digest, content: Digest },
    /// A job for a content is about to begin. Durable before anything of it can be seen elsewhere.
    Intended { content: Digest, name: String, step: Option<u64> },
    /// The name of its run folder.
    Placed { content: Digest, folder: String },
    /// The id under which a server knows it.
    Submitted { content: Digest, job: String },
    /// Its end.
    Ended { content: Digest, ending: Ending },
    /// Too many waited.
    Skipped { content: Digest },
    /// A checkpoint was removed.
    Gone { name: String },
    /// An intention was given up before a job began: the checkpoint changed or went away.
    GivenUp { content: Digest },
}
