//! Action loops under audit: what a run records is honest, and what nobody did is told.

use super::records::{state, tell};
use super::{last, standings};
use crate::harness::World;
use orch_base::{ActionName, PhaseId};
use orch_core::decide::{Actor, ActorKind, By, HistoryEntry, Kind, Mode, State};
use serde_json::json;

/// A loop with a rule that looks at a file before those that look at the state alone.
const LOOP: &str = r#"# Loop

```toml orch
[workflow]
initial = "running"
[state]
schema = "loop-state"
[state.defaults]
score = 0
seen = 0
notes = []
polished = false
[state.keep]
"/notes" = 3
[limits]
backoff = "1ms"
[artifact.brake]
path = "brake.md"
[action.improve]
writes = ["/score", "/notes"]
[action.polish]
writes = ["/polished"]
ensures = "state.polished"
[ask.more]
title = "More?"
writes = ["/score"]
options = { "/score" = "[60, 70]" }
[phase.running]
may_produce = ["brake"]
[phase.done]
terminal = true
[phase.failed]
terminal = true
success = false
[[rule]]
id = "given-up"
from = "running"
when = "run.errors >= run.max_errors"
to = "failed"
because = "too many actions failed"
[[rule]]
id = "braked"
from = "running"
when = "brake.ready"
to = "failed"
because = "somebody put the brake on"
[[rule]]
id = "stopped"
on = "stop"
from = "running"
to = "failed"
because = "a person stopped it"
[[rule]]
id = "improve"
from = "running"
when = "state.score < 50"
run = "improve"
set = { "/seen" = "size(state.notes)" }
because = "the score is below 50"
[[rule]]
id = "more"
from = "running"
when = "state.score == 50"
wait = "an answer"
ask = "more"
because = "is it enough?"
[[rule]]
id = "polish"
from = "running"
when = "!state.polished"
run = "polish"
because = "it shines not yet"
[[rule]]
id = "done"
from = "running"
when = "state.polished"
to = "done"
because = "it shines"
[[rule]]
id = "nothing-left"
from = "running"
to = "failed"
because = "what is left was given up"
```
"#;

const SCRIPT: &str = r#"
cat > /dev/null
case $ORCH_ACTION in
  improve)
    score=$(sed -n 's/^  "score": \([0-9]*\),*$/\1/p' "$ORCH_STATE")
    echo "{\"stateUpdates\": {\"score\": $((score + 25)), \"notes\": [1, 2, 3, 4]}}" ;;
  polish) echo '{"stateUpdates": {"polished": true}}' ;;
esac
"#;

/// A task of the loop, ready for a run.
pub fn started() -> World {
    let world = World::new();
    world.write("system/workflows/loop.md", LOOP);
    set_up(&world, SCRIPT);
    world
}

/// Makes a world whose workflow is there ready for a run.
fn set_up(world: &World, script: &str) {
    let schema =
        json!({"type": "object", "properties": {"score": {"type": "integer", "maximum": 100}}});
    world.write("system/schemas/loop-state.schema.json", schema.to_string());
    let executor = "[executor.default]\ncommand = [\"sh\", \"executor.sh\"]\n";
    world.write(
        "orch.toml",
        format!("[[root]]\npath = \"tasks/*\"\nworkflow = \"loop\"\n{executor}"),
    );
    world.write("executor.sh", script);
    world.commit("Set up");
    world.orch(&["new", "t"]).succeeds();
}

#[test]
fn an_honest_run_is_never_called_forged() {
    let world = started();
    world.git(&["branch", "base"]);
    world.orch(&["run", "t", "--auto"]).ends(3);
    world.orch(&["answer", "t", "score=60"]).succeeds();
    world.orch(&["run", "t", "--auto"]).succeeds();
    let expected = [
        "proven", "folded", "claimed", "claimed", "claimed", "claimed", "folded", "proven",
        "claimed",
    ];
    assert_eq!(standings(&world), expected);
    for range in ["base..HEAD", "HEAD~3..HEAD"] {
        world.orch(&["check", "--range", range]).succeeds();
    }
    world.git(&["commit", "-q", "--amend", "-m", "In somebody's own words"]);
    assert_eq!(standings(&world), expected);
    world.git(&["checkout", "-q", "-b", "other", "base"]);
    world.write("other.txt", "x\n");
    world.commit("elsewhere");
    world.git(&["cherry-pick", "base..main"]);
    assert_eq!(standings(&world), expected);
    world.git(&["checkout", "-q", "-B", "other", "base"]);
    world.git(&["merge", "-q", "--squash", "main"]);
    world.git(&["commit", "-q", "-m", "Everything at once"]);
    assert_eq!(standings(&world), ["proven", "folded"]);
}

