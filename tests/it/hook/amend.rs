//! `git commit --amend` of a step, with the hooks installed.

use crate::harness::{Ended, World};

/// A repository with both hooks, whose HEAD records a step of the task `t`.
fn hooked() -> World {
    let world = World::ready();
    world
        .orch(&["hook", "install", "--pre-commit", "--commit-msg"])
        .succeeds();
    world.write("code.txt", "a\n");
    world.commit("code");
    world.orch(&["new", "t"]).succeeds();
    world.plan("t", 1);
    world.orch(&["next", "t"]).succeeds();
    world
}

fn amend(world: &World, arguments: &[&str]) -> Ended {
    world.git_ended(&[&["commit", "--amend"], arguments].concat())
}

#[test]
fn a_step_is_amended_as_long_as_its_content_stays() {
    let world = hooked();
    amend(&world, &["--no-edit"]).succeeds();
    amend(&world, &["--no-edit", "--reset-author"]).succeeds();
    world.write("code.txt", "b\n");
    amend(&world, &["-a", "--no-edit"]).succeeds();
    let message = world.git(&["log", "-1", "--format=%B"]);
    amend(
        &world,
        &["-m", &message.replacen("\n\n", "\n\nMore words.\n\n", 1)],
    )
    .succeeds();
    let mut reword = world.command("git");
    reword.args([
        "-c",
        "sequence.editor=sed -i 1s/pick/reword/",
        "-c",
        "core.editor=true",
        "rebase",
        "-q",
        "-i",
        "HEAD~1",
    ]);
    world.end(reword.output().expect("git runs")).succeeds();
    world.orch(&["audit", "--strict"]).succeeds();
}

#[test]
fn an_amendment_that_adds_evidence_is_refused_by_both_hooks() {
    for hook in ["pre-commit", "commit-msg"] {
        let world = hooked();
        let other = if hook == "pre-commit" {
            "commit-msg"
        } else {
            "pre-commit"
        };
        world.remove(&format!(".git/hooks/{other}"));
        let edits: [&dyn Fn(); 2] = [&|| world.plan("t", 2), &|| world.plan_review("t", true, 1)];
        for edit in edits {
            edit();
            world.git(&["add", "tasks"]);
            amend(&world, &["--no-edit"])
                .ends(1)
                .reports("amended-evidence");
            world
                .git_ended(&["commit", "-q", "-m", "by itself"])
                .succeeds();
            world.git(&["reset", "-q", "--hard", "HEAD~1"]);
        }
        // The message of a step, in a commit that is none.
        world.write("code.txt", "b\n");
        let reused = world.git_ended(&["commit", "-a", "-C", "HEAD"]);
        if hook == "commit-msg" {
            reused
                .ends(1)
                .reports("remove these lines from the message");
        }
    }
}
