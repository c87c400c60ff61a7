//! Word of events: which ones there are, that each is told once, and that no program can hold anything up.

use crate::harness::{World, eventually, executable, missing, started};
use crate::run::{GOOD, LOOP, Loop, processes_in};
use crate::terminal::Terminal;
use orch_base::Period;
use orch_core::workflow::Times;
use orch_engine::run::{Ended, LimitedProgram};
use orch_read::Schema;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};

/// An entry for all events whose program keeps what it reads outside the repository.
const KEEPS: &str = r#"
[[notify]]
on = ["human", "failed", "stalled", "done", "run-ended"]
command = ["sh", "-c", "cat >> ../notices"]
"#;

fn configure(world: &World, entries: &str) {
    world.write(
        "orch.toml",
        format!("{}\n{entries}", world.read("orch.toml")),
    );
    world.commit("notify");
}

/// The documents that programs have read.
fn notices(world: &World) -> Vec<Value> {
    let text = fs::read_to_string(world.path("../notices")).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

/// The events that programs have read of, in alphabetical order: several programs run at once.
fn events(world: &World) -> Vec<String> {
    let named = notices(world)
        .into_iter()
        .map(|one| one["event"].as_str().expect("an event").to_owned());
    let mut events: Vec<String> = named.collect();
    events.sort_unstable();
    events
}

/// Runs `orch` where nothing is trusted by the environment.
fn without_trust(world: &World, arguments: &[&str]) -> crate::harness::Ended {
    let mut command = world.orch_command(arguments);
    world.end(
        command
            .env_remove("ORCH_TRUST_ONCE")
            .output()
            .expect("orch runs"),
    )
}

/// A watch in the background, and the lines it prints.
struct Watch {
    child: Child,
    lines: Receiver<String>,
}

impl Watch {
    /// Starts a watch where nothing is trusted by the environment.
    fn start(world: &World) -> Self {
        let mut command = world.orch_command(&["watch", "--json"]);
        let mut child = command
            .env_remove("ORCH_TRUST_ONCE")
            .stdout(Stdio::piped())
            .spawn()
            .expect("orch starts");
        let stdout = child.stdout.take().expect("piped");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let lines = BufReader::new(stdout).lines().map_while(Result::ok);
            lines.for_each(|line| drop(sender.send(line)));
        });
        let watch = Self { child, lines };
        watch.hears("\"started\"");
        watch
    }

    /// Waits for a line with this text.
    fn hears(&self, text: &str) -> String {
        let found = self.lines.iter().find(|line| line.contains(text));
        found.unwrap_or_else(|| panic!("the watch has ended without {text}"))
    }

    /// Interrupts the watch, and waits for its end.
    fn stop(mut self) {
        interrupt(&self.child);
        assert!(self.child.wait().expect("it ends").success());
    }
}

fn interrupt(child: &Child) {
    #[expect(
        clippy::disallowed_methods,
        reason = "a test sends a signal as a person would"
    )]
    let sent = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(sent.expect("kill runs").success());
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_end_of_a_run_is_told_with_what_it_means() {
    let schema = crate::harness::project().join("system/schemas/output/notice.schema.json");
    let schema = Schema::compile("notice", &fs::read_to_string(schema).expect("readable"))
        .expect("a schema");
    let asks = "printf 'ACTION_RESULT:\\n- status: needs_input\\n- message: which?\\n'\n";
    let idles = "echo x > tasks/t/report.md; echo '{\"summary\": \"done, I think\"}'\n";
    let grows = "echo \"{\\\"stateUpdates\\\": {\\\"notes\\\": [\\\"$(date +%N)\\\"]}}\"; echo x > tasks/t/report.md\n";
    let three = LOOP.replace("turns = 20", "turns = 3");
    for (workflow, script, ending, expected) in [
        (LOOP, GOOD, "completed", ["done", "run-ended"]),
        (LOOP, "exit 3\n", "failed", ["failed", "run-ended"]),
        (LOOP, idles, "stalled", ["run-ended", "stalled"]),
        (LOOP, asks, "waiting", ["human", "run-ended"]),
        (three.as_str(), grows, "exhausted", ["failed", "run-ended"]),
    ] {
        let task = Loop::with(workflow, script);
        configure(&task.world, KEEPS);
        let report = task.run_json();
        assert_eq!(report["ending"], ending, "{report:#}");
        assert_eq!(events(&task.world), expected, "{ending}");
        for notice in notices(&task.world) {
            assert_eq!(schema.validate(&notice), [], "{notice:#}");
            assert_eq!(
                (&notice["run"]["ending"], &notice["run"]["id"]),
                (&report["ending"], &report["run"])
            );
            assert_eq!(notice["suggestion"]["task"], "t");
            assert!(
                notice["text"]
                    .as_str()
                    .is_some_and(|text| text.starts_with("t: ")),
                "{notice:#}"
            );
        }
        let stalled = notices(&task.world)
            .into_iter()
            .find(|notice| notice["event"] == "stalled");
        assert!(stalled.is_none_or(|notice| notice["suggestion"]["kind"] == "stalled"));
        // A run that does nothing has ended again; the task has come to nothing new.
        if ending == "completed" {
            task.run();
            assert_eq!(events(&task.world), ["done", "run-ended", "run-ended"]);
            // Another task with the same id has come to its own end.
            task.world.git(&["rm", "-rq", "--cached", "tasks/t"]);
            fs::remove_dir_all(task.world.path("tasks/t")).expect("removed");
            task.world.git(&["commit", "-qm", "remove t"]);
            task.world.orch(&["new", "t"]).succeeds();
            task.run().succeeds();
            assert_eq!(
                events(&task.world),
                ["done", "done", "run-ended", "run-ended", "run-ended"]
            );
        }
        task.is_clean();
    }
}

