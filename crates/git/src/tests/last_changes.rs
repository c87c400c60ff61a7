//! The newest commit that changed a path, compared with what git says.

use super::against_git::Chance;
use super::{Repo, path};
use orch_base::{Digest, RepoPath};
use std::fs;

struct Life {
    repo: Repo,
    chance: Chance,
}

impl Life {
    fn new(seed: u64) -> Self {
        let repo = Repo::new();
        repo.git(&["config", "user.name", "Ann"]);
        repo.git(&["config", "user.email", "ann@example.com"]);
        let mut life = Self {
            repo,
            chance: Chance(seed),
        };
        life.put("begin");
        life
    }

    /// Changes one file to what it never was.
    fn put(&mut self, at: &str) {
        self.repo.write(at, &format!("{}\n", self.chance.0));
        self.repo.git(&["add", "-A"]);
        self.repo.git(&["commit", "-q", "-m", "put"]);
        self.chance.below(2);
    }

    fn remove(&mut self, at: &str) {
        fs::remove_file(self.repo.path(at)).expect("removed");
        self.repo.git(&["commit", "-q", "-a", "-m", "removed"]);
    }

    /// What the store and git say of these paths.
    fn agrees(&self, paths: &[RepoPath]) {
        let store = self.repo.store();
        let head = store.refs().head().expect("read").commit.expect("a commit");
        let found = store.history().last_changes(head, paths).expect("walked");
        for (path, found) in paths.iter().zip(found) {
            let arguments = ["log", "-1", "--format=%H", "--", path.as_str()];
            let by_git = self.repo.git(&arguments);
            assert_eq!(found, Digest::parse(by_git.trim()), "{path}");
        }
    }
}

#[test]
fn it_is_what_git_says_of_one_path_and_of_many() {
    let names = ["t/a/log", "t/b/log", "t/b/deep/plan", "log", "u/log"];
    let paths: Vec<RepoPath> = names.into_iter().chain(["never/log"]).map(path).collect();
    let mut life = Life::new(1);
    for _ in 0..25 {
        let at = names[life.chance.below(names.len())];
        let is_gone = life.chance.below(4) == 0;
        if is_gone && life.repo.path(at).exists() {
            life.remove(at);
        } else {
            life.put(at);
        }
    }
    life.agrees(&paths);
    paths
        .iter()
        .for_each(|path| life.agrees(std::slice::from_ref(path)));
}

/// The side that a merge did not take is not what HEAD has, whichever is newer.
#[test]
fn what_a_merge_did_not_take_is_no_change() {
    for strategy in [["-s", "ours"], ["-X", "ours"], ["-X", "theirs"]] {
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
        let merge = ["merge", "-q", "side", "-m", "merged"];
        life.repo.git(&[&merge[..], &strategy].concat());
        life.agrees(&logs);
    }
}
