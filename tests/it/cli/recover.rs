//! A record that is lost or broken: named, never reset, brought back on order.

use crate::harness::{Ended, World, started};

fn walked() -> World {
    let world = World::ready();
    world.orch(&["new", "t", "--title", "Login"]).succeeds();
    world.walk_to("t", "review");
    world
}

const STATE: &str = "tasks/t/state.json";
const LOG: &str = "tasks/t/transcript.jsonl";

/// Breaks a file of a world.
type Break = Box<dyn Fn(&World)>;

/// Breaks a state in each way; what is said of it, and that the log decides.
fn broken_states() -> Vec<(&'static str, Break)> {
    let half = |world: &World| {
        let text = world.read(STATE);
        world.write(STATE, &text[..text.len() / 2]);
    };
    let edited = |world: &World| {
        world.write(
            STATE,
            world
                .read(STATE)
                .replace("\"attempt\": 1", "\"attempt\": 7"),
        )
    };
    let conflicted = |world: &World| {
        let text = world.read(STATE);
        world.write(
            STATE,
            format!("<<<<<<< HEAD\n{text}=======\n{text}>>>>>>> other\n"),
        );
    };
    vec![
        (
            "state-folded",
            Box::new(|world: &World| world.remove(STATE)),
        ),
        ("state-edited", Box::new(edited)),
        ("state-folded", Box::new(half)),
        (
            "state-folded",
            Box::new(|world: &World| world.write(STATE, "")),
        ),
        ("state-folded", Box::new(conflicted)),
    ]
}

/// Breaks a log in each way.
fn broken_logs() -> Vec<(&'static str, Break)> {
    vec![
        ("record-lost", Box::new(|world: &World| world.remove(LOG))),
        (
            "record-lost",
            Box::new(|world: &World| world.write(LOG, "")),
        ),
        (
            "log-changed",
            Box::new(|world: &World| world.write(LOG, world.read(LOG).replace("Ann", "Bob"))),
        ),
        (
            "log-invalid",
            Box::new(|world: &World| {
                let text = world.read(LOG);
                world.write(LOG, &text[..text.len() - 20]);
            }),
        ),
        (
            "log-incomplete",
            Box::new(|world: &World| {
                let text = world.read(LOG);
                world.write(LOG, text.split_inclusive('\n').skip(1).collect::<String>());
            }),
        ),
    ]
}

#[test]
fn a_broken_state_is_folded_from_the_log_and_the_next_move_writes_it_anew() {
    for (index, (code, breaks)) in broken_states().into_iter().enumerate() {
        let world = walked();
        breaks(&world);
        let suggestion = world.orch_json(&["suggest", "t"])["suggestions"][0].clone();
        assert_eq!(
            suggestion["currentPhase"], "review",
            "{index}: {suggestion:#}"
        );
        assert_eq!(
            suggestion["diagnostics"][0]["code"], code,
            "{index}: {suggestion:#}"
        );
        world.code_review("t", true, 1);
        world.orch(&["next", "t"]).succeeds().says("review -> test");
        assert_eq!(
            (world.phase("t").as_str(), world.dirty().as_str()),
            ("test", ""),
            "{index}"
        );
    }
}

#[test]
fn recover_writes_the_state_anew_and_keeps_what_was_there() {
    let world = walked();
    let whole = world.read(STATE);
    world.orch(&["recover", "t"]).ends(3);
    world.write(STATE, "{ mine");
    world.orch(&["recover", "t"]).succeeds().says("transcript");
    assert_eq!(
        (
            world.read("tasks/t/state.json.broken").as_str(),
            world.read(STATE)
        ),
        ("{ mine", whole)
    );
    assert_eq!(world.dirty(), "");
}

#[test]
fn every_broken_log_is_an_error_that_moves_nothing_and_is_recovered_from_git() {
    for (code, breaks) in broken_logs() {
        let world = walked();
        let whole = (world.read(STATE), world.read(LOG));
        let head = world.git(&["rev-parse", "HEAD"]);
        breaks(&world);
        world.code_review("t", true, 1);
        let suggestion = world.orch_json(&["suggest", "t"])["suggestions"][0].clone();
        assert_eq!(suggestion["kind"], "error", "{code}: {suggestion:#}");
        assert!(
            suggestion.to_string().contains(code),
            "{code}: {suggestion:#}"
        );
        assert_eq!(
            suggestion["options"][0]["argv"],
            serde_json::json!(["orch", "recover", "t"]),
            "{code}"
        );
        world.orch(&["check", "t"]).ends(1);
        world.orch(&["next", "t"]).ends(5);
        assert_ne!(
            world
                .orch(&["next", "t", "--override", "force", "--to", "test"])
                .code,
            0,
            "{code}"
        );
        world.orch(&["watch", "--once"]).ends(1);
        assert_eq!(world.git(&["rev-parse", "HEAD"]), head, "{code}");
        world.orch(&["recover", "t"]).succeeds().says("commit");
        assert_eq!((world.read(STATE), world.read(LOG)), whole, "{code}");
        world.orch(&["recover", "t"]).ends(3);
        world.orch(&["next", "t"]).succeeds().says("review -> test");
        assert_eq!(world.dirty(), "", "{code}");
    }
}

