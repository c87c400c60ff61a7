//! What agent programs print that cannot work: the run waits or ends, and nobody else's business is recorded.

use super::control::signal;
use super::{GOOD, Loop};
use crate::harness::eventually;

/// The end of a conversation as Claude Code prints it, in which the next try does the work.
fn fails_once(text: &str, more: &str) -> String {
    let envelope = format!(
        r#"{{"type":"result","subtype":"success","is_error":true,"result":"{text}","session_id":"0f8e2b1c-1d2e-4f3a-8b4c-5d6e7f8a9b0c","total_cost_usd":0.5{more}}}"#
    );
    format!(
        "if [ ! -e failed ] && [ $ORCH_ACTION = improve ]; then cat >/dev/null; touch failed; echo '{envelope}'; exit 1; fi\n{GOOD}"
    )
}

fn task(script: &str) -> Loop {
    let task = Loop::new(script);
    task.world.write(".gitignore", "failed\n");
    task.world.commit("ignore");
    task
}

/// The run waits as long as it is told, and the task does not know of it.
#[test]
fn a_limit_is_waited_for() {
    let script = fails_once(
        "API Error: 429, please try again in 1 second",
        ",\"api_error_status\":429",
    );
    let ended = task(&script).run();
    let ended = ended.succeeds().reports("improve waits until 20");
    let ended =
        ended.reports("`sh` has reached a limit: API Error: 429, please try again in 1 second");
    let ended = ended.says("completed");
    assert!(!ended.stderr.contains("failed"), "{}", ended.stderr);
}

/// Everybody sees until when, a killed run goes on waiting, and a person can end the wait or leave it out.
#[test]
fn a_wait_is_seen_and_survives_its_process() {
    let task = task(&fails_once(
        "You have hit your limit · try again in 3 hours",
        "",
    ));
    let world = &task.world;
    let waits = || world.orch_json(&["runs"])["runs"][0]["waitsUntil"].clone();
    let mut child = world.orch_spawn(&["run", "t", "--auto"]);
    eventually("the run waits", || waits().is_string());
    let until = waits();
    let text = until.as_str().expect("a time").to_owned();
    let status = world.orch_json(&["status"]);
    assert_eq!(status["tasks"][0]["waitsUntil"], until, "{status:#}");
    world.orch(&["status"]).says(&format!("waits until {text}"));
    world.orch(&["runs"]).says(&format!("waits until {text}"));
    world
        .orch(&["suggest", "t"])
        .says("You have hit your limit");
    let story = task.story();
    child.kill().expect("killed");
    child.wait().expect("ended");
    let child = world.orch_spawn(&["run", "t", "--auto"]);
    eventually("the run waits again", || {
        let runs = world.orch_json(&["runs"]);
        runs["runs"][0]["state"] == "running" && runs["runs"][0]["waitsUntil"] == until
    });
    signal(&child, "INT");
    world.end(child.wait_with_output().expect("ends")).ends(130);
    assert_eq!(
        task.story()[..story.len()],
        story,
        "the limit moved nothing"
    );
    assert_eq!(task.state()["status"], "running");
    world
        .orch(&["run", "t", "--auto", "--no-wait"])
        .succeeds()
        .says("completed");
    task.is_clean();
}

/// Each cause has a name and a hint, and the task stays as it is.
#[test]
fn what_no_try_can_change_ends_the_run_at_once() {
    for (text, more, code, status) in [
        (
            "Invalid API key · Please run /login",
            ",\"api_error_status\":401",
            "agent-not-signed-in",
            1,
        ),
        (
            "Credit balance is too low",
            ",\"api_error_status\":400",
            "agent-no-credit",
            1,
        ),
        ("Prompt is too long", "", "agent-context-too-long", 1),
    ] {
        let task = task(&fails_once(text, more));
        let ended = task
            .world
            .orch(&["run", "t", "--auto", "--json"])
            .ends(status);
        let error: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON");
        assert_eq!(error["error"]["code"], code, "{error:#}");
        let message = error["error"]["message"].as_str().expect("a message");
        assert!(message.ends_with(text), "{message}");
        assert!(
            error["error"]["hint"]
                .as_str()
                .is_some_and(|hint| hint.contains("orch run t")),
            "{error:#}"
        );
        assert_eq!(task.state()["run"]["errors"].as_u64().unwrap_or(0), 0);
        let story = task.story();
        assert!(
            !story
                .iter()
                .any(|step| step.starts_with("skip") || step == "to failed"),
            "{story:?}"
        );
        task.is_clean();
        task.run().succeeds();
    }
    // The complaint of a program that a script calls fails the try; that of an agent program ends the run.
    let task = task("echo \"error: unknown option '--frob'\" >&2; exit 1");
    let ended = task.run().ends(1).reports("it exited with code 1");
    assert!(!ended.stderr.contains("command line"), "{ended:?}");
    let task = self::task("echo \"error: unknown option '--frob'\" >&2; exit 1");
    std::os::unix::fs::symlink("/bin/sh", task.world.path("claude")).expect("a link");
    let settings = task.world.read("orch.toml");
    task.world
        .write("orch.toml", settings.replace("\"sh\"", "\"./claude\""));
    task.world.commit("An agent program");
    task.run().ends(2).reports(
        "`claude` does not know an option of its command line: error: unknown option '--frob'",
    );
}

/// What an executor printed last is recorded when it is given up, without its JSON, the conversation or the home.
#[test]
fn nothing_private_is_recorded() {
    let script = r#"cat > /dev/null
cat <<END
{"type":"system","subtype":"init","session_id":"ses_4711abcd","cwd":"$HOME/x"}
{"type":"result","subtype":"error_during_execution","is_error":true,"session_id":"ses_4711abcd","total_cost_usd":0.5,"result":"ses_4711abcd: cannot read $HOME/notes.md of /home/ann/x"}
END
exit 1
"#;
    let task = Loop::new(script);
    let ended = task.world.orch(&["run", "t", "--auto", "--json"]).ends(1);
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON");
    // Each try tells the total of the same conversation.
    assert_eq!(report["cost"], 0.5, "{report:#}");
    let log = task.world.git(&["log", "-p", "--format=%B", "--", "tasks"]);
    assert!(log.contains("…: cannot read ~/notes.md of ~/x"), "{log}");
    let home = task
        .world
        .path("")
        .parent()
        .expect("above")
        .join("home")
        .display()
        .to_string();
    for private in ["ses_4711abcd", "total_cost_usd", home.as_str(), "/home/ann"] {
        assert!(!log.contains(private), "{private}: {log}");
    }
    task.is_clean();
}

/// A turn that was killed is named where costs are told.
#[test]
fn the_cost_of_a_killed_turn_is_said_to_be_unknown() {
    let script = format!(
        "if [ ! -e failed ] && [ $ORCH_ACTION = improve ]; then cat >/dev/null; touch failed\necho '{{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\"}}'\nkill -9 $$; fi\n{GOOD}"
    );
    let task = task(&script);
    let ended = task.run().succeeds().reports("cost-unknown");
    ended.says("cost 0.25 and 1 killed turn of unknown cost");
    assert_eq!(
        task.world.orch_json(&["runs"])["runs"][0]["unpricedTurns"],
        1
    );
}
