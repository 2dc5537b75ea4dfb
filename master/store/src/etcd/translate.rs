//! Transactions and entries, ours and the client's.

use crate::transaction::{Compare, Reply, Step, StoredKey, Transaction};
use etcd_client::{self as etcd, CompareOp, KeyValue, PutOptions, Txn, TxnOp, TxnOpResponse, TxnResponse};

/// The client's form of a transaction.
pub(super) fn request(transaction: &Transaction) -> Txn {
    let when: Vec<_> = transaction.when.iter().map(compare).collect();
    let then: Vec<_> = transaction.then.iter().map(step).collect();
    let otherwise: Vec<_> = transaction.otherwise.iter().map(|key| TxnOp::get(key.as_str(), None)).collect();
    Txn::new().when(when).and_then(then).or_else(otherwise)
}

fn compare(condition: &Compare) -> etcd::Compare {
    match condition {
        Compare::Created { key, at } => etcd::Compare::create_revision(key.as_str(), CompareOp::Equal, *at),
        Compare::Value { key, is } => etcd::Compare::value(key.as_str(), CompareOp::Equal, is.clone()),
    }
}

fn step(step: &Step) -> TxnOp {
    match step {
        Step::Put { key, value, lease: 0 } => TxnOp::put(key.as_str(), value.clone(), None),
        Step::Put { key, value, lease } => {
            TxnOp::put(key.as_str(), value.clone(), Some(PutOptions::new().with_lease(*lease)))
        }
        Step::Delete { key } => TxnOp::delete(key.as_str(), None),
    }
}

/// Our form of an answer.
pub(super) fn reply(answer: &TxnResponse) -> Reply {
    let read = if answer.succeeded() {
        Vec::new()
    } else {
        let found = |response: &TxnOpResponse| match response {
            TxnOpResponse::Get(found) => found.kvs().first().map(entry),
            _ => None,
        };
        answer.op_responses().iter().map(found).collect()
    };
    let revision = answer.header().map_or(0, etcd::ResponseHeader::revision);
    Reply { applied: answer.succeeded(), revision, read }
}

/// Our form of a key.
pub(super) fn entry(found: &KeyValue) -> StoredKey {
    StoredKey {
        key: String::from_utf8_lossy(found.key()).into_owned(),
        value: found.value().to_vec(),
        created: found.create_revision(),
        lease: found.lease(),
    }
}

/// The end of the range of keys that start with `prefix`.
pub(super) fn end_of(prefix: &str) -> Vec<u8> {
    let mut end = prefix.as_bytes().to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return end;
        }
    }
    // etcd's word for "to the end of all keys".
    vec![0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_before_the_next_key_that_lacks_it() {
        assert_eq!(end_of("jobs/"), b"jobs0");
        assert_eq!(end_of("a\u{7f}"), [b'a', 0x80]);
        assert_eq!(end_of(""), [0]);
    }
}