#[test]
fn without_git_what_is_left_of_the_log_is_kept() {
    let world = World::without_git();
    world.orch(&["init"]).succeeds();
    world.orch(&["new", "t"]).succeeds();
    world.walk_to("t", "test");
    world.tests("t", 1, 1);
    world.orch(&["next", "t"]).succeeds();
    let before = world.json(STATE);
    for (_, breaks) in broken_states() {
        breaks(&world);
        world.orch(&["recover", "t"]).succeeds().says("transcript");
        assert_eq!(world.json(STATE), before);
    }
    // What was used up is still used up.
    world.orch(&["next", "t"]).ends(3);
    let log = world.read(LOG);
    world.write(LOG, format!("{log}not json\n"));
    world.orch(&["next", "t"]).ends(5);
    world.orch(&["recover", "t"]).succeeds().says("transcript");
    assert_eq!((world.read(LOG), world.json(STATE)), (log, before));
}

#[test]
fn a_fault_in_the_log_has_a_line() {
    let world = walked();
    let lines: Vec<String> = world.read(LOG).lines().map(str::to_owned).collect();
    world.write(LOG, format!("{}\noops\n", lines.join("\n")));
    world
        .orch(&["check", "t"])
        .ends(1)
        .says(&format!("tasks/t/transcript.jsonl:{}:", lines.len() + 1));
}

#[test]
fn nothing_to_recover_from_says_how_to_start_over() {
    let world = World::ready();
    world.plan("t", 1);
    world.write("tasks/t/transcript.jsonl", "not json\n");
    world.orch(&["recover", "t"]).ends(5).reports("orch new t");
}

#[test]
fn a_task_of_which_only_the_transcript_is_left_is_not_forgotten() {
    let world = started("planning");
    world.remove(STATE);
    let all = world.orch_json(&["suggest"]);
    assert_eq!(all["suggestions"][0]["task"], "t", "{all:#}");
    world.orch(&["recover", "t"]).succeeds();
    assert_eq!(world.dirty(), "");
}

#[test]
fn a_log_that_was_edited_in_place_is_seen_by_every_command_also_where_head_holds_it() {
    for committed in [false, true] {
        let world = started("plan_review");
        world.plan_review("t", true, 1);
        let log = world.read("tasks/t/transcript.jsonl");
        world.write(
            "tasks/t/transcript.jsonl",
            log.replacen("was created", "Was created", 1),
        );
        if committed {
            world.git(&["commit", "-q", "-a", "-m", "edited"]);
        }
        world
            .orch(&["check", "t"])
            .ends(1)
            .says("log-changed")
            .says("transcript.jsonl:1:1");
        world.orch(&["next", "t"]).ends(5).reports("orch recover t");
        world
            .orch(&["next", "t", "--dry-run"])
            .ends(5)
            .reports("orch recover t");
        let suggested = world.orch_json(&["suggest", "t"]);
        assert_eq!(
            suggested["suggestions"][0]["kind"], "error",
            "{suggested:#}"
        );
        world.orch(&["recover", "t"]).succeeds();
        world.orch(&["next", "t"]).succeeds();
        assert_eq!(world.phase("t"), "codegen");
    }
}

#[test]
fn a_state_that_cannot_be_replaced_is_named_and_moves_nothing() {
    let world = started("plan_review");
    world.plan_review("t", true, 1);
    world.remove("tasks/t/state.json");
    std::fs::create_dir(world.path("tasks/t/state.json")).expect("a directory");
    world
        .orch(&["check", "t"])
        .ends(1)
        .says("is-a-directory")
        .says("tasks/t/state.json");
    world
        .orch(&["next", "t"])
        .ends(1)
        .reports("tasks/t/state.json")
        .reports("remove it");
    std::fs::remove_dir(world.path("tasks/t/state.json")).expect("removed");
    world.orch(&["next", "t"]).succeeds();
}

#[test]
fn a_state_that_names_a_workflow_that_there_is_not_is_an_edited_one() {
    let world = started("plan_review");
    world.plan_review("t", true, 1);
    let state = world.read("tasks/t/state.json");
    world.write(
        "tasks/t/state.json",
        state.replace("global-state-machine", "nonexistent"),
    );
    world
        .orch(&["suggest", "t"])
        .succeeds()
        .says("state-edited");
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(world.phase("t"), "codegen");
}

