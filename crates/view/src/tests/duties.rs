//! The table of duties, as data: every verdict, and who must do what.

use crate::samples::{self, Sample};
use orch_base::{Code, Diagnostic};
use orch_core::decide::{Do, Duty, Ending, RunTurn, Runner, Verdict, trouble};
use orch_core::workflow::Owner;

/// `kind do owner phase direction; urgency; what a run does; the code of the trouble`.
fn row(sample: &Sample) -> String {
    let Duty {
        kind,
        task,
        owner,
        phase,
        direction,
        urgency,
        turn,
    } = sample.subject().duty();
    let phase = phase.as_ref().map_or("-", |phase| phase.as_str());
    let words = [
        kind.as_str(),
        task.as_str(),
        owner.as_str(),
        phase,
        direction.as_str(),
    ]
    .join(" ");
    let turn = match turn {
        RunTurn::Apply => "apply",
        RunTurn::Act => "act",
        RunTurn::Work(_) => "work",
        RunTurn::End(ending) => ending.as_str(),
    };
    format!(
        "{words}; {urgency:?}; {turn}; {}",
        trouble(&sample.decision.verdict).map_or("-", |code| code.as_str())
    )
}

fn wait(owner: Owner) -> Sample {
    samples::plain(
        "codegen",
        Verdict::Wait {
            what: String::new(),
            owner,
        },
        "waiting",
    )
}

#[test]
fn every_verdict_says_who_must_do_what() {
    let mut by_human = samples::transition_due();
    if let Verdict::Transition(due) = &mut by_human.decision.verdict {
        due.by_human = true;
    }
    let ignored = || {
        let mut ignored = samples::transition_due();
        ignored
            .decision
            .diagnostics
            .push(Diagnostic::error(Code::EvidenceIgnored, ""));
        ignored
    };
    let mut ignored_by_human = ignored();
    if let Verdict::Transition(due) = &mut ignored_by_human.decision.verdict {
        due.by_human = true;
    }
    let mut lost = samples::inconsistent();
    if let Verdict::Inconsistent {
        last_consistent, ..
    } = &mut lost.decision.verdict
    {
        *last_consistent = None;
    }
    let mut failed = samples::done();
    failed
        .workflow
        .phases
        .iter_mut()
        .for_each(|phase| phase.success = false);
    let choose = samples::plain("codegen", Verdict::Choose(Vec::new()), "");
    let run = |runner| Sample {
        runner: Some(runner),
        ..samples::run()
    };
    let with = |runner, sample| Sample {
        runner: Some(runner),
        ..sample
    };
    let running = || Runner::Running;
    let stalled = || Runner::Stalled("twice".to_owned());
    let table = [
        (
            samples::transition_due(),
            "transition apply orch plan_review advance; Transition; apply; -",
        ),
        (
            by_human,
            "transition decide human plan_review advance; Person; waiting; -",
        ),
        (
            ignored(),
            "transition repair human plan_review advance; Person; apply; -",
        ),
        (
            ignored_by_human,
            "transition repair human plan_review advance; Person; waiting; -",
        ),
        (
            samples::write_missing(),
            "wait write agent codegen stay; Write; work; -",
        ),
        (
            samples::fix_invalid(),
            "wait fix agent plan_review stay; Fix; work; -",
        ),
        (
            samples::renew_stale(),
            "wait renew agent plan_review stay; Renew; work; -",
        ),
        (
            wait(Owner::Human),
            "wait answer human codegen stay; Person; work; -",
        ),
        (
            wait(Owner::Agent),
            "wait fix agent codegen stay; Fix; work; -",
        ),
        (
            wait(Owner::Process),
            "wait nothing process codegen stay; Process; work; -",
        ),
        (
            wait(Owner::Orch),
            "wait nothing orch codegen stay; Nothing; work; -",
        ),
        (
            wait(Owner::None),
            "wait nothing none codegen stay; Nothing; work; -",
        ),
        (samples::run(), "run run agent codegen stay; Write; act; -"),
        (
            choose,
            "choose decide human codegen stay; Person; waiting; -",
        ),
        (
            samples::handover(),
            "choose decide human planning regress; Person; waiting; -",
        ),
        (
            samples::done(),
            "done nothing none - none; Nothing; completed; -",
        ),
        (failed, "done nothing none - none; Nothing; failed; -"),
        (
            samples::inconsistent(),
            "inconsistent repair human planning regress; Inconsistent; waiting; inconsistent",
        ),
        (
            lost,
            "inconsistent repair human - none; Inconsistent; waiting; inconsistent",
        ),
        (
            samples::error(),
            "error repair human - none; Error; error; json-syntax",
        ),
        (
            samples::livelock(),
            "livelock repair human - none; Error; error; livelock",
        ),
        (
            run(running()),
            "wait nothing process codegen stay; Process; act; -",
        ),
        (
            run(stalled()),
            "stalled decide human codegen stay; Person; act; -",
        ),
        (
            with(running(), samples::livelock()),
            "wait nothing process planning stay; Process; error; livelock",
        ),
        (
            with(running(), samples::done()),
            "done nothing none - none; Nothing; completed; -",
        ),
        (
            with(stalled(), samples::error()),
            "error repair human - none; Error; error; json-syntax",
        ),
    ];
    for (sample, expected) in &table {
        assert_eq!(row(sample), *expected, "{:?}", sample.decision.verdict);
    }
}

#[test]
fn the_most_pressing_work_names_the_rest() {
    let mut sample = samples::write_missing();
    sample
        .decision
        .expects
        .extend(samples::renew_stale().decision.expects);
    assert_eq!(sample.subject().duty().task, Do::Renew);
    sample
        .decision
        .expects
        .extend(samples::fix_invalid().decision.expects);
    assert_eq!(sample.subject().duty().task, Do::Fix);
}

#[test]
fn a_run_ends_if_no_one_may_work() {
    assert_eq!(
        wait(Owner::Human).subject().duty().turn,
        RunTurn::Work(Owner::Human)
    );
    assert_eq!(
        samples::handover().subject().duty().turn,
        RunTurn::End(Ending::Waiting)
    );
}
