//! Replaying ten thousand transitions.

use super::{ORCH, World, median};
use orch::base::Digest;
use orch::record::{EventLog, FoldCache, LogExtent, write_state};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::{self, File};
use std::path::Path;

const TASKS: usize = 500;

/// What a task holds after a transition, by path below its directory.
type Moment = BTreeMap<String, String>;

/// Whether a part of the life of a task is played by writing a file, or by ordering something.
pub(super) enum Scene {
    File(&'static str, String),
    Order(&'static [&'static str]),
}

/// A whole life: the tests fail four times, and after all that somebody opens the task again.
pub(super) fn scenes() -> Vec<Scene> {
    let file = |path: &'static str, text: &str| Scene::File(path, format!("{text}\n"));
    let verdict =
        |nth: usize| format!(r#"{{"ok": true, "issues": [], "finished_at": "2026-11-21T04:{nth:02}:00Z"}}"#);
    let mut scenes = vec![
        file(
            "planning/plan.json",
            r#"{"title": "Login", "status": "final", "why": "It fails.", "what": "Mend it."}"#,
        ),
        file("review/plan-review.json", &verdict(0)),
    ];
    for nth in 1..=5 {
        let failure = if nth < 5 { "<failure message=\"no\"/>" } else { "" };
        let (failures, case) = (usize::from(nth < 5), format!("<testcase name=\"a\">{failure}</testcase>"));
        let run =
            format!("<testsuite name=\"run {nth}\" tests=\"1\" failures=\"{failures}\">{case}</testsuite>");
        scenes
            .push(file("code/diff.patch", &format!("--- a/a.rs\n+++ b/a.rs\n@@ -1 +1 @@\n-old\n+new {nth}")));
        scenes.push(file("review/code-review.json", &verdict(nth)));
        scenes.push(file("eval/junit.xml", &run));
    }
    let decision = r#"{"verdict": "accepted", "reasons": ["It works."], "decider": "Ann"}"#;
    scenes.push(file("accept/decision.json", decision));
    scenes.push(Scene::Order(&["reopen", "t", "--reason", "it came back"]));
    scenes
}

/// Plays a life with the real program; what the task held after each transition.
fn play(world: &World) -> Vec<Moment> {
    let moment = || {
        let mut moment = Moment::new();
        collect(&world.root().join("tasks/t"), "", &mut moment);
        moment
    };
    world.orch(&["new", "t"]);
    let mut moments = vec![moment()];
    for scene in scenes() {
        match scene {
            Scene::File(path, text) => {
                world.write(&format!("tasks/t/{path}"), &text);
                world.orch(&["next", "t"]);
            }
            Scene::Order(arguments) => world.orch(arguments),
        }
        moments.push(moment());
    }
    moments
}

fn collect(directory: &Path, prefix: &str, moment: &mut Moment) {
    for entry in fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry")) {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            collect(&entry.path(), &format!("{name}/"), moment);
        } else if name != "suggestion.json" {
            moment.insert(name, fs::read_to_string(entry.path()).expect("text"));
        }
    }
}

/// The same life of another task: the id stands in its first event, so that every id after it is another.
fn told_of(id: &str, moments: &[Moment]) -> Vec<Moment> {
    let mut cache = FoldCache::default();
    let mut tell = |moment: &Moment| {
        let lines = relinked(&moment["transcript.jsonl"], id);
        let (log, faults) = EventLog::parse(lines.as_bytes());
        assert!(faults.is_empty(), "{faults:?}");
        let head = log.heads().first().copied().expect("a head");
        let state = log.state_at(&head, &mut cache).expect("a state");
        let value: Value = serde_json::from_str(&moment["state.json"]).expect("JSON");
        let schema = value["$schema"].as_str().expect("a schema");
        let mut moment = moment.clone();
        let extent = LogExtent::of(lines.as_bytes(), state.format());
        moment.insert("state.json".to_owned(), write_state(&state, "phase", schema, extent));
        moment.insert("transcript.jsonl".to_owned(), lines);
        moment
    };
    moments.iter().map(&mut tell).collect()
}

/// A log of one line of history as it would be of task `id`.
fn relinked(lines: &str, id: &str) -> String {
    let (mut last, mut relinked): (Option<String>, String) = Default::default();
    for line in lines.lines() {
        let mut event: Value = serde_json::from_str(line).expect("JSON");
        for change in event["changes"].as_array_mut().expect("a list") {
            if change["path"] == "/task" {
                change["value"] = id.into();
            }
        }
        event["after"] = last.iter().cloned().collect();
        event.as_object_mut().expect("an object").shift_remove("id");
        let body = event.to_string();
        let id = Digest::of_blob(body.as_bytes()).to_string();
        let _ = writeln!(relinked, "{{\"id\":\"{id}\",{}", &body[1..]);
        last = Some(id);
    }
    relinked
}

/// Every transition of every task as a commit of its own, as a stream for `git fast-import`.
fn stream(moments: &[Moment]) -> String {
    let ids: Vec<String> = (0..TASKS).map(|number| format!("a-{number:03}")).collect();
    let lives: Vec<Vec<Moment>> = ids.iter().map(|id| told_of(id, moments)).collect();
    let mut stream = String::from("reset refs/heads/main\nfrom refs/heads/main^0\n\n");
    for at in 0..moments.len() {
        for (id, life) in ids.iter().zip(&lives) {
            let seconds = 1_800_000_000 + at;
            let _ = write!(
                stream,
                "commit refs/heads/main\ncommitter Bench <bench@example.com> {seconds} +0000\ndata 5\nmove\n\n"
            );
            let changed = |path: &str, text: &str| {
                at.checked_sub(1).and_then(|at| life[at].get(path)).is_none_or(|before| before != text)
            };
            for (path, text) in life[at].iter().filter(|(path, text)| changed(path, text)) {
                let length = text.len();
                let _ = write!(stream, "M 100644 inline tasks/{id}/{path}\ndata {length}\n{text}\n");
            }
        }
    }
    stream
}

pub fn audit() {
    let world = World::new();
    let moments = play(&world);
    let place = world.root().join(".git/stream");
    fs::write(&place, stream(&moments)).expect("written");
    let mut import = world.command("git", &["fast-import", "--quiet"]);
    import.stdin(File::open(&place).expect("a stream"));
    assert!(import.status().expect("git starts").success());
    let _ = fs::remove_file(&place);
    let commits = (TASKS * moments.len()) as f64;
    world.orch(&["audit"]);
    let time =
        |program: &str, arguments: &[&str]| median((0..3).map(|_| world.time(program, arguments)).collect());
    let (audit, stat) = (time(ORCH, &["audit"]), time("git", &["log", "--stat"]));
    let list = time("git", &["rev-list", "HEAD"]);
    println!("audit of {commits} transitions of {TASKS} tasks, cold process");
    println!(
        "  orch audit                 {audit:8.0}   {:.0} commits a second, target 2000",
        commits / audit * 1000.0
    );
    println!("  git log --stat             {stat:8.0}   {:.0} commits a second", commits / stat * 1000.0);
    println!("  git rev-list               {list:8.0}   (walking alone)");
}
