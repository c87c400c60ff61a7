//! The global options, which every command has.

use crate::harness::{World, project};
use crate::screens::commands;
use std::fs;

/// What the commands that are no sentence by themselves require.
const REQUIRED: [(&str, &[&str]); 15] = [
    ("new", &["x"]),
    ("schema", &["x"]),
    ("answer", &["x=1"]),
    ("board", &["--html", "x"]),
    ("confirm", &["x", "--reason", "x"]),
    ("rollback", &["--reason", "x"]),
    ("reopen", &["--reason", "x"]),
    ("rename", &["x", "y"]),
    ("reject", &["--reason", "x"]),
    ("merge-driver", &["x", "x", "x", "x"]),
    ("diff", &["x"]),
    ("completions", &["bash"]),
    ("workflow show", &["x"]),
    ("workflow diagram", &["x"]),
    ("workflow new", &["x"]),
];

#[test]
fn every_command_refuses_a_directory_that_is_not_there() {
    let world = World::ready();
    world.write("file", "");
    for directory in ["nowhere", "file"] {
        for command in commands() {
            // These answer a program, which they are not to stop.
            if ["hook agent", "hook prepare-commit-msg", "hook commit-msg"].contains(&&*command) {
                continue;
            }
            let required = REQUIRED.iter().find(|(name, _)| *name == command);
            let required = required.map_or(&[][..], |(_, words)| words);
            let words: Vec<&str> = command.split(' ').chain(required.iter().copied()).collect();
            let refused = world.orch(&[&["-C", directory], &words[..]].concat());
            assert_eq!(refused.code, 2, "{words:?}: {refused:?}");
            assert!(
                refused
                    .stderr
                    .starts_with(&format!("error: cannot open {directory}: "))
                    && refused
                        .stderr
                        .contains("hint: choose an existing directory with -C\n"),
                "{words:?}: {refused:?}"
            );
            assert_eq!(refused.stdout, "", "{words:?}");
        }
    }
}

#[test]
fn a_quiet_command_does_not_say_what_it_did() {
    let world = World::new();
    let document = fs::read_to_string(project().join("system/workflows/openspec.md"));
    let document = document.expect("a workflow");
    for words in [
        &["init"][..],
        &["init"],
        &["init", "--merge-driver", "--log-alias"],
        &["workflow", "fmt"],
        &["hook", "install"],
        &["hook", "install"],
        &["hook", "uninstall"],
        &["man", "--dir", "pages"],
    ] {
        let stale = document.replace("<!-- orch:diagram -->", "<!-- orch:diagram -->\nold\n");
        world.write("system/workflows/openspec.md", stale);
        let quiet = world.orch(&[&["-q"], words].concat()).succeeds();
        assert_eq!((&*quiet.stdout, &*quiet.stderr), ("", ""), "{words:?}");
    }
    // An answer is printed, and so is what was left alone.
    assert_ne!(world.orch(&["-q", "hook", "status"]).stdout, "");
    world.orch(&["hook", "install"]).succeeds();
    let hook = world.read(".git/hooks/pre-commit");
    world.write(".git/hooks/pre-commit", hook + "echo mine\n");
    let left = world.orch(&["-q", "hook", "uninstall"]);
    assert!(left.stdout.contains("left alone"), "{left:?}");
}

/// A full disk under a redirected answer is no success, whatever the answer is.
#[test]
fn an_answer_that_cannot_be_written_is_told() {
    let world = World::ready();
    for arguments in [
        &["--help"][..],
        &["next", "-h"],
        &["--version"],
        &["status"],
    ] {
        let full = fs::File::options()
            .write(true)
            .open("/dev/full")
            .expect("there");
        let mut command = world.orch_command(arguments);
        let ended = world.end(command.stdout(full).output().expect("orch runs"));
        ended.ends(70).reports("No space left on device");
    }
}
