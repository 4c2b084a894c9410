//! One POST to the server and what became of it (DEL-2). Blocking: it has a thread of its own.
//!
//! Always holds: every way a request can end is an [`Outcome`], never a panic; no redirect is
//! followed (one to a login page would be taken for a success and lose the batch); plain http is
//! for this machine only; the token is read again at each try and shown nowhere.
//! Does not know: when to try again, or what the body means. Sole user of `ureq` and `rustls`.

use std::io::{self, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use ureq::http::{HeaderMap, Response, Uri};
use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body, Proxy, Timeout};

use crate::edge::files::{FileError, read_bytes, read_text};
use crate::logic::uplink::{AckBody, Failure, Outcome, WireFormat};
use crate::units::{EventTime, Span};

/// For the name, and again for TCP and TLS together: a cell that is there answers sooner.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The whole exchange: 64 KiB at 20 kbit/s.
const WHOLE_TIMEOUT: Duration = Duration::from_secs(30);
/// Shorter bodies do not get shorter by gzip what a packet costs anyway.
const GZIP_FROM_BYTES: usize = 1024;
/// The longest answer that is read.
const ANSWER_BYTES_MAX: u64 = 64 * 1024;
/// As much of an answer as fits a line for people.
const ANSWER_TEXT_CHARS: usize = 200;
/// The longest token: a big JWT.
const TOKEN_BYTES_MAX: u64 = 16 * 1024;
/// The longest file of certificates: all of Mozilla's are some 220 KiB.
const PEM_BYTES_MAX: u64 = 1024 * 1024;

/// Where to send, and as whom.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct HttpOptions {
    /// `https://…`, or `http://` on this machine.
    pub url: String,
    /// What the body is.
    pub format: WireFormat,
    /// Its content is sent as `Authorization: Bearer`; read again at each try.
    pub token_file: Option<PathBuf>,
    /// PEM; trusted instead of the public roots.
    pub ca_file: Option<PathBuf>,
    /// PEM chain that shows who we are; needs the key.
    pub client_cert_file: Option<PathBuf>,
    /// PEM key of that chain.
    pub client_key_file: Option<PathBuf>,
    /// `http://host:port`. The environment is not asked.
    pub proxy: Option<String>,
}

/// Settings that cannot work.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// Not an address.
    #[error("`{0}` is not an http(s) address; write it as https://host/path")]
    Url(String),
    /// Events would go readable over the air.
    #[error("`{0}` is not encrypted: use https (plain http is for this machine only)")]
    NotEncrypted(String),
    /// Not a proxy.
    #[error("`{0}` is not a proxy; write it as http://host:port")]
    Proxy(String),
    /// A certificate without its key, or the other way round.
    #[error("client_cert_file and client_key_file go together")]
    HalfClient,
    /// A file that is needed.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file without what it is needed for.
    #[error("`{}` holds no {what} in PEM form", path.display())]
    Pem {
        /// Which.
        path: PathBuf,
        /// What was looked for.
        what: &'static str,
    },
}

/// A client for one server. Keeps a connection for the next batch.
#[derive(Clone, Debug)]
pub struct Http {
    agent: Agent,
    url: String,
    format: WireFormat,
    token_file: Option<PathBuf>,
}

