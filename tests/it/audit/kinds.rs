//! Events of the kinds and members of the second version that no command writes yet, in real histories: each has its
//! verdict, each forgery is told, and the task continues after them.

use super::records::{LOG, parsed, state, tell};
use super::{last, standings, uncommit};
use crate::core::verified::GREEN;
use crate::harness::World;
use crate::setting::slice;
use orch_base::{
    Digest, ObjectFormat, PhaseId, RepoPath, TaskId, TaskPlace, Timestamp, VerificationName,
    WorkflowName,
};
use orch_core::config;
use orch_core::decide::{
    ActorKind, By, CodeFacts, Detail, DetailStep, Facts, Holder, Lapse, Migration, OtherTask,
    OtherTasks, OwnFile, Priority, RecordVersion, Relations, Stamp, State, Transition, WorkflowRef,
    apply, detailed,
};
use orch_core::verification::{
    BaseTests, FoundBy, TestedCode, Verification, VerificationResult, VerifiedBase, VerifiedCode,
    VerifiedOutcome, VerifiedResult, statement,
};
use orch_core::workflow::{Document, System, Workflow, compile};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::LazyLock;

const DOCUMENT: &str = "system/workflows/global-state-machine.md";

/// The lifecycle that ships, with deadlines.
static TIMED: LazyLock<String> = LazyLock::new(|| {
    let system = System::shipped();
    let text = system.workflow("global-state-machine").expect("it ships");
    let deadlines = ["planning", "plan_review", "codegen"]
        .map(|phase| format!("[deadline.{phase}]\nafter = \"6h\"\n"));
    format!("{text}\n```toml orch\n{}```\n", deadlines.concat())
});

static LIFECYCLE: LazyLock<Workflow> = LazyLock::new(|| {
    let document = Document::new("global-state-machine", DOCUMENT, TIMED.as_str());
    let (workflow, problems) = compile(&document, &System::shipped());
    workflow.unwrap_or_else(|| panic!("{problems:#?}"))
});

/// When they have passed, in seconds.
const LATE: i64 = 6 * 3600;

/// A task in the review of its plan.
fn in_review() -> World {
    let world = World::ready();
    world.write(DOCUMENT, TIMED.as_str());
    world.commit("deadlines");
    world.orch(&["new", "t"]).succeeds();
    world.walk_to("t", "plan_review");
    world
}

const RESULT: &str = "tasks/t/eval/verify/tests.json";

fn id(id: &str) -> TaskId {
    TaskId::new(id).expect("valid")
}

fn phase(name: &str) -> PhaseId {
    PhaseId::new(name).expect("valid")
}

/// What one event says.
struct Said {
    detail: Detail,
    /// The phase to which it leads, if not the one in which the task is.
    to: Option<PhaseId>,
    generation: Option<u64>,
    others: Vec<OtherTask>,
    /// How many seconds after the last event.
    later: i64,
}

impl From<Detail> for Said {
    fn from(detail: Detail) -> Self {
        Self {
            detail,
            to: None,
            generation: None,
            others: Vec::new(),
            later: 60,
        }
    }
}

impl Said {
    fn at(&self, before: &State) -> Timestamp {
        let last = before.updated_at.expect("a time").seconds();
        Timestamp::from_seconds(last + self.later)
    }

    /// The transition as `orch` makes it, or why it makes none.
    fn honest(&self, before: &State) -> Result<Transition, String> {
        let task = before.task.as_deref().expect("an id");
        let task = TaskId::new(task).expect("valid");
        let step = DetailStep {
            detail: self.detail.clone(),
            at: self.at(before),
            to: self.to.as_ref(),
            former: None,
            why: None,
        };
        detailed(&LIFECYCLE, before, &task, step)
    }

    /// The transition whether it is possible or not.
    fn forced(&self, before: &State) -> Transition {
        let from = phase(before.phase.as_deref().expect("a phase"));
        let to = self.to.clone().unwrap_or_else(|| from.clone());
        let detail = Some(Box::new(self.detail.clone()));
        Transition {
            detail,
            ..Transition::new(Some(from), to, self.detail.kind(), &self.detail.words())
        }
    }

