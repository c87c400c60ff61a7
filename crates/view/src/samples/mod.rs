//! Hand-made values for the tests of this room.

mod workflow;

pub use workflow::workflow;

use super::{Repository, StepView, Subject};
use orch_base::{
    ActionName, ArtifactName, Code, Diagnostic, Digest, Hint, PhaseId, Place, RepoPath, RuleId,
    TaskId, TaskPlace, Timestamp, WorkflowName,
};
use orch_core::decide::{
    ActorKind, BrokenNeed, By, Choice, Decision, Derived, DerivedFile, Evidence, ExpectState,
    Expectation, GuardPart, HistoryEntry, Kind, Move, NamedVersion, Relations, Runner, SendBack,
    Transition, Tried, Truth, Verdict,
};
use orch_core::workflow::{Format, Owner, System, Workflow};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Everything that a [`Subject`] borrows.
pub struct Sample {
    pub decision: Decision,
    pub workflow: Workflow,
    pub system: System,
    pub place: TaskPlace,
    pub runner: Option<Runner>,
}

impl Sample {
    pub fn subject(&self) -> Subject<'_> {
        Subject {
            decision: &self.decision,
            workflow: &self.workflow,
            system: &self.system,
            title: Some("Log in with a passkey"),
            place: &self.place,
            path: self.place.shown([]),
            unmoved_since: None,
            system_dir: Some("system"),
            issue_places: Vec::new(),
            has_executors: true,
            held: None,
            runner: self.runner.as_ref(),
        }
    }
}

pub fn task() -> TaskId {
    TaskId::new("t-42").expect("valid")
}

pub fn place() -> TaskPlace {
    TaskPlace::of_directory(RepoPath::new("tasks/t-42").expect("valid"))
}

pub fn repository() -> Repository {
    Repository {
        root: "/repo".to_owned(),
        branch: Some("main".to_owned()),
        head: Some("c0ffee0123".to_owned()),
        source: "work-dir".to_owned(),
    }
}

pub fn phase(name: &str) -> PhaseId {
    PhaseId::new(name).expect("valid")
}

pub fn artifact(name: &str) -> ArtifactName {
    ArtifactName::new(name).expect("valid")
}

fn rule(name: &str) -> RuleId {
    RuleId::new(name).expect("valid")
}

pub fn evidence(name: &str, path: &str, text: &str) -> Evidence {
    let digest = Digest::of_blob(text.as_bytes());
    Evidence {
        artifact: artifact(name),
        files: vec![(path.to_owned(), digest)],
        digest,
        valid: true,
        committed: true,
    }
}

fn transition(
    from: Option<&str>,
    to: &str,
    kind: Kind,
    name: Option<&str>,
    reason: &str,
) -> Transition {
    Transition {
        rule: name.map(rule),
        ..Transition::new(from.map(phase), phase(to), kind, reason)
    }
}

pub fn advance() -> Transition {
    Transition {
        evidence: vec![evidence("plan", "planning/plan.json", "plan")],
        ..transition(
            Some("planning"),
            "plan_review",
            Kind::Advance,
            Some("plan-final"),
            "the plan is final and holds no blocking question",
        )
    }
}

pub fn regress() -> Transition {
    let reason = "the plan review names a blocking issue";
    transition(
        Some("plan_review"),
        "planning",
        Kind::Regress,
        Some("plan-blocked"),
        reason,
    )
}

pub fn create() -> Transition {
    transition(None, "planning", Kind::Create, None, "the task is new")
}

fn choice(id: &'static str, argv: &[&str], by: Owner, effect: &str) -> Choice {
    Choice {
        id,
        argv: argv.iter().map(|word| (*word).to_owned()).collect(),
        by,
        effect: effect.to_owned(),
    }
}

fn expected(
    name: &str,
    path: &str,
    format: Format,
    state: ExpectState,
    because: &str,
) -> Expectation {
    Expectation {
        artifact: artifact(name),
        path: path.to_owned(),
        format,
        schema: None,
        state,
        because: because.to_owned(),
        of: BTreeMap::new(),
        problems: Vec::new(),
    }
}

