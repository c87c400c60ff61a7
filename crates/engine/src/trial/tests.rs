//! The tests of the documents that ship, and what is found for documents without any.

use super::{Play, PlayChoice, TrialWorkflow, WantedCase, examples};
use orch_core::workflow::{Document, System, Workflow, cases, compile};
use orch_read::Schemas;
use std::collections::BTreeSet;

const SCHEMA: &str = r#"{"type": "object", "required": ["ok"], "properties": {
    "ok": {"type": "boolean"}, "grade": {"enum": ["good", "bad"]}}, "examples": [{"ok": true}]}"#;
const MACHINE: &str = r#"# W

```toml orch
[artifact.draft]
path = "draft.json"
[artifact.review]
path = "review.json"
schema = "r"
judges = ["draft"]
[phase.write]
produces = ["draft"]
[phase.review]
needs = ["draft"]
produces = ["review"]
[phase.end]
terminal = true
[[rule]]
id = "written"
from = "write"
when = "draft.ready"
to = "review"
because = "it is written"
[[rule]]
id = "fine"
from = "review"
when = "review.ready && review.data.ok"
group = "verdicts"
to = "end"
because = "it is fine"
[[rule]]
id = "poor"
from = "review"
when = "review.ready && has(review.data.grade) && review.data.grade == 'bad'"
group = "verdicts"
to = "write"
because = "it is poor"
```
"#;

fn compiled(name: &str, text: &str, system: &System) -> (Document, Workflow) {
    let document = Document::new(name, format!("{name}.md"), text);
    let (workflow, problems) = compile(&document, system);
    (
        document,
        workflow.unwrap_or_else(|| panic!("{problems:#?}")),
    )
}

fn small(more: &str) -> (Document, Workflow) {
    let system = System::empty().with("schemas/r.schema.json", SCHEMA);
    compiled("w", &format!("{MACHINE}{more}"), &system)
}

#[test]
fn the_tests_of_the_documents_that_ship_pass_and_cover_them_whole() {
    let system = System::shipped();
    for name in system.names("workflows", ".md") {
        let (document, workflow) =
            compiled(name, system.workflow(name).expect("it ships"), &system);
        let schemas = Schemas::default();
        let run = TrialWorkflow::of(&document, &workflow, &schemas).run();
        assert_eq!(run.findings, Vec::new(), "{name}");
        assert_eq!(run.passed, run.count, "{name}");
        assert_eq!(run.open(&workflow), (Vec::new(), Vec::new()), "{name}");
    }
}

#[test]
fn a_failing_test_says_what_was_expected_what_came_and_why() {
    let (document, workflow) = small(
        "\n```toml orch-test\n[[test]]\nname = \"bad\"\nphase = \"review\"\ngiven.draft = true\n\
         given.review = { ok = false }\nexpect = { rule = \"fine\", who = \"orch\" }\n```\n",
    );
    let schemas = Schemas::default();
    let run = TrialWorkflow::of(&document, &workflow, &schemas).run();
    let found = &run.findings[0];
    assert_eq!(
        found.message,
        "test `bad`: rule should be `fine`, and is `none`: no rule of `review` fires: fine: `review.data.ok` \
         (review.data.ok is false); poor: `has(review.data.grade)` (review.data.grade is missing)"
    );
    let hint = found.hint.clone().unwrap_or_default().to_string();
    assert_eq!(
        hint,
        "in rule `fine` on line 23, `review.data.ok` is false (review.data.ok = false)"
    );
    let line = found.place.as_ref().and_then(|place| place.line);
    let expected = document
        .text
        .lines()
        .position(|line| line.starts_with("expect"));
    assert_eq!(
        line.map(|line| line as usize),
        expected.map(|line| line + 1)
    );
    assert_eq!((run.passed, run.coverage.rules.len()), (0, 0));
}

