//! A leader with a worker whose connections come in another order than it opened them.

use super::Leader;
use crate::core::{ConnectionId, Core, Limits, Recorded, Requires, TaskView, Watch};
use crate::rpc::Terms;
use crate::store::Keys;
use compass_common::ids::{Attempt, Digest, Epoch, UnitId, WorkerId};
use compass_common::intervals::IntervalSet;
use compass_proto::v1;
use std::collections::BTreeMap;
use tokio::sync::mpsc;

fn hello(dial: u64) -> v1::Hello {
    v1::Hello { worker: "w".into(), session: "s".into(), slots: 1, first_seq: 1, dial, ..Default::default() }
}

#[test]
fn a_hello_that_a_later_connection_has_overtaken_is_void() {
    let plan = Digest::of(b"plan");
    let (samples, attempt) = (IntervalSet::range(0, 4), Attempt(0));
    let task = TaskView {
        unit: UnitId(0),
        model: 0,
        requires: Requires::Echo,
        samples,
        attempt,
        sample_cost: 1,
        shared_cost: 0,
    };
    let core = Core::new(Epoch(1), Limits::default(), vec![task], Recorded::default());
    let terms = Terms { plan, epoch: Epoch(1), lease_ttl_ms: 30_000, heartbeat_ms: 2_000, pools: BTreeMap::new() };
    let mut leader = Leader::new(core, terms, Keys::new(&plan), Watch::default());
    let mut out = Vec::new();
    let ((late, mut heard_late), (present, mut heard)) = (mpsc::channel(8), mpsc::channel(8));
    assert!(leader.hello(0, ConnectionId(1), hello(2), present, &mut out));
    assert!(!leader.hello(1, ConnectionId(2), hello(1), late, &mut out), "what it lists is no longer so");
    assert!(heard.try_recv().is_ok(), "welcome");
    assert_eq!(heard_late.try_recv().unwrap_err(), mpsc::error::TryRecvError::Disconnected);
    leader.closed(2, WorkerId("w".into()), ConnectionId(2), &mut out);
    assert!(leader.is_connected(&WorkerId("w".into())));
    let (again, _heard) = mpsc::channel(8);
    assert!(leader.hello(3, ConnectionId(3), hello(3), again, &mut out));
}