    /// Records a transition as one more event, and commits it.
    fn record(&self, world: &World, transition: &Transition) {
        let before = state(world);
        let facts = Facts {
            code: CodeFacts::default(),
            version: RecordVersion::CURRENT,
            task: id("t"),
            place: TaskPlace::of_directory(RepoPath::new("tasks/t").expect("valid")),
            artifacts: BTreeMap::new(),
            diagnostics: Vec::new(),
            inputs: Default::default(),
            missing: Vec::new(),
            verified: Default::default(),
            own_file: OwnFile::AsRecorded,
            others: OtherTasks::default(),
        };
        let by = By {
            kind: ActorKind::Orch,
            name: "orch".to_owned(),
        };
        let (generation, others) = (self.generation, self.others.clone());
        let stamp = Stamp {
            generation,
            others,
            ..Stamp::new(self.at(&before), by)
        };
        tell(
            world,
            &apply(&LIFECYCLE, &before, &facts, transition, &stamp),
        );
        world.commit(transition.kind.as_str());
    }
}

/// Records what `orch` would record.
#[track_caller]
fn say(world: &World, said: impl Into<Said>) {
    let said = said.into();
    let transition = said.honest(&state(world)).expect("possible");
    said.record(world, &transition);
}

/// Records what `orch` would refuse.
#[track_caller]
fn forge(world: &World, said: impl Into<Said>) {
    let said = said.into();
    let before = state(world);
    said.honest(&before).expect_err("impossible");
    said.record(world, &said.forced(&before));
}

fn relate(after: &[&str]) -> Detail {
    let after = after.iter().map(|one| id(one)).collect();
    Detail::Relate(Relations {
        after,
        priority: Some(Priority::High),
        ..Relations::default()
    })
}

fn take(generation: u64, owner: &str) -> Detail {
    Detail::Take(Holder {
        generation,
        owner: owner.to_owned(),
    })
}

/// A run of the tests with this outcome, whose file says `result`. The file is written.
fn verify(world: &World, outcome: VerifiedOutcome, result: &Value) -> Detail {
    let text = format!("{result:#}\n");
    world.write(RESULT, &text);
    let digest = Digest::of_blob(text.as_bytes());
    let some = |what: &str| Digest::of_blob(what.as_bytes());
    Detail::Verify(Verification {
        name: VerificationName::new("tests").expect("valid"),
        code: VerifiedCode::Commit(some("code")),
        table: some("table"),
        rules: 1,
        base: None,
        returned: Vec::new(),
        result: VerifiedResult { outcome, digest },
    })
}

