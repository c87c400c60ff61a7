//! Runs of agents: their files count, not their words, and what a person owns is a person's to take.

use super::play::{Play, workflow};
use orch_base::{ArtifactName, Digest};
use orch_core::decide::{
    ActionResult, Blocker, ControlRequest, Ending, ExecutorExit, FileFact, Job, Mode, RetryPolicy,
    Returned, RunCommand, RunEffect,
};
use orch_core::workflow::Workflow;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

const REVIEW: &str = r#"
```toml orch
[workflow]
attempts = 1000
[limits]
turns = 9
failures = 2
[artifact.draft]
path = "draft.json"
[artifact.verdict]
path = "verdict.json"
[phase.writing]
produces = ["draft"]
[phase.judging]
owner = "human"
produces = ["verdict"]
[phase.done]
terminal = true
[[rule]]
id = "written"
from = "writing"
when = "draft.ready && draft.data.ok"
to = "judging"
because = "there is a draft"
[[rule]]
id = "judged"
from = "judging"
when = "verdict.ready"
to = "done"
because = "it was judged"
```
"#;

/// The workflow, with an agent that writes.
fn reviewing(text: &str) -> Workflow {
    let mut workflow = workflow(text);
    workflow.phases[0].agent = Some("writer".to_owned());
    workflow
}

/// The files of the task while it runs.
type Files = Rc<RefCell<BTreeMap<ArtifactName, Vec<FileFact>>>>;

fn write(files: &Files, name: &str, value: &Value) {
    let fact = FileFact {
        writers: Vec::new(),
        pattern: 0,
        is_tree: false,
        path: format!("{name}.json"),
        digest: Some(Digest::of_blob(value.to_string().as_bytes())),
        data: Some(Arc::new(value.clone())),
        problems: Vec::new(),
    };
    files
        .borrow_mut()
        .insert(ArtifactName::new(name).expect("valid"), vec![fact]);
}

fn returned(how: ExecutorExit, result: Option<&Value>) -> Returned {
    let trace = orch_core::decide::ExecutorTrace::default();
    Returned {
        how,
        result: result.map(ActionResult::read),
        cost: 0.0,
        is_unpriced: false,
        trace,
        said: None,
    }
}

/// Plays a run whose executor does this at each turn.
fn played(perform: impl Fn(&Files, u32) -> Returned) -> (Ending, String, u32, u32) {
    let workflow = reviewing(REVIEW);
    let files = Files::default();
    let mut play = Play::new(&workflow, Mode::Auto);
    play.files = Rc::clone(&files);
    play.perform = Box::new(move |_, turn| perform(&files, turn));
    let (ending, why) = play.run();
    let failures = play
        .machine
        .usage
        .failures_of(&Job::Agent("writer".to_owned()));
    (ending, why, play.machine.usage.turns, failures)
}

#[test]
fn a_phase_without_an_agent_says_which_key_is_missing() {
    let workflow = workflow(REVIEW);
    let (ending, why) = Play::new(&workflow, Mode::Auto).run();
    assert_eq!(ending, Ending::Waiting);
    let said = format!("`[phase.writing]` in {} has no `agent`", workflow.path);
    assert!(why.contains(&said), "{why}");
}

