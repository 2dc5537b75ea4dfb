//! The secrets that open and encrypt the port: the token, and the certificate with its key. They are read before anything is
//! started, so that a fault in them leaves no run folder behind.

use super::access::{AccessError, BearerToken};
use super::settings::HttpSettings;
use super::tls::{HttpTlsError, acceptor};
use compass_settings::HttpConfig;
use tokio_rustls::TlsAcceptor;

/// Reason why they cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HttpSecretsError {
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error(transparent)]
    Tls(#[from] HttpTlsError),
}

/// Secrets that open and encrypt the port.
pub struct HttpSecrets {
    pub token: Option<BearerToken>,
    pub tls: Option<TlsAcceptor>,
}

impl std::fmt::Debug for HttpSecrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HttpSecrets(..)")
    }
}

impl HttpSecrets {
    /// Reads the files that `config` names.
    ///
    /// # Errors
    /// One cannot be read, can be read by others, or holds nothing of the kind; the token is too short.
    pub fn read(config: &HttpConfig) -> Result<Self, HttpSecretsError> {
        let token = config.token_file.as_deref();
        let token = token.map(|file| BearerToken::read(file, HttpSettings::Configuration)).transpose()?;
        let tls = config.tls.as_ref().map(|tls| acceptor(&tls.cert, &tls.key)).transpose()?;
        Ok(Self { token, tls })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_settings::HttpTls;

    #[test]
    fn a_missing_certificate_is_found_without_a_port() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let tls = Some(HttpTls { cert: path("host.pem"), key: path("host.key") });
        let config = HttpConfig { address: "127.0.0.1:0".parse().unwrap(), token_file: None, tls };
        let error = HttpSecrets::read(&config).unwrap_err().to_string();
        assert!(error.starts_with("cannot read master.http_tls.cert"), "{error}");
        let open = HttpSecrets::read(&HttpConfig { tls: None, ..config }).unwrap();
        assert!(open.token.is_none() && open.tls.is_none());
    }
}
