//! Encryption of the pages' connections, with a certificate and key that a person names.

use compass_common::private_file::{self, PrivateFileError};
use compass_common::regular_file;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::{Error as PemError, PemObject as _};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::ServerConfig;
use tokio_rustls::rustls::{self, crypto::ring::default_provider};

/// Reason why the files of `master.http_tls` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HttpTlsError {
    #[error("cannot read master.http_tls.cert {path}")]
    Certificate {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot read master.http_tls.key {path}")]
    Key {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("master.http_tls.key {0}")]
    Exposed(PrivateFileError),
    #[error("master.http_tls.{key} {path} is no PEM file with a {what}: {why}")]
    Damaged { key: &'static str, path: PathBuf, what: &'static str, why: String },
    #[error("master.http_tls: the certificate and the key cannot be used: {0}")]
    Unusable(rustls::Error),
}

/// From two PEM files: a certificate with those that signed it, and its private key, which no other user may read.
///
/// # Errors
/// A file cannot be read or holds nothing of the kind, or they do not belong together.
pub(super) fn acceptor(certificate: &Path, key: &Path) -> Result<TlsAcceptor, HttpTlsError> {
    let failed = |source| HttpTlsError::Certificate { path: certificate.to_owned(), source };
    let pem = regular_file::read(certificate, regular_file::SMALL).map_err(failed)?;
    let damaged = |key: &'static str, path: &Path, what: &'static str, why: PemError| HttpTlsError::Damaged {
        key,
        path: path.to_owned(),
        what,
        why: why.to_string(),
    };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let chain = chain.and_then(|chain| if chain.is_empty() { Err(PemError::NoItemsFound) } else { Ok(chain) });
    let chain = chain.map_err(|why| damaged("cert", certificate, "certificate", why))?;
    let text = private_file::read_text(key).map_err(|error| match error {
        PrivateFileError::Read { path, source } => HttpTlsError::Key { path, source },
        exposed @ PrivateFileError::Exposed { .. } => HttpTlsError::Exposed(exposed),
    })?;
    let own = PrivateKeyDer::from_pem_slice(text.as_bytes());
    let own = own.map_err(|why| damaged("key", key, "private key", why))?;
    let builder =
        ServerConfig::builder_with_provider(Arc::new(default_provider())).with_safe_default_protocol_versions();
    let config = builder.and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, own));
    Ok(TlsAcceptor::from(Arc::new(config.map_err(HttpTlsError::Unusable)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn every_fault_of_the_files_has_its_message() {
        let folder = tempfile::tempdir().unwrap();
        let (certificate, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
        let said = || acceptor(&certificate, &key).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(said().contains("cannot read master.http_tls.cert"), "{}", said());
        std::fs::write(&certificate, "no certificate").unwrap();
        assert!(said().contains("master.http_tls.cert") && said().contains("with a certificate"), "{}", said());
    }

    #[test]
    fn a_key_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("key.pem");
        std::fs::write(&key, "x").unwrap();
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
        let exposed = private_file::read_text(&key).unwrap_err();
        assert!(HttpTlsError::Exposed(exposed).to_string().contains("chmod 600"));
    }
}
