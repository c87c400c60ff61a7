//! The prompt: what is typed at a terminal, what is piped in, and what `-c` executes.

use crate::harness::{Ended, World, eventually, started};
use crate::terminal::{Terminal, sides};
use std::io::{Read, Write};
use std::process::Stdio;

/// Runs `orch repl` with lines on its stdin, which is not a terminal.
fn piped(world: &World, arguments: &[&str], lines: &str) -> Ended {
    let mut command = world.orch_command(&[&["repl"], arguments].concat());
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("orch starts");
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(lines.as_bytes())
        .expect("written");
    world.end(child.wait_with_output().expect("ends"))
}

#[test]
fn next_is_answered_with_phase_next_and_reason_and_applied() {
    let world = started("planning");
    world.plan("t", 1);
    let ended = piped(&world, &[], "/next\n").succeeds();
    let answer =
        "current phase   planning\nsuggested next  plan_review\nreason          the plan is final";
    ended
        .clone()
        .says(answer)
        .says("t: planning -> plan_review");
    assert_eq!(world.phase("t"), "plan_review");
    // Nothing is due: the answer says why, and the code is that of `orch next`.
    let answer = "suggested next  plan_review\nreason          review/plan/verdict.json is missing";
    world
        .orch(&["repl", "-c", "/next"])
        .ends(3)
        .says(answer)
        .says("nothing to apply");
    let json = world.orch(&["repl", "-c", "/next --json"]).ends(3).stdout;
    assert!(
        json.starts_with("{\"schemaVersion\":1,\"kind\":\"nothing\""),
        "{json}"
    );
    assert_eq!(
        world
            .orch(&["--json", "repl", "-c", "/next"])
            .ends(3)
            .stdout,
        json
    );
}

/// A line editor whose terminal is gone would read its end for ever, and nobody would stop it.
#[test]
fn the_prompt_ends_when_its_terminal_is_gone() {
    let world = started("planning");
    let (mut keyboard, slave) = sides();
    let mut command = world.orch_command(&["repl", "--no-watch"]);
    command
        .stdin(slave.try_clone().expect("cloned"))
        .stdout(slave.try_clone().expect("cloned"));
    let mut child = command.stderr(slave).spawn().expect("it starts");
    drop(command);
    // It has begun to draw the prompt.
    assert_ne!(keyboard.read(&mut [0]).expect("readable"), 0);
    drop(keyboard);
    eventually("the prompt ends", || {
        child.try_wait().expect("waits").is_some()
    });
    assert_eq!(child.wait().expect("ended").code(), Some(130));
}

