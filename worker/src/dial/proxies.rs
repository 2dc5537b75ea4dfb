//! Proxy selection: `--proxy`, otherwise the environment as curl reads it.
//!
//! Loopback is never reached through a proxy. Credentials of a proxy belong into the environment, which other users
//! cannot see; they never appear in messages.

use compass_common::join_token::is_loopback;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use std::sync::Arc;
use tokio::net::TcpStream;
use tonic::codegen::http::Uri;
use tower::{Service as _, service_fn};

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Reason why `--proxy` is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProxyError {
    #[error("write http://HOST:PORT or socks5://HOST:PORT")]
    Form,
    #[error("other users can see a command line: put user and password into HTTPS_PROXY or ALL_PROXY instead")]
    Credentials,
}

/// Proxy rules for masters.
#[derive(Clone, Debug)]
pub struct Proxies(Arc<Matcher>);

impl Proxies {
    /// Rules of the environment: HTTPS_PROXY, ALL_PROXY, NO_PROXY, in upper or lower case.
    pub fn of_environment() -> Self {
        Self(Matcher::from_env().into())
    }

    /// One proxy for all addresses but loopback.
    ///
    /// # Errors
    /// The URL is not supported, see [`ProxyError`].
    pub fn one(url: &str) -> Result<Self, ProxyError> {
        let uri: Uri = url.parse().map_err(|_| ProxyError::Form)?;
        let authority = uri.authority().ok_or(ProxyError::Form)?;
        let known = matches!(uri.scheme_str(), Some("http" | "socks5" | "socks5h"));
        if authority.as_str().contains('@') {
            return Err(ProxyError::Credentials);
        }
        if !known || authority.port_u16().is_none() || !matches!(uri.path(), "" | "/") {
            return Err(ProxyError::Form);
        }
        Ok(Self(Matcher::builder().all(url).build().into()))
    }

    fn on_the_way_to(&self, master: &str) -> Option<Intercept> {
        let host = master.rsplit_once(':').map_or(master, |(host, _)| host);
        if is_loopback(host) {
            return None;
        }
        self.0.intercept(&destination(master).ok()?)
    }

    /// Connects to `host:port`, through the proxy if there is one.
    ///
    /// # Errors
    /// The cause and its place, without credentials.
    pub async fn connect(&self, master: &str) -> Result<TcpStream, String> {
        let Some(proxy) = self.on_the_way_to(master) else {
            return direct(master.to_owned()).await.map_err(|error| format!("cannot reach {master}: {error}"));
        };
        let uri = proxy.uri().clone();
        let shown = format!("{}://{}", uri.scheme_str().unwrap_or("http"), uri.authority().map_or("", |a| a.as_str()));
        let failed = |error: Cause| format!("cannot reach {master} through the proxy {shown}: {}", chain(&*error));
        let to_master = destination(master).map_err(|error| failed(error.into()))?;
        let port = uri.port_u16();
        let connector = service_fn(|uri: Uri| async move {
            // The default port of the proxy's scheme.
            let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("http") { 80 } else { 1080 });
            let stream = direct(format!("{}:{port}", uri.host().unwrap_or_default())).await?;
            Ok::<_, std::io::Error>(TokioIo::new(stream))
        });
        tracing::debug!(proxy = shown, ?port, master, "connecting through a proxy");
        let stream = match uri.scheme_str() {
            Some("http") => {
                let mut tunnel = Tunnel::new(uri, connector);
                if let Some(word) = proxy.basic_auth() {
                    tunnel = tunnel.with_auth(word.clone());
                }
                tunnel.call(to_master).await.map_err(|error| failed(error.into()))?
            }
            Some("socks5" | "socks5h") => {
                let mut socks = SocksV5::new(uri, connector);
                if let Some((user, password)) = proxy.raw_auth() {
                    socks = socks.with_auth(user.into(), password.into());
                }
                socks.call(to_master).await.map_err(|error| failed(error.to_string().into()))?
            }
            _ => return Err(failed("only http:// and socks5:// proxies are supported".into())),
        };
        Ok(stream.into_inner())
    }
}

fn destination(master: &str) -> Result<Uri, tonic::codegen::http::Error> {
    Uri::builder().scheme("https").authority(master).path_and_query("/").build()
}

async fn direct(address: String) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let (mut text, mut source) = (error.to_string(), error.source());
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_a_proxy_without_credentials() {
        for (url, wrong) in [
            ("http://user:hunter2@proxy:3128", ProxyError::Credentials),
            ("socks5://user@proxy:1080", ProxyError::Credentials),
            ("proxy", ProxyError::Form),
            ("http://proxy", ProxyError::Form),
            ("ftp://proxy:21", ProxyError::Form),
            ("http://proxy:3128/path", ProxyError::Form),
        ] {
            let error = Proxies::one(url).unwrap_err();
            assert_eq!(error, wrong, "{url}");
            assert!(!error.to_string().contains("hunter2"));
        }
        let proxies = Proxies::one("socks5://proxy:1080").unwrap();
        assert_eq!(proxies.on_the_way_to("head:50051").unwrap().uri().host(), Some("proxy"));
        for near in ["127.0.0.1:1", "localhost:1", "[::1]:1", "127.8.8.8:1"] {
            assert!(proxies.on_the_way_to(near).is_none(), "{near}");
        }
    }

    #[test]
    fn no_proxy_applies_and_credentials_are_hidden() {
        let matcher = Matcher::builder().all("http://u:hunter2@proxy:3128").no(".cluster,10.0.0.0/8").build();
        let proxies = Proxies(matcher.into());
        assert!(proxies.on_the_way_to("head:1").is_some() && proxies.on_the_way_to("head.cluster:1").is_none());
        assert!(proxies.on_the_way_to("10.60.0.10:1").is_none());
        assert!(!format!("{proxies:?}").contains("hunter2"));
    }
}