#[test]
fn a_run_that_an_error_ends_has_ended_too() {
    let task = Loop::new(&format!("#!/bin/sh\n{GOOD}\nrm executor.sh\n"));
    executable(&task.world.path("executor.sh"));
    let toml = task
        .world
        .read("orch.toml")
        .replace("\"sh\", \"executor.sh\"", "\"./executor.sh\"");
    task.world.write("orch.toml", toml);
    configure(&task.world, KEEPS);
    task.run().ends(2).reports("cannot start `./executor.sh`");
    assert_eq!(events(&task.world), ["failed", "run-ended"]);
    let notice = notices(&task.world)[0].clone();
    assert_eq!(notice["run"]["ending"], "error");
    assert!(
        notice["text"]
            .as_str()
            .is_some_and(|text| text.contains("cannot start `./executor.sh`")),
        "{notice:#}"
    );
}

#[test]
fn what_a_watch_notices_is_told_once_whatever_comes_between() {
    let world = started("test");
    configure(&world, KEEPS);
    let watch = || world.orch(&["watch", "--once"]).succeeds();
    watch();
    assert_eq!(events(&world), [""; 0], "an agent continues");
    world.walk_to_from("t", "test", "accept");
    watch();
    assert_eq!(events(&world), ["human"]);
    assert_eq!(notices(&world)[0]["run"], Value::Null);
    watch();
    assert_eq!(events(&world), ["human"]);
    world.walk_to_from("t", "accept", "done");
    watch();
    watch();
    assert_eq!(events(&world), ["done", "human"]);
    // What the task was left with is no matter for a person.
    world.write("tasks/t/planning/plan.json", "{}\n");
    watch();
    world.git(&["checkout", "--", "tasks/t"]);
    world.orch(&["archive", "t"]).succeeds();
    watch();
    assert_eq!(
        events(&world),
        ["done", "human"],
        "nobody is asked about an archived task"
    );
    // Another end of the task is another event.
    world.orch(&["new", "u"]).succeeds();
    world.walk_to("u", "done");
    watch();
    world
        .orch(&["reopen", "u", "--to", "accept", "--reason", "look again"])
        .succeeds();
    watch();
    assert_eq!(events(&world), ["done", "done", "human", "human"]);
    world.walk_to_from("u", "accept", "done");
    watch();
    assert_eq!(events(&world), ["done", "done", "done", "human", "human"]);
}

#[test]
fn what_is_so_when_the_first_watch_starts_is_no_event() {
    let world = started("accept");
    configure(&world, KEEPS);
    world.orch(&["watch", "--once"]).succeeds();
    world.orch(&["watch", "--once", "--dry-run"]).succeeds();
    assert_eq!(events(&world), [""; 0]);
    // What has happened while no watch was there is one.
    world.walk_to_from("t", "accept", "done");
    world.orch(&["watch", "--once", "--dry-run"]).succeeds();
    assert_eq!(events(&world), [""; 0], "a dry run starts nothing");
    world.orch(&["watch", "--once"]).succeeds();
    assert_eq!(events(&world), ["done"]);
}