/// Where the settings define the tests: the event has to have the table, the code and a base of its parent commit, and its
/// file has to say the same.
#[test]
fn a_verification_is_held_against_its_parent_commit_and_its_result() {
    let world = in_review();
    let text = format!(
        "{}\n[verify.tests]\ncommand = [\"false\"]\npaths = [\"src/**\"]\n",
        world.read("orch.toml")
    );
    world.write("orch.toml", &text);
    world.write("src/a.rs", "a\n");
    world.commit("Define the tests");
    let (config, problems) = config::parse(&text, config::FILE);
    assert_eq!(problems, []);
    let tests = VerificationName::new("tests").expect("valid");
    let table = config.verify[&tests].digest(ObjectFormat::Sha1);
    let src = world.git(&["rev-parse", "HEAD:src"]);
    let bytes = (0..20).map(|at| u8::from_str_radix(&src[2 * at..2 * at + 2], 16).expect("hex"));
    let of_src: Vec<u8> = b"40000 src\0".iter().copied().chain(bytes).collect();
    let code = VerifiedCode::Commit(ObjectFormat::Sha1.tree(&of_src));
    let other = Digest::of_blob(b"other");
    let parsed_id =
        |name: &str| Digest::parse(world.git(&["rev-parse", name]).trim()).expect("an id");
    let defined = parsed_id("HEAD");
    let tree = parsed_id("HEAD^{tree}");
    let begin = parsed_id(world.git(&["rev-list", "--max-parents=0", "HEAD"]).trim());
    world.git(&["commit", "-q", "--allow-empty", "-m", "apart"]);
    let apart = parsed_id("HEAD");
    world.git(&["reset", "-q", "--soft", "HEAD~"]);
    // What the code was before the commit that defines the tests: nothing.
    let nothing = ObjectFormat::Sha1.tree(b"");
    let honest = || {
        let mut result = GREEN.result();
        result.run.task = id("t");
        result.run.code = code;
        result.run.table = table;
        result.run.base = None;
        result.tested = TestedCode::Commit {
            commit: defined,
            tree,
        };
        result
    };
    let on = |event: &mut Verification, result: &mut VerificationResult, at: VerifiedBase| {
        event.base = Some(at.clone());
        result.run.base = GREEN.result().run.base.map(|base| BaseTests { at, ..base });
    };
    let gone = |result: &mut VerificationResult| result.tested = GREEN.result().tested;
    let base = |commit: Digest, code: Digest, by: FoundBy| VerifiedBase { commit, code, by };
    type Change<'a> = Box<dyn Fn(&mut Verification, &mut VerificationResult) + 'a>;
    let cases: [(&str, &str, Change<'_>); 15] = [
        ("claimed", "", Box::new(|_, _| {})),
        ("claimed", "", Box::new(|_, result| gone(result))),
        (
            "claimed",
            "",
            Box::new(|event, result| on(event, result, base(begin, nothing, FoundBy::Branch))),
        ),
        (
            "forged",
            "by another table",
            Box::new(|event, result| {
                event.table = other;
                result.run.table = other;
            }),
        ),
        (
            "unverifiable",
            "not that of the parent commit",
            Box::new(|event, result| {
                event.code = VerifiedCode::Commit(other);
                result.run.code = event.code;
                gone(result);
            }),
        ),
        (
            "forged",
            "has other code",
            Box::new(|event, result| {
                event.code = VerifiedCode::Commit(other);
                result.run.code = event.code;
            }),
        ),
        (
            "forged",
            "names another code",
            Box::new(|_, result| result.run.code = VerifiedCode::Commit(other)),
        ),
        (
            "forged",
            "names another task",
            Box::new(|_, result| result.run.task = id("u")),
        ),
        (
            "forged",
            "names another table",
            Box::new(|_, result| result.run.rules = 7),
        ),
        (
            "forged",
            "names another subject",
            Box::new(|_, result| result.tested = TestedCode::Tree { tree }),
        ),
        (
            "forged",
            "which its commit",
            Box::new(|_, result| {
                result.tested = TestedCode::Commit {
                    commit: defined,
                    tree: other,
                };
            }),
        ),
        (
            "forged",
            "does not contain its base",
            Box::new(|event, result| on(event, result, base(apart, apart, FoundBy::Branch))),
        ),
        (
            "unverifiable",
            "does not contain its base",
            Box::new(|event, result| {
                let VerifiedCode::Commit(code) = code else {
                    return;
                };
                on(event, result, base(apart, code, FoundBy::Branch));
                gone(result);
            }),
        ),
        (
            "forged",
            "and the step says",
            Box::new(|event, result| on(event, result, base(begin, other, FoundBy::Branch))),
        ),
        (
            "forged",
            "not before the commit that created the task",
            Box::new(|event, result| {
                let VerifiedCode::Commit(code) = code else {
                    return;
                };
                on(event, result, base(defined, code, FoundBy::Create));
            }),
        ),
    ];
    let mut is_first = true;
    for (standing, why, change) in cases {
        let mut result = honest();
        let mut event = Verification {
            returned: Vec::new(),
            name: tests.clone(),
            code,
            table,
            rules: result.run.rules,
            base: None,
            result: VerifiedResult {
                outcome: result.run.outcome,
                digest: other,
            },
        };
        change(&mut event, &mut result);
        let text = statement(&result);
        world.write(RESULT, &text);
        event.result.digest = Digest::of_blob(text.as_bytes());
        say(&world, Detail::Verify(event));
        let change = last(&world, standing);
        let told = change["why"].as_str().unwrap_or_default();
        assert!(told.contains(why), "{change:#}");
        // Nobody ran it: the tests fail. Only a rerun tells.
        if is_first {
            world
                .orch(&["audit", "--rerun"])
                .ends(1)
                .says("rerun of t tests: other")
                .says("it passed, and now it failed");
            is_first = false;
        }
    }
}

fn result(word: &str) -> Value {
    json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": "code", "digest": {"gitTree": "00"}}],
        "predicateType": "https://in-toto.io/attestation/test-result/v0.1",
        "predicate": {"result": word, "configuration": []},
    })
}

