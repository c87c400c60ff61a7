//! Tests of the newest commit that changed each path: what is cached must be what a walk finds.

use super::against_git::Chance;
use super::{Repo, path};
use crate::base::{Digest, RepoPath};
use crate::{PlannedCommit, Store, Write};
use std::fs;

/// Most of those below `t` are in one part of the cache.
fn names() -> Vec<String> {
    let byte = |path: &String| Digest::of_blob(path.as_bytes()).as_bytes()[0];
    let of_one_part = (0..)
        .map(|number| format!("t/{number}/log"))
        .filter(|path| byte(path) == 1);
    let others = ["t/a/log", "t/b/log", "t/d/other", "log", "u/log"].map(str::to_owned);
    of_one_part.take(5).chain(others).collect()
}

struct Life {
    repo: Repo,
    chance: Chance,
    names: Vec<String>,
}

impl Life {
    fn new(seed: u64) -> Self {
        let repo = Repo::new();
        repo.git(&["config", "user.name", "Ann"]);
        repo.git(&["config", "user.email", "ann@example.com"]);
        repo.git(&["config", "gc.auto", "0"]);
        let mut life = Self {
            repo,
            chance: Chance(seed),
            names: names(),
        };
        life.commit();
        life
    }

    fn next(&mut self, most: usize) -> usize {
        self.chance.below(most)
    }

    /// The name of a file.
    fn name(&mut self) -> String {
        let at = self.next(self.names.len());
        self.names[at].clone()
    }

    /// Changes some files, by git.
    fn commit(&mut self) {
        for _ in 0..1 + self.next(2) {
            let (at, is_gone) = (&self.name(), self.next(5) == 0);
            let text = format!("{}\n", self.next(4));
            if is_gone && self.repo.path(at).exists() {
                fs::remove_file(self.repo.path(at)).expect("removed");
            } else {
                self.repo.write(at, &text);
            }
        }
        self.repo.git(&["add", "-A"]);
        self.repo
            .git(&["commit", "-q", "--allow-empty", "-m", "by git"]);
    }

    /// Changes one file to what it never was, by git.
    fn put(&mut self, at: &str) {
        self.repo.write(at, &format!("{}\n", self.chance.0));
        self.repo.git(&["add", "-A"]);
        self.repo.git(&["commit", "-q", "-m", "put"]);
        self.next(2);
    }

    /// Changes files, by the store.
    fn step(&mut self, store: &Store) {
        let count = 1 + self.next(3);
        let planned = |life: &mut Self| {
            let (at, text) = (&life.name(), format!("{}\n", life.next(4)));
            PlannedCommit {
                message: "step".to_owned(),
                writes: vec![Write::evidence(path(at), text.into_bytes(), false)],
                removes: vec![],
                moves: vec![],
            }
        };
        let batch: Vec<PlannedCommit> = (0..count).map(|_| planned(self)).collect();
        store
            .begin()
            .and_then(|mut begun| begun.commit(&batch))
            .expect("committed");
        self.repo.git(&["reset", "-q", "--hard"]);
    }

    /// What git or others do to the history or to the cache.
    fn happen(&mut self) {
        let branch = format!("side-{}", self.chance.0);
        match self.next(10) {
            0 => {
                drop(
                    self.repo
                        .git(&["commit", "-q", "--amend", "--allow-empty", "-m", "amended"]),
                )
            }
            1 => drop(
                self.repo
                    .output("index", &["reset", "-q", "--hard", "HEAD~2"], &[]),
            ),
            2 => {
                self.repo.git(&["switch", "-q", "-c", &branch]);
                let both = self.name();
                self.put("t/a/log");
                self.put(&both);
                self.repo.git(&["switch", "-q", "main"]);
                self.put("t/b/log");
                self.put(&both);
                self.repo
                    .git(&["merge", "-q", "-X", "ours", "-m", "merged", &branch]);
            }
            3 => {
                self.repo.git(&["switch", "-q", "-c", &branch, "HEAD"]);
                self.commit();
                self.repo.git(&["branch", "-q", "-f", "main"]);
                self.repo.git(&["switch", "-q", "main"]);
            }
            4 => {
                let files = self.cached();
                if !files.is_empty() {
                    let file = &files[self.next(files.len())];
                    fs::remove_file(file).expect("removed");
                }
            }
            5 => {
                let files = self.cached();
                if !files.is_empty() {
                    let file = &files[self.next(files.len())];
                    let text = fs::read(file).expect("read");
                    let end = self.next(text.len() + 1);
                    fs::write(file, &text[..end]).expect("cut off");
                }
            }
            6 => {
                // So many bytes of paths that the trail is folded.
                let deep = vec!["d".repeat(230); 15].join("/");
                let text = format!("{}\n", self.chance.0);
                (0..80).for_each(|at| self.repo.write(&format!("u/{at}/{deep}/log"), &text));
                self.commit();
            }
            _ => (0..1 + self.next(25)).for_each(|_| self.commit()),
        }
    }