#[test]
fn where_the_document_was_never_committed_nothing_is_called_forged() {
    let world = World::new();
    world.write(".git/info/exclude", "system/\n");
    let document = LOOP.replace(
        "initial = \"running\"",
        "initial = \"running\"\nphase_key = \"status\"",
    );
    world.write("system/workflows/loop.md", document);
    set_up(&world, SCRIPT);
    world.orch(&["run", "t", "--auto"]).ends(3);
    assert_eq!(standings(&world), ["unverifiable"; 5]);
    world.write(
        "tasks/t/state.json",
        world
            .read("tasks/t/state.json")
            .replace("\"score\": 50", "\"score\": 60"),
    );
    world.commit("by hand");
    assert_eq!(standings(&world)[5], "forged");
}

/// A step as somebody would invent it.
struct Invented {
    kind: Kind,
    rule: Option<&'static str>,
    action: Option<&'static str>,
    to: &'static str,
    reason: &'static str,
    by: By,
    /// What it makes of the state beside its record.
    change: fn(&mut State),
}

impl Invented {
    fn new(kind: Kind, change: fn(&mut State)) -> Self {
        let by = By {
            kind: ActorKind::Orch,
            name: "orch".to_owned(),
        };
        Self {
            kind,
            rule: None,
            action: None,
            to: "running",
            reason: "so it was",
            by,
            change,
        }
    }

    /// A result that the rule of an action asked for, by its agent.
    fn result(action: &'static str, change: fn(&mut State)) -> Self {
        let by = By {
            kind: ActorKind::Agent,
            name: action.to_owned(),
        };
        Self {
            rule: Some(action),
            action: Some(action),
            by,
            ..Self::new(Kind::Run, change)
        }
    }

    fn commit(self, world: &World) {
        let mut state = state(world);
        let mut entry = HistoryEntry::clone(state.history.last().expect("an entry"));
        entry.seq = state.rev + 1;
        (entry.kind, entry.reason, entry.actor) = (self.kind, self.reason.to_owned(), self.by);
        entry.rule = self.rule.map(str::to_owned);
        entry.action = self
            .action
            .map(|action| ActionName::new(action).expect("valid"));
        entry.to = PhaseId::new(self.to).expect("valid");
        state.history.push(entry.into());
        (state.rev, state.phase) = (state.rev + 1, Some(self.to.to_owned()));
        (self.change)(&mut state);
        tell(world, &state);
        world.commit("by hand");
    }
}

/// What an improvement makes of the state after the first one.
fn improved(state: &mut State) {
    state.extra.insert("score".to_owned(), json!(50));
    state.extra.insert("seen".to_owned(), json!(3));
    tally(state, "improve");
}

fn polished(state: &mut State) {
    state.extra.insert("polished".to_owned(), json!(true));
    tally(state, "polish");
}

fn tally(state: &mut State, action: &str) {
    let action = ActionName::new(action).expect("valid");
    state.run.actions.entry(action).or_default().done += 1;
}