/// The deadline of the present attempt, passed `after` seconds after the phase was entered.
fn lapse(world: &World, after: i64) -> Said {
    let before = state(world);
    let here = phase(before.phase.as_deref().expect("a phase"));
    let entered = parsed(&world.read(LOG))
        .entered(&before.heads, &here)
        .expect("an entry");
    let at = Timestamp::from_seconds(entered.seconds() + after);
    let attempt = before.attempt(&here).max(1);
    let said = Detail::Lapse(Lapse {
        deadline: here.to_string(),
        attempt,
        entered,
        at,
    });
    Said {
        later: after.max(60),
        ..said.into()
    }
}

/// The same of a deadline with another name.
fn other_deadline(world: &World, name: &str) -> Said {
    let said = lapse(world, LATE);
    let Detail::Lapse(honest) = said.detail else {
        unreachable!()
    };
    let deadline = name.to_owned();
    Said {
        later: LATE,
        ..Detail::Lapse(Lapse { deadline, ..honest }).into()
    }
}

fn migrate(from: WorkflowRef, to: &str) -> Said {
    let own = WorkflowRef {
        name: LIFECYCLE.name.clone(),
        digest: LIFECYCLE.digest,
    };
    let said = Detail::Migrate(Migration {
        map: LIFECYCLE.map(),
        from,
        to: own,
    });
    Said {
        to: Some(phase(to)),
        ..said.into()
    }
}

fn workflow_of(world: &World) -> WorkflowRef {
    state(world).workflow.expect("a workflow")
}

/// A task in the review of its plan that follows an earlier text of the workflow.
fn at_an_earlier_version() -> World {
    let world = World::ready();
    let now = TIMED.as_str();
    world.write(DOCUMENT, format!("{now}\nMore words.\n"));
    world.commit("another text");
    world.orch(&["new", "t"]).succeeds();
    world.walk_to("t", "plan_review");
    world.write(DOCUMENT, now);
    world.commit("fewer words");
    world
}

/// What people and programs ask of a task, and that it continues.
#[track_caller]
fn goes_on(world: &World) {
    world.orch(&["status"]).succeeds();
    world.orch(&["log", "t"]).succeeds();
    world.orch(&["suggest", "t"]).succeeds();
    world.orch(&["explain", "t"]).succeeds();
    world.orch(&["check"]).succeeds();
    world.orch(&["check", "--strict"]).succeeds();
    world.orch(&["check", "--range", "HEAD~1..HEAD"]).succeeds();
    world.plan_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(world.phase("t"), "codegen");
    last(world, "proven");
    world.orch(&["check", "--strict"]).succeeds();
    assert_eq!(world.dirty(), "");
}

#[test]
fn each_kind_has_its_verdict_and_the_task_goes_on() {
    type Say = fn(&World);
    let kinds: [(&str, Say, &str, &str); 6] = [
        (
            "relate",
            |world| say(world, relate(&["u"])),
            "proven",
            "after u; priority high",
        ),
        (
            "take",
            |world| say(world, take(1, "w1")),
            "claimed",
            "w1, generation 1",
        ),
        (
            "verify",
            |world| {
                say(
                    world,
                    verify(world, VerifiedOutcome::Passed, &result("PASSED")),
                )
            },
            "claimed",
            "tests passed",
        ),
        (
            "a failed verify",
            |world| {
                say(
                    world,
                    verify(world, VerifiedOutcome::Failed, &result("FAILED")),
                )
            },
            "claimed",
            "tests failed",
        ),
        (
            "a flaky verify",
            |world| {
                say(
                    world,
                    verify(world, VerifiedOutcome::Passed, &result("WARNED")),
                )
            },
            "claimed",
            "tests passed",
        ),
        (
            "lapse",
            |world| say(world, lapse(world, LATE)),
            "claimed",
            "the deadline `plan_review` passed in attempt 1",
        ),
    ];
    for (what, say, standing, words) in kinds {
        let world = in_review();
        world.orch(&["new", "u"]).succeeds();
        say(&world);
        let change = last(&world, standing);
        assert_eq!(
            change["steps"].as_array().map(Vec::len),
            Some(1),
            "{what}: {change:#}"
        );
        uncommit(&world);
        world.orch(&["check", "--staged"]).succeeds();
        world.commit(what);
        world.orch(&["log", "t"]).says(words);
        world.orch(&["audit"]).succeeds();
        goes_on(&world);
    }
}

