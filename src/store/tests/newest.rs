//! Tests of the newest commit that changed each path: what is cached must be what a walk finds.

use super::{Repo, path};
use crate::base::{Digest, RepoPath};
use crate::store::{PlannedCommit, Store, Write};
use std::fs;

/// Most of those below `t` are in one part of the cache.
fn names() -> Vec<String> {
    let byte = |path: &String| Digest::of_blob(path.as_bytes()).as_bytes()[0];
    let of_one_part = (0..).map(|number| format!("t/{number}/log")).filter(|path| byte(path) == 1);
    let others = ["t/a/log", "t/b/log", "t/d/other", "log", "u/log"].map(str::to_owned);
    of_one_part.take(5).chain(others).collect()
}

/// A number from 0 up to `most`, which comes after `seed`.
fn next(seed: &mut u64, most: usize) -> usize {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    usize::try_from(*seed >> 33).expect("31 bits") % most
}

struct Life {
    repo: Repo,
    seed: u64,
    names: Vec<String>,
}

impl Life {
    fn new(seed: u64) -> Self {
        let repo = Repo::new();
        repo.git(&["config", "user.name", "Ann"]);
        repo.git(&["config", "user.email", "ann@example.com"]);
        repo.git(&["config", "gc.auto", "0"]);
        let mut life = Self { repo, seed, names: names() };
        life.commit();
        life
    }

    fn next(&mut self, most: usize) -> usize {
        next(&mut self.seed, most)
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
        self.repo.git(&["commit", "-q", "--allow-empty", "-m", "by git"]);
    }

    /// Changes one file to what it never was, by git.
    fn put(&mut self, at: &str) {
        self.repo.write(at, &format!("{}\n", self.seed));
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
        store.begin().and_then(|mut begun| begun.commit(&batch)).expect("committed");
        self.repo.git(&["reset", "-q", "--hard"]);
    }

    /// What git or others do to the history or to the cache.
    fn happen(&mut self) {
        let branch = format!("side-{}", self.seed);
        match self.next(10) {
            0 => drop(self.repo.git(&["commit", "-q", "--amend", "--allow-empty", "-m", "amended"])),
            1 => drop(self.repo.output("index", &["reset", "-q", "--hard", "HEAD~2"], &[])),
            2 => {
                self.repo.git(&["switch", "-q", "-c", &branch]);
                // If both change the same file, its newest change depends on the second in which each is made.
                self.put("t/a/log");
                self.repo.git(&["switch", "-q", "main"]);
                self.put("t/b/log");
                self.repo.git(&["merge", "-q", "-m", "merged", &branch]);
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
                let text = format!("{}\n", self.seed);
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
        let [kept, aside] = ["replaced", "aside"].map(|name| self.repo.path(&format!(".git/orch/{name}")));
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
        let families = fs::read_dir(self.repo.path(".git/orch/newest-changes")).into_iter().flatten();
        let families = families.map(|family| family.expect("read").path());
        let of_both = families.chain([self.repo.path(".git/orch/replaced")]);
        let files = of_both.filter_map(|place| fs::read_dir(place).ok()).flatten();
        files.map(|file| file.expect("read").path()).collect()
    }
}

#[test]
fn what_is_cached_is_what_a_walk_finds() {
    let mut folded = 0;
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
                folded += usize::from(life.cached().iter().any(|file| file.ends_with("ff")));
                assert_eq!(kept.last_changes(&wanted).expect("read"), walked, "{what}");
            }
            let anew = life.repo.store();
            anew.ask_for_few();
            assert_eq!(anew.last_changes(&wanted).expect("read"), walked, "{what}, anew");
            life.has_kept_what_was_taken(&anew, &what);
        }
    }
    assert!(folded > 0);
}
