//! Large directories that are kept.

use super::{FORMATS, Repo};
use crate::base::{Digest, ObjectFormat, RepoPath};
use crate::{Store, caches};
use std::fs;
use std::path::PathBuf;

/// The names in the directory: of some, there is a file, a directory and another file whose names begin alike.
fn names() -> Vec<String> {
    let each = |number: usize| match number % 50 {
        0 => vec![
            format!("t-{number:04}"),
            format!("t-{number:04}-x"),
            format!("t-{number:04}.md"),
            format!("t-{number:04}0"),
        ],
        _ => vec![format!("t-{number:04}")],
    };
    (0..2500).flat_map(each).collect()
}

/// Commits a directory of many tasks, in each of which is one file with this text. Returns the id of the directory.
fn commit(repo: &Repo, text: &str) -> Digest {
    let blob = repo.blob(text);
    let mktree = |entries: String| {
        let tree = repo.git_on("index", &["mktree"], entries.as_bytes());
        Digest::parse(tree.trim()).expect("an id")
    };
    let task = repo.raw_tree(&[("100644", "log", blob)]);
    let entry = |name: &String| match name.ends_with(".md") {
        true => format!("100755 blob {blob}\t{name}\n"),
        false => format!("040000 tree {task}\t{name}\n"),
    };
    let tasks = mktree(names().iter().map(entry).collect());
    move_main(repo, repo.raw_tree(&[("40000", "tasks", tasks)]));
    tasks
}

/// Makes a commit of this tree HEAD.
fn move_main(repo: &Repo, top: Digest) {
    let commit = repo.git(&["commit-tree", "-m", "tasks", &top.to_string()]);
    repo.git(&["update-ref", "refs/heads/main", commit.trim()]);
}

fn of_one_task(repo: &Repo) -> Store {
    let store = repo.store();
    store.ask_for_few();
    store
}

/// What HEAD has at some paths, and how many directories were read for that.
fn asked(store: &Store, names: &[&str]) -> (Vec<Option<(Digest, u32)>>, u64) {
    let head = store.tree_source(store.head().expect("HEAD").commit.expect("a commit"));
    let path = |name: &&str| RepoPath::new(format!("tasks/{name}")).expect("a path");
    let found = names
        .iter()
        .map(|name| head.object(&path(name)).expect("read"))
        .collect();
    (found, store.counted().trees)
}

fn kept(repo: &Repo) -> Vec<PathBuf> {
    let place = repo.path(".git/orch").join(caches::LARGE_TREES);
    let mut kept: Vec<_> = fs::read_dir(place)
        .into_iter()
        .flatten()
        .map(|entry| entry.expect("listed").path())
        .collect();
    kept.sort();
    kept
}

#[test]
fn each_name_is_found_in_a_kept_directory_as_in_the_whole() {
    for format in FORMATS {
        let repo = Repo::of(format);
        let tasks = commit(&repo, "one\n");
        let plain = repo.store();
        assert_eq!(asked(&plain, &["t-0001/log"]).1, 3);
        assert_eq!(kept(&repo), Vec::<PathBuf>::new(), "nobody asked for few");
        assert_eq!(
            asked(&of_one_task(&repo), &["t-0001/log"]).1,
            3,
            "it is read to be kept"
        );
        assert_eq!(
            kept(&repo),
            [repo.path(".git/orch/large-trees").join(tasks.to_string())]
        );
        let mut names = names();
        let more = ["", "-", ".", "/log", "0", "~"];
        let others = names
            .iter()
            .step_by(40)
            .flat_map(|name| more.map(|end| format!("{name}{end}")));
        names.extend(
            others
                .chain(["a", "t", "t-", "z"].map(str::to_owned))
                .collect::<Vec<_>>(),
        );
        names.retain(|name| !name.is_empty());
        for names in names.chunks(16) {
            let names: Vec<&str> = names
                .iter()
                .map(|name| name.trim_end_matches('/'))
                .collect();
            let (found, read) = asked(&of_one_task(&repo), &names);
            assert_eq!(found, asked(&plain, &names).0, "{names:?}");
            let is_below = names.iter().any(|name| name.contains('/'));
            assert_eq!(
                read,
                1 + u64::from(is_below),
                "of these directories only one is read as a whole: {names:?}"
            );
        }
        let written = || {
            fs::metadata(&kept(&repo)[0])
                .expect("kept")
                .modified()
                .expect("a time")
        };
        let before = written();
        let many: Vec<&str> = names[..17].iter().map(String::as_str).collect();
        assert_eq!(
            asked(&of_one_task(&repo), &many),
            (asked(&plain, &many).0, 2),
            "for many, all are read"
        );
        let paths: Vec<String> = (0..40).map(|number| format!("t-0001/{number}")).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        assert_eq!(
            asked(&of_one_task(&repo), &paths).1,
            2,
            "all paths of a task lead through one entry"
        );
        assert_eq!(written(), before, "it is written once");
    }
}