#[test]
fn a_verification_without_its_result_cannot_be_verified() {
    let world = in_review();
    let detail = verify(&world, VerifiedOutcome::Passed, &result("PASSED"));
    world.remove(RESULT);
    say(&world, detail);
    let change = last(&world, "unverifiable");
    assert!(
        change["why"]
            .as_str()
            .expect("why")
            .contains("is not in this commit"),
        "{change:#}"
    );
    // Neither can one whose file was put in place of its result, or says nothing.
    let detail = verify(&world, VerifiedOutcome::Passed, &result("PASSED"));
    verify(&world, VerifiedOutcome::Passed, &result("FAILED"));
    say(&world, detail);
    last(&world, "unverifiable");
    let detail = verify(
        &world,
        VerifiedOutcome::Passed,
        &json!({"note": "all is well"}),
    );
    say(&world, detail);
    let change = last(&world, "unverifiable");
    assert!(
        change["why"]
            .as_str()
            .expect("why")
            .contains("does not say how it ended"),
        "{change:#}"
    );
    goes_on(&world);
}

#[test]
fn a_migration_is_derived_from_the_map_of_the_document() {
    let world = at_an_earlier_version();
    // Prose makes no other machine, and whoever says so all the same is right.
    world.orch(&["migrate"]).ends(3);
    say(&world, migrate(workflow_of(&world), "plan_review"));
    last(&world, "proven");
    world.orch(&["log", "t"]).says("from global-state-machine@");
    world.orch(&["audit", "--strict"]).succeeds();
    goes_on(&world);
}

#[test]
fn every_forgery_of_a_kind_is_told() {
    type Forge = fn(&World);
    let forgeries: [(&str, Forge, &str); 19] = [
        (
            "waits for itself",
            |world| forge(world, relate(&["t"])),
            "cannot wait for itself",
        ),
        (
            "waits twice",
            |world| forge(world, relate(&["u", "v", "u"])),
            "waits for `u` twice",
        ),
        (
            "is part of itself",
            |world| {
                let parent = Some(id("t"));
                forge(
                    world,
                    Detail::Relate(Relations {
                        parent,
                        ..Relations::default()
                    }),
                );
            },
            "cannot be part of itself",
        ),
        (
            "passed, and its file says otherwise",
            |world| {
                say(
                    world,
                    verify(world, VerifiedOutcome::Passed, &result("FAILED")),
                )
            },
            "says otherwise",
        ),
        (
            "failed, and its file says otherwise",
            |world| {
                say(
                    world,
                    verify(world, VerifiedOutcome::Failed, &result("PASSED")),
                )
            },
            "says otherwise",
        ),
        (
            "failed, and its file says that it passed on another try",
            |world| {
                say(
                    world,
                    verify(world, VerifiedOutcome::Failed, &result("WARNED")),
                )
            },
            "says otherwise",
        ),
        (
            "an earlier take-over after a later one",
            |world| {
                say(world, take(3, "w1"));
                forge(world, take(2, "w2"));
            },
            "was held in generation 3, so generation 2 is over",
        ),
        (
            "the first take-over again",
            |world| {
                say(world, take(1, "w1"));
                forge(world, take(1, "w2"));
            },
            "was held in generation 1, so generation 1 is over",
        ),
        (
            "a deadline of another attempt",
            |world| {
                let said = lapse(world, LATE);
                let Detail::Lapse(honest) = said.detail else {
                    unreachable!()
                };
                forge(
                    world,
                    Detail::Lapse(Lapse {
                        attempt: 2,
                        ..honest
                    }),
                );
            },
            "it is of attempt 2",
        ),
        (
            "a deadline that passed before it began",
            |world| {
                let said = lapse(world, -60);
                forge(world, said);
            },
            "its times contradict each other",
        ),
        (
            "a deadline that is still to come",
            |world| {
                forge(
                    world,
                    Said {
                        later: 60,
                        ..lapse(world, LATE)
                    },
                )
            },
            "its times contradict each other",
        ),
        (
            "a deadline that passed too soon",
            |world| {
                let said = lapse(world, LATE - 1);
                forge(world, said);
            },
            "passes 6h after `plan_review` was entered",
        ),
        (
            "a deadline that nobody has set",
            |world| forge(world, other_deadline(world, "review")),
            "has no deadline `review`",
        ),
        (
            "a deadline of another phase",
            |world| forge(world, other_deadline(world, "codegen")),
            "is a deadline of `codegen`",
        ),
        (
            "another time of entry",
            |world| {
                let said = lapse(world, LATE);
                let Detail::Lapse(honest) = said.detail else {
                    unreachable!()
                };
                let entered = Timestamp::from_seconds(honest.entered.seconds() - 3600);
                forge(
                    world,
                    Said {
                        later: LATE,
                        ..Detail::Lapse(Lapse { entered, ..honest }).into()
                    },
                );
            },
            "was entered at",
        ),
        (
            "a deadline that passes twice",
            |world| {
                let said = lapse(world, LATE);
                let again = Said {
                    later: 60,
                    ..Said::from(said.detail.clone())
                };
                say(world, said);
                forge(world, again);
            },
            "has passed already",
        ),
        (
            "a migration that leads elsewhere",
            |world| forge(world, migrate(workflow_of(world), "codegen")),
            "the map leads from `plan_review` to `plan_review`",
        ),
        (
            "a migration by another map",
            |world| {
                let Said { detail, to, .. } = migrate(workflow_of(world), "plan_review");
                let Detail::Migrate(honest) = detail else {
                    unreachable!()
                };
                let map = Digest::of_blob(b"map");
                let detail = Detail::Migrate(Migration { map, ..honest });
                forge(
                    world,
                    Said {
                        to,
                        ..detail.into()
                    },
                );
            },
            "it names another map",
        ),
        (
            "a migration from elsewhere",
            |world| {
                let other = WorkflowRef {
                    digest: Digest::of_blob(b"other"),
                    ..workflow_of(world)
                };
                forge(world, migrate(other, "planning"));
            },
            "did not follow",
        ),
    ];
    for (what, make, why) in slice(forgeries, 2) {
        let world = in_review();
        make(&world);
        let change = last(&world, "forged");
        assert!(
            change["why"].as_str().expect("why").contains(why),
            "{what}: {change:#}"
        );
        world.orch(&["audit"]).ends(1);
        world
            .orch(&["check", "--range", "HEAD~1..HEAD"])
            .ends(1)
            .says(why);
        uncommit(&world);
        world.orch(&["check", "--staged"]).ends(1).says(why);
    }
}

