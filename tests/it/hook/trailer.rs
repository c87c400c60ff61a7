//! The hook that names the task of the branch in a commit message.

use super::{Scene, program};
use crate::harness::Ended;
use std::path::Path;

/// A scene with the hook installed, the open task `login` and the finished task `old`. Hooks find the real
/// `orch`.
fn named() -> Scene {
    let scene = Scene::new();
    real_orch(&scene);
    scene.world.orch(&["new", "login"]).succeeds();
    scene.world.orch(&["new", "old"]).succeeds();
    scene.world.walk_to("old", "done");
    scene
        .world
        .orch(&["hook", "install", "--prepare-commit-msg"])
        .succeeds()
        .says("prepare-commit-msg");
    scene
}

fn real_orch(scene: &Scene) {
    program(
        &scene.beside("bin/orch"),
        &format!("exec '{}' \"$@\"", env!("CARGO_BIN_EXE_orch")),
    );
}

/// Runs git with an editor that puts a subject before whatever the message file holds.
fn edited(scene: &Scene, arguments: &[&str]) -> Ended {
    let editor = "core.editor=sed -i '1s/^/Edited\\n/'";
    scene.git(&[&["-c", editor], arguments].concat())
}

/// The message of HEAD without the newlines at its end.
fn message(scene: &Scene) -> String {
    scene
        .world
        .git(&["log", "-1", "--format=%B"])
        .trim_end()
        .to_owned()
}

const NAMED: &str = "\n\nOrch-Task: login";

#[test]
fn a_commit_on_the_branch_of_an_open_task_names_it() {
    let scene = named();
    scene.world.git(&["switch", "-q", "-c", "task/login"]);
    scene.commit().succeeds();
    assert_eq!(message(&scene), format!("Something{NAMED}"));
    // With an editor, above the comments and the difference.
    scene.world.write("code.rs", "fn login() {}\n");
    scene.world.git(&["add", "code.rs"]);
    edited(&scene, &["commit", "-q", "-v"]).succeeds();
    assert_eq!(message(&scene), format!("Edited{NAMED}"));
    // With the trailers that are there, and never twice.
    for (given, expected) in [
        ("Text\n\nFixes: #1", "Text\n\nFixes: #1\nOrch-Task: login"),
        (
            "Text\n\norch-task: other\nFixes: #1",
            "Text\n\norch-task: other\nFixes: #1",
        ),
        ("Text\n---\nmore", "Text\n---\nmore\n\nOrch-Task: login"),
    ] {
        scene
            .git(&["commit", "-q", "--allow-empty", "-m", given])
            .succeeds();
        assert_eq!(message(&scene), expected);
    }
    // From a directory below, in another work tree.
    scene.world.git(&["switch", "-q", "main"]);
    scene
        .world
        .git(&["worktree", "add", "-q", "../second", "task/login"]);
    let tasks = scene.beside("second/tasks/login").display().to_string();
    scene
        .git(&["-C", &tasks, "commit", "-q", "--allow-empty", "-m", "There"])
        .succeeds();
    assert_eq!(
        scene.world.git(&["log", "-1", "--format=%B", "task/login"]),
        format!("There{NAMED}\n\n")
    );
}

#[test]
fn the_lines_that_git_keeps_are_the_message_whatever_the_settings_about_trailers() {
    let scene = named();
    scene.world.git(&["switch", "-q", "-c", "task/login"]);
    for (settings, given, expected) in [
        (&[][..], "#42 fix", "#42 fix\n\nOrch-Task: login"),
        (&[], "Text\n\n# more", "Text\n\n# more\n\nOrch-Task: login"),
        (
            &["commit.cleanup=strip"],
            "Text\n# gone",
            "Text\n\nOrch-Task: login",
        ),
        (
            &["trailer.separators==", "trailer.Orch-Task.command=echo x"],
            "Text",
            "Text\n\nOrch-Task: login",
        ),
        (
            &[
                "trailer.orch-task.key=Task #",
                "trailer.ifMissing=doNothing",
            ],
            "Text",
            "Text\n\nOrch-Task: login",
        ),
    ] {
        let settings = settings.iter().flat_map(|setting| ["-c", setting]);
        let commit = ["commit", "-q", "--allow-empty", "-m", given];
        scene
            .git(&settings.chain(commit).collect::<Vec<_>>())
            .succeeds();
        assert_eq!(message(&scene), expected);
    }
    // Without text, git aborts.
    let stripped = [
        "-c",
        "commit.cleanup=strip",
        "commit",
        "--allow-empty",
        "-m",
        "#42",
    ];
    scene.git(&stripped).ends(1).reports("Aborting");
}

