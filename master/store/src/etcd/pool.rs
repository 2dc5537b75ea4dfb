//! The members of an etcd cluster, one client each. A client over all of them keeps trying dead ones in turn; here the
//! member that answered last is asked first, and a round over all is one request. A client that gave no answer is replaced.

use super::trouble::{late, sort};
use crate::backend::Trouble;
use crate::error::StoreError;
use etcd_client::{Client, ConnectOptions, Error};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::Mutex;

/// Longest time that one member may take for one request.
const REQUEST: Duration = Duration::from_secs(1);
const CONNECT: Duration = Duration::from_millis(500);
const PING: Duration = Duration::from_secs(2);

/// Members of an etcd cluster, one client each.
pub(super) struct Pool {
    members: Vec<Member>,
    /// The member to ask first.
    first: AtomicUsize,
    options: ConnectOptions,
    /// Runtime in which clients live: a caller may ask from a runtime that ends before them.
    runtime: Handle,
    /// All members, as people are told.
    pub(super) shown: String,
}

struct Member {
    url: String,
    slot: Mutex<Slot>,
}

/// The client of a member, if there is one, and how many there were before it.
#[derive(Default)]
struct Slot {
    number: u64,
    client: Option<Client>,
}

impl Member {
    /// Drops the client of this number, so that the next request makes another one.
    async fn replace(&self, number: u64) {
        let mut slot = self.slot.lock().await;
        if slot.number == number {
            *slot = Slot { number: number + 1, client: None };
        }
    }
}

impl std::fmt::Debug for Pool {
    // The options hold a password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("members", &self.shown).finish_non_exhaustive()
    }
}

impl Pool {
    /// `options` hold user and encryption; what they say of times is replaced.
    pub(super) fn new(endpoints: &[String], scheme: &str, options: ConnectOptions, runtime: Handle) -> Self {
        let member = |endpoint: &String| Member { url: format!("{scheme}://{endpoint}"), slot: Mutex::default() };
        let options = options
            .with_connect_timeout(CONNECT)
            .with_keep_alive(PING, PING)
            .with_keep_alive_while_idle(true)
            .with_auto_token_refresh(true);
        let members = endpoints.iter().map(member).collect();
        Self { members, first: AtomicUsize::new(0), options, runtime, shown: endpoints.join(",") }
    }

    /// Asks one member after the other until one answers.
    pub(super) async fn ask<T, F>(&self, request: impl Fn(Client) -> F) -> Result<T, Trouble>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let first = self.first.load(Ordering::Relaxed);
        let mut worst = late(&self.shown);
        for at in (0..self.members.len()).map(|step| (first + step) % self.members.len()) {
            let mut number = None;
            let answer = tokio::time::timeout(REQUEST, async {
                let (known, client) = self.client(at).await?;
                number = Some(known);
                request(client).await.map_err(|error| sort(&error, &self.shown))
            });
            let trouble = match answer.await {
                Ok(Ok(answer)) => {
                    self.first.store(at, Ordering::Relaxed);
                    return Ok(answer);
                }
                Ok(Err(trouble)) => trouble,
                Err(_) => late(&self.shown),
            };
            tracing::debug!(member = self.members[at].url, %trouble, "a member of the store gave no answer");
            // Its channel may be dead, or half open; a member that is merely full did answer.
            if let (Trouble::NoReply(StoreError::Unreachable { .. }), Some(number)) = (&trouble, number) {
                self.members[at].replace(number).await;
            }
            match trouble {
                // One member's certificate says nothing of the others'.
                Trouble::NoReply(_) | Trouble::Final(StoreError::Tls { .. }) => worst = trouble,
                other => return Err(other),
            }
        }
        Err(worst)
    }

    /// A client for something that takes long by its nature: a watch. It bounds nothing.
    pub(super) async fn patient(&self) -> Result<Client, Trouble> {
        self.ask(|client| async { Ok(client) }).await
    }

    /// The client of a member, and its number.
    async fn client(&self, at: usize) -> Result<(u64, Client), Trouble> {
        let mut slot = self.members[at].slot.lock().await;
        if let Some(client) = &slot.client {
            return Ok((slot.number, client.clone()));
        }
        // Only a user's name and password are sent now; else the first request connects.
        let (url, options) = (self.members[at].url.clone(), self.options.clone());
        let made = self.runtime.spawn(async move { Client::connect([url], Some(options)).await });
        let made = made.await.map_err(|_| late(&self.shown))?;
        let client = made.map_err(|error| sort(&error, &self.shown))?;
        slot.client = Some(client.clone());
        Ok((slot.number, client))
    }
}
