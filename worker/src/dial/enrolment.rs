//! From a join token to a certificate, and from one certificate to the next.

use super::door::{Cover, Doorway, NoWay, error_chain};
use super::identity::Identity;
use super::trust::Trust;
use compass_agent::Shut;
use compass_common::join_token::JoinToken;
use compass_proto::v1::enrolment_client::EnrolmentClient;
use compass_proto::{OLDEST_PROTOCOL, PROTOCOL_VERSION, v1};
use std::sync::Arc;
use std::time::Duration;
use tonic::transport::Channel;
use tonic::{Code, Status};

/// How long a master may take to enrol a worker.
const ENROL: Duration = Duration::from_secs(15);
/// Pause after a renewal that failed.
const RENEWAL_PAUSE: Duration = Duration::from_secs(20);

/// What came of asking to be enrolled.
enum Asked {
    NoWay(NoWay),
    Answered(Status),
}

impl Doorway {
    async fn ask(&self, trust: Trust, token: Option<&JoinToken>) -> Result<v1::Enrolled, Asked> {
        let hopeless = |error: &dyn std::error::Error| Asked::NoWay(NoWay::Shut(Shut::Refused(error_chain(error))));
        let key = self.shared.key().map_err(|error| hopeless(&error))?;
        let (config, foreign) = key.stranger(trust).map_err(|error| hopeless(&error))?;
        let cover = Cover::Encrypted { config: config.into(), foreign };
        let stream = self.dial(&cover).await.map_err(Asked::NoWay)?;
        let channel = self.channel(stream).await.map_err(|shut| Asked::NoWay(NoWay::Shut(shut)))?;
        let request = v1::EnrolRequest {
            protocol: PROTOCOL_VERSION,
            oldest_protocol: OLDEST_PROTOCOL,
            worker: self.shared.applicant.worker.clone(),
            token_id: token.map(|token| token.id.clone()).unwrap_or_default(),
            token_secret: token.map(|token| token.secret.expose().to_owned()).unwrap_or_default(),
            pool: self.shared.applicant.pool.clone(),
        };
        let mut client = EnrolmentClient::new(channel);
        match tokio::time::timeout(ENROL, client.enrol(request)).await {
            Ok(Ok(answer)) => Ok(answer.into_inner()),
            Ok(Err(status)) => Err(Asked::Answered(status)),
            Err(_) => {
                let reason = format!("{} did not enrol this worker in time", self.master);
                Err(Asked::NoWay(NoWay::Shut(Shut::Again(reason))))
            }
        }
    }

    pub(super) async fn enrol(&self, token: &JoinToken) -> Result<Arc<Identity>, NoWay> {
        let another = || {
            let now = self.shared.invitations.find(&self.master);
            now.is_ok_and(|now| now.is_some_and(|now| now != *token))
        };
        let answer = match self.ask(Trust::Authority(token.authority), Some(token)).await {
            Ok(answer) => answer,
            Err(Asked::NoWay(NoWay::Shut(Shut::Refused(reason)))) if another() => {
                return Err(NoWay::Shut(Shut::Again(reason)));
            }
            Err(Asked::NoWay(no_way)) => return Err(no_way),
            Err(Asked::Answered(status)) => {
                let reason = format!("the master at {} does not admit this worker: {}", self.master, status.message());
                let final_word =
                    matches!(status.code(), Code::PermissionDenied | Code::Unauthenticated | Code::InvalidArgument);
                let shut = if final_word && !another() { Shut::Refused(reason) } else { Shut::Again(reason) };
                return Err(NoWay::Shut(shut));
            }
        };
        self.shared.adopt(token.authority, answer).map_err(NoWay::Shut)
    }

    /// Tells a master that somebody came without an invitation, so that both sides know.
    pub(super) async fn knock(&self) -> Shut {
        let master = &self.master;
        match self.ask(Trust::Anybody, None).await {
            // Nobody's certificate was checked: what was answered is nothing to go by.
            Ok(_) | Err(Asked::Answered(_)) => Shut::Refused(format!(
                "the master at {master} admits invited workers only; put the line that `compass-master token create` prints \
                 into a file, and name it with --token-file or COMPASS_TOKEN_FILE"
            )),
            Err(Asked::NoWay(NoWay::Shut(Shut::Again(reason)))) => {
                Shut::Again(format!("{reason} (and there is no join token for it)"))
            }
            Err(Asked::NoWay(no_way)) => self.shut(no_way),
        }
    }

    /// Asks for a new certificate while this one is good.
    pub(super) async fn renew(self, mut identity: Arc<Identity>, bulk: Channel) {
        let mut client = EnrolmentClient::new(bulk);
        loop {
            tokio::time::sleep_until(identity.renewal().into()).await;
            let renewed = tokio::time::timeout(ENROL, client.renew(v1::RenewRequest {})).await;
            match renewed {
                Ok(Ok(answer)) => match self.shared.adopt(identity.authority, answer.into_inner()) {
                    Ok(next) => {
                        tracing::info!("renewed the certificate of this worker");
                        identity = next;
                        continue;
                    }
                    Err(shut) => tracing::warn!(reason = %shut, "cannot renew the certificate"),
                },
                Ok(Err(status)) => tracing::warn!(reason = status.message(), "cannot renew the certificate"),
                Err(_) => tracing::warn!("the master renews no certificate in time"),
            }
            tokio::time::sleep(RENEWAL_PAUSE).await;
        }
    }
}
