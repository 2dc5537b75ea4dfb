//! A refusal on its way from a master to a command line: what is wrong and its remedy. The command line adds the severity.

use compass_diagnostic::{Diagnostic, Diagnostics};
use tonic::metadata::MetadataValue;
use tonic::{Code, Status};

/// Metadata of a status that holds the remedy, as UTF-8.
const HELP: &str = "help-bin";

pub(super) fn to_status(code: Code, why: &Diagnostics) -> Status {
    let mut status = Status::new(code, why.message());
    if let Some(help) = why.help() {
        status.metadata_mut().insert_bin(HELP, MetadataValue::from_bytes(help.as_bytes()));
    }
    status
}

pub(super) fn from_status(status: &Status) -> Diagnostic {
    let help = status.metadata().get_bin(HELP).and_then(|help| help.to_bytes().ok());
    let mut diagnostic = Diagnostic::error(status.message());
    diagnostic.help = help.and_then(|help| String::from_utf8(help.to_vec()).ok());
    diagnostic
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_arrives_with_its_remedy_and_one_severity() {
        for why in [Diagnostic::error("größer").with_help("kürzer"), Diagnostic::error("no")] {
            let status = to_status(Code::Unavailable, &why.clone().into());
            assert_eq!((status.code(), status.message()), (Code::Unavailable, why.message.as_str()));
            assert_eq!(from_status(&status), why);
        }
    }
}
