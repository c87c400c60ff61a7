//! A run in front of a person: what turns, what is asked, what is typed.

use super::control::{may_end, signal, slow};
use super::{GOOD, LOOP, Loop};
use crate::harness::eventually;
use crate::terminal::Terminal;

fn start(task: &Loop, arguments: &[&str]) -> Terminal {
    let mut command = task.world.orch_command(arguments);
    command
        .env_remove("ORCH_NOW")
        .env("TERM", "xterm")
        .env("NO_COLOR", "1");
    Terminal::start(command)
}

#[test]
fn a_line_turns_while_an_executor_works_and_is_gone_afterwards() {
    let task = Loop::new(&slow());
    task.world.write(".gitignore", "began\nmay-end\n");
    task.world.commit("ignore");
    let mut terminal = start(&task, &["run", "t", "--auto"]);
    for face in ["|", "/", "-", "\\"] {
        terminal.shows(&format!("\r\u{1b}[2K{face} polish (turn 4 of 20) 0s"));
    }
    terminal.shows("polish (turn 4 of 20) 1s");
    may_end(&task.world);
    assert_eq!(terminal.ends(), Some(0));
    terminal.shows("t: completed after 4 turns");
    let shown = terminal.shown();
    let (_, after) = shown
        .rsplit_once("polish (turn 4 of 20) ")
        .expect("it turned");
    assert!(
        after
            .split_once("\r\u{1b}[2K")
            .is_some_and(|(left, _)| left.ends_with('s')),
        "{shown:?}"
    );
    task.is_clean();
}

#[test]
fn a_question_is_asked_until_the_answer_fits_and_the_run_goes_on() {
    let task = Loop::new(GOOD);
    let mut terminal = start(&task, &["run", "t"]);
    for line in ["Go on?\r\n", "  - 1\r\n", "  - 3\r\n", "rounds = "] {
        terminal.shows(line);
    }
    terminal.types("7\n");
    terminal.shows("7 is not an option for /rounds: 1, 2, 3");
    eventually("it asks again", || {
        terminal.shown().matches("rounds = ").count() == 2
    });
    terminal.types("2\n");
    terminal.shows("rounds=2");
    assert_eq!(terminal.ends(), Some(0));
    assert!(task.story().contains(&"answer".to_owned()));
    assert_eq!(task.state()["status"], "done");
    task.is_clean();
}

/// An answer that does not fit is asked for again; the answers before it stand.
#[test]
fn a_slip_asks_only_the_wrong_question_again() {
    let two = LOOP.replace(
        "writes = [\"/rounds\"]",
        "writes = [\"/rounds\", \"/score\"]",
    );
    let task = Loop::with(&two, GOOD);
    let mut terminal = start(&task, &["run", "t"]);
    terminal.shows("rounds = ");
    terminal.types("2\n");
    terminal.shows("score = ");
    terminal.types("many\n");
    eventually("it asks again", || {
        terminal.shown().matches("score = ").count() == 2
    });
    terminal.types("70\n");
    terminal.shows("score=70");
    assert_eq!(terminal.ends(), Some(0));
    assert_eq!(terminal.shown().matches("rounds = ").count(), 1);
    assert_eq!(task.state()["rounds"], 2);
    task.is_clean();
}

#[test]
fn an_order_given_while_a_person_is_asked_counts_more_than_the_answer() {
    let bare = LOOP.replace("on = \"stop\"\n", "when = \"false\"\n");
    for (workflow, order, ending, status) in [
        (bare.as_str(), "stop", "stopped", "running"),
        (LOOP, "pause", "waiting", "paused"),
    ] {
        let task = Loop::with(workflow, GOOD);
        let mut terminal = start(&task, &["run", "t"]);
        terminal.shows("rounds = ");
        task.world.orch(&[order, "t"]).succeeds();
        let told = task.story();
        terminal.types("3\n");
        terminal.shows(&format!("t: {ending} after 0 turns"));
        assert_eq!(terminal.ends(), Some(3));
        assert_eq!(
            (task.story(), &task.state()["status"]),
            (told, &status.into()),
            "{order}"
        );
        task.is_clean();
    }
}

#[test]
fn an_action_is_picked_by_its_number_or_its_name() {
    let menu = LOOP.replace(
        "run = \"improve\"\nset = { \"/rounds\" = \"state.rounds + 1\" }\n",
        "choose = [\"improve\", \"polish\"]\n",
    );
    let task = Loop::with(&menu, GOOD);
    let mut terminal = start(&task, &["run", "t"]);
    terminal.shows("rounds = ");
    terminal.types("1\n");
    terminal.shows("  1. improve  make it better\r\n");
    terminal.types("1\n");
    eventually("it asks again", || {
        terminal.shown().matches("which one?").count() == 2
    });
    terminal.types("improve\n");
    assert_eq!(terminal.ends(), Some(0));
    assert_eq!(
        task.story()
            .iter()
            .filter(|step| *step == "run improve")
            .count(),
        2
    );
    task.is_clean();
}

#[test]
fn whoever_answers_nothing_ends_the_run_as_waiting() {
    for typed in ["\n", "\u{4}"] {
        let task = Loop::new(GOOD);
        let mut terminal = start(&task, &["run", "t"]);
        terminal.shows("rounds = ");
        terminal.types(typed);
        assert_eq!(terminal.ends(), Some(3));
        terminal.shows("\r\nt: waiting after 0 turns");
        terminal.shows("orch answer t rounds=VALUE");
        task.is_clean();
    }
}

#[test]
fn an_interrupt_while_it_asks_ends_it_at_once() {
    let task = Loop::new(GOOD);
    let mut terminal = start(&task, &["run", "t"]);
    terminal.shows("rounds = ");
    signal(&terminal.child, "INT");
    assert_eq!(terminal.ends(), Some(130));
    assert_eq!(
        task.world.orch_json(&["runs"])["runs"][0]["state"],
        "waiting"
    );
    task.is_clean();
}

#[test]
fn an_interrupt_is_heard_even_where_the_executor_takes_its_time() {
    let task = Loop::new(&slow().replace("trap 'exit 143' TERM", "trap '' TERM"));
    task.world.write(".gitignore", "began\nmay-end\n");
    let toml = task.world.read("orch.toml").replace("300ms", "1h");
    task.world.write("orch.toml", toml);
    task.world.commit("ignore");
    let mut terminal = start(&task, &["run", "t", "--auto"]);
    terminal.shows("polish (turn 4 of 20) 0s");
    eventually("polish has begun", || task.world.path("began").exists());
    signal(&terminal.child, "INT");
    terminal.shows("press Ctrl-C again to end it at once");
    may_end(&task.world);
    assert_eq!(terminal.ends(), Some(130));
    terminal.shows("t: paused after 4 turns");
    task.is_clean();
}
