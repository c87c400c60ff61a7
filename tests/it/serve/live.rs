//! Events, runs and their output, and the end of a server.

use super::client::{Listener, Server};
use crate::harness::{World, eventually, started};
use crate::run::processes_in;
use serde_json::json;
use std::io::Write;
use std::net::TcpStream;

#[test]
fn what_the_watch_does_is_heard_and_what_was_missed_is_repeated() {
    let world = started("planning");
    let server = Server::start(&world, &[]);
    let mut listener = server.listen("events", None);
    assert_eq!(listener.next(), Some(("ready".to_owned(), json!({}))));
    let ready = listener.last.clone();
    world.plan("t", 1);
    let moved = listener.hears("transition");
    assert_eq!(
        (&moved["kind"], &moved["transition"]["to"]),
        (&json!("event"), &json!("plan_review"))
    );
    let stands = listener.hears("suggestion");
    assert_eq!(stands["suggestion"]["currentPhase"], "plan_review");
    drop(listener);
    world.plan_review("t", true, 1);
    eventually("the watch has moved the task", || {
        world.phase("t") == "codegen"
    });
    // The order of another client is heard as well.
    let order = json!({"reason": "No.", "to": "planning"});
    assert_eq!(server.post("tasks/t/rollback", &order).status, 200);
    let mut again = server.listen("events", Some(&ready));
    let targets: Vec<_> = (0..3)
        .map(|_| again.hears("transition")["transition"]["to"].clone())
        .collect();
    assert_eq!(targets, ["plan_review", "codegen", "planning"]);
    for unknown in ["x-1", "", "99"] {
        assert_eq!(
            server.listen("events", Some(unknown)).next(),
            Some(("reset".to_owned(), json!({}))),
            "{unknown}"
        );
    }
    // The end of the server ends the stream, and nothing is lost.
    assert_eq!(server.stop(), Some(0));
    while again.next().is_some() {}
    assert_eq!(world.dirty(), "");
}

#[test]
fn a_server_that_only_looks_applies_nothing_and_says_what_is_due() {
    let world = started("planning");
    for option in ["--read-only", "--no-watch"] {
        let server = Server::start(&world, &[option]);
        let mut listener = server.listen("events", None);
        listener.hears("ready");
        world.plan("t", 1);
        let stands = listener.hears("suggestion")["suggestion"].clone();
        assert_eq!(
            (&stands["currentPhase"], &stands["suggestedNext"]),
            (&json!("planning"), &json!("plan_review"))
        );
        world.remove("tasks/t/planning/plan.json");
        assert_eq!(server.stop(), Some(0));
        assert_eq!(world.phase("t"), "planning");
    }
}

/// A world whose executor prints two lines, and ends when the file `may-end` is there.
fn with_executor() -> World {
    let world = started("planning");
    let script = "trap 'printf last; exit 143' TERM; echo one; echo two; while [ ! -e may-end ]; do sleep 0.02; done; \
        printf three";
    let executor = format!(
        "[executor.default]\ncommand = [\"sh\", \"-c\", \"{script}\"]\ngrace = \"300ms\"\n"
    );
    world.write(
        "orch.toml",
        format!("{}\n{executor}", world.read("orch.toml")),
    );
    world.write(".git/info/exclude", "may-end\n");
    world.commit("an executor");
    world
}