fn derived(name: &str, path: &str, valid: bool) -> Derived {
    let digest = Some(Digest::of_blob(name.as_bytes()));
    Derived {
        name: artifact(name),
        files: vec![DerivedFile {
            path: path.to_owned(),
            digest,
            valid,
            not_counted: None,
        }],
        present: true,
        valid,
        fresh: true,
        changed: false,
        digest,
        stale_because: None,
        writers: Vec::new(),
        of: BTreeMap::new(),
        tree: None,
    }
}

/// A task in a phase, with a verdict and a reason, and nothing else.
pub fn plain(current: &str, verdict: Verdict, reason: &str) -> Sample {
    let decision = Decision {
        grounds: Vec::new(),
        task: task(),
        workflow: WorkflowName::new("global-state-machine").expect("valid"),
        rev: 3,
        phase: Some(phase(current)),
        substate: None,
        remarks: Vec::new(),
        attempt: 1,
        way: Vec::new(),
        verdict,
        reason: reason.to_owned(),
        rule: None,
        tried: Vec::new(),
        inputs: Vec::new(),
        sent_back: None,
        evidence: Vec::new(),
        blocked_by: Vec::new(),
        relations: Relations::default(),
        expects: Vec::new(),
        deadlines: Vec::new(),
        moves: Vec::new(),
        verifications: Vec::new(),
        options: Vec::new(),
        question: None,
        waived: Vec::new(),
        artifacts: Vec::new(),
        lost: Vec::new(),
        diagnostics: Vec::new(),
    };
    let system = System::empty().with(
        "agents/plan-reviewer.md",
        "# Plan reviewer\n\nJudge the plan.\n",
    );
    Sample {
        decision,
        workflow: workflow(),
        system,
        place: place(),
        runner: None,
    }
}

pub fn transition_due() -> Sample {
    let due = advance();
    let mut sample = plain(
        "planning",
        Verdict::Transition(Box::new(due.clone())),
        &due.reason,
    );
    sample.decision.evidence = due.evidence;
    sample.decision.rule = due.rule;
    sample.decision.moves = vec![Move {
        to: phase("plan_review"),
        rule: rule("plan-final"),
        allowed: true,
        unmet: Vec::new(),
    }];
    sample
}

fn waiting(current: &str, reason: &str) -> Sample {
    plain(
        current,
        Verdict::Wait {
            what: "the outputs".to_owned(),
            owner: Owner::Agent,
        },
        reason,
    )
}