#[test]
fn what_is_missing_is_printed_as_tests_that_cover_everything() {
    let (document, workflow) = small("");
    let schemas = Schemas::default();
    let trial = TrialWorkflow::of(&document, &workflow, &schemas);
    let mut blocks = String::new();
    for case in trial.missing(&trial.run()) {
        let text = case.test_text().unwrap_or_else(|| panic!("{case:#?}"));
        blocks.push_str(&format!("\n```toml orch-test\n{text}```\n"));
    }
    let (document, workflow) = small(&blocks);
    let run = TrialWorkflow::of(&document, &workflow, &schemas).run();
    assert_eq!(run.findings, Vec::new(), "{blocks}");
    assert_eq!(
        (run.passed, run.open(&workflow)),
        (3, (Vec::new(), Vec::new())),
        "{blocks}"
    );
}

#[test]
fn the_example_of_an_overlap_is_a_task_in_which_both_rules_hold() {
    let (document, workflow) = small("");
    let schemas = Schemas::default();
    let trial = TrialWorkflow::of(&document, &workflow, &schemas);
    let found = examples(&trial, false);
    let names: Vec<&str> = found.iter().map(|example| example.name.as_str()).collect();
    // A verdict that is neither fine nor poor is covered by no rule.
    assert_eq!(names, ["w.review.fine.poor", "w.review.gap"]);
    for example in &found {
        let paths: Vec<&str> = example.files.keys().map(String::as_str).collect();
        assert_eq!(
            paths,
            [
                "draft.json",
                "review.json",
                "state.json",
                "transcript.jsonl"
            ]
        );
    }
    let overlaps = cases(&workflow);
    let overlap = overlaps
        .iter()
        .flat_map(|of| &of.overlaps)
        .next()
        .expect("one");
    let phase = &workflow.phases[1].id;
    let wanted = WantedCase::Both {
        phase,
        first: overlap.first,
        second: overlap.second,
    };
    let case = trial.find(wanted).expect("both hold");
    assert!(
        case.test_text("both").contains("grade = \"bad\""),
        "{}",
        case.test_text("both")
    );
}

/// Each finding about cases, in one document.
const FAULTY: &str = r#"# F

```toml orch
[artifact.draft]
path = "draft.json"
[artifact.review]
path = "review.json"
schema = "r"
judges = ["draft"]
[artifact.proof]
path = "proof.json"
[phase.write]
produces = ["draft"]
[phase.review]
needs = ["draft"]
produces = ["review"]
[phase.prove]
needs = ["proof"]
produces = ["proof"]
[phase.round]
produces = ["review"]
[phase.end]
terminal = true
[[rule]]
id = "written"
from = "write"
when = "draft.ready"
to = "review"
because = "it is written"
[[rule]]
id = "fine"
from = "review"
when = "review.ready && review.data.ok"
to = "prove"
because = "it is fine"
[[rule]]
id = "finer"
from = "review"
when = "review.ready && review.data.ok && draft.present"
to = "end"
because = "it is finer"
[[rule]]
id = "never"
from = "prove"
when = "false"
to = "end"
because = "nobody knows"
[[rule]]
id = "once-more"
from = "prove"
when = "draft.present"
to = "review"
because = "it is read once more"
[[rule]]
id = "odd"
from = "review"
when = "review.ready && !review.data.ok"
to = "round"
because = "it is odd"
[[rule]]
id = "stays"
from = "round"
when = "draft.present"
to = "round"
because = "it stays"
[[rule]]
id = "leaves"
from = "round"
when = "false"
to = "write"
because = "nobody knows"
```
"#;

