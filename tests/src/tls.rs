//! A server that is spoken to by TLS, and the certificates for it, made when it starts.

use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use tempfile::TempDir;

use crate::server::{Server, free_port};

/// A certificate and its key, in PEM.
#[derive(Debug)]
pub struct Identity {
    /// The certificate.
    pub certificate: String,
    /// Its key.
    pub key: String,
}

/// Someone who signs certificates.
#[derive(Debug)]
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    /// One that nobody knows yet.
    ///
    /// # Panics
    /// If no key can be made.
    #[must_use]
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "an authority for tests");
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Its own certificate, in PEM.
    #[must_use]
    pub fn certificate(&self) -> String {
        self.0.pem()
    }

    /// A certificate for a server on the loopback address, or for its client.
    ///
    /// # Panics
    /// If it cannot be made.
    #[must_use]
    pub fn sign(&self) -> Identity {
        self.sign_for(&["127.0.0.1", "localhost"], 4096)
    }

    /// A certificate for hosts of these names that is good to the end of a year.
    ///
    /// # Panics
    /// If it cannot be made.
    #[must_use]
    pub fn sign_for(&self, hosts: &[&str], year: i32) -> Identity {
        let key = KeyPair::generate().unwrap();
        let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(hosts).unwrap();
        params.not_after = date_time_ymd(year, 12, 31);
        let certificate = params.signed_by(&key, &self.0).unwrap();
        Identity { certificate: certificate.pem(), key: key.serialize_pem() }
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

/// A server with a port for TLS, which asks clients for certificates. It ends with this.
#[derive(Debug)]
pub struct TlsServer {
    /// The server; its own port is without TLS.
    pub server: Server,
    /// Who signed its certificate, and will sign its clients'.
    pub authority: Authority,
    port: u16,
    _files: TempDir,
}

impl TlsServer {
    /// Starts one, empty, with these options beside its own.
    ///
    /// # Panics
    /// If its files cannot be written.
    #[must_use]
    pub fn with(options: &[&str]) -> Self {
        let authority = Authority::new();
        let identity = authority.sign();
        Self::known_by(authority, &identity, options)
    }

    /// The same with a certificate of its own.
    ///
    /// # Panics
    /// If its files cannot be written.
    #[must_use]
    pub fn known_by(authority: Authority, identity: &Identity, options: &[&str]) -> Self {
        let files = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path: PathBuf = files.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_string_lossy().into_owned()
        };
        let ca = file("ca.pem", &authority.certificate());
        let (certificate, key) =
            (file("server.pem", &identity.certificate), file("server.key", &identity.key));
        let mut port = 0;
        let server = Server::with_ports(|_| {
            port = free_port();
            let port = port.to_string();
            let own = ["--tls-port", &port, "--tls-cert-file", &certificate, "--tls-key-file", &key];
            let whom = ["--tls-ca-cert-file", &ca];
            own.iter().chain(&whom).chain(options).map(|&word| word.to_owned()).collect()
        });
        Self { server, authority, port, _files: files }
    }

    /// Where it is spoken to by TLS.
    #[must_use]
    pub fn url(&self) -> String {
        format!("rediss://127.0.0.1:{}", self.port)
    }
}