    /// Checks which commit still had a content against a store that nothing was kept for.
    fn has_kept_what_was_taken(&mut self, store: &Store, what: &str) {
        let (at, text) = (path(&self.name()), format!("{}\n", self.next(4)));
        let blob = self.repo.blob(&text);
        let found = store.commit_holding(&at, blob).expect("read");
        let [kept, aside] =
            ["replaced", "aside"].map(|name| self.repo.path(&format!(".git/orch/{name}")));
        let is_kept = kept.exists();
        if is_kept {
            fs::rename(&kept, &aside).expect("moved");
        }
        let anew = self.repo.store().commit_holding(&at, blob).expect("read");
        // Of two commits that a merge joins, neither is newer in every order.
        assert_eq!(found.is_some(), anew.is_some(), "{what}: {at} {blob}");
        for commit in found.iter().chain(&anew) {
            let held = self.repo.git(&["rev-parse", &format!("{commit}:{at}")]);
            assert_eq!(held.trim(), blob.to_string(), "{what}: {at}");
        }
        if is_kept {
            fs::rename(&aside, &kept).expect("moved back");
        }
    }

    /// The files of the caches.
    fn cached(&self) -> Vec<std::path::PathBuf> {
        let families = fs::read_dir(self.repo.path(".git/orch/newest-changes"))
            .into_iter()
            .flatten();
        let families = families.map(|family| family.expect("read").path());
        let of_both = families.chain([self.repo.path(".git/orch/replaced")]);
        let files = of_both
            .filter_map(|place| fs::read_dir(place).ok())
            .flatten();
        files.map(|file| file.expect("read").path()).collect()
    }
}

#[test]
fn what_is_cached_is_what_a_walk_finds() {
    for seed in 0..2 {
        let mut life = Life::new(seed);
        let kept = life.repo.store();
        for at in 0..30 {
            match life.next(3) {
                0 => life.step(&kept),
                _ => life.happen(),
            }
            let wanted: Vec<RepoPath> = (0..1 + life.next(3)).map(|_| path(&life.name())).collect();
            let head = kept.head().expect("read").commit.expect("a commit");
            let walked = kept.last_changes_before(head, &wanted).expect("walked");
            let what = format!("seed {seed}, {at}: {wanted:?}");
            if life.next(2) == 0 {
                assert_eq!(kept.last_changes(&wanted).expect("read"), walked, "{what}");
            }
            let anew = life.repo.store();
            anew.ask_for_few();
            assert_eq!(
                anew.last_changes(&wanted).expect("read"),
                walked,
                "{what}, anew"
            );
            life.has_kept_what_was_taken(&anew, &what);
        }
    }
}

/// Whoever asks for which of them.
#[test]
fn no_commit_is_compared_twice() {
    let mut life = Life::new(1);
    let paths: Vec<RepoPath> = (0..60)
        .map(|number| path(&format!("tasks/{number}/log")))
        .collect();
    paths.iter().for_each(|at| life.put(at.as_str()));
    let asked = |at: usize| {
        let store = life.repo.store();
        let found = store.last_changes(&paths[at..=at]).expect("read")[0].expect("a commit");
        let subject = life
            .repo
            .git(&["log", "-1", "--format=%H", "--", paths[at].as_str()]);
        assert_eq!(found.to_string(), subject.trim());
        store.listed.get()
    };
    // The oldest of them: the walk passes all others.
    assert!(asked(0) > 60);
    assert_eq!((1..60).map(asked).sum::<u64>(), 0);
    // Once more, as after many commits of somebody else.
    let before = life.repo.git(&["rev-parse", "HEAD"]);
    (30..60).for_each(|at| life.put(paths[at].as_str()));
    let asked = |at: usize| {
        let store = life.repo.store();
        store.last_changes(&paths[at..=at]).expect("read");
        store.listed.get()
    };
    assert!(asked(5) > 60);
    assert_eq!((0..60).map(asked).sum::<u64>(), 0);
    life.repo.git(&["reset", "-q", "--hard", before.trim()]);
    assert_eq!((0..60).map(asked).sum::<u64>(), 0, "HEAD was there before");
}