#[test]
fn a_branch_that_names_no_open_task_and_a_message_of_another_commit_stay_as_they_are() {
    let scene = named();
    for branch in ["main", "task/old", "task/none", "login", "task/login/more"] {
        if branch != "main" {
            scene.world.git(&["switch", "-q", "-c", branch]);
        }
        scene.commit().succeeds();
        assert_eq!(message(&scene), "Something", "{branch}");
        scene.world.git(&["switch", "-q", "--detach"]);
        if branch != "main" {
            scene.world.git(&["branch", "-q", "-D", branch]);
        }
    }
    scene.world.git(&["switch", "-q", "-c", "side", "main"]);
    scene.commit().succeeds();
    scene
        .world
        .write("orch.toml", "[git]\ntask_branch = \"work-{task}\"\n");
    scene
        .world
        .git(&["switch", "-q", "-c", "work-login", "main"]);
    scene.commit().succeeds();
    assert_eq!(
        message(&scene),
        format!("Something{NAMED}"),
        "the branches of the settings"
    );
    scene
        .git(&["commit", "-q", "--amend", "--no-edit", "--allow-empty"])
        .succeeds();
    assert_eq!(message(&scene), format!("Something{NAMED}"));
    scene
        .git(&["commit", "-q", "--allow-empty", "-C", "main"])
        .succeeds();
    assert_eq!(message(&scene), "Something", "a reused message");
    edited(&scene, &["commit", "-q", "--amend", "--allow-empty"]).succeeds();
    assert_eq!(message(&scene), "Edited\nSomething", "an amended message");
    scene
        .git(&["merge", "-q", "--no-ff", "--no-edit", "side"])
        .succeeds();
    assert_eq!(message(&scene), "Merge branch 'side' into work-login");
    scene.world.git(&["switch", "-q", "side"]);
    scene.world.write("more.rs", "");
    scene.world.git(&["add", "more.rs"]);
    scene.commit().succeeds();
    scene.world.git(&["switch", "-q", "work-login"]);
    scene.git(&["merge", "-q", "--squash", "side"]).succeeds();
    edited(&scene, &["commit", "-q"]).succeeds();
    assert!(!message(&scene).contains("Orch-Task"), "a squash");
    scene.world.git(&["switch", "-q", "-c", "elsewhere"]);
    scene.world.write("picked.rs", "");
    scene.world.git(&["add", "picked.rs"]);
    scene.commit().succeeds();
    scene.world.git(&["switch", "-q", "work-login"]);
    scene.git(&["cherry-pick", "elsewhere"]).succeeds();
    assert_eq!(message(&scene), "Something", "a picked commit");
}

#[test]
fn a_message_without_a_trailer_never_blocks_a_commit() {
    let scene = named();
    let hook = scene.world.read(".git/hooks/prepare-commit-msg");
    scene
        .world
        .write("orch.toml", "[hook]\non_missing = \"block\"\n");
    scene
        .world
        .orch(&["hook", "install", "--prepare-commit-msg"])
        .succeeds()
        .says("updated");
    scene.world.git(&["switch", "-q", "-c", "task/login"]);
    for answer in ["exit 1", "exit 2", "exit 70", "kill -SEGV $$"] {
        scene.orch_answers(answer);
        scene.commit().succeeds();
        assert_eq!(message(&scene), "Something", "{answer}");
    }
    // Neither PATH nor the recorded path has an orch.
    let gone = scene.world.read(".git/hooks/prepare-commit-msg");
    scene.world.write(
        ".git/hooks/prepare-commit-msg",
        gone.replace(env!("CARGO_BIN_EXE_orch"), "/nowhere/orch"),
    );
    std::fs::remove_file(scene.beside("bin/orch")).expect("removed");
    scene
        .commit()
        .succeeds()
        .reports("the message is left as it is");
    assert_eq!(message(&scene), "Something");
    scene.world.write(".git/hooks/prepare-commit-msg", hook);
    real_orch(&scene);
    // A task that cannot be read, and a file that does not exist.
    scene
        .world
        .write("tasks/login/transcript.jsonl", "no event\n");
    scene.commit().succeeds();
    scene
        .world
        .orch(&["hook", "prepare-commit-msg", "none"])
        .succeeds()
        .reports("cannot name the task");
}

#[test]
fn a_hook_that_was_there_before_runs_first_and_comes_back() {
    let scene = Scene::new();
    real_orch(&scene);
    scene.world.orch(&["new", "login"]).succeeds();
    scene.world.git(&["switch", "-q", "-c", "task/login"]);
    scene.hook("prepare-commit-msg", "echo 'From-Hook: yes' >>\"$1\"");
    let before = scene.world.read(".git/hooks/prepare-commit-msg");
    scene
        .world
        .orch(&["hook", "install", "--prepare-commit-msg"])
        .succeeds();
    scene
        .git(&["commit", "-q", "--allow-empty", "-m", "Text\n\nFixes: #1"])
        .succeeds();
    assert_eq!(
        message(&scene),
        "Text\n\nFixes: #1\nFrom-Hook: yes\nOrch-Task: login"
    );
    assert_eq!(
        scene.seen(),
        "prepare-commit-msg .git/COMMIT_EDITMSG message\n"
    );
    scene
        .world
        .orch(&["hook", "uninstall"])
        .succeeds()
        .says("the previous hook is restored");
    assert_eq!(scene.world.read(".git/hooks/prepare-commit-msg"), before);
    assert!(!Path::new(&scene.world.path(".git/hooks.before-orch")).exists());
}