/// How a record breaks, given the paths of the state and the log.
type Wreck = fn(&World, &str, &str);

#[test]
fn a_recovered_state_holds_its_phase_under_the_key_of_its_workflow() {
    let wrecks: [(&str, Wreck); 5] = [
        ("the state is gone", |world, state, _| world.remove(state)),
        ("the state is empty", |world, state, _| {
            world.write(state, "")
        }),
        ("the log is gone", |world, _, log| world.remove(log)),
        ("both are broken", |world, state, log| {
            world.write(state, "{");
            world.write(log, "not json\n");
        }),
        (
            "the log is gone and the state broken",
            |world, state, log| {
                world.write(state, "{");
                world.remove(log);
            },
        ),
    ];
    let world = World::ready();
    crate::workflow_new::make(&world, "made", "issue-triage", "priority").succeeds();
    world.commit("A workflow");
    for workflow in ["skill-tuning", "ccw-loop", "made"] {
        world
            .orch(&["new", workflow, "--workflow", workflow])
            .succeeds();
        let state = format!("tasks/{workflow}/state.json");
        let whole = world.read(&state);
        let before = world.phase_suggested(workflow);
        assert!(world.json(&state)["status"].is_string(), "{whole}");
        for (what, wreck) in &wrecks {
            wreck(
                &world,
                &state,
                &format!("tasks/{workflow}/transcript.jsonl"),
            );
            world.orch(&["recover", workflow]).succeeds();
            assert_eq!(world.read(&state), whole, "{workflow}: {what}");
            assert_eq!(
                world.phase_suggested(workflow),
                before,
                "{workflow}: {what}"
            );
        }
    }
    world.orch(&["audit"]).succeeds();
}

/// Without artifacts nothing in the work tree shows that there was a task.
#[test]
fn a_task_whose_whole_record_is_gone_is_found_in_head() {
    let world = World::ready();
    world
        .orch(&["new", "loop", "--workflow", "ccw-loop"])
        .succeeds();
    let record = ["tasks/loop/state.json", "tasks/loop/transcript.jsonl"];
    record.iter().for_each(|path| world.remove(path));
    let hint = format!(
        "HEAD holds its record: git restore --source=HEAD -- {}",
        record.join(" ")
    );
    for command in ["recover", "suggest", "status"] {
        world.orch(&[command, "loop"]).ends(2).reports(&hint);
    }
    world.git(&[&["restore", "--"][..], &record[..]].concat());
    world.orch(&["status", "loop"]).succeeds();
}

/// A hint works in the directory where the command was typed, even if the index lacks the task.
#[test]
fn a_hint_works_where_it_is_typed() {
    let world = started("plan_review");
    world.shell("mkdir attic; git mv tasks/t attic/t");
    let typed = |arguments: &[&str]| {
        let mut command = world.orch_command(arguments);
        world.end(
            command
                .current_dir(world.path("tasks"))
                .output()
                .expect("orch runs"),
        )
    };
    let lost = typed(&["suggest", "t"])
        .ends(2)
        .reports("git restore --source=HEAD -- t");
    world.shell(&format!(
        "cd tasks; {}",
        hint_of(&lost).split_once(": ").expect("a command").1
    ));
    typed(&["suggest", "t"]).succeeds();
    world.remove("tasks/t/planning/plan.json");
    typed(&["suggest", "t"])
        .succeeds()
        .says(" -- t/planning/plan.json");
    let answer = world.orch_json(&["-C", "tasks", "suggest", "t"]);
    assert!(
        answer
            .to_string()
            .contains("\"tasks/t/planning/plan.json\""),
        "{answer:#}"
    );
    world.shell("git restore --source=HEAD --staged --worktree -- tasks/t");
    world.git(&["rm", "-q", "tasks/t/state.json", "tasks/t/transcript.jsonl"]);
    world.git(&["commit", "--no-verify", "-m", "remove the record"]);
    typed(&["explain", "t"])
        .ends(1)
        .says("-- t/state.json t/transcript.jsonl && git commit");
}

#[test]
fn a_directory_in_the_place_of_a_state_makes_way() {
    let world = started("plan_review");
    world.plan("d", 1);
    for task in ["d", "t"] {
        world.write(&format!("tasks/{task}/kept"), "");
        world.shell(&format!(
            "rm -f tasks/{task}/state.json; mkdir tasks/{task}/state.json"
        ));
        world.write(&format!("tasks/{task}/state.json/mine"), "mine");
    }
    let refused = world.orch(&["new", "d"]).ends(1);
    world.shell(
        &hint_of(&refused)
            .split_once(": ")
            .expect("commands")
            .1
            .replace("; then:", ";"),
    );
    assert_eq!(world.phase("d"), "planning");
    world.orch(&["recover", "t"]).succeeds();
    assert_eq!(world.phase("t"), "plan_review");
    for task in ["d", "t"] {
        assert_eq!(
            world.read(&format!("tasks/{task}/state.json.broken/mine")),
            "mine"
        );
    }
}

