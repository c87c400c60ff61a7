//! What lies around a task: what is offered and noted because of it.

use super::world::{LIFECYCLE, World};
use orch::base::{Code, Diagnostic, Digest, Place, RepoPath};
use orch::decide::{
    Circumstances, Decision, DutyKind, LastRun, Recorded, Remembered, RunRecord, Runner, State, duty,
    fingerprint, judge,
};
use serde_json::json;

/// The circumstances of a task of this branch that no run drives, of which git remembers and ignores nothing.
fn plain() -> Circumstances<'static> {
    Circumstances {
        untracked: false,
        past: false,
        last_run: &LastRun::Settled,
        remembered: &|_, _| None,
        is_file: &|_| false,
        head: &|| None,
        ignored: &Vec::new,
    }
}

fn judged(world: &World, recorded: &Recorded, circumstances: &Circumstances<'_>) -> Decision {
    judge(&world.workflow, recorded, &world.facts(), circumstances).decision
}

/// The commands that are offered.
fn offered(decision: &Decision) -> Vec<String> {
    decision.options.iter().map(|option| option.argv.join(" ")).collect()
}

#[test]
fn what_git_remembers_of_a_missing_need_is_offered() {
    let mut world = World::new(LIFECYCLE.clone());
    world.reach("codegen");
    let (path, plan) = world.files.iter().find(|(path, _)| path.contains("plan.")).expect("a plan");
    let (path, digest) = (path.clone(), Digest::of_blob(plan.text.as_bytes()));
    world.files.remove(&path);
    let place = format!("tasks/t-1/{path}");
    let at = RepoPath::new(&place).expect("a path");
    let knows = |asked: &RepoPath, blob: Digest| {
        (asked.as_str() == place && blob == digest)
            .then(|| Remembered { commit: "abc1234".to_owned(), at: at.clone() })
    };
    let restore = format!("git restore -s abc1234 -- {place}");
    let known = Circumstances { remembered: &knows, ..plain() };
    assert_eq!(offered(&judged(&world, &world.recorded(), &known))[0], restore);
    for circumstances in [plain(), Circumstances { past: true, ..known }] {
        let told = offered(&judged(&world, &world.recorded(), &circumstances));
        assert!(!told.contains(&restore), "{told:?}");
    }
    // A task that was renamed had it at another path, and git restores a file only to its own.
    let commit = "abc1234".to_owned();
    for (at, expected) in [
        (
            format!("old/t-0/{path}"),
            Some(format!("git --work-tree tasks/t-1 restore -s abc1234:old/t-0 -- :/{path}")),
        ),
        ("tasks/t-1/planning/other.json".to_owned(), None),
    ] {
        let at = RepoPath::new(&at).expect("a path");
        let knows = |_: &RepoPath, _: Digest| Some(Remembered { commit: commit.clone(), at: at.clone() });
        let told =
            offered(&judged(&world, &world.recorded(), &Circumstances { remembered: &knows, ..plain() }));
        let restore = told.iter().find(|command| command.starts_with("git")).cloned();
        assert_eq!(restore, expected, "{told:?}");
    }
}

#[test]
fn what_failed_last_is_noted_with_whether_it_is_final() {
    let mut world = World::new(LIFECYCLE.clone());
    world.reach("codegen");
    for (recoverable, errors, expected) in [
        (json!(false), 1, Some("no network; this is not recoverable")),
        (json!(true), 1, Some("no network")),
        (json!(null), 1, Some("no network")),
        (json!(false), 0, None),
    ] {
        let error = json!({"message": "no network", "recoverable": recoverable});
        let run = RunRecord { errors, ..RunRecord::default() };
        let state = State { errors: vec![json!({"message": "older"}), error], run, ..world.known() };
        let decision = judged(&world, &Recorded::Known(Box::new(state)), &plain());
        let told = decision.diagnostics.iter().find(|found| found.code == Code::ActionGivenUp);
        assert_eq!(told.map(|found| found.message.as_str()), expected, "{recoverable}");
        let pointer = told.and_then(|found| found.place.as_ref()?.pointer.as_deref());
        assert_eq!(pointer, expected.map(|_| "/errors/1"));
    }
}

