//! Peers that were turned away, on the screen: once for each peer and reason, however often it comes.

use compass_common::status_output::print_status;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Peers and reasons remembered; beyond them only the log tells.
const MOST: usize = 200;

/// Rejected peers that the screen has named already.
#[derive(Clone, Debug, Default)]
pub struct Refusals {
    told: Arc<Mutex<BTreeSet<(IpAddr, String)>>>,
}

impl Refusals {
    /// Tells that the peer was refused, and why.
    pub fn tell(&self, peer: IpAddr, why: &str) {
        if self.is_news(peer, why) {
            print_status(format!("refused a worker at {peer}: {why}"));
        }
        tracing::debug!(%peer, why, "refused a worker");
    }

    fn is_news(&self, peer: IpAddr, why: &str) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.len() < MOST && told.insert((peer, why.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_of_a_peer_is_news_once_and_the_list_is_bounded() {
        let refusals = Refusals::default();
        let peer = IpAddr::from([10, 0, 0, 1]);
        assert!(refusals.is_news(peer, "a") && refusals.is_news(peer, "b"));
        assert!(!refusals.is_news(peer, "a"));
        let many = (0..1000).filter(|n| refusals.is_news(peer, &n.to_string())).count();
        assert_eq!(many, MOST - 2);
    }
}