#[test]
fn a_line_that_is_no_text_fails_and_the_next_one_is_executed() {
    let world = started("planning");
    let mut command = world.orch_command(&["repl"]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("orch starts");
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(b"/log \"\n\"\n/use \xff\n/rename t u\n")
        .expect("written");
    let ended = world.end(child.wait_with_output().expect("ends"));
    ended.reports("line 3 is not UTF-8");
    assert!(world.path("tasks/u").exists());
}

#[test]
fn a_command_is_about_the_task_in_use_and_has_all_its_options() {
    let world = started("planning");
    world.orch(&["new", "other"]).succeeds();
    world.plan("other", 1);
    // Two tasks are open, so that only the task in use says which is meant.
    world.orch(&["explain"]).ends(2);
    let typed =
        "/use other\n/explain\n/log\n/next --dry-run --to plan_review\n/prompt --schema full\n";
    let ended = piped(&world, &["t"], typed).succeeds();
    ended
        .clone()
        .says("other: planning -> plan_review")
        .reports("nothing was written (--dry-run)");
    assert!(!ended.stdout.contains("\nt  planning"), "{ended:?}");
    piped(
        &world,
        &["t"],
        "/next other --expect plan_review\n/status\n",
    )
    .succeeds()
    .says("2 tasks: 1 planning, 1 plan_review");
    assert_eq!(
        (world.phase("other"), world.phase("t")),
        ("plan_review".to_owned(), "planning".to_owned())
    );
    piped(&world, &["othr"], "/status\n")
        .ends(2)
        .reports("did you mean `other`?");
    // Without a task in use a command asks which one is meant, as on the command line.
    piped(&world, &["t"], "/use\n/next\n")
        .ends(2)
        .reports("several tasks are open");
}

#[test]
fn every_line_is_executed_and_the_first_failure_is_the_exit_code() {
    let world = started("planning");
    let typed = "# a comment that is \"open\n\n/next\n/nonsense\nnext\n/next --override 'in\ntwo lines'\n/quit\n/rename t u\n";
    let ended = piped(&world, &[], typed).ends(3);
    let ended = ended
        .reports("there is no command `/nonsense`")
        .reports("did you mean `/next`?");
    assert!(!world.path("tasks/u").exists(), "nothing after /quit");
    // Who is not at a terminal is no person, here as on the command line.
    ended.reports("an override needs a person");
    let lines = ["repl", "-c", "/status", "-c", "/schema nonsense\n/next"];
    world
        .orch(&lines)
        .ends(2)
        .says("t  ")
        .reports("there is no schema `nonsense`");
    piped(&world, &[], "/next --override \"open")
        .ends(2)
        .reports("a quote is open");
    piped(&world, &[], "").succeeds();
    World::without_git()
        .orch(&["repl", "-c", "/nonsense"])
        .ends(2);
}

#[test]
fn help_names_the_commands_of_orch_and_of_the_prompt() {
    let world = started("planning");
    let help = world.orch(&["repl", "-c", "/help"]).succeeds();
    help.says("Decide, as a person:")
        .says("  /use [TASK]  Use a task");
    world
        .orch(&["repl", "-c", "/help /next"])
        .succeeds()
        .says("Usage: orch next");
    world
        .orch(&["repl", "-c", "/help quit"])
        .succeeds()
        .says("/quit");
    world
        .orch(&["repl", "-c", "/repl"])
        .ends(2)
        .reports("this is the prompt already");
}

/// `orch repl` at a terminal that sends Ctrl-C to what runs there.
fn at_terminal(world: &World, arguments: &[&str]) -> Terminal {
    let mut command = world.command("setsid");
    command
        .arg("--ctty")
        .arg(env!("CARGO_BIN_EXE_orch"))
        .arg("repl")
        .args(arguments);
    command
        .env_remove("ORCH_NOW")
        .env("TERM", "xterm")
        .env("NO_COLOR", "1")
        .env("ORCH_PAGER", "cat");
    Terminal::start(command)
}

#[test]
fn the_prompt_changes_when_the_watch_moves_the_task() {
    let world = started("planning");
    let mut terminal = at_terminal(&world, &[]);
    terminal.shows("t  planning  attempt 1  agent> ");
    terminal.types("/stat");
    world.plan("t", 1);
    terminal.shows("t: planning -> plan_review");
    terminal.shows("t  plan_review  attempt 1  agent> ");
    terminal.types("us\r");
    terminal.shows("1 task: 1 plan_review");
    terminal.types("/next --override \"two\rlines\"\r");
    terminal.shows("t  codegen  attempt 1  agent> ");
    terminal.types("/quit\r");
    assert_eq!(terminal.ends(), Some(0));
    let history = world.read(".git/orch/history");
    assert_eq!(
        history,
        "\"/status\"\n\"/next --override \\\"two\\nlines\\\"\"\n\"/quit\"\n"
    );
    assert!(
        world
            .read("tasks/t/transcript.jsonl")
            .contains("two\\nlines")
    );
    assert_eq!(world.dirty(), "");
}

#[test]
fn an_interrupt_ends_the_command_and_not_the_prompt() {
    let world = started("codegen");
    let mut terminal = at_terminal(&world, &["--no-watch"]);
    terminal.shows("agent> ");
    terminal.types("/run -- sh -c 'touch began; exec sleep 100'\r");
    eventually("the executor works", || world.path("began").exists());
    terminal.types("\u{3}");
    terminal.shows("t: paused after 1 turn");
    let prompt_after = |terminal: &Terminal, text: &str| {
        eventually("the prompt is back", || {
            terminal
                .shown()
                .rsplit_once(text)
                .is_some_and(|(_, after)| after.contains("agent> "))
        });
    };
    prompt_after(&terminal, "paused after 1 turn");
    // At the prompt it clears the line.
    terminal.types("/quit");
    terminal.shows("/quit");
    terminal.types("\u{3}");
    prompt_after(&terminal, "/quit");
    terminal.types("/rollb\t");
    terminal.shows("/rollback");
    terminal.types("--to code\t");
    terminal.shows("--to codegen");
    terminal.types("\u{3}");
    prompt_after(&terminal, "--to codegen");
    terminal.types("\u{4}");
    assert_eq!(terminal.ends(), Some(0));
}

#[test]
fn after_use_only_tasks_are_completed() {
    let world = started("planning");
    world.orch(&["new", "other"]).succeeds();
    let mut terminal = at_terminal(&world, &["--no-watch", "t"]);
    terminal.shows("agent> ");
    terminal.types("/use --js\t\r");
    terminal.shows("unexpected argument");
    terminal.types("/use o\t\r");
    terminal.shows("other  planning  attempt 1  agent> ");
    terminal.types("/quit\r");
    assert_eq!(terminal.ends(), Some(0));
    assert!(
        world
            .read(".git/orch/history")
            .starts_with("\"/use --js\"\n\"/use other")
    );
}

/// The line editor forgets the keys that follow the end of a line in one batch: an order could go to the wrong task.
#[test]
fn lines_that_are_typed_ahead_are_executed_in_order() {
    let world = started("planning");
    world.orch(&["new", "other"]).succeeds();
    let mut terminal = at_terminal(&world, &["--no-watch", "t"]);
    terminal.shows("agent> ");
    // Line feeds at the prompt; an interrupt clears what was typed before it.
    terminal.types("/use other\n/use t\n/next\u{3}/use other\n/rename other moved\n");
    eventually("the task in use was renamed", || {
        world.path("tasks/moved").exists()
    });
    terminal.types("/use t\r/run -- sh -c 'touch began; sleep 1'\r");
    eventually("the executor works", || world.path("began").exists());
    // Meanwhile a terminal turns carriage returns into line feeds, and edits lines itself.
    terminal
        .types("/use wrong\u{15}/use movef\u{7f}d\r/next --override \"two\rlines\" --dry-run\r");
    terminal.types("/explain\r/pau");
    terminal.shows("moved  planning");
    terminal.types("se\r/quit\r");
    assert_eq!(terminal.ends(), Some(0));
    let history = world.read(".git/orch/history");
    let typed: Vec<String> = history
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line"))
        .collect();
    let expected = [
        "/use other",
        "/use t",
        "/use other",
        "/rename other moved",
        "/use t",
        "/run -- sh -c 'touch began; sleep 1'",
        "/use moved",
        "/next --override \"two\nlines\" --dry-run",
        "/explain",
        "/pause",
        "/quit",
    ];
    assert_eq!(typed, expected);
}

#[test]
fn a_signal_ends_the_command_and_the_prompt() {
    for signal in ["TERM", "HUP"] {
        let world = started("codegen");
        let mut terminal = at_terminal(&world, &["--no-watch"]);
        terminal.shows("agent> ");
        terminal.types("/run -- sh -c 'touch began; exec sleep 100'\r");
        eventually("the executor works", || world.path("began").exists());
        let id = terminal.child.id().to_string();
        world
            .end(
                world
                    .command("kill")
                    .args(["-s", signal, &id])
                    .output()
                    .expect("kill starts"),
            )
            .succeeds();
        assert_eq!(terminal.ends(), Some(130), "{signal}");
        assert_eq!(
            world.orch_json(&["runs"])["runs"][0]["state"],
            "paused",
            "{signal}"
        );
    }
}

#[test]
fn a_signal_ends_the_prompt() {
    let world = started("planning");
    let mut terminal = at_terminal(&world, &[]);
    terminal.shows("agent> ");
    let id = terminal.child.id().to_string();
    world
        .end(
            world
                .command("kill")
                .args(["-TERM", &id])
                .output()
                .expect("kill starts"),
        )
        .succeeds();
    assert_eq!(terminal.ends(), Some(130));
}
