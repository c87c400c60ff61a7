//! The hooks of git that `orch hook` installs: real git, and an `orch` that answers what it is told to.

mod agent;
mod amend;
mod chain;
mod faults;
mod frameworks;
mod interplay;
mod places;
mod slots;
mod trailer;

use crate::harness::{Ended, World};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A repository set up for orch, and beside it a directory of programs that is searched first.
struct Scene {
    world: World,
}

impl Scene {
    /// A scene whose `orch` finds no fault.
    fn new() -> Self {
        let scene = Self {
            world: World::ready(),
        };
        fs::create_dir(scene.beside("bin")).expect("a directory");
        scene.orch_answers("exit 0");
        scene
    }

    /// A path beside the repository.
    fn beside(&self, path: &str) -> PathBuf {
        self.world
            .path("..")
            .canonicalize()
            .expect("a place")
            .join(path)
    }

    /// From now on `orch`, as hooks find it, notes what it is given and ends with these lines of shell.
    fn orch_answers(&self, lines: &str) {
        let seen = self.beside("seen");
        let note = format!("{{ echo \"orch $*\"; cat; }} >>'{}'", seen.display());
        program(&self.beside("bin/orch"), &format!("{note}\n{lines}"));
    }

    /// What `orch` and other programs of this scene noted since the last time.
    fn seen(&self) -> String {
        let seen = self.beside("seen");
        let text = fs::read_to_string(&seen).unwrap_or_default();
        let _ = fs::remove_file(seen);
        text
    }

    /// Runs `git`, whose hooks search the directory of programs first.
    fn git(&self, arguments: &[&str]) -> Ended {
        let path = std::env::var_os("PATH").unwrap_or_default();
        self.git_with_path(
            &format!("{}:{}", self.beside("bin").display(), path.display()),
            arguments,
        )
    }

    fn git_with_path(&self, path: &str, arguments: &[&str]) -> Ended {
        let mut command = self.world.command("git");
        self.world.end(
            command
                .args(arguments)
                .env("PATH", path)
                .output()
                .expect("git runs"),
        )
    }

    /// Commits something new.
    fn commit(&self) -> Ended {
        self.git(&["commit", "-q", "--allow-empty", "-m", "Something"])
    }

    /// A program in place of a hook, which notes its arguments and stdin.
    fn hook(&self, name: &str, then: &str) {
        let note = format!(
            "{{ echo \"{name} $*\"; cat; }} >>'{}'",
            self.beside("seen").display()
        );
        program(
            &self.world.path(&format!(".git/hooks/{name}")),
            &format!("{note}\n{then}"),
        );
    }

    fn commits(&self) -> usize {
        self.world
            .git(&["rev-list", "--count", "HEAD"])
            .trim()
            .parse()
            .expect("a number")
    }
}

/// Writes a program of the shell.
fn program(path: &Path, lines: &str) {
    // Renamed into place: a file that another thread's child still holds open for writing cannot run.
    let draft = path.with_extension("draft");
    fs::write(&draft, format!("#!/bin/sh\n{lines}\n")).expect("written");
    fs::set_permissions(&draft, PermissionsExt::from_mode(0o755)).expect("executable");
    fs::rename(draft, path).expect("renamed");
}
