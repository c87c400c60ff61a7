//! Lives of tasks: played once with the real program, then told of as many other tasks as are wanted.

use orch_base::Digest;
use orch_core::record::{EventLog, FoldCache, LogExtent, write_state};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// What a task holds after a step, by path below its directory.
pub type Moment = BTreeMap<String, String>;

/// Whether a part of the life of a task is played by writing a file, or by ordering something.
pub enum Scene {
    File(&'static str, String),
    Order(&'static [&'static str]),
}

/// A whole life: the tests fail four times, and after all that somebody opens the task again.
pub fn lifecycle() -> Vec<Scene> {
    let file = |path: &'static str, text: &str| Scene::File(path, format!("{text}\n"));
    let verdict = |nth: usize| {
        format!(r#"{{"ok": true, "issues": [], "finished_at": "2026-11-21T04:{nth:02}:00Z"}}"#)
    };
    let mut scenes = vec![
        Scene::Order(&["new", "t"]),
        file(
            "planning/plan.json",
            r#"{"title": "Login", "status": "final", "why": "It fails.", "what": "Mend it."}"#,
        ),
        file("review/plan/verdict.json", &verdict(0)),
    ];
    for nth in 1..=5 {
        let failure = if nth < 5 {
            "<failure message=\"no\"/>"
        } else {
            ""
        };
        let (failures, case) = (
            usize::from(nth < 5),
            format!("<testcase name=\"a\">{failure}</testcase>"),
        );
        let run = format!(
            "<testsuite name=\"run {nth}\" tests=\"1\" failures=\"{failures}\">{case}</testsuite>"
        );
        scenes.push(file(
            "code/diff.patch",
            &format!("--- a/a.rs\n+++ b/a.rs\n@@ -1 +1 @@\n-old\n+new {nth}"),
        ));
        scenes.push(file("review/code/verdict.json", &verdict(nth)));
        scenes.push(file("eval/junit.xml", &run));
    }
    scenes.push(Scene::Order(&["approve", "t"]));
    scenes.push(Scene::Order(&["reopen", "t", "--reason", "it came back"]));
    scenes
}

/// Plays a life of the task `id` with the real program; what the task held after each scene.
pub fn play(root: &Path, id: &str, scenes: &[Scene], orch: &dyn Fn(&[&str])) -> Vec<Moment> {
    let home = root.join("tasks").join(id);
    let mut moments = Vec::new();
    for scene in scenes {
        match scene {
            Scene::File(path, text) => {
                let path = home.join(path);
                fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
                fs::write(path, text).expect("written");
                orch(&["watch", "--once"]);
            }
            Scene::Order(arguments) => orch(arguments),
        }
        let mut moment = Moment::new();
        collect(&home, "", &mut moment);
        moments.push(moment);
    }
    moments
}

fn collect(directory: &Path, prefix: &str, moment: &mut Moment) {
    for entry in fs::read_dir(directory)
        .expect("a directory")
        .map(|entry| entry.expect("an entry"))
    {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            collect(&entry.path(), &format!("{name}/"), moment);
        } else if name != "suggestion.json" {
            moment.insert(name, fs::read_to_string(entry.path()).expect("text"));
        }
    }
}

/// The same moment of another task: the id stands in its first event, so that every id after it is another.
pub fn told_of(id: &str, moment: &Moment) -> Moment {
    let lines = relinked(&moment["transcript.jsonl"], id);
    let (log, faults) = EventLog::parse(lines.as_bytes());
    assert!(faults.is_empty(), "{faults:?}");
    let head = log.heads().first().copied().expect("a head");
    let state = log
        .state_at(&head, &mut FoldCache::default())
        .expect("a state");
    let value: Value = serde_json::from_str(&moment["state.json"]).expect("JSON");
    let schema = value["$schema"].as_str().expect("a schema");
    let mut moment = moment.clone();
    let extent = LogExtent::of(lines.as_bytes(), state.format());
    moment.insert(
        "state.json".to_owned(),
        write_state(&state, "phase", schema, extent),
    );
    moment.insert("transcript.jsonl".to_owned(), lines);
    moment
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