/// A state keeps few entries of its history, and the one that entered its phase.
#[test]
fn the_time_at_which_a_phase_was_entered_is_that_of_the_log() {
    let world = in_review();
    let Said {
        detail: Detail::Lapse(honest),
        ..
    } = lapse(&world, LATE)
    else {
        unreachable!()
    };
    for generation in 1..5 {
        say(&world, take(generation, "w"));
    }
    let fork = world.git(&["rev-parse", "HEAD"]);
    let late = |lapse: Lapse| Said {
        later: LATE,
        ..Detail::Lapse(lapse).into()
    };
    say(&world, late(honest.clone()));
    last(&world, "claimed");
    world.git(&["reset", "-q", "--hard", fork.trim()]);
    let entered = Timestamp::from_seconds(honest.entered.seconds() - 3600);
    forge(&world, late(Lapse { entered, ..honest }));
    let change = last(&world, "forged");
    assert!(
        change["why"]
            .as_str()
            .expect("why")
            .contains("was entered at"),
        "{change:#}"
    );
}

#[test]
fn a_step_is_held_to_the_take_over_that_it_names() {
    let of = |generation: u64| Said {
        generation: Some(generation),
        ..relate(&["u"]).into()
    };
    let world = in_review();
    world.orch(&["new", "u"]).succeeds();
    say(
        &world,
        Said {
            generation: Some(1),
            ..take(1, "w1").into()
        },
    );
    last(&world, "claimed");
    say(&world, of(1));
    last(&world, "proven");
    say(
        &world,
        Said {
            generation: Some(2),
            ..take(2, "w2").into()
        },
    );
    last(&world, "claimed");
    say(&world, of(2));
    last(&world, "proven");
    world.orch(&["log", "t"]).says("w2, generation 2");
    let taken = world.git(&["rev-parse", "HEAD"]);
    for (what, said, why) in [
        ("a former holder", of(1), "held in generation 2 by w2"),
        ("a holder to come", of(3), "held in generation 2 by w2"),
        (
            "a take-over in the name of the former",
            Said {
                generation: Some(2),
                ..take(3, "w3").into()
            },
            "held in generation 3 by w3",
        ),
    ] {
        say(&world, said);
        let change = last(&world, "forged");
        assert!(
            change["why"].as_str().expect("why").contains(why),
            "{what}: {change:#}"
        );
        world.git(&["reset", "-q", "--hard", taken.trim()]);
    }
    goes_on(&world);
    let world = in_review();
    say(&world, of(1));
    let change = last(&world, "forged");
    assert!(
        change["why"]
            .as_str()
            .expect("why")
            .contains("nobody has taken the task"),
        "{change:#}"
    );
}

