//! A certificate that the server shows and the client trusts, made anew for each run.

use std::sync::Arc;

use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::{Failure, NAME};

/// What both ends need for TLS 1.3.
pub struct TlsKeys {
    pub certificate: CertificateDer<'static>,
    pub key: PrivateKeyDer<'static>,
    pub client: rustls::ClientConfig,
}

impl TlsKeys {
    /// A certificate of [`NAME`], its key, and a client that trusts it alone.
    pub fn new() -> Result<Self, Failure> {
        let made = rcgen::generate_simple_self_signed(vec![NAME.to_owned()])?;
        let certificate = CertificateDer::from(made.cert);
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der())?;
        let mut roots = rustls::RootCertStore::empty();
        roots.add(certificate.clone())?;
        let client = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self { certificate, key, client })
    }
}
