//! Identity of the peer at the other end of a connection, and what that one may ask for.
//!
//! Decided when the connection is made, carried by every request of it, judged by [`AuthInterceptor`] before any service sees the
//! request.

use super::refusals::Refusals;
use compass_authority::{Authority, CertificateIdentity, now};
use std::net::IpAddr;
use std::sync::Arc;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tonic::{Request, Status};

/// One end of a connection.
#[derive(Clone, Debug)]
pub struct Peer {
    pub address: IpAddr,
    pub identity: PeerIdentity,
}

/// Identity of a peer, as far as it is known.
#[derive(Clone, Debug)]
pub enum PeerIdentity {
    /// Peer of a listener that asks for nothing.
    Trusted,
    /// No encryption, where it is asked for.
    Plain,
    /// Encrypted, with or without a certificate of its own: may enrol.
    Unauthenticated { certificate: Option<CertificateDer<'static>>, why: &'static str },
    /// A worker of the authority's.
    Worker { certified: Arc<CertificateIdentity>, certificate: CertificateDer<'static> },
}

/// A plaintext worker is told what to do, in the plain.
pub(super) const PLAIN: &str = "this master speaks with encryption only, and to invited workers: give the worker a join \
    token with --token-file or COMPASS_TOKEN_FILE (`compass-master token create` makes one)";

impl PeerIdentity {
    /// Checks that the peer may ask for more than to be enrolled.
    ///
    /// # Errors
    /// `UNAUTHENTICATED` where a (new) certificate would help, `PERMISSION_DENIED` where none does.
    pub fn admitted(&self, authority: Option<&Authority>) -> Result<(), Status> {
        match (self, authority) {
            (Self::Trusted, _) => Ok(()),
            (Self::Plain, _) => Err(Status::unauthenticated(PLAIN)),
            (Self::Unauthenticated { why, .. }, _) => Err(Status::unauthenticated(*why)),
            (Self::Worker { certified, .. }, _) if now() >= certified.until => {
                Err(Status::unauthenticated("its certificate has expired"))
            }
            (Self::Worker { certified, .. }, Some(authority)) => {
                let admitted = authority.register().admits(&certified.token, &certified.worker);
                admitted.map_err(|refusal| Status::permission_denied(refusal.to_string()))
            }
            (Self::Worker { .. }, None) => Err(Status::permission_denied("this master has no authority")),
        }
    }

    /// Checks that a session may have this name: a certificate is one worker's.
    ///
    /// # Errors
    /// `PERMISSION_DENIED` for the name of another.
    pub fn may_be(&self, worker: &str) -> Result<(), Status> {
        match self {
            Self::Worker { certified, .. } if certified.worker != worker => {
                let reason =
                    format!("its certificate is that of {:?}, and it calls itself {worker:?}", certified.worker);
                Err(Status::permission_denied(reason))
            }
            _ => Ok(()),
        }
    }

    /// The pool of a session that says it works for `said`: that of the token by which its worker joined, where that has
    /// one. Empty is none.
    ///
    /// # Errors
    /// `PERMISSION_DENIED` for a pool that its token does not serve.
    pub fn pool(&self, authority: Option<&Authority>, said: &str) -> Result<String, Status> {
        match (self, authority) {
            (Self::Worker { certified, .. }, Some(authority)) => {
                let pool = authority.register().pool_of(&certified.token, said);
                pool.map_err(|refusal| Status::permission_denied(refusal.to_string()))
            }
            _ => Ok(said.to_owned()),
        }
    }
}

/// Stands before every service but enrolment.
#[derive(Clone, Debug)]
pub struct AuthInterceptor {
    pub(super) authority: Option<Arc<Authority>>,
    pub(super) refusals: Refusals,
}

impl AuthInterceptor {
    /// The peer of a request, if it is admitted. Who is not is named on the screen, once.
    ///
    /// # Errors
    /// Those of [`PeerIdentity::admitted`].
    pub(super) fn admit<T>(&self, request: &Request<T>) -> Result<Peer, Status> {
        let peer = request.extensions().get::<Peer>().cloned();
        let peer = peer.ok_or_else(|| Status::internal("a connection without a peer"))?;
        match peer.identity.admitted(self.authority.as_deref()) {
            Ok(()) => Ok(peer),
            Err(status) => {
                let what = match peer.identity {
                    PeerIdentity::Plain => "it speaks without encryption",
                    _ => status.message(),
                };
                self.refusals.tell(peer.address, what);
                Err(status)
            }
        }
    }
}

impl tonic::service::Interceptor for AuthInterceptor {
    fn call(&mut self, request: Request<()>) -> Result<Request<()>, Status> {
        self.admit(&request).map(|_| request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_authority::TokenTerms;
    use compass_settings::{AuthorityConfig, StoreConfig};
    use tonic::Code;

    fn worker(until: u64) -> PeerIdentity {
        let certified = CertificateIdentity { worker: "w".into(), token: "t".into(), until };
        PeerIdentity::Worker { certified: certified.into(), certificate: vec![].into() }
    }

    #[test]
    fn a_certificate_is_good_for_one_name_and_until_it_expires() {
        assert!(worker(0).may_be("w").is_ok() && PeerIdentity::Trusted.may_be("anybody").is_ok());
        assert_eq!(worker(0).may_be("v").unwrap_err().code(), Code::PermissionDenied);
        assert_eq!(worker(0).admitted(None).unwrap_err().code(), Code::Unauthenticated);
        // Without an authority to ask, no peer is admitted.
        assert_eq!(worker(u64::MAX).admitted(None).unwrap_err().code(), Code::PermissionDenied);
        let unauthenticated = PeerIdentity::Unauthenticated { certificate: None, why: "no certificate" };
        for outside in [PeerIdentity::Plain, unauthenticated] {
            assert_eq!(outside.admitted(None).unwrap_err().code(), Code::Unauthenticated);
        }
    }

    #[tokio::test]
    async fn a_certificate_is_good_for_the_pool_of_its_token() {
        let state = tempfile::tempdir().unwrap();
        let config = AuthorityConfig {
            state_dir: state.path().to_owned(),
            store: StoreConfig::Embedded,
            key_file: state.path().join("authority.key"),
            certificate_seconds: 60,
        };
        let authority = Authority::open(&config).await.unwrap();
        let terms = |pool: &str| TokenTerms { pool: pool.into(), expires: u64::MAX, uses: None, note: String::new() };
        let joined_with = |token: String| {
            let certified = CertificateIdentity { worker: "w".into(), token, until: u64::MAX };
            PeerIdentity::Worker { certified: certified.into(), certificate: vec![].into() }
        };
        let of_pool = joined_with(authority.create_token(terms("aliyun")).await.unwrap().id);
        let pool = |said| of_pool.pool(Some(&authority), said);
        assert_eq!((pool("aliyun").unwrap(), pool("").unwrap()), ("aliyun".into(), "aliyun".into()));
        let refused = pool("s").unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied);
        assert!(refused.message().contains("is for workers of pool aliyun"), "{refused}");
        let of_any = joined_with(authority.create_token(terms("")).await.unwrap().id);
        assert_eq!(of_any.pool(Some(&authority), "s").unwrap(), "s");
        assert_eq!(PeerIdentity::Trusted.pool(None, "s").unwrap(), "s");
    }

    #[test]
    fn a_request_without_a_peer_is_refused() {
        let interceptor = AuthInterceptor { authority: None, refusals: Refusals::default() };
        assert!(interceptor.admit(&Request::new(())).is_err());
    }
}