/// What a store has committed, it keeps for others.
#[test]
fn no_commit_of_a_store_is_compared_by_another() {
    let mut life = Life::new(2);
    for number in 0..40 {
        life.put(&format!("tasks/{number}/log"));
        life.put(&format!("tasks/{number}/plan"));
    }
    let logs: Vec<RepoPath> = (0..40)
        .map(|number| path(&format!("tasks/{number}/log")))
        .collect();
    let plan = path("tasks/7/plan");
    let holding = |store: &Store, text: &str| {
        store
            .commit_holding(&plan, life.repo.blob(text))
            .expect("read")
    };
    let watch = life.repo.store();
    watch.last_changes(&logs).expect("read");
    assert_eq!(holding(&watch, "never\n"), None);
    let begin = watch.head().expect("read").commit;
    let held = life.repo.git(&["show", "HEAD:tasks/7/plan"]);
    for number in 0..20 {
        let writes = ["log", "plan"].map(|name| {
            let at = path(&format!("tasks/{number}/{name}"));
            Write::evidence(at, format!("step {number}\n").into_bytes(), false)
        });
        let message = "step".to_owned();
        let planned = PlannedCommit {
            message,
            writes: writes.to_vec(),
            removes: vec![],
            moves: vec![],
        };
        watch
            .begin()
            .and_then(|mut begun| begun.commit(&[planned]))
            .expect("committed");
    }
    let other = life.repo.store();
    other.ask_for_few();
    let newest = other.last_changes(&logs[19..=19]).expect("read");
    assert_eq!(newest, [watch.head().expect("read").commit]);
    assert_eq!(other.listed.get(), 0);
    // The seventh step took it away.
    let holder = holding(&other, &held).expect("a commit");
    assert_eq!(
        life.repo.git(&["show", &format!("{holder}:tasks/7/plan")]),
        held
    );
    assert_ne!(Some(holder), begin);
    // HEAD is asked first: the two directories on the way.
    assert!(other.listed.get() <= 2 * 45, "{}", other.listed.get());
}

/// HEAD goes back to where it was before a change, and the one before that counts again.
#[test]
fn what_is_on_the_trail_is_also_in_a_complete_part() {
    let mut life = Life::new(3);
    // All are in one part of the cache.
    let [changed, other, never] = [0, 1, 2].map(|at| path(&names()[at]));
    let newest =
        |life: &Life, at: &RepoPath| life.repo.store().last_changes(std::slice::from_ref(at));
    life.put(changed.as_str());
    let first = life.repo.git(&["rev-parse", "HEAD"]);
    life.put(other.as_str());
    let begin = life.repo.git(&["rev-parse", "HEAD"]);
    // The trail begins here.
    assert_eq!(
        newest(&life, &other).expect("read")[0]
            .expect("a commit")
            .to_string(),
        begin.trim()
    );
    life.put(changed.as_str());
    assert_eq!(newest(&life, &never).expect("read"), [None]);
    life.repo.git(&["reset", "-q", "--hard", begin.trim()]);
    assert_eq!(
        newest(&life, &changed).expect("read")[0]
            .expect("a commit")
            .to_string(),
        first.trim()
    );
}

/// A path may look like other lines of a cache.
#[test]
fn no_path_passes_for_another() {
    let mut life = Life::new(4);
    let newest = |life: &Life, at: &RepoPath| {
        life.repo
            .store()
            .last_changes(std::slice::from_ref(at))
            .expect("read")
    };
    let [log, plain] = ["tasks/0/log", "tasks/1/log"].map(path);
    life.put(log.as_str());
    let first = newest(&life, &log);
    for odd in [
        "tasks/a\n{} tasks/0/log",
        "tasks/a\n{}\n/b/log",
        "tasks/0/log\r",
    ] {
        let odd = path(&odd.replace("{}", &"1".repeat(40)));
        // So many that what was found is kept.
        (0..20).for_each(|_| life.put(odd.as_str()));
        assert_eq!(newest(&life, &log), first, "{odd:?}");
        for _ in 0..2 {
            assert_eq!(
                newest(&life, &odd),
                [life.repo.store().head().expect("read").commit],
                "{odd:?}"
            );
            assert_eq!(newest(&life, &plain), [None], "{odd:?}");
        }
    }
    assert_eq!(newest(&life, &log), first);
}