/// The hint of an answer.
fn hint_of(ended: &Ended) -> String {
    let hint = ended
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("hint: "));
    hint.expect("a hint").to_owned()
}

#[test]
fn a_record_that_a_commit_removed_is_lost_in_every_answer_until_it_is_back() {
    for removed in [["rm", "-q"].as_slice(), &["rm", "-q", "--cached"]] {
        let world = started("plan_review");
        world.plan_review("t", false, 1);
        world.orch(&["next", "t"]).succeeds().says("-> planning");
        world.git(
            &[
                removed,
                &["--", "tasks/t/state.json", "tasks/t/transcript.jsonl"],
            ]
            .concat(),
        );
        world.git(&["commit", "-q", "-m", "without the record"]);
        let told = "removed the record of `t` and left its other files";
        world.orch(&["status"]).ends(1).says("error: repair");
        world.orch(&["check"]).ends(1).says(told);
        let suggested = &world.orch_json(&["suggest", "t"])["suggestions"][0];
        assert_eq!(
            (&suggested["kind"], &suggested["attempt"]),
            (&"error".into(), &0.into()),
            "{suggested:#}"
        );
        world.orch(&["next", "t"]).ends(5).reports(told);
        if removed.len() == 2 {
            world.orch(&["log", "t"]).ends(5).reports(told);
        }
        let refused = world.orch(&["new", "t"]).ends(5).reports(told);
        // The hint commits the record alone.
        world.write("staged", "work");
        world.git(&["add", "staged"]);
        world.shell(&hint_of(&refused));
        assert_eq!(world.git(&["diff", "--cached", "--name-only"]), "staged\n");
        // An earlier removal that left the same files does not hide another.
        world.git(
            &[
                removed,
                &["--", "tasks/t/state.json", "tasks/t/transcript.jsonl"],
            ]
            .concat(),
        );
        world.git(&["commit", "-q", "-m", "without the record again"]);
        let refused = world.orch(&["new", "t"]).ends(5).reports(told);
        world.shell(&hint_of(&refused));
        world.orch(&["check"]).succeeds();
        world.orch(&["status"]).succeeds().says("planning #2");
        world.plan("t", 2);
        world.orch(&["next", "t"]).succeeds().says("-> plan_review");
    }
}

#[test]
fn a_task_whose_record_was_removed_with_its_files_or_with_its_adoption_is_no_error() {
    let world = World::ready();
    world.plan("t", 1);
    world.commit("a plan");
    world.orch(&["new", "t"]).succeeds();
    world.git(&["revert", "--no-edit", "HEAD"]);
    world.orch(&["check"]).succeeds();
    world.orch(&["new", "t"]).succeeds();
    world.git(&["rm", "-rq", "tasks/t"]);
    world.git(&["commit", "-q", "-m", "removed"]);
    world.plan("t", 2);
    world.commit("another plan");
    world.orch(&["check"]).succeeds();
    world.orch(&["new", "t"]).succeeds();
    // What people acknowledged is no error either.
    world.orch(&["next", "t"]).succeeds();
    world.plan_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    world.git(&[
        "rm",
        "-q",
        "--",
        "tasks/t/state.json",
        "tasks/t/transcript.jsonl",
    ]);
    world.git(&["commit", "-q", "-m", "by mistake"]);
    world.orch(&["check"]).ends(1);
    let commit = world.git(&["rev-parse", "HEAD"]);
    let entry = format!(
        "[[acknowledged]]\nforged = \"{}\"\ntask = \"t\"\nreason = \"I know.\"\n",
        commit.trim()
    );
    world.write("orch.toml", format!("{}\n{entry}", world.read("orch.toml")));
    world.orch(&["check"]).succeeds();
    world.orch(&["new", "t"]).succeeds();
}

/// A clone without the directories of earlier commits cannot tell whether one of them removed a record.
#[test]
fn an_untracked_task_is_judged_in_a_treeless_clone() {
    let world = World::ready();
    world.plan("t", 1);
    world.commit("a plan");
    world.write("src/a.rs", "");
    world.commit("code");
    world.git(&["config", "uploadpack.allowFilter", "true"]);
    let origin = format!("file://{}", world.root().display());
    world.git(&["clone", "-q", "--filter=tree:0", &origin, "../treeless"]);
    world.git(&["-C", "../treeless", "remote", "remove", "origin"]);
    world.orch(&["-C", "../treeless", "status"]).succeeds();
    world.orch(&["-C", "../treeless", "check"]).succeeds();
    world.orch(&["-C", "../treeless", "new", "t"]).succeeds();
}
