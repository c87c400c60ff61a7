//! Properties of the core on values that nobody would write: it is total, deterministic, and ends.

use super::world::{LIFECYCLE, compiled};
use crate::setting::number;
use orch_base::{
    ArtifactName, Code, Diagnostic, Digest, PhaseId, RepoPath, TaskId, TaskPlace, Timestamp,
    VerificationName, WorkflowName,
};
use orch_core::decide::{
    Actor, ActorKind, ActorStatus, Approving, By, CodeFacts, Detail, Facts, FileFact, HistoryEntry,
    Holder, Kind, Lapse, Lapsed, Migration, OtherTask, OtherTasks, OwnFile, PersonRuling, Priority,
    Recorded, Relations, Ruling, RunRecord, Stamp, State, Verdict, Verified, WorkflowRef, apply,
    confirm, evaluate, override_to, reopen, rollback, settle,
};
use orch_core::record::{EventLog, FoldCache, LogEvent, read_state, record_steps, write_state};
use orch_core::verification::{
    FoundBy, PatchedCode, Verification, VerifiedBase, VerifiedCode, VerifiedOutcome, VerifiedResult,
};
use orch_core::workflow::Workflow;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::{
    Just, ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use proptest::sample::select;
use proptest::test_runner::RngSeed;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

/// A machine that does everything a sensible one avoids.
static WILD: LazyLock<Workflow> = LazyLock::new(|| {
    compiled(
        "wild",
        include_str!("../../../fixtures/workflows/valid/wild.md"),
    )
});

fn machine(wild: bool) -> &'static Workflow {
    if wild { &WILD } else { &LIFECYCLE }
}

fn digest() -> impl Strategy<Value = Digest> {
    (0_u8..5).prop_map(|n| Digest::of_blob(&[n]))
}

fn artifact() -> impl Strategy<Value = ArtifactName> {
    let names: BTreeSet<String> = [&**LIFECYCLE, &*WILD]
        .iter()
        .flat_map(|workflow| {
            workflow
                .artifacts
                .iter()
                .map(|artifact| artifact.name.to_string())
        })
        .chain(["nobody_knows".to_owned()])
        .collect();
    select(names.into_iter().collect::<Vec<_>>())
        .prop_map(|name| ArtifactName::new(name).expect("valid"))
}

fn phase_name() -> impl Strategy<Value = String> {
    let names = [
        "planning",
        "plan_review",
        "codegen",
        "review",
        "test",
        "accept",
        "revert",
        "done",
        "test_run",
    ];
    select([names.as_slice(), &["one", "two", "three", "end", "nowhere"]].concat())
        .prop_map(str::to_owned)
}

fn data() -> impl Strategy<Value = Value> {
    let of = (artifact(), option::of(digest()));
    let report = (any::<bool>(), 0_u8..3, of).prop_map(|(ok, n, (name, digest))| {
        let digest = digest.map(|digest| digest.to_string());
        json!({"ok": ok, "passed": ok, "n": n, "flaky": n == 0, "of": {name.as_str(): digest}})
    });
    let words = select(vec![
        "accepted",
        "needs_work",
        "retest",
        "replan",
        "revert",
        "?",
    ]);
    prop_oneof![
        report,
        words.prop_map(|verdict| json!({"verdict": verdict, "b": 1, "a": 2, "c": 3})),
        select(vec![
            json!(null),
            json!({}),
            json!([]),
            json!(i64::MIN),
            json!(u64::MAX),
            json!("x")
        ]),
        (0_u8..4, 0_u8..4).prop_map(
            |(done, total)| json!({"boxes": {"done": done, "total": total}, "done": done, "n": 0})
        ),
    ]
}

fn file() -> impl Strategy<Value = FileFact> {
    let path = select(vec!["a.json", "b.json", "c/d.json"]);
    (
        0_usize..4,
        path,
        option::weighted(0.9, digest()),
        option::weighted(0.8, data()),
        any::<bool>(),
    )
        .prop_map(|(pattern, path, digest, data, problem)| FileFact {
            writers: Vec::new(),
            is_tree: false,
            pattern,
            path: path.to_owned(),
            digest,
            data: data.map(Arc::new),
            problems: if problem {
                Vec::new()
            } else {
                vec![Diagnostic::warning(Code::JunitCounts, "it is odd")]
            },
        })
}

/// The files of one artifact, each path once.
fn files() -> impl Strategy<Value = Vec<FileFact>> {
    vec(file(), 0..4).prop_map(|mut files| {
        let mut seen = BTreeSet::new();
        files.retain(|file| seen.insert(file.path.clone()));
        files
    })
}

