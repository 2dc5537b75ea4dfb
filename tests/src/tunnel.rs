//! A proxy as sites have them: HTTP CONNECT or SOCKS 5, with a user and a password or without. Counts its tunnels.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Protocol that it speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunnelKind {
    Http,
    Socks5,
}

/// Proxy that speaks HTTP CONNECT or SOCKS 5 and counts its tunnels. It lives as long as the test.
pub struct Tunnel {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    kind: TunnelKind,
    /// User and password that it asks for.
    login: Option<(String, String)>,
    opened: AtomicU32,
    refused: AtomicU32,
}

impl Tunnel {
    /// A proxy on a free port on this host.
    pub fn start(kind: TunnelKind, login: Option<(&str, &str)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (address, listener) = listener.unwrap_or_else(|error| unreachable!("no free port: {error}"));
        let login = login.map(|(user, password)| (user.to_owned(), password.to_owned()));
        let shared = Arc::new(Shared { kind, login, opened: AtomicU32::new(0), refused: AtomicU32::new(0) });
        let serving = shared.clone();
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let shared = serving.clone();
                std::thread::spawn(move || shared.serve(near));
            }
        });
        Self { address, shared }
    }

    /// `host:port`.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// Tunnels that were opened so far.
    pub fn opened(&self) -> u32 {
        self.shared.opened.load(Ordering::SeqCst)
    }

    /// Requests without the right user and password.
    pub fn refused(&self) -> u32 {
        self.shared.refused.load(Ordering::SeqCst)
    }
}

impl Shared {
    fn serve(&self, near: TcpStream) {
        let far = match self.kind {
            TunnelKind::Http => self.connect(&near),
            TunnelKind::Socks5 => self.socks(&near),
        };
        let Some(far) = far else { return };
        self.opened.fetch_add(1, Ordering::SeqCst);
        let (Ok(near_too), Ok(far_too)) = (near.try_clone(), far.try_clone()) else { return };
        std::thread::spawn(move || pass(far_too, near_too));
        pass(near, far);
    }

    fn connect(&self, near: &TcpStream) -> Option<TcpStream> {
        // Unbuffered beyond the head: the client waits for the answer before it continues.
        let mut lines = BufReader::new(near.try_clone().ok()?).lines();
        let request = lines.next()?.ok()?;
        let headers: Vec<String> = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
        let target = request.strip_prefix("CONNECT ")?.split(' ').next()?.to_owned();
        let borne = headers.iter().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("proxy-authorization").then(|| value.to_owned())
        });
        let expected = self.login.as_ref().map(|(user, password)| basic(&format!("{user}:{password}")));
        let mut near = near;
        if borne != expected {
            self.refused.fetch_add(1, Ordering::SeqCst);
            let _ = near.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
            return None;
        }
        let far = TcpStream::connect(target).ok()?;
        near.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").ok()?;
        Some(far)
    }

    fn socks(&self, mut near: &TcpStream) -> Option<TcpStream> {
        let mut exactly = |count: usize| {
            let mut bytes = vec![0; count];
            near.read_exact(&mut bytes).ok().map(|()| bytes)
        };
        let methods = exactly(2)?[1];
        let offered = exactly(methods.into())?;
        let wanted = if self.login.is_some() { 2 } else { 0 };
        if !offered.contains(&wanted) {
            self.refused.fetch_add(1, Ordering::SeqCst);
            near.write_all(&[5, 0xff]).ok()?;
            return None;
        }
        near.write_all(&[5, wanted]).ok()?;
        let mut exactly = |count: usize| {
            let mut bytes = vec![0; count];
            near.read_exact(&mut bytes).ok().map(|()| bytes)
        };
        if let Some((user, password)) = &self.login {
            let length = exactly(2)?[1];
            let borne_user = exactly(length.into())?;
            let length = exactly(1)?[0];
            let borne_password = exactly(length.into())?;
            let right = borne_user == user.as_bytes() && borne_password == password.as_bytes();
            near.write_all(&[1, u8::from(!right)]).ok()?;
            if !right {
                self.refused.fetch_add(1, Ordering::SeqCst);
                return None;
            }
        }
        let mut exactly = |count: usize| {
            let mut bytes = vec![0; count];
            near.read_exact(&mut bytes).ok().map(|()| bytes)
        };
        let host = match exactly(4)?[3] {
            1 => {
                let bytes: [u8; 4] = exactly(4)?.try_into().ok()?;
                std::net::Ipv4Addr::from(bytes).to_string()
            }
            3 => {
                let length = exactly(1)?[0];
                String::from_utf8(exactly(length.into())?).ok()?
            }
            _ => return None,
        };
        let port: [u8; 2] = exactly(2)?.try_into().ok()?;
        let far = TcpStream::connect((host.as_str(), u16::from_be_bytes(port))).ok()?;
        near.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).ok()?;
        Some(far)
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

/// The value of the header for `user:password`.
fn basic(login: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::from("Basic ");
    for group in login.as_bytes().chunks(3) {
        let bits = group.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for at in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * at) & 63) as usize];
            text.push(if at > group.len() { '=' } else { char::from(digit) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_that_of_the_rfc() {
        assert_eq!(basic("Aladdin:open sesame"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert_eq!(basic("u:pw"), "Basic dTpwdw==");
        assert_eq!(basic("ab:"), "Basic YWI6");
    }
}
