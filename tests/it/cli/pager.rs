//! Long answers on a terminal go through a pager.

use crate::harness::World;
use crate::terminal::Terminal;

/// The exit code and what a terminal of 24 lines shows, with these variables set.
fn shown(world: &World, arguments: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = world.orch_command(arguments);
    command.env("TERM", "xterm").envs(variables.iter().copied());
    Terminal::session(command, &[])
}

/// A pager that marks what it shows.
const MARKS: (&str, &str) = ("ORCH_PAGER", "sed 's/^/| /'");
/// An answer with far more lines than the terminal.
const LONG: &[&str] = &["help", "next"];

#[test]
fn a_long_answer_goes_through_the_pager_and_a_short_one_does_not() {
    let world = World::ready();
    let (code, long) = shown(&world, LONG, &[MARKS]);
    assert_eq!(code, Some(0));
    assert!(
        long.contains("| Usage: orch next") && long.contains("# for several tasks"),
        "{long}"
    );
    let (_, short) = shown(&world, &["status"], &[MARKS]);
    assert!(
        !short.contains("| ") && short.contains("There are no tasks yet"),
        "{short}"
    );
}

#[test]
fn nothing_is_paged_that_a_program_reads_or_that_a_person_does_not_want_paged() {
    let world = World::ready();
    for (arguments, variables) in [
        (&["--no-pager", "help", "next"][..], &[MARKS][..]),
        (&["--json", "help", "next"], &[MARKS]),
        (LONG, &[MARKS, ("TERM", "dumb")]),
        (LONG, &[("ORCH_PAGER", ""), ("PAGER", MARKS.1)]),
        (LONG, &[("ORCH_PAGER", "cat"), ("PAGER", MARKS.1)]),
    ] {
        let (code, shown) = shown(&world, arguments, variables);
        assert!(
            code == Some(0) && shown.contains("orch next"),
            "{arguments:?}: {shown}"
        );
        assert!(
            !shown.contains("| "),
            "{arguments:?} {variables:?}: {shown}"
        );
    }
    let piped = world
        .orch_command(LONG)
        .env("TERM", "xterm")
        .envs([MARKS])
        .output()
        .expect("orch starts");
    assert!(!world.end(piped).succeeds().stdout.contains("| "));
}

#[test]
fn the_pager_is_the_one_that_git_uses() {
    let world = World::ready();
    world.git(&["config", "core.pager", "sed 's/^/core /'"]);
    let shows = |variables: &[(&str, &str)]| shown(&world, LONG, variables).1;
    assert!(shows(&[("PAGER", MARKS.1)]).contains("core Usage"));
    assert!(shows(&[("GIT_PAGER", MARKS.1)]).contains("| Usage"));
    assert!(shows(&[MARKS, ("GIT_PAGER", "cat")]).contains("| Usage"));
}

#[test]
fn an_answer_is_shown_without_a_pager_that_cannot_be_started() {
    let world = World::ready();
    for missing in ["no-such-pager", "no-such-pager --quick"] {
        let (code, shown) = shown(&world, LONG, &[("ORCH_PAGER", missing)]);
        assert!(
            code == Some(0) && shown.contains("# for several tasks"),
            "{missing}: {shown}"
        );
    }
    let (code, quit) = shown(
        &world,
        &["workflow", "show"],
        &[("ORCH_PAGER", "head -n 2")],
    );
    assert!(code == Some(0) && !quit.contains("panicked"), "{quit}");
}

/// The pager, and not orch, is what Ctrl-C is for.
#[test]
fn orch_waits_for_its_pager_through_an_interrupt() {
    let world = World::ready();
    let mut command = world.orch_command(LONG);
    command
        .env("TERM", "xterm")
        .env("ORCH_PAGER", "echo paging; sleep 0.4; cat >paged");
    let mut terminal = Terminal::start(command);
    terminal.shows("paging");
    let orch = rustix::process::Pid::from_child(&terminal.child);
    rustix::process::kill_process(orch, rustix::process::Signal::INT).expect("sent");
    assert_eq!(terminal.ends(), Some(0));
    assert!(world.read("paged").contains("# for several tasks"));
}

/// A filter makes each look slow.
#[test]
fn long_work_shows_how_far_it_is_and_leaves_no_trace() {
    let world = World::ready();
    world.git(&["config", "filter.slow.clean", "sleep 0.15; cat"]);
    world.write(".gitattributes", "plan.json filter=slow\n");
    world.commit("A slow filter");
    for number in 1..=6 {
        let task = format!("t-{number}");
        world.orch(&["new", &task]).succeeds();
        world.plan(&task, 1);
    }
    let (code, slow) = shown(&world, &["status"], &[]);
    assert_eq!(code, Some(0));
    assert!(slow.contains("of 6 tasks"), "{slow}");
    let after = slow.rsplit("\u{1b}[2K").next().expect("text");
    assert!(
        after.starts_with("6 tasks: 6 planning") && !after.contains("looked at"),
        "{after}"
    );
    for arguments in [&["status", "--quiet"][..], &["status", "--json"]] {
        assert!(
            !shown(&world, arguments, &[]).1.contains("looked at"),
            "{arguments:?}"
        );
    }
}