pub fn write_missing() -> Sample {
    let mut sample = waiting("codegen", "the outputs of codegen are not there yet");
    sample.decision.attempt = 2;
    sample.decision.sent_back = Some(SendBack {
        from: phase("review"),
        rule: Some("code-refused".to_owned()),
        reason: "the code review refuses the code".to_owned(),
        verdicts: Vec::new(),
        results: Vec::new(),
        issues: Vec::new(),
        omitted: 2,
    });
    sample.decision.substate = Some(json!("generate"));
    sample.decision.inputs = vec![evidence("plan", "planning/plan.json", "plan")];
    let because = "nothing new since attempt 1 was sent back";
    sample.decision.expects = vec![expected(
        "patch",
        "code/diff.patch",
        Format::Patch,
        ExpectState::Missing,
        because,
    )];
    sample.decision.waived = vec![artifact("plan_review")];
    let effect = "print the complete instructions";
    sample.decision.options = vec![choice(
        "prompt",
        &["orch", "prompt", "t-42"],
        Owner::Agent,
        effect,
    )];
    sample.decision.moves = vec![Move {
        to: phase("done"),
        rule: rule("patch-ready"),
        allowed: false,
        unmet: vec!["patch.ready is false".to_owned()],
    }];

    sample.decision.tried = vec![
        Tried {
            rule: rule("plan-changed"),
            outcome: "to plan_review".to_owned(),
            to: Some(phase("plan_review")),
            line: Some(88),
            result: Truth::False,
            parts: vec![
                GuardPart {
                    text: "plan.ready".to_owned(),
                    result: Truth::True,
                    saw: vec![saw("plan.ready", Some(json!(true)))],
                    within: None,
                },
                GuardPart {
                    text: "plan.changed || state.force == plan.data.size".to_owned(),
                    result: Truth::False,
                    saw: vec![
                        saw("plan.changed", Some(json!(false))),
                        saw("state.force", None),
                        saw("plan.data.size", Some(json!("x".repeat(200)))),
                    ],
                    within: None,
                },
                GuardPart {
                    text: "plan.data.size > 3".to_owned(),
                    result: Truth::False,
                    saw: vec![saw("plan.data.size", Some(json!(2)))],
                    within: Some("plan_is_big".to_owned()),
                },
            ],
        },
        Tried {
            rule: rule("patch-ready"),
            outcome: "to done".to_owned(),
            to: Some(phase("done")),
            line: Some(95),
            result: Truth::Error("no such key: lines".to_owned()),
            parts: vec![GuardPart {
                text: "patch.data.lines > 0".to_owned(),
                result: Truth::Error("no such key: lines".to_owned()),
                saw: vec![saw("patch.data", None)],
                within: None,
            }],
        },
        Tried {
            rule: rule("idle"),
            outcome: "wait for a patch".to_owned(),
            to: None,
            line: None,
            result: Truth::NotTried,
            parts: Vec::new(),
        },
    ];
    let mut missing = derived("patch", "", false);
    missing.files.clear();
    missing.digest = None;
    missing.present = false;
    let mut review = derived("plan_review", "review/plan/verdict.json", true);
    review.fresh = false;
    review.changed = true;
    review.stale_because = Some("it judged another plan".to_owned());
    review.of = BTreeMap::from([("plan".to_owned(), NamedVersion::Unreadable)]);
    sample.decision.artifacts = vec![derived("plan", "planning/plan.json", true), review, missing];
    sample
}

pub fn fix_invalid() -> Sample {
    let mut sample = waiting("plan_review", "the plan review is not valid");
    let mut expected = expected(
        "plan_review",
        "review/plan/verdict.json",
        Format::Json,
        ExpectState::Invalid,
        "its schema refuses it",
    );
    expected.schema = Some("plan-review".to_owned());
    expected.of = BTreeMap::from([(artifact("plan"), Digest::of_blob(b"plan"))]);
    let place = Place {
        path: "tasks/t-42/review/plan/verdict.json".to_owned(),
        line: Some(3),
        column: Some(9),
        length: 5,
        pointer: Some("/ok".to_owned()),
        excerpt: None,
    };
    expected.problems = vec![
        Diagnostic::error(Code::SchemaMismatch, "\"flase\" is not a boolean")
            .at(place)
            .hint("did you mean `false`?"),
    ];
    sample.decision.remarks = vec!["the plan names no test".to_owned()];
    sample.decision.expects = vec![expected];
    sample.decision.inputs = vec![evidence("plan", "planning/plan.json", "plan")];
    sample.decision.options = vec![choice(
        "override",
        &["orch", "next", "t-42", "--override", "REASON"],
        Owner::Human,
        "moves to codegen without a review",
    )];
    sample
}

pub fn renew_stale() -> Sample {
    let mut sample = waiting(
        "plan_review",
        "the plan review judged a plan that has changed since",
    );
    let mut expected = expected(
        "plan_review",
        "review/plan/verdict.json",
        Format::Json,
        ExpectState::Stale,
        "unchanged since attempt 1 was sent back",
    );
    expected.schema = Some("plan-review".to_owned());
    sample.decision.expects = vec![expected];
    sample.decision.options = vec![choice(
        "confirm",
        &[
            "orch",
            "confirm",
            "t-42",
            "plan_review",
            "--reason",
            "REASON",
        ],
        Owner::Human,
        "says that the same bytes are right",
    )];
    sample
}

