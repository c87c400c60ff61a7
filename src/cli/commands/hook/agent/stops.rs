//! How often an agent was kept from stopping, so that it cannot continue for ever.

use super::input::StopInput;
use orch_base::Error;
use orch_core::decide::fingerprint;
use orch_engine::survey::{Sight, Workspace};
use orch_git::durable;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The file in the directory of orch in the git directory.
const FILE: &str = "agent-stops.json";
/// How many conversations are remembered.
const MOST: usize = 64;

/// What is remembered about the conversations about the tasks of a work tree.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Stops {
    /// By the task and the conversation.
    conversations: BTreeMap<String, StopCount>,
}

/// How often the agent was kept from stopping while nothing changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct StopCount {
    fingerprint: String,
    times: u32,
    /// When it was counted last: a number that grows with each count of any conversation.
    #[serde(default)]
    order: u64,
}

impl Stops {
    /// Remembers a count, and forgets the oldest ones if there are too many.
    fn keep(&mut self, conversation: String, count: StopCount) {
        let order = self
            .conversations
            .values()
            .map(|count| count.order)
            .max()
            .map_or(0, |last| last.saturating_add(1));
        self.conversations
            .insert(conversation, StopCount { order, ..count });
        while self.conversations.len() > MOST {
            let oldest = self
                .conversations
                .iter()
                .min_by_key(|(_, count)| count.order)
                .map(|(conversation, _)| conversation.clone());
            oldest
                .into_iter()
                .for_each(|conversation| drop(self.conversations.remove(&conversation)));
        }
    }
}

/// Whether the agent may be kept from stopping once more, which is counted then: at most `times` in one conversation on
/// one fingerprint of the task, and if a hook has made it continue already, only if something has changed since.
/// Outside git nothing can be counted, so it may only stop. Returns an error if the count cannot be kept.
pub fn may_block(
    workspace: &Workspace,
    sight: &Sight,
    input: &StopInput,
    times: u32,
) -> Result<bool, Error> {
    let (Some(store), Some(state)) = (workspace.reader().store(), sight.state()) else {
        return Ok(false);
    };
    let rule = sight.decision.rule.as_ref();
    let print = fingerprint(sight.workflow(), state, &sight.observed.facts, rule).to_string();
    let path = store.layout().own_directory()?.path().join(FILE);
    let text = durable::text_of(&path).unwrap_or_default();
    // What cannot be read was not written by this version; the count begins again.
    let mut stops: Stops = serde_json::from_str(&text).unwrap_or_default();
    let session = input.session.session_id.as_deref().unwrap_or_default();
    let conversation = format!("{} {session}", sight.task.id);
    let before = stops.conversations.get(&conversation);
    let Some(count) = next(before, &print, times, input.stop_hook_active) else {
        return Ok(false);
    };
    stops.keep(conversation, count);
    let text = serde_json::to_string(&stops).unwrap_or_default();
    durable::write_derived(durable::parent(&path), &path, text.as_bytes())?;
    Ok(true)
}

/// The count after one more block; `None` if there may be none.
fn next(before: Option<&StopCount>, print: &str, times: u32, active: bool) -> Option<StopCount> {
    let before = before.filter(|count| count.fingerprint == print);
    let count = before.map_or(0, |count| count.times);
    let may = count < times && !(active && before.is_some());
    may.then(|| StopCount {
        fingerprint: print.to_owned(),
        times: count + 1,
        order: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_too_many_conversations_the_oldest_count_is_forgotten() {
        let mut stops = Stops::default();
        let count = |times| StopCount {
            fingerprint: String::new(),
            times,
            order: 0,
        };
        (0..MOST).for_each(|number| stops.keep(format!("t-{number}"), count(1)));
        stops.keep("t-0".to_owned(), count(2));
        stops.keep("new".to_owned(), count(1));
        assert_eq!(stops.conversations.len(), MOST);
        assert_eq!(stops.conversations["t-0"].times, 2, "it was counted again");
        assert!(
            stops.conversations.contains_key("new") && !stops.conversations.contains_key("t-1")
        );
    }

    #[test]
    fn an_agent_is_kept_from_stopping_a_limited_number_of_times() {
        let mut count = None;
        let mut blocks = |print: &str, active: bool| {
            let next = next(count.as_ref(), print, 3, active);
            let may = next.is_some();
            count = next.or(count.take());
            may
        };
        assert!(blocks("a", false));
        assert!(
            !blocks("a", true),
            "it continues already, and nothing has changed"
        );
        assert!(blocks("b", true), "something has changed");
        assert!(!blocks("b", true));
        assert!(blocks("b", false), "another turn");
        assert!(blocks("b", false));
        assert!(!blocks("b", false), "three times on one fingerprint");
        assert!(blocks("a", false));
        assert!(next(None, "a", 0, false).is_none());
    }
}