#[test]
fn a_program_that_was_refused_is_started_once_it_is_trusted() {
    let world = started("planning");
    configure(&world, KEEPS);
    let untrusted = |arguments: &[&str]| without_trust(&world, arguments);
    world.walk_to("t", "accept");
    let watch = Watch::start(&world);
    for (number, task) in ["a", "b"].into_iter().enumerate() {
        world.orch(&["new", task]).succeeds();
        world
            .orch(&["next", task, "--override", "quick", "--to", "accept"])
            .succeeds();
        let stands = |line: &str| {
            line.contains(&format!("\"task\":\"{task}\"")) && line.contains("\"accept\"")
        };
        eventually("the watch has seen it", || {
            watch.lines.try_iter().any(|line| {
                if number == 0 && line.contains("\"untrusted\"") {
                    assert!(line.contains("[notify.1] in orch.toml"), "{line}");
                }
                stands(&line)
            })
        });
    }
    assert_eq!(events(&world), [""; 0]);
    // Every form of the answer names the program.
    untrusted(&["trust", "--show"])
        .ends(1)
        .says("not trusted  notify.1  sh -c 'cat >> ../notices'");
    let shown = untrusted(&["trust", "--show", "--json"]).ends(1);
    let shown: Value = serde_json::from_str(&shown.stdout).expect("JSON");
    assert_eq!(
        (
            &shown["trustees"][0]["name"],
            &shown["trustees"][0]["trusted"]
        ),
        (&"notify.1".into(), &false.into())
    );
    untrusted(&["trust"])
        .succeeds()
        .says("trusted      notify.1");
    world.orch(&["new", "c"]).succeeds();
    world
        .orch(&["next", "c", "--override", "quick", "--to", "accept"])
        .succeeds();
    eventually("it is told", || events(&world) == ["human"]);
    assert_eq!(notices(&world)[0]["suggestion"]["task"], "c");
    untrusted(&["trust", "--revoke"]).succeeds();
    watch.stop();
}

#[test]
fn a_run_starts_no_program_that_nobody_has_trusted() {
    let task = Loop::new(GOOD);
    configure(&task.world, KEEPS);
    let run = |arguments: &[&str]| without_trust(&task.world, arguments);
    let ended = run(&["run", "t", "--auto", "--", "sh", "executor.sh"]).succeeds();
    // Two events, one refusal.
    assert_eq!(
        ended.stderr.matches("[notify.1] in orch.toml").count(),
        1,
        "{ended:?}"
    );
    ended
        .reports("warning[untrusted]")
        .reports("orch trust --show");
    assert_eq!(events(&task.world), [""; 0]);
    run(&["run", "t", "--trust-once"]).succeeds();
    assert_eq!(events(&task.world), ["run-ended"]);
}

/// The script is trusted when the event comes, and another one when there is room for it.
#[test]
fn a_program_that_was_replaced_while_it_waited_does_not_start() {
    let world = started("test");
    let waits = "touch ../began-$$; while [ ! -e ../may-end ]; do sleep 0.02; done";
    let waits = format!(
        "[[notify]]\non = [\"human\"]\ntime_limit = \"5m\"\ncommand = [\"sh\", \"-c\", \"{waits}\"]\n"
    );
    let waiting = waits.repeat(4);
    world.write("told.sh", "touch ../told\n");
    configure(
        &world,
        &format!("{waiting}[[notify]]\non = [\"human\"]\ncommand = [\"sh\", \"told.sh\"]\n"),
    );
    without_trust(&world, &["trust"]).succeeds();
    let watch = Watch::start(&world);
    world
        .orch(&["next", "t", "--override", "quick", "--to", "accept"])
        .succeeds();
    let began = || {
        let entries = fs::read_dir(world.path("..")).expect("readable").flatten();
        entries
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("began-"))
            .count()
    };
    eventually("as many as run at once have begun", || began() == 4);
    world.write("told.sh", "touch ../replaced\n");
    world.write("../may-end", "");
    let refused = watch.hears("\"untrusted\"");
    assert!(
        refused.contains("`sh told.sh` of [notify.5] in orch.toml as it is now"),
        "{refused}"
    );
    watch.stop();
    assert!(!world.path("../told").exists());
    assert!(!world.path("../replaced").exists());
}

