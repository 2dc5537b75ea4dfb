//! Enrolment: exchanges a join token for a certificate, and a certificate for the next one.

use super::connection::{DialError, MasterEndpoint, Transport, error_chain};
use super::identity::Identity;
use super::trust::Trust;
use compass_agent::ConnectError;
use compass_common::join_token::JoinToken;
use compass_proto::v1::enrolment_client::EnrolmentClient;
use compass_proto::{OLDEST_PROTOCOL, PROTOCOL_VERSION, v1};
use std::sync::Arc;
use std::time::Duration;
use tonic::transport::Channel;
use tonic::{Code, Status};

/// Time limit for an enrolment.
const ENROL: Duration = Duration::from_secs(15);
/// Pause after a failed renewal.
const RENEWAL_PAUSE: Duration = Duration::from_secs(20);

/// Reason why a master issued no certificate.
enum EnrolError {
    Dial(DialError),
    Status(Status),
}

impl MasterEndpoint {
    async fn ask(&self, trust: Trust, token: Option<&JoinToken>) -> Result<v1::Enrolled, EnrolError> {
        let refused = |error: &dyn std::error::Error| {
            EnrolError::Dial(DialError::Connect(ConnectError::Refused(error_chain(error))))
        };
        let key = self.shared.key().map_err(|error| refused(&error))?;
        let (config, foreign) = key.enrolment_config(trust).map_err(|error| refused(&error))?;
        let transport = Transport::Encrypted { config: config.into(), foreign };
        let stream = self.dial(&transport).await.map_err(EnrolError::Dial)?;
        let channel = self.channel(stream).await.map_err(|error| EnrolError::Dial(DialError::Connect(error)))?;
        let request = v1::EnrolRequest {
            protocol: PROTOCOL_VERSION,
            oldest_protocol: OLDEST_PROTOCOL,
            worker: self.shared.options.worker.clone(),
            token_id: token.map(|token| token.id.clone()).unwrap_or_default(),
            token_secret: token.map(|token| token.secret.expose().to_owned()).unwrap_or_default(),
            pool: self.shared.options.pool.clone(),
        };
        let mut client = EnrolmentClient::new(channel);
        match tokio::time::timeout(ENROL, client.enrol(request)).await {
            Ok(Ok(answer)) => Ok(answer.into_inner()),
            Ok(Err(status)) => Err(EnrolError::Status(status)),
            Err(_) => {
                let reason = format!("{} did not enrol this worker in time", self.master);
                Err(EnrolError::Dial(DialError::Connect(ConnectError::Unavailable(reason))))
            }
        }
    }

    pub(super) async fn enrol(&self, token: &JoinToken) -> Result<Arc<Identity>, DialError> {
        let another = || {
            let now = self.shared.tokens.find(&self.master);
            now.is_ok_and(|now| now.is_some_and(|now| now != *token))
        };
        let answer = match self.ask(Trust::Authority(token.authority), Some(token)).await {
            Ok(answer) => answer,
            Err(EnrolError::Dial(DialError::Connect(ConnectError::Refused(reason)))) if another() => {
                return Err(DialError::Connect(ConnectError::Unavailable(reason)));
            }
            Err(EnrolError::Dial(error)) => return Err(error),
            Err(EnrolError::Status(status)) => {
                let reason = format!("the master at {} does not admit this worker: {}", self.master, status.message());
                let is_final =
                    matches!(status.code(), Code::PermissionDenied | Code::Unauthenticated | Code::InvalidArgument);
                let error = if is_final && !another() {
                    ConnectError::Refused(reason)
                } else {
                    ConnectError::Unavailable(reason)
                };
                return Err(DialError::Connect(error));
            }
        };
        self.shared.adopt(token.authority, answer).map_err(DialError::Connect)
    }

    /// Contacts a master without a join token, so that both sides report that one is missing.
    pub(super) async fn probe(&self) -> ConnectError {
        let master = &self.master;
        match self.ask(Trust::Unverified, None).await {
            // The master's certificate is not verified, so the content of its answer is ignored.
            Ok(_) | Err(EnrolError::Status(_)) => ConnectError::Refused(format!(
                "the master at {master} admits invited workers only; put the line that `compass-master token create` prints \
                 into a file, and name it with --token-file or COMPASS_TOKEN_FILE"
            )),
            Err(EnrolError::Dial(DialError::Connect(ConnectError::Unavailable(reason)))) => {
                ConnectError::Unavailable(format!("{reason} (and there is no join token for it)"))
            }
            Err(EnrolError::Dial(error)) => self.connect_error(error),
        }
    }

    /// Renews the certificate before it expires, repeatedly.
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
                    Err(error) => tracing::warn!(reason = %error, "cannot renew the certificate"),
                },
                Ok(Err(status)) => tracing::warn!(reason = status.message(), "cannot renew the certificate"),
                Err(_) => tracing::warn!("the master did not renew the certificate in time"),
            }
            tokio::time::sleep(RENEWAL_PAUSE).await;
        }
    }
}
