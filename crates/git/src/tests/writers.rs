//! Who was seen to write what.

use super::{FORMATS, Repo};
use orch_base::RepoPath;
use orch_core::decide::{ActorKind, FileWriter, WriterTurn};
use std::thread;

#[test]
fn what_was_seen_first_stays_but_for_who_is_known_better() {
    let agent = FileWriter::new(ActorKind::Agent, "coder");
    let turn = WriterTurn {
        executor: "sh".to_owned(),
        run: "1".to_owned(),
        number: 2,
    };
    let in_turn = FileWriter {
        turn: Some(turn),
        ..agent.clone()
    };
    let ann = FileWriter::new(ActorKind::Human, "Ann");
    let ordered = FileWriter {
        ordered: true,
        ..ann.clone()
    };
    for format in FORMATS {
        let repo = Repo::of(format);
        let store = repo.store();
        let (task, other) = (
            RepoPath::new("tasks/t").expect("valid"),
            RepoPath::new("tasks/u").expect("valid"),
        );
        let digest = format.blob(b"plan");
        for (first, second, expected) in [
            (&ann, &agent, &ann),
            (&ann, &in_turn, &ann),
            (&agent, &ann, &agent),
            (&agent, &in_turn, &in_turn),
            (&in_turn, &ann, &in_turn),
            (&in_turn, &ordered, &ordered),
        ] {
            for writer in [first, second] {
                store
                    .layout()
                    .see_writer(&task, ("plan.json", digest), writer)
                    .expect("kept");
            }
            let seen = store.layout().seen_writers(&task).expect("something");
            assert_eq!(seen.of("plan.json", digest).as_ref(), Some(expected));
            assert_eq!(seen.of("other.json", digest), None);
            assert_eq!(seen.of("plan.json", format.blob(b"other")), None);
            assert!(store.layout().seen_writers(&other).is_none());
            store
                .layout()
                .forget_writers(&task, [("plan.json", digest), ("other.json", digest)]);
            assert!(store.layout().seen_writers(&task).is_none());
        }
    }
}

#[test]
fn several_processes_see_at_once_and_the_oldest_is_forgotten() {
    let repo = Repo::new();
    let task = RepoPath::new("tasks/t").expect("valid");
    let ann = FileWriter::new(ActorKind::Human, "Ann");
    let digest = |number: u32| repo.format.blob(&number.to_le_bytes());
    thread::scope(|scope| {
        for part in 0..4 {
            let (repo, task, ann) = (&repo, &task, &ann);
            scope.spawn(move || {
                let store = repo.store();
                for number in (0..100).map(|number| number * 4 + part) {
                    store
                        .layout()
                        .see_writer(task, ("a", digest(number)), ann)
                        .expect("kept");
                }
            });
        }
    });
    let store = repo.store();
    let seen = store.layout().seen_writers(&task).expect("something");
    assert!((0..400).all(|number| seen.of("a", digest(number)).as_ref() == Some(&ann)));
    // What another process has torn or what is none says nothing.
    let place = std::fs::read_dir(repo.path(".git/orch/writers"))
        .expect("a directory")
        .next();
    let place = place.expect("the task").expect("read").path();
    std::fs::write(place.join(".orch-tmp-1"), "{").expect("written");
    for number in 400..1000 {
        store
            .layout()
            .see_writer(&task, ("a", digest(number)), &ann)
            .expect("kept");
    }
    let seen = store.layout().seen_writers(&task).expect("something");
    assert_eq!(seen.of("a", digest(999)), Some(ann));
    let kept = (0..1000)
        .filter(|number| seen.of("a", digest(*number)).is_some())
        .count();
    assert!((256..=513).contains(&kept), "{kept}");
}
