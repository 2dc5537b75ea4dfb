//! The judge of a history: looks at what is committed while it runs, and at everything when it is over.

use crate::cluster::Cluster;
use compass_tests::{Committed, Etcd, Tree, committed};
use std::collections::BTreeMap;

/// Checks what is committed while a history runs, and everything when it is over.
#[derive(Default)]
pub(crate) struct Judge {
    /// Results that were committed at some moment; a later look must agree with them.
    seen: BTreeMap<(u32, u32), Vec<u8>>,
    looks: u32,
    complaint: Option<String>,
}

impl Judge {
    /// Notes what is committed now, where etcd can tell.
    pub(crate) fn look(&mut self, etcd: &Etcd, cluster: &Cluster, down: &[bool]) {
        // Without a majority no member can.
        if down.iter().filter(|down| **down).count() > 1 {
            return;
        }
        if let Ok(now) = committed(etcd, &cluster.prefix, &cluster.job) {
            self.looks += 1;
            self.compare(&now);
        }
    }

    /// A segment was deleted: what it held must be run again, and all else is still there.
    pub(crate) fn forget(&mut self, etcd: &Etcd, cluster: &Cluster, down: &[bool]) {
        self.seen.clear();
        self.look(etcd, cluster, down);
    }

    fn compare(&mut self, now: &Committed) {
        for (key, result) in &self.seen {
            if now.samples.get(key) != Some(result) {
                self.complaint.get_or_insert(format!("C1: sample {key:?} was committed and is not, or otherwise"));
            }
        }
        if let Some(key) = now.twice.first() {
            self.complaint.get_or_insert(format!("C2: sample {key:?} is committed twice"));
        }
        self.seen.extend(now.samples.clone());
    }

    /// Returns the number of its looks meanwhile, or what is wrong.
    pub(crate) fn outcome(mut self, etcd: &Etcd, cluster: &Cluster, expected: &(Tree, Tree)) -> Result<u32, String> {
        let last = committed(etcd, &cluster.prefix, &cluster.job).map_err(|error| format!("C3: {error}"))?;
        self.compare(&last);
        if let Some(complaint) = self.complaint {
            return Err(complaint);
        }
        if last.samples.len() as u64 != last.expected || last.divergences > 0 {
            let (found, of, differ) = (last.samples.len(), last.expected, last.divergences);
            return Err(format!("{found} of {of} samples are committed, {differ} came again otherwise"));
        }
        for (name, expected) in [("results", &expected.0), ("predictions", &expected.1)] {
            let found = cluster.job.tree(name);
            if found != *expected {
                let differs = |file: &&String| found.get(*file) != expected.get(*file);
                let file = found.keys().chain(expected.keys()).find(differs);
                return Err(format!("{name}/{} differs", file.map_or("", String::as_str)));
            }
        }
        Ok(self.looks)
    }
}