fn actor() -> impl Strategy<Value = Actor> {
    let record = || btree_map(artifact(), option::of(digest()), 0..3);
    let spent = || btree_map(artifact(), vec(digest(), 1..3), 0..3);
    let files = btree_map(artifact(), btree_map("[ab]", digest(), 1..3), 0..2);
    let judged = btree_map(artifact(), btree_map(artifact(), digest(), 1..3), 0..2);
    let digests = (record(), record(), files, judged, (spent(), spent()));
    let people = vec(
        (
            ".*",
            ruling(),
            any::<u64>(),
            btree_map(artifact(), digest(), 0..3),
        ),
        0..3,
    );
    let lapsed = btree_map(".*", (any::<u32>(), time()), 0..2);
    let attempt = prop_oneof![0_u32..7, Just(u32::MAX)];
    let status = select(vec!["active", "done", "sent_back", "skipped", "completed"]);
    (
        attempt,
        status,
        digests,
        option::of(data()),
        any::<bool>(),
        (people, lapsed),
    )
        .prop_map(
            |(attempt, status, digests, substate, odd, (people, lapsed))| {
                let (left_with, entered_with, left_files, judged, (spent, early)) = digests;
                let said = |(person, ruling, seq, on)| Approving {
                    person,
                    ruling,
                    seq,
                    on,
                };
                let approvals = people.into_iter().map(said).collect();
                let lapse = |(name, (attempt, at))| (name, Lapsed { attempt, at });
                let lapsed = lapsed.into_iter().map(lapse).collect();
                Actor {
                    status: ActorStatus::named(status),
                    attempt,
                    substate,
                    left_with,
                    entered_with,
                    left_files,
                    judged,
                    spent,
                    early,
                    approvals,
                    lapsed,
                    writers: BTreeMap::new(),
                    extra: if odd {
                        Map::from_iter([("note".to_owned(), json!("?"))])
                    } else {
                        Map::new()
                    },
                }
            },
        )
}

fn ruling() -> impl Strategy<Value = Ruling> {
    select(Ruling::ALL.to_vec())
}

fn time() -> impl Strategy<Value = Timestamp> {
    (-9_i64..9_000_000_000).prop_map(Timestamp::from_seconds)
}

fn task_id() -> impl Strategy<Value = TaskId> {
    select(vec!["a", "b/c", "archive/d", "ä b"]).prop_map(|id| TaskId::new(id).expect("valid"))
}

fn code() -> impl Strategy<Value = VerifiedCode> {
    (digest(), option::of(digest())).prop_map(|(on, patch)| match patch {
        Some(patch) => VerifiedCode::Patch(PatchedCode { patch, on }),
        None => VerifiedCode::Commit(on),
    })
}

fn outcome() -> impl Strategy<Value = VerifiedOutcome> {
    select(VerifiedOutcome::ALL.to_vec())
}

fn verification_name() -> impl Strategy<Value = VerificationName> {
    select(vec!["tests", "tests@base", "lint-1"])
        .prop_map(|name| VerificationName::new(name).expect("valid"))
}

fn verification() -> impl Strategy<Value = Verification> {
    let by = select(FoundBy::ALL.to_vec());
    let base =
        (digest(), digest(), by).prop_map(|(commit, code, by)| VerifiedBase { commit, code, by });
    let result =
        (outcome(), digest()).prop_map(|(outcome, digest)| VerifiedResult { outcome, digest });
    (
        verification_name(),
        code(),
        digest(),
        any::<u32>(),
        option::of(base),
        result,
    )
        .prop_map(|(name, code, table, rules, base, result)| Verification {
            name,
            code,
            table,
            rules,
            base,
            returned: Vec::new(),
            result,
        })
}

fn relations() -> impl Strategy<Value = Relations> {
    let priority = option::of(select(Priority::ALL.to_vec()));
    (
        vec(task_id(), 0..3),
        option::of(task_id()),
        priority,
        option::of(".*"),
    )
        .prop_map(|(after, parent, priority, assignee)| Relations {
            after,
            parent,
            priority,
            assignee,
        })
}

fn holder() -> impl Strategy<Value = Holder> {
    (any::<u64>(), ".*").prop_map(|(generation, owner)| Holder { generation, owner })
}

fn workflow_ref() -> impl Strategy<Value = WorkflowRef> {
    digest().prop_map(|digest| WorkflowRef {
        name: WorkflowName::new("lifecycle").expect("valid"),
        digest,
    })
}