impl Http {
    /// Checks the settings and reads the certificates; connects to nothing.
    pub fn new(options: &HttpOptions) -> Result<Self, HttpError> {
        check_url(&options.url)?;
        let proxy = match &options.proxy {
            Some(text) => Some(Proxy::new(text).map_err(|_| HttpError::Proxy(text.clone()))?),
            None => None,
        };
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("geofenced/", env!("CARGO_PKG_VERSION")))
            .accept("application/json")
            .timeout_resolve(Some(CONNECT_TIMEOUT))
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_global(Some(WHOLE_TIMEOUT))
            .max_idle_connections(1)
            .proxy(proxy)
            .tls_config(tls(options)?)
            .build()
            .new_agent();
        Ok(Self {
            agent,
            url: options.url.clone(),
            format: options.format,
            token_file: options.token_file.clone(),
        })
    }

    /// Sends one body under its Idempotency-Key; `within` shortens the patience at a stop.
    pub fn post(&self, body: &[u8], key: &str, within: Option<Duration>) -> Outcome {
        let patience = within.map_or(WHOLE_TIMEOUT, |within| within.min(WHOLE_TIMEOUT));
        let mut request = self
            .agent
            .post(&self.url)
            .config()
            .timeout_global(Some(patience))
            .build()
            .header("Content-Type", self.format.content_type())
            .header("Idempotency-Key", key);
        if let Some(path) = &self.token_file {
            match read_text(path, TOKEN_BYTES_MAX) {
                Ok(token) => {
                    request = request.header("Authorization", format!("Bearer {}", token.trim()));
                }
                Err(e) => return failed(Failure::Local, e.to_string()),
            }
        }
        let sent = if body.len() > GZIP_FROM_BYTES {
            match gzip(body) {
                Ok(small) => request.header("Content-Encoding", "gzip").send(&small[..]),
                Err(e) => return failed(Failure::Local, format!("cannot compress: {e}")),
            }
        } else {
            request.send(body)
        };
        match sent {
            Ok(response) => answered(response),
            Err(error) => failed(classify(&error), explain(&error)),
        }
    }
}

fn failed(failure: Failure, text: String) -> Outcome {
    Outcome::Failed { failure, text }
}

/// Reads what the server says. An answer that breaks off is no answer: the batch goes again.
fn answered(mut response: Response<Body>) -> Outcome {
    let status = response.status().as_u16();
    let retry_after = retry_after(response.headers());
    let moved_to = header(response.headers(), "location").map(str::to_owned);
    let body = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_vec();
    let body = match body {
        Ok(body) => body,
        Err(ureq::Error::BodyExceedsLimit(_)) => Vec::new(),
        Err(error) => return failed(classify(&error), explain(&error)),
    };
    let text = match moved_to {
        Some(to) if (300..400).contains(&status) => format!("moved to {to}: set that as url"),
        _ if (200..300).contains(&status) => String::new(),
        _ => one_line(&body),
    };
    Outcome::Answered { status, retry_after, ack: AckBody::parse(&body), text }
}

fn one_line(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().filter(|c| !c.is_control()).take(ANSWER_TEXT_CHARS).collect()
}

fn gzip(body: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 4), Compression::default());
    encoder.write_all(body)?;
    encoder.finish()
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Seconds, or a date measured against the server's own `Date`: our clock may be wrong.
fn retry_after(headers: &HeaderMap) -> Option<Span> {
    let text = header(headers, "retry-after")?.trim();
    if let Ok(secs) = text.parse::<u32>() {
        return Some(Span::from_secs(i64::from(secs)));
    }
    let (then, now) = (http_date(text)?, http_date(header(headers, "date")?)?);
    Some((then - now).max(Span::ZERO))
}

/// `Mon, 30 Nov 2026 12:00:00 GMT`, the one form servers may send.
fn http_date(text: &str) -> Option<EventTime> {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let parts: Vec<&str> = text.split_whitespace().collect();
    let [_, day, month, year, clock, "GMT"] = parts[..] else { return None };
    let month = MONTHS.find(month).filter(|at| month.len() == 3 && at % 3 == 0)? / 3 + 1;
    let clock: Vec<i64> = clock.split(':').map_while(|part| part.parse().ok()).collect();
    let [hour @ 0..24, minute @ 0..60, second @ 0..=60] = clock[..] else { return None };
    let of_day = Span::from_secs(hour * 3600 + minute * 60 + second);
    EventTime::from_civil(year.parse().ok()?, month as i8, day.parse().ok()?, of_day)
}