#[test]
fn an_agents_work_is_judged_by_its_files() {
    let draft = |files: &Files, ok: bool, n: u32| write(files, "draft", &json!({"ok": ok, "n": n}));
    let badly = || {
        returned(
            ExecutorExit::Badly("it exited with code 3".to_owned()),
            None,
        )
    };
    let well = || returned(ExecutorExit::Well, None);
    type Script<'s> = &'s dyn Fn(&Files, u32) -> Returned;
    let cases: [(&str, Script<'_>, Ending, u32); 8] = [
        (
            "it writes what is asked, and nobody judges it",
            &|files, _| {
                draft(files, true, 1);
                well()
            },
            Ending::Waiting,
            1,
        ),
        (
            "it does so and exits badly",
            &|files, _| {
                draft(files, true, 1);
                badly()
            },
            Ending::Waiting,
            1,
        ),
        (
            "it exits badly and writes nothing",
            &|_, _| badly(),
            Ending::Failed,
            2,
        ),
        (
            "it says that it is done and writes nothing",
            &|_, _| well(),
            Ending::Stalled,
            1,
        ),
        (
            "it reports a success and writes nothing",
            &|_, _| returned(ExecutorExit::Well, Some(&json!({"summary": "done"}))),
            Ending::Stalled,
            1,
        ),
        (
            "it writes what does not help",
            &|files, turn| {
                draft(files, false, turn);
                well()
            },
            Ending::Failed,
            3,
        ),
        (
            "it says that it failed",
            &|_, _| {
                returned(
                    ExecutorExit::Well,
                    Some(&json!({"status": "failed", "message": "no"})),
                )
            },
            Ending::Failed,
            2,
        ),
        (
            "it says that it failed for good",
            &|_, _| {
                let told = json!({"status": "failed", "recoverable": false, "message": "no"});
                returned(ExecutorExit::Well, Some(&told))
            },
            Ending::Failed,
            1,
        ),
    ];
    for (name, script, ending, turns) in cases {
        let (ended, why, used, _) = played(script);
        assert_eq!((ended, used), (ending, turns), "{name}: {why}");
    }
}

/// An executor that writes the decision of a phase that a person owns proposes it, and does not decide.
#[test]
fn what_an_executor_writes_for_a_person_waits_for_that_person() {
    for (writes, ending, says) in [
        (&["draft"][..], Ending::Waiting, None),
        (
            &["draft", "verdict"],
            Ending::Waiting,
            Some("an executor wrote the decision of `judging`"),
        ),
    ] {
        let (ended, why, turns, _) = played(|files, _| {
            writes
                .iter()
                .for_each(|name| write(files, name, &json!({"ok": true})));
            returned(ExecutorExit::Well, None)
        });
        assert_eq!((ended, turns), (ending, 1), "{writes:?}: {why}");
        assert_eq!(
            why.starts_with("an executor wrote"),
            says.is_some(),
            "{why}"
        );
        assert!(says.is_none_or(|says| why.starts_with(says)), "{why}");
    }
    // What stood there before the executor worked is the person's own word.
    let (ended, why, turns, _) = {
        let workflow = reviewing(REVIEW);
        let files = Files::default();
        write(&files, "verdict", &json!({"ok": true}));
        let mut play = Play::new(&workflow, Mode::Auto);
        play.files = Rc::clone(&files);
        play.perform = Box::new(move |_, _| {
            write(&files, "draft", &json!({"ok": true}));
            returned(ExecutorExit::Well, None)
        });
        let (ending, why) = play.run();
        (ending, why, play.machine.usage.turns, 0)
    };
    assert_eq!((ended, turns), (Ending::Completed, 1), "{why}");
}

#[test]
fn the_response_to_an_order_is_tried_for_a_while_and_then_the_run_ends_without_it() {
    for (retry, waits) in [
        (RetryPolicy::Never(Ending::Error), 0),
        (RetryPolicy::Short, 25),
        (RetryPolicy::Long, 25),
    ] {
        let workflow = reviewing(&REVIEW.replace(
            "[[rule]]\nid = \"written\"",
            "[[rule]]\nid = \"stopped\"\non = \"stop\"\nfrom = \"writing\"\nto = \"done\"\nbecause = \"it is stopped\"\n[[rule]]\nid = \"written\"",
        ));
        let mut play = Play::new(&workflow, Mode::Auto);
        play.perform = Box::new(|_, _| returned(ExecutorExit::Badly("no".to_owned()), None));
        let is_ordered = Rc::new(RefCell::new(false));
        play.block = Box::new(move |effect| match effect {
            RunEffect::Record(RunCommand::Order(_)) => (
                Some(Blocker {
                    retry,
                    why: "a merge is going on".to_owned(),
                }),
                None,
            ),
            RunEffect::Evaluate if !is_ordered.replace(true) => (None, Some(ControlRequest::Stop)),
            _ => (None, None),
        });
        let (ending, why) = play.run();
        assert_eq!(ending, Ending::Stopped, "{retry:?}: {why}");
        assert!(
            why.ends_with("; the response to it could not be recorded: a merge is going on"),
            "{retry:?}: {why}"
        );
        let waited = play
            .story
            .iter()
            .filter(|step| *step == "wait 200ms")
            .count();
        assert_eq!(waited, waits, "{retry:?}: {:?}", play.story);
    }
}