fn detail() -> impl Strategy<Value = Detail> {
    let lapse = (".*", any::<u32>(), time(), time());
    prop_oneof![
        verification().prop_map(Detail::Verify),
        (ruling(), ".*")
            .prop_map(|(ruling, person)| Detail::Approve(PersonRuling { ruling, person })),
        relations().prop_map(Detail::Relate),
        holder().prop_map(Detail::Take),
        lapse.prop_map(|(deadline, attempt, entered, at)| {
            Detail::Lapse(Lapse {
                deadline,
                attempt,
                entered,
                at,
            })
        }),
        (digest(), workflow_ref(), workflow_ref())
            .prop_map(|(map, from, to)| Detail::Migrate(Migration { map, from, to })),
    ]
}

/// What an entry says of its take-over and of other tasks.
fn around() -> impl Strategy<Value = (Option<u64>, Vec<OtherTask>)> {
    let other =
        (task_id(), phase_name(), any::<bool>(), digest()).prop_map(|(id, phase, done, head)| {
            let phase = PhaseId::new(phase).expect("valid");
            OtherTask {
                id,
                phase,
                done,
                failed: false,
                workflow: WorkflowName::new("w").expect("valid"),
                part: done,
                head,
            }
        });
    (option::of(any::<u64>()), vec(other, 0..3))
}

fn entry() -> impl Strategy<Value = HistoryEntry> {
    let kinds = vec![
        Kind::Create,
        Kind::Advance,
        Kind::Regress,
        Kind::Override,
        Kind::Confirm,
    ];
    let who = select(vec![ActorKind::Orch, ActorKind::Human, ActorKind::Agent]);
    (
        any::<u64>(),
        -9_i64..9_000_000_000,
        option::of(phase_name()),
        phase_name(),
        select(kinds),
        ".*",
        (who, artifact()),
        option::of(detail()),
        around(),
    )
        .prop_map(
            |(seq, at, from, to, kind, reason, (who, artifact), detail, (generation, others))| {
                HistoryEntry {
                    lost: orch_core::decide::LostTests::new(),
                    version: orch_core::decide::RecordVersion::CURRENT,
                    files: orch_core::decide::NotedFiles::new(),
                    inputs: None,
                    rests_on: Vec::new(),
                    base: None,
                    seq,
                    at: Timestamp::from_seconds(at),
                    from: from.map(|from| PhaseId::new(from).expect("valid")),
                    to: PhaseId::new(to).expect("valid"),
                    kind: detail.as_ref().map_or(kind, Detail::kind),
                    rule: (kind == Kind::Advance).then(|| "on".to_owned()),
                    reason: reason.clone(),
                    actor: By {
                        kind: who,
                        name: reason,
                    },
                    evidence: vec![(artifact.to_string(), Digest::of_blob(b"e").to_string())],
                    waived: if kind == Kind::Override {
                        vec![artifact.clone()]
                    } else {
                        Vec::new()
                    },
                    confirmed: (kind == Kind::Confirm).then_some(artifact),
                    action: None,
                    performance: None,
                    detail: detail.map(Box::new),
                    generation,
                    others,
                }
            },
        )
}

fn run() -> impl Strategy<Value = RunRecord> {
    let verified = (
        any::<u64>(),
        code(),
        digest(),
        any::<u32>(),
        outcome(),
        digest(),
    )
        .prop_map(|(seq, code, table, rules, outcome, result)| Verified {
            seq,
            code,
            table,
            rules,
            outcome,
            result,
        });
    btree_map(verification_name(), verified, 0..3).prop_map(|verified| RunRecord {
        verified,
        ..RunRecord::default()
    })
}