#[test]
fn a_long_trail_is_folded_into_the_parts() {
    let mut life = Life::new(5);
    life.put("u/0/log");
    let early = path("u/0/log");
    let first = life
        .repo
        .store()
        .last_changes(std::slice::from_ref(&early))
        .expect("read");
    let deep = vec!["d".repeat(230); 15].join("/");
    let many: Vec<RepoPath> = (0..80)
        .map(|at| path(&format!("u/{at}/{deep}/log")))
        .collect();
    many.iter()
        .for_each(|at| life.repo.write(at.as_str(), "deep\n"));
    life.put("u/1/log");
    let head = life.repo.store().head().expect("read").commit;
    assert_eq!(
        life.repo.store().last_changes(&many[7..8]).expect("read"),
        [head]
    );
    let trails = life
        .cached()
        .into_iter()
        .filter(|file| file.ends_with("trail"));
    let trails: Vec<String> = trails
        .map(|file| fs::read_to_string(file).expect("text"))
        .collect();
    assert_eq!(trails, [format!("{}\n", head.expect("a commit"))]);
    let other = life.repo.store();
    assert_eq!(
        other.last_changes(&many).expect("read"),
        vec![head; many.len()]
    );
    assert_eq!(
        other
            .last_changes(std::slice::from_ref(&early))
            .expect("read"),
        first
    );
    assert_eq!(other.listed.get(), 0);
}

/// What a shallow clone finds is not what it finds later.
#[test]
fn a_clone_that_is_no_longer_shallow_knows_more() {
    let mut life = Life::new(6);
    let plan = path("tasks/0/plan");
    (0..40).for_each(|_| life.put(plan.as_str()));
    let old = life.repo.git(&["rev-parse", "HEAD~35:tasks/0/plan"]);
    let blob = Digest::parse(old.trim()).expect("an id");
    let [place, clone] =
        [".", "clone"].map(|name| life.repo.path(name).to_string_lossy().into_owned());
    life.repo.git(&[
        "clone",
        "-q",
        "--depth",
        "25",
        &format!("file://{place}"),
        &clone,
    ]);
    let store = super::store_at(&life.repo.path("clone"));
    store.ask_for_few();
    // It walks only for what it has.
    let text = life.repo.git(&["show", "HEAD~35:tasks/0/plan"]);
    life.repo.git_on(
        "index",
        &["-C", &clone, "hash-object", "-w", "--stdin"],
        text.as_bytes(),
    );
    assert_eq!(store.commit_holding(&plan, blob).expect("read"), None);
    life.repo.git(&["-C", &clone, "fetch", "-q", "--unshallow"]);
    life.repo
        .git(&["-C", &clone, "commit", "-q", "--allow-empty", "-m", "later"]);
    // libgit2 reads once where a clone ends.
    let again = store.location().open().expect("opened");
    for store in [again, super::store_at(&life.repo.path("clone"))] {
        store.ask_for_few();
        let holder = store
            .commit_holding(&plan, blob)
            .expect("read")
            .expect("a commit");
        assert_eq!(
            life.repo
                .git(&["rev-parse", &format!("{holder}:tasks/0/plan")]),
            old
        );
    }
}

/// The side that a merge did not take is not what HEAD has, whichever is newer.
#[test]
fn what_a_merge_did_not_take_is_no_change() {
    for strategy in [&["-s", "ours"][..], &["-X", "ours"], &["-X", "theirs"]] {
        let mut life = Life::new(7);
        let logs = ["t/a/log", "t/b/log", "t/new/log"].map(path);
        life.put("t/a/log");
        life.put("t/b/log");
        life.repo.git(&["switch", "-q", "-c", "side"]);
        ["t/a/log", "t/new/log", "t/a/log"]
            .iter()
            .for_each(|at| life.put(at));
        life.repo.git(&["switch", "-q", "main"]);
        life.put("t/a/log");
        let newest = |life: &Life| life.repo.store().last_changes(&logs).expect("read");
        newest(&life);
        life.repo.git(&[
            "merge",
            "-q",
            "side",
            "-m",
            "merged",
            strategy[0],
            strategy[1],
        ]);
        let by_git = logs.each_ref().map(|at| {
            Digest::parse(
                life.repo
                    .git(&["log", "-1", "--format=%H", "--", at.as_str()])
                    .trim(),
            )
        });
        assert_eq!(newest(&life), by_git, "{strategy:?}");
        fs::remove_dir_all(life.repo.path(".git/orch/newest-changes")).expect("removed");
        assert_eq!(newest(&life), by_git, "{strategy:?}, without a cache");
        let head = life
            .repo
            .store()
            .head()
            .expect("read")
            .commit
            .expect("a commit");
        let walked = life
            .repo
            .store()
            .last_changes_before(head, &logs)
            .expect("walked");
        assert_eq!(walked, by_git, "{strategy:?}, without any");
    }
}
