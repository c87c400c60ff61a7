//! Orders that are taken back, and tasks that get another id: which order that is, and what the record says of it.

use super::play::facts;
use super::world::{LIFECYCLE, World, passing};
use orch_base::{TaskId, Timestamp};
use orch_core::decide::{
    ActorKind, By, Facts, HistoryEntry, Kind, Mode, Stamp, State, TakenBack, apply, create,
    former_id, is_just_renamed, override_to, rename, replay_record, rollback, start, undo,
};
use orch_core::record::FoldCache;

/// The last order of the task, as its log has it.
fn last_order(world: &World) -> Result<TakenBack, String> {
    let log = world.log();
    log.last_order(&world.workflow, &log.heads(), &mut FoldCache::default())
}

/// A task that was created.
fn new() -> World {
    let mut world = World::new(LIFECYCLE.clone());
    world.apply(&create(&world.workflow.clone(), "new"));
    world
}

/// The same state with another last entry of its history.
fn told_by(state: &State, entry: &HistoryEntry) -> State {
    let mut told = state.clone();
    *told.history.last_mut().expect("an entry") = entry.clone().into();
    told
}

/// What happens to a task, by one word.
fn happen(world: &mut World, what: &str) {
    let (workflow, state, facts) = (world.workflow.clone(), world.known(), world.facts());
    let transition = match what {
        // The rules take a step on what they ask for.
        "work" => {
            for expected in world.settle().decision.expects {
                let text = passing(expected.artifact.as_str(), state.rev, &expected.of);
                world.write(&expected.path, text);
            }
            let settled = world.settle();
            assert!(!settled.steps.is_empty(), "{:?}", settled.decision);
            return;
        }
        "rename" => return renamed(world, "t-2", None),
        "override" => {
            override_to(&workflow, &state, &facts, None, "it is right").expect("an order")
        }
        "rollback" => {
            rollback(&workflow, &state, &facts, Some("planning"), "again").expect("an order")
        }
        "start" => start(&workflow, &state, &facts, Mode::Auto).expect("a start"),
        "undo" => undo(
            &workflow,
            &state,
            &last_order(world).expect("an order"),
            None,
        )
        .expect("an undo"),
        other => panic!("{other}"),
    };
    world.apply(&transition);
}

/// Gives the task another id. That rests on no file.
fn renamed(world: &mut World, to: &str, why: Option<&str>) {
    let to = TaskId::new(to).expect("valid");
    let before = world.known();
    let transition = rename(&world.workflow, &before, &to, why).expect("a rename");
    let stamp = world.stamp();
    let next = apply(&world.workflow, &before, &no_files(to), &transition, &stamp);
    world.record(&[next]);
}

#[test]
fn the_last_order_is_the_newest_that_nobody_took_back_and_no_work_followed() {
    const NOBODY: &str = "nobody has given an order";
    const WORK: &str = "has recorded work since the last order";
    // What happens, the number of the order that is found, and the numbers of the steps that it takes along.
    for (story, expected) in [
        ("", Err(NOBODY)),
        ("work", Err(NOBODY)),
        ("work work", Err(NOBODY)),
        ("override", Ok((2, vec![]))),
        ("work override", Ok((3, vec![]))),
        ("work override work work", Ok((3, vec![4, 5]))),
        ("work rollback", Ok((3, vec![]))),
        ("override override", Ok((3, vec![]))),
        ("override rename", Ok((2, vec![]))),
        ("rename override", Ok((3, vec![]))),
        ("rename", Err(NOBODY)),
        ("override undo", Err(NOBODY)),
        ("override work undo", Err(NOBODY)),
        ("override override undo", Ok((2, vec![]))),
        ("override override work undo", Ok((2, vec![]))),
        ("override override work undo work", Ok((2, vec![6, 7]))),
        ("override override undo undo", Err(NOBODY)),
        ("override override undo override undo", Ok((2, vec![]))),
        ("override undo override", Ok((4, vec![]))),
        ("start", Err(WORK)),
        ("override start", Err(WORK)),
        ("start override", Ok((3, vec![]))),
        ("start override undo", Err(WORK)),
    ] {
        let mut world = new();
        for what in story.split_whitespace() {
            happen(&mut world, what);
        }
        let found = last_order(&world);
        let told = found.as_ref().map(|taken| {
            (
                taken.order.seq,
                taken.steps.iter().map(|step| step.seq).collect::<Vec<_>>(),
            )
        });
        match (told, expected) {
            (Ok(told), Ok(expected)) => assert_eq!(told, expected, "{story}"),
            (Err(told), Err(expected)) => assert!(told.contains(expected), "{story}: {told}"),
            (told, expected) => panic!("{story}: {told:?}, not {expected:?}"),
        }
    }
}