/// Whoever trusts a program to work on tasks does not trust it to be started at events.
#[test]
fn trust_in_an_executor_is_none_in_the_same_command_as_a_notification() {
    let task = Loop::new(GOOD);
    configure(
        &task.world,
        "[[notify]]\non = [\"run-ended\"]\ncommand = [\"sh\", \"executor.sh\"]\n",
    );
    // The run remembers the command that a person gave it.
    let given = without_trust(
        &task.world,
        &["run", "t", "--auto", "--", "sh", "executor.sh"],
    )
    .succeeds();
    given.reports("nobody has trusted `sh executor.sh` of [notify.1] in orch.toml as it is now");
    let shown = without_trust(&task.world, &["trust", "--show"]).ends(1);
    shown.says("not trusted  notify.1");
}

#[test]
fn of_a_watch_and_a_run_only_one_tells() {
    let task = Loop::new(GOOD);
    configure(&task.world, KEEPS);
    let other = "[[notify]]\non = [\"done\"]\ncommand = [\"sh\", \"-c\", \"cat > ../other\"]\n";
    without_trust(&task.world, &["trust"]).succeeds();
    let watch = Watch::start(&task.world);
    task.run().succeeds();
    watch.hears("\"done\"");
    // What is configured while the watch runs counts from then on; it begins with a look at everything.
    configure(&task.world, other);
    task.world.orch(&["new", "u"]).succeeds();
    watch.hears("\"task\":\"u\"");
    watch.stop();
    assert_eq!(events(&task.world), ["done", "human", "run-ended"]);
    let asked = notices(&task.world)
        .into_iter()
        .find(|notice| notice["event"] == "human");
    assert_eq!(asked.expect("it is there")["suggestion"]["task"], "u");
    assert!(!task.world.path("../other").exists());
}

#[test]
fn a_program_ends_at_its_limit_with_all_that_it_started() {
    let task = Loop::new(GOOD);
    let escapes = "setsid sleep 70 <&0 & sleep 71 & trap '' TERM; sleep 72; sleep 73";
    configure(
        &task.world,
        &format!(
            "[[notify]]\non = [\"done\"]\ntime_limit = \"300ms\"\ncommand = [\"sh\", \"-c\", \"{escapes}\"]\n\
             [[notify]]\non = [\"done\"]\ncommand = [\"sh\", \"-c\", \"echo no network >&2; exit 7\"]\n\
             [[notify]]\non = [\"done\"]\ncommand = [\"./nowhere\"]\n{KEEPS}"
        ),
    );
    let ended = task.run().succeeds().says("t: completed");
    let ended = ended
        .reports("of [notify.1] in orch.toml failed: it took longer than 300ms")
        .reports("of [notify.2] in orch.toml failed: it exited with code 7: no network")
        .reports("`./nowhere` of [notify.3] in orch.toml failed: cannot start `./nowhere`");
    assert_eq!(
        ended.stderr.matches("notify-failed").count(),
        3,
        "{ended:?}"
    );
    assert_eq!(
        events(&task.world),
        ["done", "run-ended"],
        "the others are not affected"
    );
    task.is_clean();
}

/// A program with this script, and a limit that no test reaches.
fn program(world: &World, script: &str, input: String) -> LimitedProgram {
    let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
    let times = Times {
        hard: Some(Period::from_seconds(300)),
        ..Times::default()
    };
    LimitedProgram {
        argv,
        directory: world.root(),
        environment: Vec::new(),
        input,
        times,
        grace: Period::from_milliseconds(300),
        fence: None,
    }
}

fn mark(name: &str) -> (String, String) {
    (
        "ORCH_NOTICE".to_owned(),
        format!("test-{name}-{}", std::process::id()),
    )
}

/// More than a pipe holds, for a program that reads nothing, with descendants that keep the pipe open.
#[test]
fn a_pipe_that_nobody_reads_holds_nothing_up() {
    let world = World::ready();
    let script = "sleep 70 <&0 & setsid sleep 71 <&0 & echo there";
    let (ended, last) = program(&world, script, "x".repeat(1 << 20))
        .run(&mark("pipe"))
        .expect("it can be waited for");
    assert_eq!((ended, last.as_deref()), (Ended::Well, Some("there")));
    assert_eq!(processes_in(&world.root()), [""; 0]);
}