fn state() -> impl Strategy<Value = State> {
    let extra = btree_map("[a-z]{2,4}_x", data(), 0..3);
    let head = (
        any::<u64>(),
        option::of(".*"),
        any::<bool>(),
        option::weighted(0.9, phase_name()),
        digest(),
    );
    let body = (
        btree_map(phase_name(), actor(), 0..6),
        btree_map(artifact(), any::<u64>(), 0..3),
    );
    let others = (run(), relations(), option::of(holder()));
    (head, body, vec(entry(), 0..5), extra, others).prop_map(
        |(head, body, mut history, extra, others)| {
            let (mut actors, waived) = body;
            for actor in actors.values_mut().filter(|_| head.2) {
                actor.judged.clear();
                actor.approvals.clear();
                actor.lapsed.clear();
            }
            let (run, relations, holder) = if head.2 { Default::default() } else { others };
            let (rev, title, foreign, phase, digest) = head;
            history.retain(|_| !foreign);
            let entered = (history.len() > 3).then(|| history.remove(0).into());
            let name = WorkflowName::new("lifecycle").expect("valid");
            State {
                task: Some("t".to_owned()),
                title,
                heads: Vec::new(),
                rev: if foreign { 0 } else { rev },
                workflow: (!foreign).then_some(WorkflowRef { name, digest }),
                phase: phase.or_else(|| (!foreign).then(|| "planning".to_owned())),
                actors,
                waived,
                history: history.into_iter().map(Into::into).collect(),
                entered,
                former: Vec::new(),
                errors: vec![json!({"message": "it failed"})],
                run,
                relations,
                holder,
                updated_at: Some(Timestamp::from_seconds(1_700_000_000)),
                extra: extra.into_iter().collect(),
                foreign,
                original: None,
            }
        },
    )
}