#[test]
fn each_finding_about_cases_has_an_example() {
    let system = System::empty().with("schemas/r.schema.json", SCHEMA);
    let (document, workflow) = compiled("f", FAULTY, &system);
    let schemas = Schemas::default();
    let trial = TrialWorkflow::of(&document, &workflow, &schemas);
    let found: Vec<(String, bool)> = examples(&trial, false)
        .into_iter()
        .map(|example| (example.name, example.files.is_empty()))
        .collect();
    let found: Vec<(&str, bool)> = found
        .iter()
        .map(|(name, is_empty)| (name.as_str(), *is_empty))
        .collect();
    assert_eq!(
        found,
        [
            ("f.prove.gap", false),
            ("f.round.gap", false),
            ("f.round.stays.again", false),
            ("f.review.finer.covered", false),
            ("f.prove.proof.unmade", false),
            ("f.round.endless", false),
        ]
    );
}

/// Chooses in turn what begins like this.
fn choose(play: &mut Play<'_, '_>, beginnings: &[&str]) {
    for begins in beginnings {
        let choices = play.choices();
        let choice = choices
            .iter()
            .find(|choice| choice.label.starts_with(begins));
        let choice = choice.unwrap_or_else(|| panic!("{begins}: {choices:#?}"));
        play.choose(choice);
    }
}

#[test]
fn a_play_goes_where_its_choices_lead() {
    let (document, workflow) = small("");
    let schemas = Schemas::default();
    let trial = TrialWorkflow::of(&document, &workflow, &schemas);
    let mut play = Play::begin(&trial);
    choose(
        &mut play,
        &["draft.json appears", "review.json appears: as its schema"],
    );
    assert_eq!(
        play.way,
        ["write -> review (written)", "review -> end (fine)"]
    );
    assert!(play.is_over());
}

const SURROUNDED: &str = r#"# S

```toml orch
[artifact.draft]
path = "draft.json"
[artifact.code]
tree = ["**"]
[phase.split]
produces = ["draft"]
[phase.build]
produces = ["code"]
verifies = ["tests"]
[phase.end]
terminal = true
[[rule]]
id = "joined"
from = "split"
when = "children.size() > 0 && children.all(c, c.done) && after.all(a, a.done)"
to = "build"
because = "its parts are done"
[[rule]]
id = "built"
from = "build"
when = "code.ready && verified.tests.passed"
to = "end"
because = "it is built"
```
"#;

#[test]
fn in_a_play_code_is_committed_verifications_run_and_other_tasks_end() {
    let (document, workflow) = compiled("s", SURROUNDED, &System::empty());
    let schemas = Schemas::default();
    let trial = TrialWorkflow::of(&document, &workflow, &schemas);
    let mut play = Play::begin(&trial);
    choose(
        &mut play,
        &[
            "a task `before-1` has to be done before",
            "a task `part-1` becomes part of it",
            "`part-1` is done",
        ],
    );
    assert_eq!(play.way.len(), 1, "{:#?}", play.way);
    choose(
        &mut play,
        &[
            "`before-1` is done",
            "code changes, by a commit that names the task",
            "`tests` runs and fails: a test that passed before",
        ],
    );
    assert!(!play.is_over());
    choose(&mut play, &["`tests` runs and passes"]);
    assert!(play.is_over(), "{:#?}", play.way);
    assert_eq!(
        play.way.last().map(String::as_str),
        Some("build -> end (built)")
    );
}

#[test]
fn what_was_verified_is_not_what_is_there_after_the_code_changes() {
    let (document, workflow) = compiled("s", SURROUNDED, &System::empty());
    let schemas = Schemas::default();
    let trial = TrialWorkflow::of(&document, &workflow, &schemas);
    let mut play = Play::begin(&trial);
    choose(
        &mut play,
        &[
            "a task `part-1` becomes part of it",
            "`part-1` is done",
            "`tests` runs and passes",
            "code changes, by a commit that names the task",
        ],
    );
    assert!(!play.is_over(), "{:#?}", play.way);
    choose(&mut play, &["`tests` runs and passes"]);
    assert!(play.is_over(), "{:#?}", play.way);
}

const MANY: &str = r#"# M