#[test]
fn a_program_that_ends_leaves_the_others_alone() {
    let world = World::ready();
    let long = program(
        &world,
        "setsid sh -c 'while [ ! -e may-end ]; do sleep 0.02; done; echo there > daemon' & wait",
        String::new(),
    );
    std::thread::scope(|scope| {
        let long = scope.spawn(move || long.run(&mark("long")).expect("it can be waited for"));
        for _ in 0..3 {
            let short = program(&world, "setsid sleep 70 & true", String::new());
            assert_eq!(
                short.run(&mark("short")).expect("it can be waited for").0,
                Ended::Well
            );
        }
        world.write("may-end", "");
        assert_eq!(long.join().expect("no panic").0, Ended::Well);
    });
    assert_eq!(world.read("daemon"), "there\n");
}

#[test]
fn the_bell_of_the_terminal_rings() {
    let task = Loop::new(GOOD);
    configure(&task.world, "[[notify]]\non = [\"done\"]\nbell = true\n");
    let mut terminal = Terminal::start(task.world.orch_command(&["run", "t", "--auto"]));
    terminal.shows("\u{7}");
    assert_eq!(terminal.ends(), Some(0));
    let quiet = task.run().succeeds();
    assert!(!quiet.stderr.contains('\u{7}'), "only at a terminal");
}

/// A question is asked at the terminal, whose person may be elsewhere.
#[test]
fn a_question_at_the_terminal_is_told_before_it_is_answered() {
    let task = Loop::new(GOOD);
    configure(&task.world, KEEPS);
    let mut terminal = Terminal::start(task.world.orch_command(&["run", "t"]));
    terminal.shows("rounds = ");
    eventually("it is told", || events(&task.world) == ["human"]);
    terminal.types("2\n");
    assert_eq!(terminal.ends(), Some(0));
    assert_eq!(events(&task.world), ["done", "human", "run-ended"]);
}

/// A person repairs a task, and the same is needed again after no other step.
#[test]
fn what_a_watch_finds_left_may_come_again() {
    let world = started("planning");
    configure(&world, KEEPS);
    let log = world.read("tasks/t/transcript.jsonl");
    let watch = |damaged: bool| {
        let text = if damaged {
            format!("damage\n{log}")
        } else {
            log.clone()
        };
        world.write("tasks/t/transcript.jsonl", text);
        world.orch(&["watch", "--once"]);
        events(&world)
    };
    assert_eq!(watch(false), [""; 0]);
    assert_eq!(watch(true), ["human"]);
    assert_eq!(watch(true), ["human"]);
    assert_eq!(watch(false), ["human"]);
    assert_eq!(watch(true), ["human", "human"]);
}

#[test]
fn a_watch_that_gets_its_first_notification_later_is_the_first_watch() {
    let world = started("accept");
    let watch = Watch::start(&world);
    configure(&world, KEEPS);
    eventually("the watch looks at events", || kept(&world).len() == 2);
    watch.stop();
    world.orch(&["watch", "--once"]).succeeds();
    assert_eq!(events(&world), [""; 0], "it was so before");
    world.walk_to_from("t", "accept", "done");
    world.orch(&["watch", "--once"]).succeeds();
    assert_eq!(events(&world), ["done"]);
}