pub fn inconsistent() -> Sample {
    let broken = vec![BrokenNeed {
        outdated: None,
        artifact: artifact("plan"),
        path: "planning/plan.json".to_owned(),
        missing: true,
        recorded: Some(Digest::of_blob(b"plan")),
    }];
    let verdict = Verdict::Inconsistent {
        phase: phase("codegen"),
        broken,
        last_consistent: Some(phase("planning")),
    };
    let mut sample = plain(
        "codegen",
        verdict,
        "codegen needs plan, which is missing (planning/plan.json)",
    );
    sample.decision.options = vec![choice(
        "rollback",
        &["orch", "rollback", "t-42", "--reason", "REASON"],
        Owner::Human,
        "goes back to planning",
    )];
    sample
}

pub fn error() -> Sample {
    let mut sample = plain(
        "codegen",
        Verdict::Error {
            code: Code::JsonSyntax,
        },
        "state.json cannot be read",
    );
    sample.decision.phase = None;
    let place = Place {
        path: "tasks/t-42/state.json".to_owned(),
        line: Some(2),
        column: Some(3),
        ..Place::default()
    };
    sample.decision.diagnostics = vec![
        Diagnostic::error(Code::JsonSyntax, "expected `,` or `}`")
            .at(place)
            .hint(Hint::run(&["orch", "recover", "t-42"])),
    ];
    sample
}

pub fn handover() -> Sample {
    let held = Box::new(regress());
    let reason = "planning has been attempted 3 times, which is all the workflow allows";
    let mut sample = plain(
        "plan_review",
        Verdict::Handover { held, attempts: 3 },
        reason,
    );
    sample.decision.options = vec![choice(
        "approve",
        &["orch", "approve", "t-42"],
        Owner::Human,
        "sends it back once more",
    )];
    sample
}

pub fn done() -> Sample {
    plain(
        "done",
        Verdict::Done {
            changed: Vec::new(),
        },
        "done is a terminal phase",
    )
}

pub fn livelock() -> Sample {
    let cycle = vec![phase("planning"), phase("plan_review")];
    let reason = "the rules go from planning to plan_review and back without using up any evidence";
    plain("planning", Verdict::Livelock { cycle }, reason)
}

pub fn run() -> Sample {
    let action = ActionName::new("lint").expect("valid");
    plain(
        "codegen",
        Verdict::Run(action),
        "the code has not been linted",
    )
}

pub fn log() -> Vec<StepView> {
    vec![
        StepView::recorded(
            "t-42",
            &place(),
            &entry(1, &create(), ActorKind::Human, "Ada"),
            None,
        ),
        StepView::recorded(
            "t-42",
            &place(),
            &entry(2, &advance(), ActorKind::Orch, "orch"),
            Some("c0ffee01234567"),
        ),
    ]
}

fn saw(name: &str, value: Option<Value>) -> (String, Option<Value>) {
    (name.to_owned(), value)
}

/// A step as it is recorded.
fn entry(seq: u64, transition: &Transition, kind: ActorKind, name: &str) -> HistoryEntry {
    HistoryEntry {
        rests_on: Vec::new(),
        base: None,
        version: orch_core::decide::RecordVersion::CURRENT,
        files: orch_core::decide::NotedFiles::new(),
        inputs: None,
        seq,
        at: Timestamp::parse("2026-11-21T04:50:00Z").expect("valid"),
        from: transition.from.clone(),
        to: transition.to.clone(),
        kind: transition.kind,
        rule: transition.rule.as_ref().map(ToString::to_string),
        reason: transition.reason.clone(),
        actor: By {
            kind,
            name: name.to_owned(),
        },
        evidence: transition
            .evidence
            .iter()
            .flat_map(|proof| &proof.files)
            .map(|(path, digest)| (path.clone(), digest.to_string()))
            .collect(),
        waived: Vec::new(),
        confirmed: None,
        lost: orch_core::decide::LostTests::new(),
        action: transition.action.clone(),
        performance: None,
        detail: None,
        generation: None,
        others: Vec::new(),
    }
}