#[test]
fn a_due_transition_is_held_where_git_ignores_its_evidence_and_only_then_git_is_asked() {
    let mut world = World::new(LIFECYCLE.clone());
    world.reach("codegen");
    let ignored = || {
        let path = RepoPath::new("tasks/t-1/x").expect("valid");
        vec![Diagnostic::error(Code::EvidenceIgnored, "ignored").at(Place::file(&path))]
    };
    let unasked: &dyn Fn() -> Vec<Diagnostic> = &|| panic!("git is asked");
    // Nothing is due yet.
    judged(&world, &world.recorded(), &Circumstances { ignored: unasked, ..plain() });
    for expected in world.decide().expects {
        world.write(&expected.path, super::world::passing(expected.artifact.as_str(), 0, &expected.of));
    }
    let free = judged(&world, &world.recorded(), &plain());
    assert!(free.transition().is_some() && !free.is_held_by_ignored());
    assert!(offered(&free).iter().any(|command| command.starts_with("orch next t-1")), "{free:?}");
    let held = judged(&world, &world.recorded(), &Circumstances { ignored: &ignored, ..plain() });
    assert_eq!(held.verdict, free.verdict, "the rules say the same");
    assert!(held.is_held_by_ignored() && held.reason.starts_with("git ignores tasks/t-1/x"), "{held:?}");
    assert_eq!(offered(&held), Vec::<String>::new());
    for circumstances in [
        Circumstances { past: true, ignored: unasked, ..plain() },
        Circumstances { untracked: true, ignored: unasked, ..plain() },
    ] {
        judged(&world, &world.recorded(), &circumstances);
    }
}

/// An untracked task is judged by its files, unless it had a record that cannot be used.
#[test]
fn an_untracked_task_whose_record_is_lost_is_an_error_and_no_new_task() {
    let mut world = World::new(LIFECYCLE.clone());
    world.reach("codegen");
    let untracked = Circumstances { untracked: true, ..plain() };
    for (recorded, name) in [(world.recorded(), "wait"), (Recorded::Lost, "record-lost")] {
        let decision = judged(&world, &recorded, &untracked);
        let is_noted = decision.diagnostics.iter().any(|found| found.code == Code::Untracked);
        assert_eq!((decision.verdict.name(), is_noted), (name, name == "wait"), "{decision:#?}");
    }
}

/// The reason names what was lost of earlier phases; what the present phase needs is missing, too, and named elsewhere.
#[test]
fn each_lost_file_is_named_with_the_command_that_restores_it() {
    let mut world = World::new(LIFECYCLE.clone());
    world.reach("accept");
    world.files.clear();
    let knows =
        |asked: &RepoPath, _: Digest| Some(Remembered { commit: "abc1234".to_owned(), at: asked.clone() });
    let decision = judged(&world, &world.recorded(), &Circumstances { remembered: &knows, ..plain() });
    let command = |path: &RepoPath| format!("git restore -s abc1234 -- {path}");
    let lost: Vec<RepoPath> =
        decision.lost.iter().map(|lost| world.facts().place.path(&lost.path).expect("a path")).collect();
    assert!(lost.len() > 1, "{lost:?}");
    let restores: Vec<String> =
        offered(&decision).into_iter().filter(|command| command.starts_with("git restore")).collect();
    assert!(restores.len() > lost.len(), "a need is missing, too: {restores:?}");
    for restore in &restores {
        let is_lost = lost.iter().any(|path| command(path) == *restore);
        assert_eq!(decision.reason.contains(restore), is_lost, "{restore} in {}", decision.reason);
    }
    for path in &lost {
        let is_of = |finding: &&Diagnostic| finding.place.as_ref().is_some_and(|at| at.path == path.as_str());
        let gone = decision.diagnostics.iter().filter(|finding| finding.code == Code::EvidenceGone);
        let hint = gone.filter(is_of).find_map(|finding| finding.hint.clone());
        let told = hint.unwrap_or_else(|| panic!("{path} in {:?}", decision.diagnostics));
        assert!(told.starts_with(&format!("{};", command(path))), "{told}");
    }
}

#[test]
fn what_the_last_run_came_to_says_who_must_act() {
    let mut world = World::new(LIFECYCLE.clone());
    world.reach("codegen");
    let (known, recorded, facts) = (world.known(), world.recorded(), world.facts());
    let now = fingerprint(&world.workflow, &known, &facts, None);
    let stalled =
        |seen: &[Digest]| LastRun::Stalled { why: "nothing changed".to_owned(), seen: seen.to_vec() };
    let other = Digest::of_blob(b"other");
    for (last_run, runner, kind) in [
        (LastRun::Settled, None, DutyKind::Wait),
        (LastRun::Driven, Some(Runner::Running), DutyKind::Wait),
        (LastRun::Interrupted, Some(Runner::Interrupted), DutyKind::Wait),
        (stalled(&[other, now]), Some(Runner::Stalled("nothing changed".to_owned())), DutyKind::Stalled),
        // Something has changed since.
        (stalled(&[other]), None, DutyKind::Wait),
        (stalled(&[]), None, DutyKind::Wait),
    ] {
        let told =
            judge(&world.workflow, &recorded, &facts, &Circumstances { last_run: &last_run, ..plain() });
        assert_eq!(told.runner, runner, "{last_run:?}");
        assert_eq!(duty(&world.workflow, &told.decision, runner.as_ref()).kind, kind, "{last_run:?}");
    }
    let lost = judge(
        &world.workflow,
        &Recorded::Lost,
        &facts,
        &Circumstances { last_run: &stalled(&[now]), ..plain() },
    );
    assert_eq!(lost.runner, None, "what cannot be read is not stalled");
}