/// The names of the files that say what was told.
fn kept(world: &World) -> Vec<String> {
    let entries = fs::read_dir(world.path(".git/orch/notices"))
        .into_iter()
        .flatten()
        .flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn what_was_told_takes_one_file_per_task_and_goes_with_it() {
    let world = started("test");
    world.orch(&["watch", "--once"]).succeeds();
    assert_eq!(kept(&world), [""; 0], "nobody wants to know");
    configure(&world, KEEPS);
    for phase in ["accept", "done"] {
        world.walk_to_from("t", if phase == "done" { "accept" } else { "test" }, phase);
        world.orch(&["watch", "--once"]).succeeds();
    }
    assert_eq!(kept(&world).len(), 2, "{:?}", kept(&world));
    let old = |name: &str| {
        let path = world.path(&format!(".git/orch/notices/{name}"));
        let file = fs::File::options()
            .create(true)
            .append(true)
            .open(path)
            .expect("a file");
        file.set_modified(std::time::SystemTime::UNIX_EPOCH)
            .expect("set");
    };
    kept(&world).iter().for_each(|name| old(name));
    let before = kept(&world);
    old("of-a-task-that-is-gone");
    world.orch(&["watch", "--once"]).succeeds();
    assert_eq!(kept(&world).len(), 2, "{:?}", kept(&world));
    assert!(before.iter().all(|name| kept(&world).contains(name)));
    assert_eq!(events(&world), ["done"]);
}

#[test]
fn what_cannot_be_kept_is_reported_and_not_told() {
    let world = started("test");
    configure(&world, KEEPS);
    world.orch(&["watch", "--once"]).succeeds();
    world.walk_to_from("t", "test", "accept");
    fs::remove_dir_all(world.path(".git/orch/notices")).expect("removed");
    world.write(".git/orch/notices", "in the way");
    let ended = world.orch(&["watch", "--once"]);
    assert_eq!(
        ended.stdout.matches(".git/orch/notices").count(),
        1,
        "{ended:?}"
    );
    assert_eq!(events(&world), [""; 0]);
}

/// A program that begins, and then takes longer than any test.
const ENDLESS: &str = "[[notify]]\non = [\"done\"]\ntime_limit = \"10m\"\n\
    command = [\"sh\", \"-c\", \"setsid sleep 600 & echo > ../began; sleep 600\"]\n";

#[test]
fn a_signal_at_the_end_of_a_run_ends_its_programs_at_once() {
    let task = Loop::new(GOOD);
    configure(&task.world, ENDLESS);
    let mut run = task.world.orch_spawn(&["run", "t", "--auto"]);
    eventually("the program works", || task.world.path("../began").exists());
    eventually("the run has ended", || {
        task.state()["status"] == "done" && task.story().last().is_some_and(|kind| kind == "end")
    });
    interrupt(&run);
    assert_eq!(run.wait().expect("it ends").code(), Some(130));
    task.is_clean();
}

#[test]
fn a_second_signal_ends_a_watch_and_its_programs_at_once() {
    let world = started("accept");
    configure(&world, ENDLESS);
    let mut trust = world.orch_command(&["trust"]);
    world
        .end(
            trust
                .env_remove("ORCH_TRUST_ONCE")
                .output()
                .expect("orch runs"),
        )
        .succeeds();
    let mut watch = Watch::start(&world);
    world.walk_to_from("t", "accept", "done");
    eventually("the program works", || world.path("../began").exists());
    interrupt(&watch.child);
    watch.hears("\"stopped\"");
    interrupt(&watch.child);
    assert_eq!(watch.child.wait().expect("it ends").code(), Some(130));
    assert_eq!(processes_in(&world.root()), [""; 0]);
}

#[test]
fn the_scripts_of_the_documentation_pass_the_document_on() {
    let page =
        fs::read_to_string(crate::harness::project().join("docs/notify.md")).expect("a page");
    let task = Loop::new(GOOD);
    let world = &task.world;
    for tool in ["jq", "openssl"] {
        if world
            .command("sh")
            .args(["-c", &format!("command -v {tool}")])
            .output()
            .is_ok_and(|found| !found.status.success())
        {
            return missing(tool);
        }
    }
    // Each program that leaves the machine keeps what it would pass on.
    for name in ["notify-send", "curl", "mail"] {
        world.write(
            &format!("../bin/{name}"),
            "#!/bin/sh\nfor word; do echo \"$word\"; done >> ../passed\ncat >> ../passed\n",
        );
        executable(&world.path(&format!("../bin/{name}")));
    }
    let scripts: Vec<&str> = page
        .split("```sh\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .filter(|script| script.starts_with("#!"))
        .collect();
    assert_eq!(scripts.len(), 5);
    let mut entries = String::new();
    for (number, script) in scripts.iter().enumerate() {
        world.write(&format!("../script-{number}"), script);
        let line = format!(
            "PATH=\\\"$PWD/../bin:$PATH\\\" ORCH_WEBHOOK=https://hook ORCH_WEBHOOK_KEY=k NTFY_TOPIC=topic sh ../script-{number}"
        );
        entries +=
            &format!("[[notify]]\non = [\"done\"]\ncommand = [\"sh\", \"-c\", \"{line}\"]\n");
    }
    configure(world, &entries);
    let ended = task.run().succeeds();
    assert!(!ended.stderr.contains("notify-failed"), "{ended:?}");
    let passed = world.read("../passed");
    assert_eq!(passed.matches("t: done").count(), 5, "{passed}");
    for part in [
        "A task needs you",
        "{\n  \"text\": \"t: done\"\n}",
        "X-Signature-256: sha256=",
        "\"event\":\"done\"",
        "https://ntfy.sh/topic",
        "ann@example.com",
    ] {
        assert!(passed.contains(part), "no {part} in\n{passed}");
    }
}