#[test]
fn git_still_aborts_a_commit_whose_message_nobody_writes() {
    let scene = named();
    scene.world.git(&["switch", "-q", "-c", "task/login"]);
    scene.world.write("template", "Why:\n");
    scene.world.write("code.rs", "fn login() {}\n");
    scene.world.git(&["add", "code.rs"]);
    let head = scene.world.git(&["rev-parse", "HEAD"]);
    for options in [
        ["commit", "-v"].as_slice(),
        &["commit", "-s"],
        &["-c", "commit.cleanup=scissors", "commit"],
        &["-c", "core.commentChar=auto", "commit"],
        &[
            "-c",
            "core.commentChar=;",
            "-c",
            "commit.template=template",
            "commit",
        ],
    ] {
        scene
            .git(&[&["-c", "core.editor=true"], options].concat())
            .ends(1)
            .reports("Aborting");
        assert_eq!(scene.world.git(&["rev-parse", "HEAD"]), head, "{options:?}");
        edited(&scene, options).succeeds();
        assert_eq!(
            message(&scene).matches("Orch-Task: login").count(),
            1,
            "{options:?}"
        );
        scene.world.git(&["reset", "-q", "--soft", "HEAD~1"]);
    }
    scene.git(&["commit", "-m", ""]).ends(1).reports("Aborting");
    // What an aborted commit has left is no reason to name a task.
    scene.world.git(&["switch", "-q", "-c", "other"]);
    edited(&scene, &["commit", "-q"]).succeeds();
    assert_eq!(message(&scene), "Edited");
}

#[test]
fn the_hook_that_completes_a_message_checks_only_if_it_is_asked_to() {
    let scene = named();
    let hook = || scene.world.read(".git/hooks/commit-msg");
    assert!(hook().contains("\nchecks=no\n"));
    scene.world.orch(&["hook", "status"]).succeeds();
    scene
        .world
        .orch(&["hook", "install", "--commit-msg"])
        .succeeds()
        .says("updated");
    assert!(hook().contains("\nchecks=yes\n"));
    scene
        .world
        .orch(&["hook", "install", "--prepare-commit-msg"])
        .succeeds()
        .says("unchanged");
    scene.world.orch(&["hook", "status"]).succeeds();
    // It checks the message with the trailer that it adds.
    scene.world.git(&["switch", "-q", "-c", "task/login"]);
    scene.world.write("tasks/login/state.json", "{}\n");
    scene.world.git(&["add", "tasks"]);
    edited(&scene, &["commit", "-q"]).ends(1);
    scene.world.git(&["reset", "-q", "--hard"]);
    edited(&scene, &["commit", "-q", "--allow-empty"]).succeeds();
    assert_eq!(message(&scene), format!("Edited{NAMED}"));
    scene.world.orch(&["hook", "uninstall"]).succeeds();
    assert!(!scene.world.path(".git/hooks/commit-msg").exists());
}

#[test]
fn a_commit_of_an_agent_names_it() {
    let scene = named();
    let commit = |variable: &str, value: &str, arguments: &[&str]| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut command = scene.world.command("git");
        command.args(arguments).env(
            "PATH",
            format!("{}:{}", scene.beside("bin").display(), path.display()),
        );
        scene
            .world
            .end(command.env(variable, value).output().expect("git runs"))
            .succeeds();
        message(&scene)
    };
    let plain = ["commit", "-q", "--allow-empty", "-m", "Text"];
    for (variable, value, expected) in [
        ("CLAUDECODE", "1", "Text\n\nOrch-Writer: Claude Code"),
        ("ORCH_ACTOR", "agent:coder", "Text\n\nOrch-Writer: coder"),
        ("ORCH_ACTOR", "human:Ann", "Text"),
        ("CLAUDECODE", "", "Text"),
    ] {
        assert_eq!(
            commit(variable, value, &plain),
            expected,
            "{variable}={value}"
        );
    }
    // On the branch of a task, beside its name; and nothing is added twice, or to a message of another commit.
    scene.world.git(&["switch", "-q", "-c", "task/login"]);
    let both = "Text\n\nOrch-Task: login\nOrch-Writer: Claude Code";
    assert_eq!(commit("CLAUDECODE", "1", &plain), both);
    assert_eq!(
        commit(
            "CLAUDECODE",
            "1",
            &["commit", "-q", "--allow-empty", "-m", both]
        ),
        both
    );
    let amend = ["commit", "-q", "--allow-empty", "--amend", "--no-edit"];
    assert_eq!(commit("CODEX_CI", "1", &amend), both);
    // In the editor, an empty message still aborts.
    let edit = [
        "-c",
        "core.editor=sed -i '1s/^/Edited\\n/'",
        "commit",
        "-q",
        "--allow-empty",
    ];
    assert_eq!(
        commit("CLAUDECODE", "1", &edit),
        "Edited\n\nOrch-Task: login\nOrch-Writer: Claude Code"
    );
    scene.world.orch(&["check", "--commit", "HEAD"]).succeeds();
}