#[test]
fn every_invented_step_is_told() {
    let ended = |reason: &'static str| Invented {
        reason,
        ..Invented::new(Kind::End, |_| {})
    };
    let by = |kind: ActorKind, name: &str| By {
        kind,
        name: name.to_owned(),
    };
    let steps = [
        (
            ended("the run ended as completed: the task is in `done`"),
            "cannot end as completed in `running`",
        ),
        (
            ended("the run ended as failed: it was hard"),
            "cannot end as failed in `running`",
        ),
        (
            ended("all went well"),
            "does not name the ending of the run",
        ),
        (
            Invented {
                by: by(ActorKind::Agent, "improve"),
                ..ended("the run ended as paused: enough")
            },
            "improve cannot perform such a step",
        ),
        (
            Invented::result("improve", |state| {
                improved(state);
                state.extra.insert("score".to_owned(), json!(5000));
            }),
            "schema `loop-state` rejects /score",
        ),
        (
            Invented::result("improve", |state| {
                improved(state);
                state.extra.insert("polished".to_owned(), json!(true));
            }),
            "/polished changed, but action `improve` may not write it",
        ),
        (
            Invented::result("improve", |state| {
                improved(state);
                state.extra.insert("seen".to_owned(), json!(4));
            }),
            "/seen should be 3, but is 4",
        ),
        (
            Invented::result("improve", |state| {
                improved(state);
                tally(state, "improve");
            }),
            "/run/actions/improve/done should be 2, but is 3",
        ),
        (
            Invented::result("improve", |state| {
                improved(state);
                state.run.mode = Some(Mode::Interactive);
            }),
            "/run/mode should be",
        ),
        (
            Invented {
                by: by(ActorKind::Human, "Bob"),
                ..Invented::result("improve", improved)
            },
            "Bob cannot perform such a step",
        ),
        (
            Invented {
                by: by(ActorKind::Agent, "polish"),
                ..Invented::result("improve", improved)
            },
            "polish cannot perform such a step",
        ),
        // A file may have put the brake on, and none can have taken the rule before it away.
        (
            Invented::result("polish", polished),
            "the rules do not run `polish` here: the score is below 50",
        ),
        (
            Invented {
                rule: Some("polish"),
                action: Some("polish"),
                ..Invented::new(Kind::Skip, |_| {})
            },
            "the rules do not run `polish` here",
        ),
        (
            Invented {
                rule: Some("more"),
                ..Invented::new(Kind::Answer, |state| {
                    state.extra.insert("score".to_owned(), json!(60));
                })
            },
            "no question was open",
        ),
        (
            Invented {
                rule: Some("given-up"),
                to: "failed",
                ..Invented::new(Kind::Signal, |state| {
                    state.actors.insert(
                        "failed".to_owned(),
                        Actor {
                            attempt: 1,
                            ..Actor::default()
                        },
                    );
                })
            },
            "responds to no signal",
        ),
        (
            Invented::new(Kind::Start, |_| {}),
            "the step changes nothing",
        ),
    ];
    let world = started();
    world
        .orch(&["run", "t", "--auto", "--max-turns", "1"])
        .ends(1);
    // What is really due could have been so.
    Invented::result("improve", improved).commit(&world);
    last(&world, "claimed");
    for (step, told) in steps {
        world.git(&["reset", "-q", "--hard", "HEAD~1"]);
        step.commit(&world);
        let change = last(&world, "forged");
        let why = change["steps"][0]["why"]
            .as_str()
            .or(change["why"].as_str())
            .unwrap_or_default();
        assert!(why.contains(told), "{told}: {change:#}");
        world
            .orch(&["check", "--commit", "HEAD"])
            .ends(1)
            .says("forged");
    }
}

#[test]
fn what_is_not_committed_excuses_only_what_rests_on_it() {
    let notes = "[artifact.journal]\npath = \"journal.md\"\ncommit = false\n";
    let lax = LOOP
        .replace(
            "[action.improve]\n",
            &format!("{notes}[action.improve]\nensures = \"journal.ready\"\n"),
        )
        .replace("size(state.notes)", "journal.data.words");
    let world = World::new();
    world.write("system/workflows/loop.md", &lax);
    world.write(".gitignore", "journal.md\n");
    set_up(
        &world,
        &SCRIPT.replace(
            "  improve)\n",
            "  improve)\n    echo a b c > tasks/t/journal.md\n",
        ),
    );
    world
        .orch(&["run", "t", "--auto", "--max-turns", "1"])
        .ends(1);
    let standings = standings(&world);
    assert_eq!(standings, ["proven", "folded", "unverifiable", "claimed"]);
    world
        .orch(&["audit"])
        .succeeds()
        .says("`journal` is not committed");
    Invented::result("improve", improved).commit(&world);
    last(&world, "unverifiable");
    for (action, change) in [
        ("improve", |state: &mut State| {
            improved(state);
            state.extra.insert("polished".to_owned(), json!(true));
        }),
        ("polish", polished),
    ] as [(&'static str, fn(&mut State)); 2]
    {
        world.git(&["reset", "-q", "--hard", "HEAD~1"]);
        Invented::result(action, change).commit(&world);
        last(&world, "forged");
    }
}

#[test]
fn an_answer_is_one_of_those_that_were_offered() {
    let world = started();
    world.orch(&["run", "t", "--auto"]).ends(3);
    let answer = |change: fn(&mut State)| Invented {
        rule: Some("more"),
        ..Invented::new(Kind::Answer, change)
    };
    answer(|state| drop(state.extra.insert("score".to_owned(), json!(60)))).commit(&world);
    last(&world, "claimed");
    world.git(&["reset", "-q", "--hard", "HEAD~1"]);
    answer(|state| drop(state.extra.insert("score".to_owned(), json!(65)))).commit(&world);
    let change = last(&world, "forged");
    assert!(
        change
            .to_string()
            .contains("65 is not an option for /score"),
        "{change:#}"
    );
}
