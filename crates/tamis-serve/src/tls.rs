//! TLS: the certificate and its key.

use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::error::ServeError;

/// What answers TLS connections, with a chain of certificates and its key.
pub fn acceptor(certificate: &Path, key: &Path) -> Result<TlsAcceptor, ServeError> {
    let failed = |path: &Path, reason: String| ServeError::Tls { path: path.to_path_buf(), reason };
    let chain = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect);
    let chain: Vec<CertificateDer<'static>> = chain.map_err(|error| failed(certificate, error.to_string()))?;
    if chain.is_empty() {
        return Err(failed(certificate, "there is no certificate in this file".into()));
    }
    let key_of_file = PrivateKeyDer::from_pem_file(key).map_err(|error| failed(key, error.to_string()))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key_of_file))
        .map_err(|error| failed(certificate, error.to_string()))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