```toml orch
[artifact.draft]
path = "draft.json"
[artifact.reviews]
path = "reviews/*.json"
schema = "r"
judges = ["draft"]
[phase.write]
produces = ["draft"]
[phase.review]
needs = ["draft"]
produces = ["reviews"]
[phase.sign]
owner = "human"
needs = ["draft"]
approvals = { count = 2, teams = ["law"] }
[phase.end]
terminal = true
[[rule]]
id = "written"
from = "write"
when = "draft.ready"
to = "review"
because = "it is written"
[[rule]]
id = "read"
from = "review"
when = "reviews.ready && reviews.all.filter(r, r.valid && r.data.ok).size() >= 3"
to = "sign"
because = "three have read it"
[[rule]]
id = "signed"
from = "sign"
when = "approvals.sign.missing.size() == 0"
to = "end"
because = "it is signed"
```
"#;

#[test]
fn in_a_play_several_people_write_and_approve() {
    let system = System::empty().with("schemas/r.schema.json", SCHEMA);
    let (document, workflow) = compiled("m", MANY, &system);
    let schemas = Schemas::default();
    let trial = TrialWorkflow::of(&document, &workflow, &schemas);
    let mut play = Play::begin(&trial);
    choose(
        &mut play,
        &[
            "draft.json appears",
            "reviews/reviews.json appears",
            "reviews/reviews-2.json appears",
            "reviews/reviews-3.json appears",
            "somebody-of-law approves",
        ],
    );
    assert!(!play.is_over());
    choose(&mut play, &["person-2 approves"]);
    assert!(play.is_over(), "{:#?}", play.way);
    let rule = &workflow.rules[1];
    let wanted = WantedCase::Decides {
        phase: &workflow.phases[1].id,
        rule,
    };
    let found = trial.find(wanted).expect("three reviews are made");
    assert!(
        found.test_text("three").contains("reviews/reviews-3.json"),
        "{}",
        found.test_text("three")
    );
}

/// Numbers that follow from a seed.
fn numbers(seed: u64) -> impl FnMut(usize) -> usize {
    let mut number = seed;
    move |limit| {
        number = number
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(number >> 33).expect("small") % limit
    }
}

#[test]
fn whatever_may_be_chosen_may_be_drawn_and_nothing_else() {
    let (document, workflow) = small("");
    let schemas = Schemas::default();
    let trial = TrialWorkflow::of(&document, &workflow, &schemas);
    let begun = || {
        let mut play = Play::begin(&trial);
        choose(&mut play, &["draft.json appears"]);
        play
    };
    let after = |choice: &PlayChoice| {
        let mut play = begun();
        play.choose(choice);
        let files = play.given.files.iter();
        let files: Vec<_> = files.map(|file| file.of.value.clone()).collect();
        let reason = play.decision().reason;
        (play.way, files, reason)
    };
    let chosen: BTreeSet<_> = begun().choices().iter().map(after).collect();
    let mut drawn = BTreeSet::new();
    for seed in 0..200 {
        let choice = begun().drawn(&mut numbers(seed)).expect("something");
        drawn.insert(after(&choice));
    }
    assert_eq!(drawn, chosen);
}

#[test]
fn a_draw_looks_at_no_more_than_it_needs() {
    let system = System::shipped();
    let name = "global-state-machine";
    let text = system.workflow(name).expect("it ships");
    let (document, workflow) = compiled(name, text, &system);
    let schemas = Schemas::default();
    let trial = TrialWorkflow::of(&document, &workflow, &schemas);
    let mut play = Play::begin(&trial);
    let _ = play.choices();
    let all = trial.files.looks();
    let mut below = numbers(1);
    let mut count = 0;
    while let Some(choice) = play.drawn(&mut below).filter(|_| !play.is_over()) {
        count += 1;
        play.choose(&choice);
    }
    // With what a choice itself comes to.
    let each = (trial.files.looks() - all) / count;
    assert!(count > 20 && each < 8 && all > 100, "{each} of {all}");
}