#[test]
fn other_tasks_that_a_step_names_stood_so() {
    let world = in_review();
    world.orch(&["new", "u"]).succeeds();
    let heads = || -> Digest {
        let state = world.json("tasks/u/state.json");
        Digest::parse(state["heads"][0].as_str().expect("an id")).expect("an id")
    };
    let created = heads();
    let seen = |phase_name: &str, done: bool, head: Digest| {
        let other = OtherTask {
            id: id("u"),
            phase: phase(phase_name),
            done,
            failed: false,
            workflow: WorkflowName::new("global-state-machine").expect("a name"),
            part: false,
            head,
        };
        Said {
            others: vec![other],
            ..relate(&["u"]).into()
        }
    };
    say(&world, seen("planning", false, created));
    last(&world, "proven");
    world.walk_to("u", "done");
    say(&world, seen("done", true, heads()));
    last(&world, "proven");
    // What it was before is in the history.
    say(&world, seen("planning", false, created));
    last(&world, "proven");
    let fork = world.git(&["rev-parse", "HEAD"]);
    for (what, said, standing, why) in [
        (
            "another phase",
            seen("codegen", false, created),
            "forged",
            "was in `planning`",
        ),
        (
            "done too early",
            seen("planning", true, created),
            "forged",
            "was not done",
        ),
        (
            "not done",
            seen("done", false, heads()),
            "forged",
            "was done",
        ),
        (
            "an event of nobody",
            seen("done", true, Digest::of_blob(b"x")),
            "unverifiable",
            "no commit before it",
        ),
    ] {
        say(&world, said);
        let change = last(&world, standing);
        assert!(
            change["why"].as_str().expect("why").contains(why),
            "{what}: {change:#}"
        );
        world.git(&["reset", "-q", "--hard", fork.trim()]);
    }
    // A task that was removed is in the history all the same.
    let (head, said) = (heads(), "done");
    world.git(&["rm", "-q", "-r", "tasks/u"]);
    world.commit("u is gone");
    say(&world, seen(said, true, head));
    last(&world, "proven");
    // The removal is told until the relation is taken away.
    world.orch(&["check"]).ends(1).says("there is no task `u`");
    world.orch(&["relate", "t", "--not-after", "u"]).succeeds();
    goes_on(&world);
}

/// All kinds between steps of the rules, on a branch.
fn on_a_branch() -> World {
    let world = in_review();
    world.orch(&["new", "u"]).succeeds();
    world.git(&["switch", "-q", "-c", "work"]);
    say(&world, relate(&["u"]));
    say(&world, take(1, "w1"));
    say(&world, lapse(&world, LATE));
    world.plan_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    say(
        &world,
        verify(&world, VerifiedOutcome::Failed, &result("FAILED")),
    );
    world.patch("t", 1);
    world.orch(&["next", "t"]).succeeds();
    say(
        &world,
        verify(&world, VerifiedOutcome::Passed, &result("PASSED")),
    );
    world.code_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    world
}

#[test]
fn they_survive_a_squash_a_rebase_and_an_import() {
    let world = on_a_branch();
    let own = standings(&world);
    assert!(
        own.iter().all(|one| one == "proven" || one == "claimed"),
        "{own:?}"
    );
    world.git(&["switch", "-q", "main"]);
    world.git(&["merge", "-q", "--squash", "work"]);
    world.git(&["commit", "-q", "-m", "squashed"]);
    let change = last(&world, "folded");
    assert_eq!(
        change["steps"].as_array().map(Vec::len),
        Some(8),
        "{change:#}"
    );
    world.orch(&["check", "--range", "HEAD~1..HEAD"]).succeeds();
    world.git(&["reset", "-q", "--hard", "HEAD~1"]);
    world.write("src/other.rs", "elsewhere\n");
    world.commit("elsewhere");
    world.git(&["switch", "-q", "work"]);
    world.git(&["rebase", "-q", "main"]);
    let after = standings(&world);
    assert_eq!(after, own);
    world.orch(&["check", "--range", "main..HEAD"]).succeeds();
    world.git(&["switch", "-q", "--orphan", "imported"]);
    world.git(&["checkout", "work", "--", "."]);
    world.git(&["commit", "-q", "-m", "import"]);
    // The code before it is not in this history.
    assert!(!standings(&world).contains(&"forged".to_owned()));
}

