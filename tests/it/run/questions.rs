//! What people are asked, and what they may answer.

use super::{GOOD, LOOP, Loop};

#[test]
fn a_question_waits_for_an_answer_that_fits() {
    let task = Loop::new(GOOD);
    let report = task.world.orch_json(&["run", "t"]);
    assert_eq!((&report["ending"], &report["turns"]), (&"waiting".into(), &0.into()), "{report:#}");
    let told = task.world.orch(&["suggest", "t"]).succeeds();
    assert!(told.stdout.contains("orch answer t rounds=VALUE"), "{}", told.stdout);
    for (answer, why) in [
        ("score=90", "the question does not ask for"),
        ("rounds=9", "is not an option for /rounds: 1, 2, 3"),
        ("rounds=many", "is not an option"),
        ("rounds", "is not KEY=VALUE"),
        ("status=done", "the question does not ask for"),
    ] {
        let ended = task.world.orch(&["answer", "t", answer]);
        assert!(matches!(ended.code, 1 | 2), "{answer}: {ended:?}");
        ended.reports(why);
    }
    task.world.orch(&["answer", "t", "rounds=2"]).succeeds();
    assert_eq!(task.state()["rounds"], 2);
    task.world.orch(&["answer", "t", "rounds=2"]).ends(5).reports("there is no question");
    task.world.orch(&["run", "t"]).succeeds();
    let entry =
        task.state()["history"].as_array().expect("a list").iter().find(|e| e["kind"] == "answer").cloned();
    assert_eq!(entry.expect("recorded")["actor"]["kind"], "human");
    task.is_clean();
}

#[test]
fn a_person_picks_an_action_and_a_menu_costs_no_turn() {
    let menu = LOOP
        .replace(
            "run = \"improve\"\nset = { \"/rounds\" = \"state.rounds + 1\" }\n",
            "choose = [\"improve\", \"polish\"]\n",
        )
        .replace("when = \"state.score < 80\"\nchoose", "when = \"state.score < 40\"\nchoose");
    let task = Loop::with(&menu, GOOD);
    let report = task.run_json();
    assert_eq!((&report["ending"], &report["turns"]), (&"waiting".into(), &1.into()), "{report:#}");
    task.world.orch(&["answer", "t", "action=nothing"]).ends(1).reports("is not one of the offered actions");
    task.world.orch(&["answer", "t", "action=improve"]).succeeds();
    assert_eq!(task.state()["run"]["chosen"], "improve");
    let report = task.run_json();
    assert_eq!((&report["ending"], &report["turns"]), (&"completed".into(), &3.into()), "{report:#}");
    assert_eq!(task.state()["run"].get("chosen"), None);
    task.is_clean();
}

#[test]
fn a_changed_state_that_nobody_recorded_is_found() {
    let task = Loop::new(GOOD);
    task.run().succeeds();
    // Somebody gives himself a better score, in a record that otherwise fits.
    let log = task.world.git(&["log", "--format=%H", "--grep", "run improve", "-1"]);
    task.world.git(&["checkout", "-q", "-b", "forged", log.trim()]);
    let forge = |path: &str| {
        let text = task
            .world
            .read(path)
            .replace("\"polished\": false", "\"polished\": true")
            .replace("\"polished\":false", "\"polished\":true");
        task.world.write(path, text);
    };
    forge("tasks/t/state.json");
    forge("tasks/t/transcript.jsonl");
    task.world.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
    task.world.orch(&["audit"]).ends(1);
}