/// Everything that a stream of output says: the text, and the state at the end.
fn read(mut output: Listener) -> (String, String) {
    let mut text = String::new();
    loop {
        match output.next().expect("an end") {
            (name, data) if name == "output" => {
                text.push_str(data["text"].as_str().expect("a text"))
            }
            (name, data) if name == "end" => {
                return (text, data["state"].as_str().expect("a state").to_owned());
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_run_is_started_followed_and_stopped() {
    let world = with_executor();
    let server = Server::start(&world, &[]);
    let mut events = server.listen("events", None);
    assert_eq!(
        events.next().map(|(name, _)| name).as_deref(),
        Some("ready")
    );
    assert_eq!(
        server.post("tasks/t/stop", &json!({})).json()["kind"],
        "nothing"
    );
    let begun = server.post("tasks/t/run", &json!({"auto": true, "maxTurns": 1}));
    assert_eq!(
        (begun.status, &begun.json()["runs"][0]["state"]),
        (202, &json!("running")),
        "{begun:?}"
    );
    assert_eq!(events.hears("run")["run"]["task"], "t");
    let again = server.post("tasks/t/run", &json!({}));
    assert_eq!((again.status, again.code()), (503, "busy".to_owned()));
    let mut output = server.listen("tasks/t/output", None);
    let mut text = String::new();
    while text != "one\ntwo\n" {
        text.push_str(output.hears("output")["text"].as_str().expect("a text"));
        assert!("one\ntwo\n".starts_with(&text), "{text:?}");
    }
    // A client that comes back gets the rest.
    let last = output.last.clone();
    drop(output);
    world.write("may-end", "");
    assert_eq!(
        read(server.listen("tasks/t/output", Some(&last))).0,
        "three"
    );
    eventually("the run has ended", || {
        server.get("runs").json()["runs"][0]["state"] != "running"
    });
    world.remove("may-end");
    // Another run is stopped.
    assert_eq!(server.post("tasks/t/run", &json!({})).status, 202);
    let stopped = server.by_agent("POST", "tasks/t/stop", "{}");
    assert_eq!(
        (stopped.status, &stopped.json()["kind"]),
        (200, &json!("control"))
    );
    assert_eq!(read(server.listen("tasks/t/output", None)).1, "stopped");
    assert_eq!(server.get("runs?open=true").json()["runs"], json!([]));
    // What cannot begin is an error, as on the command line.
    assert_eq!(
        server
            .post("tasks/t/run", &json!({"auto": true, "interactive": true}))
            .code(),
        "usage"
    );
    assert_eq!(
        server.post("tasks/x/run", &json!({})).code(),
        "unknown-task"
    );
}

#[test]
fn the_end_of_the_server_interrupts_its_runs_and_ends_its_streams() {
    let world = with_executor();
    let server = Server::start(&world, &["--no-watch"]);
    assert_eq!(server.post("tasks/t/run", &json!({})).status, 202);
    let mut events = server.listen("events", None);
    assert_eq!(
        events.next().map(|(name, _)| name).as_deref(),
        Some("ready")
    );
    let mut output = server.listen("tasks/t/output", None);
    output.hears("output");
    // Of another request only a part has arrived.
    let mut half = TcpStream::connect(("127.0.0.1", server.port)).expect("connected");
    half.write_all(b"GET /").expect("sent");
    assert_eq!(server.stop(), Some(0));
    // The streams tell what the end of the server did to the run.
    let (text, state) = read(output);
    assert!(text.contains("last"), "{text}");
    assert_eq!(state, "paused");
    while events.hears("run")["run"]["state"] != "paused" {}
    while events.next().is_some() {}
    // The next server knows nothing of it, and continues it.
    world.write("may-end", "");
    let server = Server::start(&world, &["--no-watch"]);
    let resumed = server.post("tasks/t/run", &json!({}));
    assert!([200, 202].contains(&resumed.status), "{resumed:?}");
    eventually("the run has ended", || {
        server.get("runs").json()["runs"][0]["state"] != "running"
    });
}

/// The program of a notification of a run takes longer than the server waits for it.
#[test]
fn no_program_outlives_the_server() {
    let world = with_executor();
    let entry = "[[notify]]\non = [\"run-ended\"]\ntime_limit = \"10m\"\n\
                 command = [\"sh\", \"-c\", \"touch ../began; exec sleep 600\"]\n";
    world.write("orch.toml", format!("{}\n{entry}", world.read("orch.toml")));
    world.write("may-end", "");
    world.commit("a notification");
    let server = Server::start(&world, &["--no-watch"]);
    assert!(
        [200, 202].contains(
            &server
                .post("tasks/t/run", &json!({"auto": true, "maxTurns": 1}))
                .status
        )
    );
    eventually("the program has begun", || world.path("../began").exists());
    // The run has ended.
    let again = server.post("tasks/t/run", &json!({"auto": true, "maxTurns": 1}));
    assert!([200, 202].contains(&again.status), "{again:?}");
    assert_eq!(server.stop(), Some(0));
    // A process that was killed may take a moment to go.
    eventually("the program has ended", || {
        processes_in(&world.root()).is_empty()
    });
}

/// Each run ends what has left the group of its executor, and only that: not what works for a run that began later.
#[test]
fn the_end_of_a_run_leaves_what_works_for_other_runs_alone() {
    let world = started("planning");
    world.write(
        "work.sh",
        "await() { while [ ! -e $1 ]; do sleep 0.02; done; }\n\
         case $ORCH_TASK$1 in\n\
         u) await began ;;\n\
         t) (setsid sh work.sh daemon &) ; await worked; echo ended ;;\n\
         tdaemon) touch began; await may-end; touch worked ;;\n\
         esac\n",
    );
    let script = "sh work.sh";
    let executor = format!("[executor.default]\ncommand = [\"sh\", \"-c\", \"{script}\"]\n");
    world.write(
        "orch.toml",
        format!("{}\n{executor}", world.read("orch.toml")),
    );
    world.write(".git/info/exclude", "began\nmay-end\nworked\n");
    world.commit("an executor");
    world.orch(&["new", "u"]).succeeds();
    let server = Server::start(&world, &[]);
    let once = json!({"auto": true, "maxTurns": 1});
    assert_eq!(server.post("tasks/u/run", &once).status, 202);
    let works = |task: &str| {
        let logs = world.path(&format!("tasks/{task}/.orch/logs")).read_dir();
        let mut names = logs
            .into_iter()
            .flatten()
            .flatten()
            .map(|log| log.file_name());
        names.any(|name| name.to_string_lossy().ends_with(".process.json"))
    };
    eventually("the first executor works", || works("u"));
    assert_eq!(server.post("tasks/t/run", &once).status, 202);
    let state = |task: &str| {
        let runs = server.get("runs").json()["runs"].clone();
        runs.as_array()
            .expect("a list")
            .iter()
            .find(|run| run["task"] == task)
            .map(|run| run["state"].clone())
    };
    eventually("the first run has ended", || {
        state("u").is_some_and(|state| state != "running")
    });
    assert_eq!(state("t"), Some("running".into()));
    world.write("may-end", "");
    eventually("what works for the other run has gone on", || {
        world.path("worked").exists()
    });
    assert_eq!(read(server.listen("tasks/t/output", None)).0, "ended\n");
    assert_eq!(server.stop(), Some(0));
}