#[test]
fn both_sides_of_a_merge_keep_what_they_said() {
    let world = in_review();
    for other in ["u", "v"] {
        world.orch(&["new", other]).succeeds();
    }
    world.orch(&["init", "--merge-driver"]);
    if !world.dirty().is_empty() {
        world.commit("the merge driver");
    }
    say(&world, relate(&["u"]));
    world.git(&["switch", "-q", "-c", "other"]);
    say(&world, relate(&["u", "v"]));
    say(&world, take(1, "w1"));
    say(
        &world,
        verify(&world, VerifiedOutcome::Passed, &result("PASSED")),
    );
    say(&world, lapse(&world, LATE));
    world.git(&["switch", "-q", "main"]);
    say(&world, lapse(&world, LATE));
    say(&world, take(1, "w2"));
    world.git_ended(&["merge", "-q", "-m", "merged", "other"]);
    world.orch(&["resolve"]);
    if !world.dirty().is_empty() {
        world.commit("merged");
    }
    let joined = state(&world);
    assert_eq!(joined.relations.after, [id("u"), id("v")]);
    assert_eq!(
        joined.holder,
        Some(Holder {
            generation: 1,
            owner: "w2".to_owned()
        })
    );
    assert_eq!(joined.run.verified.len(), 1);
    assert_eq!(joined.actors["plan_review"].lapsed.len(), 1);
    assert!(
        standings(&world)
            .iter()
            .all(|one| one != "forged" && one != "unverifiable"),
        "{:?}",
        standings(&world)
    );
    say(
        &world,
        Said {
            generation: Some(2),
            ..take(2, "w1").into()
        },
    );
    last(&world, "claimed");
    goes_on(&world);
}

#[test]
fn what_is_no_work_stays_when_an_order_is_taken_back() {
    let world = in_review();
    world
        .orch(&["next", "t", "--override", "It is urgent."])
        .succeeds();
    world
        .orch(&["undo", "t", "--reason", "It is not."])
        .succeeds();
    world
        .orch(&[
            "rollback",
            "t",
            "--to",
            "planning",
            "--reason",
            "Plan again.",
        ])
        .succeeds();
    world.orch(&["new", "u"]).succeeds();
    say(&world, relate(&["u"]));
    say(&world, take(1, "w1"));
    say(
        &world,
        verify(&world, VerifiedOutcome::Passed, &result("PASSED")),
    );
    world
        .orch(&["undo", "t", "--reason", "It was right."])
        .succeeds();
    assert_eq!(world.phase("t"), "plan_review");
    last(&world, "overridden");
    let kept = state(&world);
    assert_eq!(
        (kept.relations.after.len(), kept.run.verified.len()),
        (1, 1)
    );
    assert_eq!(
        kept.holder,
        Some(Holder {
            generation: 1,
            owner: "w1".to_owned()
        })
    );
    // So does a deadline that passed in an attempt which continues, and none of an attempt that was taken back.
    world
        .orch(&[
            "next",
            "t",
            "--override",
            "It is urgent.",
            "--to",
            "codegen",
        ])
        .succeeds();
    say(&world, lapse(&world, LATE));
    world
        .orch(&["undo", "t", "--reason", "It is not."])
        .succeeds();
    assert_eq!(lapsed(&world), 0);
    world.plan_review("t", false, 2);
    world.orch(&["next", "t"]).succeeds();
    world
        .orch(&["confirm", "t", "plan", "--reason", "It is right."])
        .succeeds();
    say(&world, lapse(&world, LATE));
    last(&world, "claimed");
    world
        .orch(&["undo", "t", "--reason", "It is not."])
        .succeeds();
    assert_eq!((world.phase("t").as_str(), lapsed(&world)), ("planning", 1));
    last(&world, "overridden");
    forge(&world, lapse(&world, LATE));
    let change = last(&world, "forged");
    assert!(
        change["why"]
            .as_str()
            .expect("why")
            .contains("has passed already"),
        "{change:#}"
    );
}

/// How many deadlines passed in the latest attempts.
fn lapsed(world: &World) -> usize {
    state(world)
        .actors
        .values()
        .map(|actor| actor.lapsed.len())
        .sum()
}
