//! Changes of resources: which are subscribed to, and a thread that notices when they change.

use super::agent::{Agent, document};
use super::resources;
use orch_base::locked;
use orch_engine::drive::follow;
use orch_engine::survey::Error;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;
use tokio::sync::broadcast::{Receiver, Sender, channel};

/// How many changes wait for a client that does not read.
const WAITING: usize = 256;
/// How often everything is compared, even if no change was noticed.
const EVERY: Duration = Duration::from_secs(600);

/// A change of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ResourceChange {
    /// There are other resources than before.
    List,
    /// The resource with this URI has another text, or is gone.
    Text(String),
}

/// The changes of resources. They are noticed from the first call of [`ResourceNews::hear`] on.
#[derive(Clone)]
pub(super) struct ResourceNews(Arc<ResourceNewsParts>);

struct ResourceNewsParts {
    agent: Agent,
    watched: Mutex<Watched>,
    send: Sender<ResourceChange>,
    begun: OnceLock<()>,
}

#[derive(Default)]
struct Watched {
    /// The URIs of all resources; `None` before they were first listed.
    listed: Option<BTreeSet<String>>,
    /// The URIs that someone subscribed to: how often, and the text that was last seen.
    texts: BTreeMap<String, (usize, Option<String>)>,
}

impl ResourceNews {
    pub(super) fn new(agent: Agent) -> Self {
        let (send, _) = channel(WAITING);
        let parts = ResourceNewsParts {
            agent,
            watched: Mutex::default(),
            send,
            begun: OnceLock::new(),
        };
        Self(Arc::new(parts))
    }

    /// The changes from now on.
    pub(super) fn hear(&self) -> Receiver<ResourceChange> {
        let heard = self.0.send.subscribe();
        self.0.begun.get_or_init(|| {
            self.compare();
            let news = self.clone();
            thread::spawn(move || {
                if let Err(error) = news.follow() {
                    tracing::warn!(
                        error = error.logged(),
                        "changes of resources are not noticed"
                    );
                }
            });
        });
        heard
    }

    /// Subscribes to a resource. Returns whether there is one with this URI.
    pub(super) fn subscribe(&self, uri: &str) -> bool {
        let text = self.text(uri);
        let is_there = text.is_some();
        let mut watched = locked(&self.0.watched);
        let (count, _) = watched.texts.entry(uri.to_owned()).or_insert((0, text));
        *count += 1;
        is_there
    }

    /// Takes a subscription back.
    pub(super) fn unsubscribe(&self, uri: &str) {
        let mut watched = locked(&self.0.watched);
        if let Some((count, _)) = watched.texts.get_mut(uri) {
            *count -= 1;
            if *count == 0 {
                watched.texts.remove(uri);
            }
        }
    }

    fn follow(&self) -> Result<(), Error> {
        let workspace = self.0.agent.workspace()?;
        // The thread ends with the process.
        follow(
            &workspace,
            EVERY,
            |_| Ok(()),
            |_| {
                self.compare();
                Ok(())
            },
        )
    }

    /// Compares the resources with what was last seen, and tells what differs.
    fn compare(&self) {
        // What cannot be read now is compared later.
        let Ok(workspace) = self.0.agent.workspace() else {
            return;
        };
        let listed: BTreeSet<String> = resources::all(&workspace)
            .into_iter()
            .map(|resource| resource.uri)
            .collect();
        let mut changes = Vec::new();
        let uris: Vec<String> = locked(&self.0.watched).texts.keys().cloned().collect();
        let texts: Vec<(String, Option<String>)> = uris
            .into_iter()
            .map(|uri| {
                let text = self.text(&uri);
                (uri, text)
            })
            .collect();
        let mut watched = locked(&self.0.watched);
        let before = watched.listed.replace(listed);
        if before.is_some() && before != watched.listed {
            changes.push(ResourceChange::List);
        }
        for (uri, text) in texts {
            if let Some((_, seen)) = watched.texts.get_mut(&uri)
                && *seen != text
            {
                *seen = text;
                changes.push(ResourceChange::Text(uri));
            }
        }
        drop(watched);
        // Without a client that hears there is nobody to tell.
        changes
            .into_iter()
            .for_each(|change| drop(self.0.send.send(change)));
    }

    /// What counts of the text of a resource: of a task its suggestion, but not the commit of HEAD.
    fn text(&self, uri: &str) -> Option<String> {
        let (text, _) = resources::read(&self.0.agent, uri)?;
        let suggestions =
            document(&text).and_then(|mut document| Some(document.get_mut("suggestions")?.take()));
        Some(suggestions.map_or(text, |suggestions| suggestions.to_string()))
    }
}