fn check_url(url: &str) -> Result<(), HttpError> {
    let bad = || HttpError::Url(url.to_owned());
    let uri: Uri = url.parse().map_err(|_| bad())?;
    let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(bad)?;
    match uri.scheme_str() {
        Some("https") => Ok(()),
        Some("http") if is_this_machine(host) => Ok(()),
        Some("http") => Err(HttpError::NotEncrypted(url.to_owned())),
        _ => Err(bad()),
    }
}

fn is_this_machine(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// `ring` is chosen here and nowhere else; it needs no more than the target's C compiler.
fn tls(options: &HttpOptions) -> Result<TlsConfig, HttpError> {
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let roots = match &options.ca_file {
        Some(path) => RootCerts::new_with_certs(&certificates(path)?),
        None => RootCerts::WebPki,
    };
    let client = match (&options.client_cert_file, &options.client_key_file) {
        (Some(cert), Some(key)) => {
            Some(ClientCert::new_with_certs(&certificates(cert)?, private_key(key)?))
        }
        (None, None) => None,
        _ => return Err(HttpError::HalfClient),
    };
    Ok(TlsConfig::builder()
        .unversioned_rustls_crypto_provider(ring)
        .root_certs(roots)
        .client_cert(client)
        .build())
}

fn certificates(path: &Path) -> Result<Vec<Certificate<'static>>, HttpError> {
    let pem = read_bytes(path, PEM_BYTES_MAX)?;
    let found: Vec<_> = parse_pem(&pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    if found.is_empty() {
        return Err(HttpError::Pem { path: path.into(), what: "certificate" });
    }
    Ok(found)
}

fn private_key(path: &Path) -> Result<PrivateKey<'static>, HttpError> {
    let pem = read_bytes(path, PEM_BYTES_MAX)?;
    PrivateKey::from_pem(&pem)
        .map_err(|_| HttpError::Pem { path: path.into(), what: "private key" })
}

/// Where it failed. What each layer calls its errors was read from ureq 3.5 and rustls 0.23.
fn classify(error: &ureq::Error) -> Failure {
    use ureq::Error;
    match error {
        Error::HostNotFound | Error::Timeout(Timeout::Resolve) => Failure::Dns,
        Error::Timeout(_) => Failure::Timeout,
        Error::ConnectionFailed | Error::ConnectProxyFailed(_) => Failure::Connect,
        Error::Tls(_) | Error::Pem(_) | Error::Rustls(_) | Error::TlsRequired => Failure::Tls,
        Error::BadUri(_) | Error::Http(_) | Error::InvalidProxyUrl => Failure::Local,
        Error::Io(io) => classify_io(io),
        _ => Failure::Broken,
    }
}

fn classify_io(error: &io::Error) -> Failure {
    use io::ErrorKind as Kind;
    if matches!(error.get_ref(), Some(inner) if inner.is::<rustls::Error>()) {
        return Failure::Tls;
    }
    match error.kind() {
        Kind::TimedOut | Kind::WouldBlock => Failure::Timeout,
        Kind::ConnectionRefused
        | Kind::NetworkUnreachable
        | Kind::HostUnreachable
        | Kind::NetworkDown
        | Kind::AddrNotAvailable => Failure::Connect,
        // std has no kind for a resolver's refusal, only these words.
        _ if error.to_string().contains("failed to lookup address") => Failure::Dns,
        _ => Failure::Broken,
    }
}

fn explain(error: &ureq::Error) -> String {
    match (classify(error), error) {
        (Failure::Dns, _) => "the server's name has no address (DNS)".to_owned(),
        (_, ureq::Error::Timeout(Timeout::Connect)) => {
            format!("no connection within {} s", CONNECT_TIMEOUT.as_secs())
        }
        (Failure::Timeout, _) => "connected, but no answer in time".to_owned(),
        (Failure::Connect, _) => format!("no connection: {error}"),
        (Failure::Tls, _) => format!("the secure connection failed: {error}"),
        (Failure::Local, _) => format!("the request cannot be made: {error}"),
        (Failure::Broken, _) => format!("the connection broke: {error}"),
    }
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
