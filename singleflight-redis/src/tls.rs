//! Whom connections by TLS trust, and as whom they come.

use redis::{Client, ClientTlsConfig, ConnectionInfo, RedisError, TlsCertificates};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use crate::refusal::{ConnectError, ConnectErrorKind};
use crate::target::Servers;

/// What the builder was given. Never shown.
#[derive(Clone, Default)]
pub(crate) struct Trust {
    /// In place of the authorities of the operating system.
    pub(crate) authority: Option<Vec<u8>>,
    /// Certificate and key.
    pub(crate) identity: Option<(Vec<u8>, Vec<u8>)>,
}

impl Trust {
    /// Refuses what cannot be used, so that it is not found out at the first connection.
    pub(crate) fn check(&self, tls: bool) -> Result<(), ConnectError> {
        if !tls {
            return match (&self.authority, &self.identity) {
                (None, None) => Ok(()),
                _ => Err(wrong("a certificate was given, and the URL is one without TLS; write `rediss://`")),
            };
        }
        // `redis` takes the provider of the process and panics without one. Who has chosen one keeps it.
        if CryptoProvider::get_default().is_none() {
            // An error only says that another thread was faster.
            let _ = ring::default_provider().install_default();
        }
        let mut roots = RootCertStore::empty();
        if let Some(authority) = &self.authority {
            for certificate in certificates(authority)? {
                roots.add(certificate).map_err(|_| wrong("the authority given is not a certificate"))?;
            }
        }
        let Some((certificate, key)) = &self.identity else { return Ok(()) };
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|_| wrong("the key given with `identity` is not a private key in PEM"))?;
        let config = ClientConfig::builder().with_root_certificates(roots);
        match config.with_client_auth_cert(certificates(certificate)?, key) {
            Ok(_) => Ok(()),
            Err(_) => Err(wrong("the key given with `identity` does not belong to its certificate")),
        }
    }

    /// What goes with every connection; nothing if all is as the operating system has it.
    pub(crate) fn certificates(&self) -> Option<TlsCertificates> {
        if self.authority.is_none() && self.identity.is_none() {
            return None;
        }
        let identity = self.identity.clone();
        let client_tls =
            identity.map(|(client_cert, client_key)| ClientTlsConfig { client_cert, client_key });
        Some(TlsCertificates { client_tls, root_cert: self.authority.clone() })
    }

    /// Puts it into the connections to be.
    pub(crate) fn put_into(&self, servers: &mut Servers) -> Result<(), RedisError> {
        let Some(certificates) = self.certificates() else { return Ok(()) };
        let put = |info: &mut ConnectionInfo| {
            let client = Client::build_with_tls(info.clone(), certificates.clone())?;
            *info = client.get_connection_info().clone();
            Ok(())
        };
        match servers {
            Servers::One(info) => put(info),
            Servers::Sentinel { sentinels, primary, .. } => {
                sentinels.iter_mut().try_for_each(put)?;
                put(primary)
            }
            #[cfg(feature = "cluster")]
            Servers::Cluster(seeds) => {
                seeds.certificates = Some(certificates.clone());
                seeds.infos.iter_mut().try_for_each(put)
            }
        }
    }
}

/// The certificates of a file in PEM, at least one.
fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, ConnectError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.ok().filter(|found| !found.is_empty());
    found.ok_or_else(|| wrong("what was given as a certificate has none in PEM"))
}

fn wrong(message: &str) -> ConnectError {
    ConnectError::new(ConnectErrorKind::Misconfigured, message)
}