#[test]
fn a_damaged_file_is_not_believed_and_is_written_again() {
    let repo = Repo::of(ObjectFormat::Sha1);
    commit(&repo, "one\n");
    let asks = ["t-0000", "t-1250.md", "t-2499", "t-9"];
    let whole = asked(&of_one_task(&repo), &asks);
    assert_eq!(asked(&of_one_task(&repo), &asks), (whole.0.clone(), 1));
    let file = kept(&repo).remove(0);
    let good = fs::read(&file).expect("read");
    let mut seed = 7_usize;
    let flips = (0..60).map(|number| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        // Many in the head, which is short.
        let at = if number < 40 {
            number * 13
        } else {
            (seed >> 20) % good.len()
        };
        let mut bad = good.clone();
        bad[at] ^= 1 << (seed >> 60 & 7);
        bad
    });
    let cuts = [0, 1, 12, 20, 40, 300, good.len() / 2, good.len() - 1]
        .map(|length| good[..length].to_vec());
    let mut noticed = 0;
    for bad in flips.chain(cuts).collect::<Vec<_>>() {
        fs::write(&file, &bad).expect("written");
        let (found, read) = asked(&of_one_task(&repo), &asks);
        assert_eq!(found, whole.0);
        // A block that nobody reads may be damaged.
        if read == 2 {
            noticed += 1;
            assert!(
                fs::read(&file).expect("read") == good,
                "it is written again"
            );
        }
    }
    assert!(noticed > 40, "{noticed}");
    // The content of another directory.
    let other = commit(&repo, "two\n");
    let place = file.with_file_name(other.to_string());
    fs::write(&place, &good).expect("written");
    let now = asked(&repo.store(), &asks).0;
    assert_ne!(now, whole.0);
    assert_eq!(asked(&of_one_task(&repo), &asks), (now.clone(), 2));
    assert_eq!(asked(&of_one_task(&repo), &asks), (now, 1));
}

#[test]
fn few_directories_are_kept() {
    let repo = Repo::new();
    for number in 0..7 {
        let tasks = commit(&repo, &format!("{number}\n"));
        asked(&of_one_task(&repo), &["t-0001"]);
        assert!(
            kept(&repo)
                .iter()
                .any(|file| file.ends_with(tasks.to_string()))
        );
        assert!(kept(&repo).len() <= 4);
    }
    // Whoever goes on to other commits keeps none of theirs.
    let store = of_one_task(&repo);
    asked(&store, &["t-0001"]);
    let before = kept(&repo);
    for number in 0..3 {
        commit(&repo, &format!("another {number}\n"));
        asked(&store, &["t-0001"]);
    }
    assert_eq!(kept(&repo), before);
}

#[test]
fn a_tree_that_is_not_sorted_is_not_kept() {
    let repo = Repo::of(ObjectFormat::Sha1);
    let (names, blob) = (names(), repo.blob("one\n"));
    let entries: Vec<(&str, &str, Digest)> = names
        .iter()
        .rev()
        .map(|name| ("100644", name.as_str(), blob))
        .collect();
    move_main(
        &repo,
        repo.raw_tree(&[("40000", "tasks", repo.raw_tree(&entries))]),
    );
    asked(&of_one_task(&repo), &["t-0001"]);
    assert_eq!(kept(&repo), Vec::<PathBuf>::new());
}
