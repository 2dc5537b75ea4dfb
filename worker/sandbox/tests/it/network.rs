//! Sockets of the host.

use super::support::{contained, program, sandbox};
use compass_sandbox::{Isolation, ProgramOutcome};
use std::fs;
use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

#[tokio::test]
async fn programs_cannot_reach_the_host() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let path = folder.path().join("socket");
    let unix = UnixListener::bind(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
    tcp.set_nonblocking(true).unwrap();
    udp.set_nonblocking(true).unwrap();
    unix.set_nonblocking(true).unwrap();
    let source = format!(
        "import socket
def unix():
    s = socket.socket(socket.AF_UNIX)
    s.connect({path:?})
def udp(host):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.sendto(b'hello', (host, {udp}))
refused(lambda: socket.create_connection(('127.0.0.1', {tcp}), 2))
refused(lambda: socket.create_connection(('1.1.1.1', 53), 2))
refused(lambda: socket.getaddrinfo('example.org', 80))
refused(unix)
refused(lambda: udp('1.1.1.1'))
for family in [16, 17, 40]:  # netlink, raw packets, virtual machines' sockets
    refused(lambda: socket.socket(family, socket.SOCK_RAW))
refused(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
try:
    udp('127.0.0.1')  # its own loopback may take it, the host's must not
except OSError:
    pass
a, b = socket.socketpair()
a.send(b'x')
assert b.recv(1) == b'x'",
        tcp = tcp.local_addr().unwrap().port(),
        udp = udp.local_addr().unwrap().port(),
    );
    contained(&source).await;
    assert_eq!(tcp.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(unix.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(udp.recv(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[tokio::test]
async fn program_may_connect_to_itself() {
    let Some(sandbox) = sandbox(Isolation::Bubblewrap).await else { return };
    let source = "import socket
server = socket.socket(socket.AF_UNIX)
server.bind('/tmp/server')
server.listen()
client = socket.socket(socket.AF_UNIX)
client.connect('/tmp/server')
client.sendall(b'hello')
assert server.accept()[0].recv(5) == b'hello'";
    assert_eq!(sandbox.run(&program(source)).await, ProgramOutcome::Passed);
}

/// TCP and UDP memory belongs to the whole machine: a program that filled it would starve the host.
#[tokio::test]
async fn programs_cannot_use_the_hosts_tcp_memory() {
    contained(
        "import socket
for family in [socket.AF_INET, socket.AF_INET6]:
    for kind in [socket.SOCK_STREAM, socket.SOCK_DGRAM]:
        refused(lambda: socket.socket(family, kind))
refused(lambda: socket.create_server(('127.0.0.1', 0)))",
    )
    .await;
}
