//! Answer of `/healthz`: whether this master moves, may write, and has room for what comes next.
//!
//! Load balancers ask without a token, so an answer names no host, no file and no job.

use axum::http::StatusCode;
use compass_common::descriptors::Descriptors;
use compass_store::LeadershipStatus;
use std::time::Duration;

/// A view older than this means that the driver hangs.
pub(super) const STALE: Duration = Duration::from_secs(30);

/// Facts by which health is judged.
#[derive(Clone, Debug)]
pub(super) struct Vitals {
    /// Time since the scheduler showed itself; `None` where no single one is shown.
    pub silent_for: Option<Duration>,
    pub status: LeadershipStatus,
    /// `None` where the system does not list them.
    pub descriptors: Option<Descriptors>,
}

impl Vitals {
    /// Every complaint, a line each.
    fn complaints(&self) -> Vec<String> {
        let mut complaints = Vec::new();
        if let Some(silent) = self.silent_for.filter(|silent| *silent > STALE) {
            complaints.push(format!("the scheduler has not moved for {} s", silent.as_secs()));
        }
        match &self.status {
            LeadershipStatus::Sure => {}
            LeadershipStatus::Waiting { .. } => {
                complaints.push("the store does not answer: nothing can be recorded".into())
            }
            LeadershipStatus::Lost => complaints.push("another master leads".into()),
        }
        if let Some(Descriptors { open, limit }) = self.descriptors.filter(|descriptors| descriptors.are_scarce()) {
            complaints.push(format!("{open} of {limit} file descriptors are open; raise `ulimit -n`"));
        }
        complaints
    }

    /// The answer to `/healthz`.
    pub(crate) fn answer(&self) -> (StatusCode, String) {
        match self.complaints() {
            complaints if complaints.is_empty() => (StatusCode::OK, "ok\n".into()),
            complaints => (StatusCode::SERVICE_UNAVAILABLE, complaints.join("\n") + "\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn healthy() -> Vitals {
        let descriptors = Some(Descriptors { open: 40, limit: 1024 });
        Vitals { silent_for: Some(Duration::from_secs(2)), status: LeadershipStatus::Sure, descriptors }
    }

    #[test]
    fn each_trouble_alone_makes_a_master_unhealthy() {
        assert_eq!(healthy().answer(), (StatusCode::OK, "ok\n".into()));
        let away = LeadershipStatus::Waiting { why: "the store at http://secret-host:2379 is away".into() };
        let troubles = [
            (Vitals { silent_for: Some(Duration::from_secs(31)), ..healthy() }, "has not moved for 31 s"),
            (Vitals { status: away, ..healthy() }, "the store does not answer"),
            (Vitals { status: LeadershipStatus::Lost, ..healthy() }, "another master leads"),
            (
                Vitals { descriptors: Some(Descriptors { open: 1020, limit: 1024 }), ..healthy() },
                "1020 of 1024 file descriptors",
            ),
        ];
        for (vitals, said) in troubles {
            let (code, text) = vitals.answer();
            assert_eq!(code, StatusCode::SERVICE_UNAVAILABLE, "{said}");
            assert!(text.contains(said) && !text.contains("secret-host"), "{text}");
        }
    }

    #[test]
    fn what_is_not_known_is_no_complaint() {
        let (code, _) = Vitals { silent_for: None, descriptors: None, ..healthy() }.answer();
        assert_eq!(code, StatusCode::OK);
    }
}
