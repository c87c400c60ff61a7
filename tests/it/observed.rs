//! What `orch` reports about itself: the flags, the filter, and the log that the watch and runs keep.

use crate::harness::{Ended, World, eventually, started};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const LOG: &str = ".git/orch/orch.log";

/// A line of the log, taken apart.
#[derive(Debug)]
struct Line {
    process: u32,
    level: String,
    /// The spans, the target and the event.
    rest: String,
}

/// Takes a line apart; `None` where it is none of the log.
fn line(text: &str) -> Option<Line> {
    let mut words = text.split_whitespace();
    let time = words.next()?;
    let is_time = time.len() == "2026-01-05T10:00:00.000000Z".len() && time.ends_with('Z');
    let process = words.next()?.parse().ok()?;
    let level = words
        .next()
        .filter(|level| ["ERROR", "WARN", "INFO", "DEBUG", "TRACE"].contains(level))?;
    let rest = text.split_once(level)?.1.trim().to_owned();
    is_time.then(|| Line {
        process,
        level: level.to_owned(),
        rest,
    })
}

/// Every line of a log; each must be whole.
#[track_caller]
fn lines(text: &str) -> Vec<Line> {
    text.lines()
        .map(|text| line(text).unwrap_or_else(|| panic!("no line of a log: {text:?}")))
        .collect()
}

/// The lines of the log among what stands on stderr.
fn shown(ended: &Ended) -> Vec<Line> {
    ended.stderr.lines().filter_map(line).collect()
}

fn levels(lines: &[Line]) -> BTreeSet<&str> {
    lines.iter().map(|line| line.level.as_str()).collect()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("there").permissions().mode() & 0o777
}

fn logged(world: &World, filter: &str, arguments: &[&str]) -> Ended {
    let mut command = world.orch_command(arguments);
    command.env("ORCH_LOG", filter);
    world.end(command.output().expect("orch runs"))
}

fn spawned(mut command: Command) -> Child {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("orch starts")
}

#[test]
fn what_orch_keeps_is_for_the_owner_alone_unless_it_is_shared() {
    let world = started("planning");
    world.orch(&["run", "t", "--", "true"]);
    let lock = world.path(".git/orch/lock");
    for place in [".git/orch", "tasks/t/.orch"] {
        assert_eq!(mode(&world.path(place)), 0o700, "{place}");
    }
    for (said, directory, file) in [
        ("group", 0o770, 0o660),
        ("all", 0o775, 0o664),
        ("0640", 0o750, 0o640),
    ] {
        world.git(&["config", "core.sharedRepository", said]);
        world.orch(&["new", &format!("shared-{said}")]).succeeds();
        assert_eq!(
            (mode(&world.path(".git/orch")), mode(&lock)),
            (directory, file),
            "{said}"
        );
        let head = world.git(&["rev-parse", "HEAD"]);
        let (first, rest) = head.trim().split_at(2);
        let object = world.path(&format!(".git/objects/{first}/{rest}"));
        let modes = (mode(object.parent().expect("a directory")), mode(&object));
        assert_eq!(modes, (directory, file & 0o444), "{said}");
    }
}

#[test]
fn the_watch_keeps_a_log_of_what_came_and_what_was_decided() {
    let world = started("planning");
    let mut command = world.orch_command(&["watch"]);
    command.env("ORCH_LOG", "trace");
    let mut watch = spawned(command);
    // The first look at everything is over: what comes now comes as an event.
    let has_begun = |line: Line| {
        line.rest.starts_with("part{left=1}: ") && line.rest.contains("close time.busy=")
    };
    eventually("the watch begins", || {
        let text = fs::read_to_string(world.path(LOG)).unwrap_or_default();
        text.lines().filter_map(line).any(has_begun)
    });
    world.plan("t", 1);
    let moved = "applied a transition task=t from=\"planning\" to=plan_review rule=\"plan-ready\"";
    eventually("the move is logged", || world.read(LOG).contains(moved));
    watch.kill().expect("killed");
    watch.wait().expect("ended");
    let (text, head) = (world.read(LOG), world.git(&["rev-parse", "HEAD"]));
    let lines = lines(&text);
    assert!(
        lines.iter().all(|line| line.process == watch.id()),
        "{text}"
    );
    for part in [
        "orch starts version=",
        "files changed paths=",
        "verdict=\"transition\" rule=\"plan-ready\"",
        &format!(
            "committed commit={} branch=\"refs/heads/main\"",
            head.trim()
        ),
        &format!("{moved} commit={}", head.trim()),
    ] {
        assert!(
            lines.iter().any(|line| line.rest.contains(part)),
            "no {part:?} in\n{text}"
        );
    }
    let judged =
        |line: &Line| line.rest.contains("evaluate{task=t}") && line.rest.contains("time.busy=");
    assert!(
        lines.iter().any(judged),
        "how long the evaluation took is not in\n{text}"
    );
    // Else each line would be an event that leads to the next one.
    assert!(
        !text.contains("orch.log"),
        "the watch hears of its own log:\n{text}"
    );
    assert_eq!(mode(&world.path(LOG)), 0o600);
}