/// The same cases at every run; with `ORCH_PROPERTY_CASES`, that many new ones.
fn config() -> ProptestConfig {
    let cases = number("ORCH_PROPERTY_CASES").and_then(|cases| u32::try_from(cases).ok());
    let rng_seed = if cases.is_some() {
        RngSeed::Random
    } else {
        RngSeed::Fixed(7)
    };
    let cases = cases.unwrap_or(128);
    ProptestConfig {
        cases,
        rng_seed,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// A machine, a state that mostly stands in one of its phases, and files of most of its artifacts.
fn task() -> impl Strategy<Value = (&'static Workflow, State, Facts)> {
    let parts = (
        any::<bool>(),
        state(),
        0_usize..12,
        vec(files(), 12),
        artifact(),
    );
    parts.prop_map(|(wild, mut state, place, files, stray)| {
        let workflow = machine(wild);
        if let Some(phase) = workflow.phases.get(place % (workflow.phases.len() + 1)) {
            state.phase = Some(phase.id.to_string());
        }
        let names = workflow
            .artifacts
            .iter()
            .map(|artifact| artifact.name.clone());
        let facts = Facts {
            code: CodeFacts::default(),
            version: orch_core::decide::RecordVersion::CURRENT,
            task: TaskId::new("t").expect("valid"),
            place: TaskPlace::of_directory(RepoPath::root()),
            artifacts: std::iter::once(stray).chain(names).zip(files).collect(),
            diagnostics: Vec::new(),
            inputs: Default::default(),
            missing: Vec::new(),
            verified: Default::default(),
            own_file: OwnFile::AsRecorded,
            others: OtherTasks::default(),
        };
        (workflow, state, facts)
    })
}

fn stamp() -> Stamp {
    let by = By {
        kind: ActorKind::Orch,
        name: "orch".to_owned(),
    };
    Stamp::new(Timestamp::from_seconds(1_700_000_000), by)
}

fn turned(facts: &Facts) -> Facts {
    let mut turned = facts.clone();
    turned
        .artifacts
        .values_mut()
        .for_each(|files| files.reverse());
    turned
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_decision_depends_on_nothing_but_its_values((workflow, state, facts) in task()) {
        let recorded = Recorded::Known(Box::new(state));
        let first = evaluate(workflow, &recorded, &facts);
        prop_assert_eq!(&evaluate(workflow, &recorded, &facts), &first);
        prop_assert_eq!(&evaluate(workflow, &recorded, &turned(&facts)), &first);
    }

    #[test]
    fn a_transition_leaves_the_phase_of_the_state((workflow, state, facts) in task()) {
        let named = state.phase.clone().map_or(Some(workflow.initial.clone()), |name| {
            workflow.phase_named(&name).map(|phase| phase.id.clone())
        });
        let decision = evaluate(workflow, &Recorded::Known(Box::new(state)), &facts);
        prop_assert_eq!(&decision.phase, &named);
        if let Some(transition) = decision.transition() {
            prop_assert_eq!(&transition.from, &named);
            let target = workflow.phase(&transition.to).expect("known");
            let holds = |need: &ArtifactName| decision.artifact(need).is_some_and(|one| one.holds());
            prop_assert!(target.needs.iter().all(|need| holds(need) || decision.waived.contains(need)));
        }
    }

    #[test]
    fn settling_comes_to_rest((workflow, state, facts) in task()) {
        let recorded = Recorded::Known(Box::new(state.clone()));
        let settled = settle(workflow, &recorded, &facts, &stamp(), &|_| true);
        if let Verdict::Livelock { cycle } = &settled.decision.verdict {
            prop_assert!(settled.steps.is_empty());
            prop_assert!(cycle.iter().filter(|phase| Some(*phase) == cycle.last()).count() > 1);
        } else {
            prop_assert!(settled.decision.transition().is_none_or(|due| due.by_human));
            let after = settled.steps.last().map_or(state.clone(), |step| step.state.clone());
            let again = settle(workflow, &Recorded::Known(Box::new(after)), &facts, &stamp(), &|_| true);
            prop_assert_eq!(&again.steps, &Vec::new());
            prop_assert_eq!(again.decision, settled.decision);
        }
        let mut spent = settled.steps.first().map_or(0, |step| step.state.spent_count());
        let mut entered = BTreeMap::new();
        for step in &settled.steps {
            prop_assert!(step.state.spent_count() >= spent);
            spent = step.state.spent_count();
            if let Some(before) = entered.insert(step.transition.to.clone(), spent) {
                prop_assert!(before < spent, "{} is entered again for nothing", step.transition.to);
            }
        }
    }

    #[test]
    fn orders_are_refused_with_advice_or_carried_out(
        (workflow, state, facts) in task(), to in option::of(phase_name()), artifact in artifact(),
    ) {
        let orders = [
            override_to(workflow, &state, &facts, to.as_deref(), "why"),
            rollback(workflow, &state, &facts, to.as_deref(), "why"),
            reopen(workflow, &state, &facts, to.as_deref(), "why"),
            confirm(workflow, &state, &facts, artifact.as_str(), "why"),
        ];
        for order in orders {
            match order {
                Ok(transition) => {
                    let after = apply(workflow, &state, &facts, &transition, &stamp());
                    prop_assert_eq!(after.phase.as_deref(), Some(transition.to.as_str()));
                    prop_assert!(after.history.len() <= 10);
                }
                Err(refusal) => prop_assert!(refusal.hint().is_some()),
            }
        }
    }

    #[test]
    fn an_event_is_read_back_from_its_line(entry in entry(), state in state()) {
        let entry = HistoryEntry { seq: 1, ..entry };
        let (name, digest) = (WorkflowName::new("lifecycle").expect("valid"), Digest::of_blob(b"w"));
        let workflow = Some(WorkflowRef { name, digest });
        let phase = Some(entry.to.to_string());
        let (rev, updated_at, history) = (entry.seq, Some(entry.at), vec![Arc::new(entry)]);
        let state = State {
            workflow,
            phase,
            rev,
            updated_at,
            history,
            entered: None,
            heads: Vec::new(),
            foreign: false,
            ..state
        };
        let recorded = record_steps(&State::default(), &State::default(), [&state]);
        prop_assert_eq!(recorded.len(), 1);
        let line = recorded[0].event.line();
        let read = LogEvent::read(line.trim_end_matches('\n'));
        prop_assert_eq!(read.as_ref(), Ok(&recorded[0].event));
        prop_assert_eq!(read.expect("an event").line(), line.clone());
        let (log, faults) = EventLog::parse(line.as_bytes());
        prop_assert_eq!(faults, Vec::new());
        let folded = log.state_at(&recorded[0].event.id, &mut FoldCache::default()).expect("a state");
        prop_assert_eq!(&*folded, &recorded[0].state);
        prop_assert_eq!(&folded.relations, &state.relations);
        prop_assert_eq!((&folded.holder, &folded.run), (&state.holder, &state.run));
    }

    #[test]
    fn a_state_is_read_back_as_it_was_written(state in state()) {
        let text = write_state(&state, "phase", "schema", orch_core::record::LogExtent::default());
        let value: Value = serde_json::from_str(&text).expect("JSON");
        let read = read_state(&value, &text, "phase");
        prop_assert_eq!(read.as_ref(), Ok(&state));
        prop_assert_eq!(write_state(&read.expect("read"), "phase", "schema", orch_core::record::LogExtent::default()), text);
    }

    #[test]
    fn the_keys_of_a_state_stand_in_their_order(state in state()) {
        let text = write_state(&state, "phase", "schema", orch_core::record::LogExtent::default());
        let order = [
            "$schema", "version", "task", "title", "workflow", "history", "actors", "waived", "run", "relations",
            "errors",
        ];
        let keys: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("  \"")?.split('"').next())
            .filter(|key| !key.ends_with("_x"))
            .collect();
        let expected: Vec<&str> = order.into_iter().filter(|key| keys.contains(key)).collect();
        prop_assert_eq!(keys, expected);
        prop_assert_eq!(text.lines().last(), Some("}"));
    }
}
