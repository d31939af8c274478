//! TLS with a certificate from files, which may be replaced while the server runs.

use std::{path::Path, sync::Arc, time::SystemTime};

use lore_model::{Code, Failure};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use tokio_rustls::TlsAcceptor;

use crate::TlsFiles;

/// What connections are accepted with.
pub(crate) struct Tls {
    files: TlsFiles,
    acceptor: TlsAcceptor,
    changed: [Option<SystemTime>; 2],
}

impl Tls {
    /// Reads the certificate and its key.
    pub(crate) fn open(files: &TlsFiles) -> Result<Self, Failure> {
        let changed = changed(files);
        Ok(Self { files: files.clone(), acceptor: read(files)?, changed })
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        self.acceptor.clone()
    }

    /// Reads the files again where they have changed. What cannot be read leaves everything as it was.
    pub(crate) fn reload(&mut self) {
        let changed = changed(&self.files);
        if changed == self.changed {
            return;
        }
        match read(&self.files) {
            Ok(acceptor) => {
                (self.acceptor, self.changed) = (acceptor, changed);
                tracing::info!("the certificate was read again");
            }
            // Perhaps only one of the files is there yet: they are looked at again.
            Err(failure) => tracing::warn!(%failure, "the new certificate cannot be used"),
        }
    }
}

fn changed(files: &TlsFiles) -> [Option<SystemTime>; 2] {
    [&files.certificate, &files.key].map(|file| std::fs::metadata(file).and_then(|data| data.modified()).ok())
}

fn read(files: &TlsFiles) -> Result<TlsAcceptor, Failure> {
    let unfit = |what: &str, file: &Path, why: &dyn std::fmt::Display| {
        Failure::new(Code::InvalidConfig, format!("the {what} {} cannot be used: {why}", file.display()))
            .hint("both files are in PEM: the certificate with those that vouch for it, and its key without a password")
    };
    let certificate = |why: &dyn std::fmt::Display| unfit("certificate", &files.certificate, why);
    let chain = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| certificate(&error))?;
    if chain.is_empty() {
        return Err(certificate(&"it holds none"));
    }
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| unfit("key", &files.key, &error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| certificate(&error))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| certificate(&error))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