#[test]
fn a_run_keeps_a_log_of_its_executors_without_being_asked() {
    let world = started("planning");
    let ended = world.orch(&[
        "run",
        "t",
        "--auto",
        "--max-turns",
        "1",
        "--",
        "sh",
        "-c",
        "exit 7",
    ]);
    assert!(shown(&ended).is_empty(), "{ended:?}");
    let text = world.read(LOG);
    let lines = lines(&text);
    assert_eq!(levels(&lines), BTreeSet::from(["INFO"]), "{text}");
    for part in [
        "run started task=t",
        "turn started work=",
        "program started",
        "ended=Code(7)",
        "run ended task=t",
    ] {
        assert!(
            lines.iter().any(|line| line.rest.contains(part)),
            "no {part:?} in\n{text}"
        );
    }
    let exit = format!("orch exits exit={}", ended.code);
    assert!(
        lines.last().is_some_and(|line| line.rest.contains(&exit)),
        "{text}"
    );
}

#[test]
fn other_commands_and_dry_runs_keep_no_log_and_say_nothing() {
    let world = started("planning");
    world.plan("t", 1);
    for arguments in [
        &["status"][..],
        &["suggest", "t"],
        &["check"],
        &["watch", "--once", "--dry-run"],
        &["run", "t", "--dry-run", "--", "true"],
        &["next", "t"],
        &["audit"],
    ] {
        let ended = world.orch(arguments);
        assert!(shown(&ended).is_empty(), "{arguments:?}: {ended:?}");
        assert!(!world.path(LOG).exists(), "{arguments:?}");
    }
    assert_eq!(world.phase("t"), "plan_review");
}

#[test]
fn the_flags_and_the_filter_choose_what_is_shown_on_stderr() {
    let world = started("planning");
    let quiet = world.orch(&["status"]).succeeds();
    let one = world.orch(&["status", "-v"]).succeeds();
    assert_eq!(levels(&shown(&one)), BTreeSet::from(["INFO"]), "{one:?}");
    let two = world.orch(&["-vv", "status"]).succeeds();
    assert_eq!(
        levels(&shown(&two)),
        BTreeSet::from(["DEBUG", "INFO"]),
        "{two:?}"
    );
    let part = logged(&world, "orch_engine::survey=debug", &["status"]).succeeds();
    assert!(!shown(&part).is_empty(), "{part:?}");
    assert!(
        shown(&part)
            .iter()
            .all(|line| line.rest.contains("orch_engine::survey")),
        "{part:?}"
    );
    let both = logged(&world, "orch_engine::survey=debug", &["status", "-v"]).succeeds();
    assert!(
        shown(&both)
            .iter()
            .any(|line| line.rest.starts_with("orch::cli")),
        "{both:?}"
    );
    let none = logged(&world, "off", &["status", "-vv"]).succeeds();
    assert!(shown(&none).is_empty(), "{none:?}");
    // The clock advances with every command, so the ages differ.
    let ageless = |text: &str| -> Vec<String> {
        let ageless = |line: &str| match line.rsplit_once("  ") {
            Some((rest, age)) if age.ends_with(" ago") => rest.to_owned(),
            _ => line.to_owned(),
        };
        text.lines().map(ageless).collect()
    };
    for other in [one, two, part, both, none] {
        assert_eq!(
            ageless(&other.stdout),
            ageless(&quiet.stdout),
            "the answer has changed"
        );
    }
    world.orch(&["status", "-v", "-q"]).ends(2);
    let json = world.orch(&["status", "--json", "-vv"]).succeeds();
    serde_json::from_str::<serde_json::Value>(&json.stdout).expect("one document");
    assert!(!shown(&json).is_empty(), "{json:?}");
}

#[test]
fn a_filter_that_cannot_be_read_is_reported_and_stops_nothing() {
    let world = started("planning");
    for (filter, why) in [
        ("debgu", "`debgu` is neither a level nor a part of orch"),
        ("orch=loud", "loud"),
    ] {
        let ended = logged(&world, filter, &["status"]).succeeds();
        assert!(
            ended.stderr.contains("warning: ORCH_LOG is ignored"),
            "{ended:?}"
        );
        assert!(
            filter == "orch=loud" || ended.stderr.contains(why),
            "{ended:?}"
        );
        assert!(shown(&ended).is_empty(), "{ended:?}");
    }
    assert_eq!(
        logged(&world, "", &["status"]).succeeds().stderr,
        world.orch(&["status"]).stderr
    );
}