#[test]
fn a_task_stands_again_as_before_the_order_and_its_log_keeps_both() {
    let mut world = new();
    happen(&mut world, "work");
    let before = world.known();
    happen(&mut world, "override");
    happen(&mut world, "work");
    let moved = world.known();
    let taken = last_order(&world).expect("an order");
    assert_eq!(taken.before, before);
    let stamp = Stamp::new(
        Timestamp::from_seconds(1_700_009_000),
        By {
            kind: ActorKind::Human,
            name: "Bea".to_owned(),
        },
    );
    for why in [None, Some("a mistake")] {
        let transition = undo(&world.workflow, &moved, &taken, why).expect("an undo");
        let after = apply(
            &world.workflow,
            &moved,
            &no_files(TaskId::new("t-1").expect("valid")),
            &transition,
            &stamp,
        );
        assert_eq!(
            (&after.phase, &after.actors, &after.waived),
            (&before.phase, &before.actors, &before.waived)
        );
        assert_ne!(
            (&moved.phase, &moved.actors),
            (&before.phase, &before.actors)
        );
        let entry = HistoryEntry::clone(after.history.last().expect("an entry"));
        let own = why.map(|why| format!(": {why}")).unwrap_or_default();
        assert_eq!(
            entry.reason,
            format!("takes back step {} (override){own}", taken.order.seq)
        );
        let latest = moved.history.len().saturating_sub(after.history.len() - 1);
        assert_eq!(
            after.history[..after.history.len() - 1],
            moved.history[latest..],
            "nothing is forgotten"
        );
        assert_eq!((entry.kind, after.rev), (Kind::Undo, moved.rev + 1));
        assert_eq!(after.heads, moved.heads, "it follows the current state");
        let replayed = |entry: &HistoryEntry, taken: Result<TakenBack, String>, after: &State| {
            replay_record(&world.workflow, &moved, entry, (taken, None), after)
                .map(|followed| followed.by_human)
        };
        assert_eq!(
            replayed(&entry, Ok(taken.clone()), &after),
            Ok(false),
            "{why:?}"
        );
        // The same without an order, or with another state, title, phase or reason.
        let other = State {
            title: Some("another".to_owned()),
            ..after.clone()
        };
        let titled = State {
            title: Some("another".to_owned()),
            ..before.clone()
        };
        let forged = HistoryEntry {
            reason: "takes back step 99 (override)".to_owned(),
            ..entry.clone()
        };
        let nameless = State {
            task: None,
            ..after.clone()
        };
        for (entry, taken, after) in [
            (&entry, Err("nobody has given an order".to_owned()), &after),
            (&entry, Ok(taken.clone()), &other),
            (&entry, Ok(taken.clone()), &nameless),
            (
                &entry,
                Ok(TakenBack {
                    before: moved.clone(),
                    ..taken.clone()
                }),
                &after,
            ),
            (&forged, Ok(taken.clone()), &told_by(&after, &forged)),
        ] {
            assert!(replayed(entry, taken, after).is_err(), "{entry:?}");
        }
        // The title is not of the record of steps: it is that of the current state.
        let elsewhere = TakenBack {
            before: titled,
            ..taken.clone()
        };
        assert_eq!(replayed(&entry, Ok(elsewhere), &after), Ok(false));
    }
    assert!(
        undo(&world.workflow, &moved, &taken, Some(" ")).is_err(),
        "an empty reason is none"
    );
}

#[test]
fn a_rename_keeps_everything_but_the_id_and_its_record_names_the_former_one() {
    // The former id, the new one, the reason of a person, and whether only a person may do it.
    for (to, why, by_human) in [
        ("t-2", None, false),
        ("t-2", Some("better: shorter"), false),
        ("archive/t-1", Some("given up"), true),
    ] {
        let mut world = new();
        happen(&mut world, "work");
        let before = State {
            task: Some("t-1".to_owned()),
            ..world.known()
        };
        assert!(!is_just_renamed(&before));
        assert_eq!(former_id(before.history.last().expect("an entry")), None);
        renamed(&mut world, to, why);
        let after = world.known();
        assert_eq!(
            (after.task.as_deref(), &after.phase),
            (Some(to), &before.phase)
        );
        assert_eq!(
            (&after.actors, &after.extra),
            (&before.actors, &before.extra)
        );
        assert!(is_just_renamed(&after));
        let entry = HistoryEntry::clone(after.history.last().expect("an entry"));
        assert_eq!(former_id(&entry), Some("t-1"), "{}", entry.reason);
        let replayed = |entry: &HistoryEntry, after: &State| {
            replay_record(
                &world.workflow,
                &before,
                entry,
                (Err("no order".to_owned()), None),
                after,
            )
            .map(|followed| followed.by_human)
        };
        assert_eq!(replayed(&entry, &after), Ok(by_human), "{to} {why:?}");
        let moved = State {
            phase: Some("codegen".to_owned()),
            ..after.clone()
        };
        assert!(replayed(&entry, &moved).is_err());
        let another = HistoryEntry {
            reason: "renamed from t-9".to_owned(),
            ..entry.clone()
        };
        assert!(
            replayed(&another, &told_by(&after, &another)).is_err(),
            "{to} {why:?}"
        );
        // A reason that reads the same names no former id in a step of another kind.
        assert_eq!(
            former_id(&HistoryEntry {
                kind: Kind::Undo,
                ..entry
            }),
            None
        );
        // Without a reason, only what anybody may do follows.
        let silent = HistoryEntry {
            reason: "renamed from t-1".to_owned(),
            ..another
        };
        let told = told_by(&after, &silent);
        assert_eq!(replayed(&silent, &told).is_ok(), !by_human, "{to} {why:?}");
    }
}

/// The facts of a task without any file.
fn no_files(task: TaskId) -> Facts {
    Facts { task, ..facts() }
}
