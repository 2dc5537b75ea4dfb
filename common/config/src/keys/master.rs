//! `[master]` and `[master.etcd]`.

use super::key::Kind::{Duration, Path, Table, Text};
use super::key::{TableKeys, hidden, key};

pub(crate) static MASTER: TableKeys = TableKeys {
    name: "master",
    title: "[master]",
    keys: &[
        key("listen", Text, "where workers connect").takes("`\"address:port\"`").default(
            "a free port of `127.0.0.1` when all workers are local, else `0.0.0.0:50051` or one of the next 15 ports",
        ),
        key("advertise", Text, "what workers are told")
            .takes("`\"host\"` or `\"host:port\"`")
            .default("this host's name and the port"),
        key("http", Text, "status page, `/metrics`, `/healthz`; other hosts only with a token")
            .takes("`\"address:port\"` or `\"off\"`")
            .default("`\"off\"`"),
        key(
            "http_token_file",
            Path,
            "file whose first line opens the pages, and which programs send as `Authorization: Bearer ...`; a random secret of at least 32 characters",
        )
        .default("none"),
        key("http_tls", Table(&HTTP_TLS), "encrypts the pages' connections: `{ cert = \"...\", key = \"...\" }`")
            .default("none"),
        key("store", Text, "where leadership and leases live; the prefix is `compass` unless written")
            .takes("`\"embedded\"` or `\"etcd://h1:2379,h2:2379/prefix\"`")
            .default("`\"embedded\"`"),
        key("etcd", Table(&ETCD), "access to the store, only beside a store in etcd").default("none"),
        key("state_dir", Path, "embedded store, keys, sockets: a disk on this host, never a network file system")
            .default("`~/.local/state/compass`"),
        key("key_file", Path, "key that seals the authority's secrets; masters that share a store share it")
            .default("`authority.key` in `state_dir`"),
        key("certificate_ttl", Duration, "life of a worker's certificate; renewed after two thirds")
            .takes("duration, 5s or more")
            .default("`\"24h\"`"),
        hidden("worker_lease", Duration),
        hidden("store_lease", Duration),
    ],
    types: &[],
};

pub(crate) static HTTP_TLS: TableKeys = TableKeys {
    name: "master.http_tls",
    title: "[master.http_tls]",
    keys: &[
        key("cert", Path, "certificate of the host with those that signed it, PEM").required(),
        key("key", Path, "its private key, PEM; no other user may read it").required(),
    ],
    types: &[],
};

pub(crate) static ETCD: TableKeys = TableKeys {
    name: "master.etcd",
    title: "[master.etcd]",
    keys: &[
        key("user", Text, "name of the user, beside `password_file`").default("none"),
        key("password_file", Path, "file that holds the password on one line, beside `user`").default("none"),
        key("ca", Path, "PEM file; with it the connection is encrypted").default("none"),
        key("cert", Path, "certificate of this client, PEM; beside `key` and `ca`").default("none"),
        key("key", Path, "key of this client, PEM; beside `cert`").default("none"),
    ],
    types: &[],
};