#[test]
fn the_log_holds_no_contents_no_arguments_and_no_environment() {
    const SECRET: &str = "swordfish";
    let world = started("planning");
    let script = format!(
        "cat >/dev/null; echo {SECRET}-printed; echo {SECRET}-$TOKEN >&2; mkdir -p tasks/t/planning
         printf '{{\"title\": \"{SECRET}\", \"status\": \"final\", \"why\": \"W.\", \"what\": \"W.\"}}' \
         > tasks/t/planning/plan.json
         printf '{{\"message\": \"{SECRET}\"}}' > \"$ORCH_RESULT\""
    );
    let arguments = [
        "run",
        "t",
        "--auto",
        "--max-turns",
        "1",
        "--",
        "sh",
        "-c",
        &script,
        SECRET,
    ];
    let mut command = world.orch_command(&arguments);
    command
        .env("ORCH_LOG", "trace")
        .env("TOKEN", SECRET)
        .env("ORCH_ACTOR", format!("human:{SECRET}"));
    world.end(command.output().expect("orch runs"));
    // A file that is malformed, and settings that are.
    world.write("tasks/t/review/plan/verdict.json", format!("{{ {SECRET}"));
    logged(&world, "trace", &["watch", "--once"]);
    world.write(
        "orch.toml",
        format!(
            "{}\n[watch]\napply = \"{SECRET}\"\n",
            world.read("orch.toml")
        ),
    );
    let broken = logged(&world, "trace", &["watch", "--once"]);
    assert!(broken.stderr.contains("orch.toml"), "{broken:?}");
    let text = world.read(LOG);
    for part in [
        "executor ended",
        "to=plan_review",
        "evaluated phase=\"plan_review\"",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    let kept = fs::read_dir(world.path("tasks/t/.orch/logs"))
        .expect("logs")
        .flatten();
    let printed = kept
        .map(|entry| fs::read_to_string(entry.path()).unwrap_or_default())
        .collect::<String>();
    assert!(
        printed.contains(SECRET),
        "the executor has printed nothing, so nothing is shown"
    );
    assert!(!text.contains(SECRET), "{text}");
}

#[test]
fn a_log_that_cannot_be_written_stops_nothing() {
    for spoil in [
        (|world: &World| symlink(world.path("victim"), world.path(LOG)).expect("linked"))
            as fn(&World),
        |world| fs::create_dir(world.path(LOG)).expect("created"),
    ] {
        let world = started("planning");
        world.write("victim", "untouched\n");
        fs::create_dir_all(world.path(".git/orch")).expect("created");
        spoil(&world);
        world.plan("t", 1);
        let ended = world.orch(&["watch", "--once", "-v"]).succeeds();
        assert!(
            ended.stderr.contains("cannot open the log file"),
            "{ended:?}"
        );
        assert_eq!(world.phase("t"), "plan_review");
        assert_eq!(world.read("victim"), "untouched\n");
    }
}

#[test]
fn several_processes_write_whole_lines_into_one_log() {
    let world = started("planning");
    let start = || {
        let mut command = world.orch_command(&["watch", "--once"]);
        command.env("ORCH_LOG", "trace");
        spawned(command)
    };
    let mut children: Vec<Child> = (0..6).map(|_| start()).collect();
    let ids: BTreeSet<u32> = children.iter().map(Child::id).collect();
    for child in &mut children {
        assert!(child.wait().expect("it ends").success());
    }
    let text = world.read(LOG);
    let lines = lines(&text);
    for part in ["orch starts", "orch exits exit=0"] {
        let found = lines
            .iter()
            .filter(|line| line.rest.contains(part))
            .map(|line| line.process);
        assert_eq!(found.collect::<BTreeSet<u32>>(), ids, "{part}:\n{text}");
    }
}

#[test]
fn a_log_that_is_full_is_rotated() {
    let world = started("planning");
    let old = "an old line\n".repeat(1024 * 1024 / 12);
    world.write(LOG, &old);
    world.orch(&["watch", "--once"]).succeeds();
    assert_eq!(
        world.read(&format!("{LOG}.1")).lines().next(),
        Some("an old line")
    );
    let text = world.read(LOG);
    assert!(
        !text.contains("an old line") && text.contains("orch exits"),
        "{text}"
    );
    for name in [LOG.to_owned(), format!("{LOG}.1")] {
        assert_eq!(mode(&world.path(&name)), 0o600, "{name}");
    }
}

#[test]
fn outside_git_nothing_is_logged() {
    let world = World::without_git();
    world.orch(&["init"]).succeeds();
    world.orch(&["watch", "--once"]).succeeds();
    assert!(!world.path(".git").exists());
}
