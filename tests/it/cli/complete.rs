//! Completion in a shell, and the manual pages.

use crate::harness::{Ended, World};

/// What `orch` offers a shell for the last of these words.
pub fn offered(world: &World, words: &[&str]) -> Vec<String> {
    let ended = asked(world, "/usr/bin/fish", words).succeeds();
    ended
        .stdout
        .lines()
        .map(|line| line.split('\t').next().expect("a value").to_owned())
        .collect()
}

fn asked(world: &World, shell: &str, words: &[&str]) -> Ended {
    let mut command = world.orch_command(&["--", "orch"]);
    world.end(
        command
            .args(words)
            .env("ORCH_COMPLETE", shell)
            .output()
            .expect("orch starts"),
    )
}

#[test]
fn ids_phases_artifacts_workflows_schemas_and_codes_complete() {
    let world = World::ready();
    for task in ["login", "logout", "search"] {
        world.orch(&["new", task]).succeeds();
    }
    assert_eq!(offered(&world, &["next", "log"]), ["login", "logout"]);
    assert_eq!(
        offered(&world, &["suggest", "login", "log"]),
        ["logout"],
        "one that is named already"
    );
    assert_eq!(
        offered(&world, &["next", "login", "--to", "co"]),
        ["codegen"]
    );
    assert_eq!(
        offered(&world, &["rollback", "login", "--to", ""]),
        ["planning"],
        "no later phase"
    );
    assert_eq!(
        offered(&world, &["status", "--phase", "plan"]),
        ["planning", "plan_review"]
    );
    assert_eq!(
        offered(&world, &["confirm", "login", "plan_r"]),
        ["plan_review"]
    );
    assert_eq!(
        offered(&world, &["new", "x", "--workflow", "open"]),
        ["openspec"]
    );
    assert_eq!(offered(&world, &["workflow", "show", "ccw"]), ["ccw-loop"]);
    assert_eq!(offered(&world, &["schema", "plan-rev"]), ["plan-review"]);
    assert_eq!(offered(&world, &["new", "x", "--root", "ta"]), ["tasks"]);
    assert_eq!(offered(&world, &["help", "json-s"]), ["json-syntax"]);
    assert_eq!(offered(&world, &["man", "rename"]), ["rename"]);
    assert_eq!(offered(&world, &["status", "--owner", "h"]), ["human"]);
    assert_eq!(world.dirty(), "", "completion writes nothing");
}

#[test]
fn archived_tasks_complete_where_the_word_begins_so() {
    let world = World::ready();
    world.orch(&["new", "old"]).succeeds();
    world
        .orch(&["archive", "old", "--force", "given up"])
        .succeeds();
    assert_eq!(
        offered(&world, &["rename", ""])
            .iter()
            .filter(|word| word.contains("old"))
            .count(),
        0
    );
    assert_eq!(offered(&world, &["rename", "archive/"]), ["archive/old"]);
}

#[test]
fn answers_complete_with_the_values_of_the_question() {
    let world = World::ready();
    world
        .orch(&["new", "tune", "--workflow", "skill-tuning"])
        .succeeds();
    assert_eq!(offered(&world, &["answer", "tu"]), ["tune"]);
    assert_eq!(
        offered(&world, &["answer", "tune", "target"]),
        ["target_skill.path="]
    );
    assert_eq!(
        offered(&world, &["answer", "tune", "stop"]),
        ["stop_at_gate=true", "stop_at_gate=false"]
    );
    assert_eq!(
        offered(&world, &["answer", "tune", "focus_areas=c"]),
        ["focus_areas=context", "focus_areas=custom"]
    );
}

/// A shell shows what it reads, so nothing but candidates may be printed.
#[test]
fn nothing_is_said_where_there_is_nothing_to_complete_from() {
    let outside = World::without_git();
    assert_eq!(offered(&outside, &["next", "x"]), Vec::<String>::new());
    let broken = World::ready();
    broken.write("orch.toml", "[[[");
    let ended = asked(&broken, "fish", &["next", "x"]).succeeds();
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", ""));
    let elsewhere = broken.root();
    let world = World::ready();
    world.orch(&["new", "here"]).succeeds();
    let place = world.root();
    let directory = place.to_str().expect("text");
    let from_there = asked(&World::new(), "fish", &["-C", directory, "next", "he"]).succeeds();
    assert!(
        from_there.stdout.starts_with("here"),
        "{} {elsewhere:?}",
        from_there.stdout
    );
    asked(&world, "tcsh", &["next", ""]).ends(2);
}

#[test]
fn every_shell_gets_a_script_and_a_bash_completes_with_it() {
    let world = World::ready();
    world.orch(&["new", "login"]).succeeds();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        world
            .orch(&["completions", shell])
            .succeeds()
            .says("ORCH_COMPLETE");
    }
    let line = r#"
        eval "$("$ORCH" completions bash | sed "s|\"orch\" --|\"$ORCH\" --|")"
        COMP_WORDS=(orch next lo) COMP_CWORD=2 COMP_TYPE=9
        _clap_complete_orch orch lo next
        echo "${COMPREPLY[*]}"
    "#;
    let orch = env!("CARGO_BIN_EXE_orch");
    let ended = world.end(
        world
            .command("bash")
            .args(["-c", line])
            .env("ORCH", orch)
            .output()
            .expect("bash starts"),
    );
    assert_eq!(ended.succeeds().stdout, "login\n");
}

#[test]
fn every_command_has_a_manual_page_with_its_examples() {
    let world = World::new();
    world.orch(&["man", "--dir", "share/man1"]).succeeds();
    let page = world.read("share/man1/orch-workflow-check.1");
    assert!(
        page.starts_with(".ie") && page.contains(".TH orch-workflow-check 1"),
        "{page}"
    );
    assert!(world.read("share/man1/orch.1").contains("orch\\-next(1)"));
    assert!(
        !world.path("share/man1/orch-merge-driver.1").exists(),
        "a hidden command"
    );
    assert_eq!(
        world.orch(&["man", "next"]).succeeds().stdout,
        world.read("share/man1/orch-next.1")
    );
    assert!(
        world
            .read("share/man1/orch-next.1")
            .contains("apply what is due")
    );
    world
        .orch(&["man", "nxt"])
        .ends(2)
        .reports("did you mean `next`?");
    world.write("file", "");
    world
        .orch(&["man", "--dir", "file"])
        .ends(70)
        .reports("cannot write manual pages to file");
}
