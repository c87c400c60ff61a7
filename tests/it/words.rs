//! Words that people type, and words that the program prints.

use crate::harness::{World, started};
use crate::terminal::Terminal;

/// What was only meant to be read is shown; for anything else, the command is.
#[test]
fn a_word_that_is_no_command_means_one() {
    let world = started("planning");
    for (word, command, shown) in [
        (&["ls"][..], "orch status", "1 task: 1 planning"),
        (&["why", "t"], "orch explain", "nearest rule"),
        (
            &["history", "t", "-n", "1"],
            "orch log",
            "the task was created",
        ),
        (&["todo"], "orch suggest", "planning/plan.json is missing"),
    ] {
        world.orch(word).succeeds().says(shown).reports(command);
        let quiet = [&["-q"][..], word].concat();
        assert_eq!(world.orch(&quiet).succeeds().stderr, "", "{word:?}");
    }
    let commits = world.git(&["rev-list", "--count", "HEAD"]);
    for (word, command) in [
        (&["rm", "t"][..], "orch archive t --force WHY"),
        (&["yes", "t"], "orch approve t"),
        (&["no", "t"], "orch reject t --reason WHY"),
        (&["add"], "orch new TASK --title TITLE"),
        (&["done", "t"], "orch approve t --to done"),
        (&["start", "t"], "orch prompt t"),
    ] {
        world
            .orch(word)
            .ends(2)
            .reports(command)
            .reports("there is no command");
    }
    assert_eq!(world.git(&["rev-list", "--count", "HEAD"]), commits);
    let refused = world.orch(&["--json", "yes", "t"]).ends(2);
    assert!(refused.stdout.contains("\"usage\""), "{}", refused.stdout);
    world.orch(&["stauts"]).ends(2).reports("status");
}

#[test]
fn help_explains_what_the_program_prints() {
    let world = started("planning");
    let help = |word: &str| world.orch(&["help", word]).succeeds();
    help("stale")
        .says("present and valid, but not fresh")
        .says("see also");
    help("artifact").says("a kind of file that a workflow declares");
    help("plan-ready")
        .says("planning")
        .says("to plan_review")
        .says("when plan.ready");
    help("plan_review")
        .says("needs: plan")
        .says("rule plan-accepted: to codegen");
    help("codegen_blocked").says("code/blocked.json");
    help("global-state-machine").says("phases: planning, plan_review");
    help("accept").says("a phase of").says("orch approve TASK");
    help("json-syntax");
    help("next").says("Usage: orch next");
    world
        .orch(&["help", "stael"])
        .ends(2)
        .reports("did you mean `stale`?");
    world
        .orch(&["help", "plan-redy"])
        .ends(2)
        .reports("did you mean `plan-ready`?");
    // Without a repository the glossary is there all the same.
    World::without_git().orch(&["help", "stale"]).succeeds();
}

#[test]
fn the_log_can_be_narrowed_and_begins_with_the_newest_step() {
    let world = started("planning");
    world.plan("t", 1);
    world.orch(&["next", "t"]).succeeds();
    let first = |arguments: &[&str]| {
        let shown = world.orch(arguments).succeeds().stdout;
        shown.lines().next().unwrap_or_default().to_owned()
    };
    assert!(first(&["log", "t"]).contains("planning -> plan_review"));
    assert!(first(&["log", "t", "--reverse"]).contains("new -> planning"));
    let one = world.orch(&["log", "t", "-n", "1"]).succeeds().stdout;
    assert!(!one.contains("new -> planning"), "{one}");
    let entries = world.orch_json(&["log", "t"])["entries"].clone();
    assert_eq!(entries[0]["to"], "planning");
    let newest = world.orch_json(&["log", "t", "-n", "1"])["entries"].clone();
    assert_eq!(newest[0]["to"], "plan_review");
    let later = world.orch_json(&["log", "t", "--since", "2999-01-01"])["entries"].clone();
    assert_eq!(later.as_array().map(Vec::len), Some(0));
    let all = world.orch_json(&["log", "t", "--since", "900w"])["entries"].clone();
    assert_eq!(all, entries);
    world
        .orch(&["log", "t", "--since", "soon"])
        .ends(2)
        .reports("expected a date");
}

#[test]
fn next_says_that_another_step_is_due_and_settles() {
    let world = started("planning");
    for task in ["u", "v"] {
        world.orch(&["new", task]).succeeds();
    }
    world
        .orch(&["next"])
        .ends(2)
        .reports("no transition is due");
    world.plan("u", 1);
    world
        .orch(&["next"])
        .succeeds()
        .says("u: planning -> plan_review");
    world.plan_review("u", true, 1);
    world.patch("u", 1);
    world
        .orch(&["next", "u"])
        .succeeds()
        .says("plan_review -> codegen")
        .reports("another step is due, to review: orch next u, or all that are due: orch next u --settle");
    world.plan("v", 1);
    world.orch(&["next"]).ends(2).reports("u, v");
    world.plan_review_of("v", true, 1);
    let settled = world.orch(&["next", "v", "--settle"]).succeeds();
    settled
        .says("v: planning -> plan_review")
        .says("v: plan_review -> codegen");
    assert_eq!(world.phase("v"), "codegen");
}

/// What a copy of the example of a schema says is no earlier version of anything.
#[test]
fn the_example_of_a_schema_is_not_told_as_an_earlier_version() {
    let world = started("plan_review");
    let example = world
        .orch(&["schema", "plan-review", "--example"])
        .succeeds();
    let example = example.stdout.replace("cancelled", "too large");
    world.write("tasks/t/review/plan/verdict.json", &example);
    let told = world.orch(&["next", "t"]).ends(3);
    told.says("the example of its schema").says("orch draft");
    world.remove("tasks/t/review/plan/verdict.json");
    world.orch(&["draft", "t", "plan_review"]).succeeds();
    let drafted = world.json("tasks/t/review/plan/verdict.json");
    let now = world.git(&["hash-object", "tasks/t/planning/plan.json"]);
    assert_eq!(drafted["of"]["plan"], now.trim());
}

/// The board takes the terminal, and gives it back as it was.
#[test]
fn the_board_is_shown_on_a_terminal() {
    let world = started("planning");
    world.plan("t", 1);
    let mut command = world.orch_command(&["board"]);
    command.env("TERM", "xterm").env("NO_COLOR", "1");
    let mut terminal = Terminal::start(command);
    terminal.shows("planning 1");
    terminal.types("\r");
    terminal.shows("orch: move to plan_review");
    terminal.types("\u{1b}[B\u{1b}n");
    // The order is a command of its own, with all that it prints.
    terminal.shows("$ orch next t");
    terminal.shows("Enter goes back to the board");
    terminal.types("\r");
    terminal.shows("plan_review 1");
    terminal.types("q");
    assert_eq!(terminal.ends(), Some(0));
    let shown = terminal.shown();
    assert!(shown.contains("[planning] · plan_review"), "{shown}");
    assert!(shown.ends_with("\u{1b}[?1049l"), "{shown:?}");
    assert_eq!(world.phase("t"), "plan_review");
    world
        .orch(&["board"])
        .ends(2)
        .reports("orch board --html FILE");
}
