//! What an approval rests on, held against what is there, with real git.

use crate::harness::World;
use serde_json::{Value, json};

impl World {
    /// A task of the shipped lifecycle in accept, whose code is the file `src/a.rs`, committed in its name.
    fn accepting() -> Self {
        let world = Self::ready();
        world.write("src/a.rs", "0\n");
        world.commit("some code");
        world.into_accept()
    }

    fn into_accept(self) -> Self {
        self.orch(&["new", "t"]).succeeds();
        self.plan("t", 1);
        let mut plan = self.json("tasks/t/planning/plan.json");
        plan["draft_files"] = json!(["src/a.rs", "src/login.rs", "docs/", "tests/**/*.rs"]);
        self.write("tasks/t/planning/plan.json", plan.to_string());
        self.orch(&["next", "t"]).succeeds();
        self.walk_to_from("t", "plan_review", "codegen");
        self.change("src/a.rs", "1", Some("t"));
        self.orch(&["next", "t"]).succeeds();
        self.judge();
        self
    }

    /// Reviews and tests the code that is there.
    fn judge(&self) {
        self.code_review("t", true, 1);
        self.orch(&["next", "t"]).succeeds();
        self.tests("t", 0, 1);
        self.orch(&["next", "t"]).succeeds();
        assert_eq!(self.phase("t"), "accept");
    }

    /// Commits a change of a file, in the name of a task or of none.
    fn change(&self, file: &str, text: &str, task: Option<&str>) {
        self.write(file, format!("{text}\n"));
        self.git(&["add", file]);
        let trailer = task.map(|task| format!("Orch-Task: {task}"));
        let named = trailer
            .iter()
            .flat_map(|trailer| ["--trailer", trailer])
            .collect::<Vec<_>>();
        self.git(&[&["commit", "-q", "-m", "a later change"][..], &named].concat());
    }

    fn base_branch(&self) {
        let settings = self
            .read("orch.toml")
            .replace("# base = \"main\"", "base = \"main\"");
        self.write("orch.toml", settings);
        self.commit("the base branch");
    }

    /// The branch `feature` of the base branch, which has these files.
    fn on_a_branch(files: &[(&str, &str)]) -> Self {
        let world = Self::ready();
        for (file, text) in files {
            world.write(file, text);
        }
        world.base_branch();
        world.git(&["switch", "-qc", "feature"]);
        world
    }

    /// A task in accept, on a branch, that changed the first of several lines of `src/a.rs`.
    fn whose_first_line_changed() -> Self {
        let world = Self::on_a_branch(&[("src/a.rs", "0\n\n\n\n\n\n\n\nend\n")]);
        world.orch(&["new", "t"]).succeeds();
        world.walk_to("t", "codegen");
        world.change("src/a.rs", "1\n\n\n\n\n\n\n\nend", Some("t"));
        world.orch(&["next", "t"]).succeeds();
        world.judge();
        world
    }

    fn last_event(&self) -> Value {
        let log = self.read("tasks/t/transcript.jsonl");
        serde_json::from_str(log.lines().last().expect("an event")).expect("JSON")
    }

    #[track_caller]
    fn standings(&self, expected: Value) {
        assert_eq!(self.orch_json(&["audit"])["counts"], expected);
    }
}

/// In the base branch itself.
#[test]
fn a_later_commit_closes_an_approval_if_it_touches_the_change_of_the_task() {
    for (file, task, is_closed) in [
        ("src/a.rs", None, true),
        ("src/a.rs", Some("u"), true),
        ("src/login.rs", None, true),
        ("docs/a.md", None, true),
        ("tests/it/a.rs", None, true),
        ("tests/it/a.txt", None, false),
        ("src/b.rs", None, false),
        ("src/b.rs", Some("u"), false),
    ] {
        let world = World::accepting();
        world.change(file, "2", task);
        let told = world.orch(&["approve", "t"]);
        if is_closed {
            let why = format!(
                "`code_review` and `junit` judged an earlier `patch`: {file} changed since in"
            );
            told.ends(5)
                .reports(&why)
                .reports("(a later change)")
                .reports("orch rollback t --to review");
            world
                .orch(&["suggest", "t"])
                .succeeds()
                .says(&why)
                .says("orch approve t --override WHY");
            world
                .orch(&["reject", "t", "--reason", "it is bad", "--dry-run"])
                .succeeds()
                .says("codegen");
        } else {
            told.succeeds();
            assert_eq!(world.phase("t"), "done", "{file} {task:?}");
            assert_eq!(world.last_event()["base"], json!({"by": "create"}));
            world.standings(json!({"proven": 7}));
        }
    }
}

#[test]
fn what_others_changed_is_listed() {
    let world = World::accepting();
    world.change("src/b.rs", "2", None);
    world
        .orch(&["suggest", "t"])
        .succeeds()
        .says("others changed since the code was judged: 1 file (src/b.rs)");
    world.change("src/c.rs", "2", None);
    world
        .orch(&["suggest", "t"])
        .succeeds()
        .says("2 files (src/b.rs, …)");
}

#[test]
fn an_approval_names_what_it_rests_on() {
    let world = World::accepting();
    world.orch(&["approve", "t"]).succeeds();
    let event = world.last_event();
    let named: Vec<&str> = event["rests_on"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["artifact"].as_str())
        .collect();
    assert_eq!(
        named,
        ["plan", "plan_review", "patch", "code_review", "junit"]
    );
    for one in event["rests_on"].as_array().expect("a list") {
        let digest = &one["digest"];
        assert!(
            event["evidence"]
                .as_object()
                .expect("files")
                .values()
                .any(|known| known == digest),
            "{one}"
        );
    }
    assert_eq!(
        event.get("base"),
        None,
        "the code is the one that was judged"
    );
    world.standings(json!({"proven": 7}));
}

#[test]
fn a_person_may_approve_what_does_not_stand_and_the_audit_says_so() {
    let world = World::accepting();
    world.change("src/a.rs", "2", None);
    world.orch(&["approve", "t", "--override", "WHY"]).ends(1);
    world
        .orch(&["approve", "t", "--override", "only a comment"])
        .succeeds();
    assert_eq!(world.phase("t"), "done");
    let event = world.last_event();
    assert_eq!(
        (&event["kind"], &event["reason"]),
        (&json!("override"), &json!("only a comment"))
    );
    assert_eq!(event["waives"], json!(["code_review", "junit"]));
    assert_eq!(
        world.json("tasks/t/accept/decision.json")["verdict"],
        "accepted"
    );
    world.standings(json!({"proven": 6, "overridden": 1}));
}

#[test]
fn without_need_an_override_is_an_approval_with_a_reason() {
    let world = World::accepting();
    world
        .orch(&["approve", "t", "--override", "it is good"])
        .succeeds();
    assert_eq!(world.last_event()["kind"], "advance");
    assert_eq!(
        world.json("tasks/t/accept/decision.json")["reasons"],
        json!(["it is good"])
    );
    world.standings(json!({"proven": 7}));
}

#[test]
fn what_is_judged_anew_stands() {
    let world = World::accepting();
    world.change("src/a.rs", "2", None);
    world
        .orch(&[
            "rollback",
            "t",
            "--to",
            "review",
            "--reason",
            "judge it again",
        ])
        .succeeds();
    world.code_review("t", true, 2);
    world.orch(&["next", "t"]).succeeds();
    world.tests("t", 0, 2);
    world.orch(&["next", "t"]).succeeds();
    world.orch(&["approve", "t"]).succeeds();
    world.standings(json!({"proven": 9, "overridden": 1}));
}

#[test]
fn a_test_that_is_run_again_on_the_same_code_stands() {
    let world = World::accepting();
    world.tests("t", 0, 2);
    world.orch(&["approve", "t"]).succeeds();
    world.standings(json!({"proven": 7}));
}

#[test]
fn a_verdict_that_was_replaced_stands_if_it_says_that_it_judged_what_is_there() {
    let world = World::accepting();
    world.change("src/a.rs", "2", None);
    world.code_review("t", true, 2);
    world
        .orch(&["approve", "t"])
        .ends(5)
        .reports("`code_review` was replaced since, and does not say which `patch`");
    let explained = world.orch_json(&["explain", "t"]);
    let artifacts = explained["explanations"][0]["artifacts"]
        .as_array()
        .cloned()
        .expect("artifacts");
    let digest = |name: &str| {
        artifacts
            .iter()
            .find(|one| one["artifact"] == name)
            .expect("one")["digest"]
            .clone()
    };
    let mut review = world.json("tasks/t/review/code/verdict.json");
    review["of"] = json!({"plan": digest("plan"), "patch": digest("patch")});
    world.write("tasks/t/review/code/verdict.json", review.to_string());
    let told = world.orch(&["approve", "t"]).ends(5);
    assert!(!told.stderr.contains("code_review"), "{}", told.stderr);
}

#[test]
fn on_a_branch_of_its_own_every_commit_of_the_branch_is_the_tasks() {
    let world = World::on_a_branch(&[("src/a.rs", "0\n")]);
    let world = world.into_accept();
    world.change("src/b.rs", "2", None);
    world
        .orch(&["approve", "t"])
        .ends(5)
        .reports("src/b.rs changed since in");
}

/// The settings say so: the first protected branch that a name stands for, whatever patterns stand before it.
#[test]
fn a_pattern_of_protected_branches_is_no_base() {
    for (protected, is_closed) in [
        ("[\"release/*\"]", false),
        ("[\"release/*\", \"rel?\", \"v[0-9]\", \"{a,b}\"]", false),
        ("[\"release/*\", \"nowhere\", \"trunk\"]", true),
    ] {
        let world = World::ready();
        world.write("src/a.rs", "0\n");
        let settings = world
            .read("orch.toml")
            .replace("#protected = []", &format!("protected = {protected}"));
        world.write("orch.toml", settings);
        world.commit("protected branches");
        world.git(&["branch", "trunk"]);
        let world = world.into_accept();
        world.change("src/b.rs", "2", None);
        let told = world.orch(&["approve", "t", "--dry-run"]);
        told.ends(if is_closed { 5 } else { 0 });
    }
}

#[test]
fn what_comes_from_the_base_branch_is_of_others() {
    let world = World::ready();
    world.write("src/a.rs", "0\n");
    world.base_branch();
    let begun = world.git(&["rev-parse", "HEAD"]);
    world.git(&["switch", "-qc", "feature"]);
    let world = world.into_accept();
    world.git(&["switch", "-q", "main"]);
    world.change("src/b.rs", "2", None);
    let others = world.git(&["rev-parse", "HEAD"]);
    world.git(&["switch", "-q", "feature"]);
    world.git(&["merge", "-q", "--no-edit", "main"]);
    world
        .orch(&["suggest", "t"])
        .succeeds()
        .says("others changed since the code was judged: 1 file (src/b.rs)");
    world.orch(&["approve", "t"]).succeeds();
    let base = world.last_event()["base"].clone();
    assert_eq!(
        (&base["by"], &base["commit"]),
        (&json!("branch"), &json!(others.trim()))
    );
    assert_ne!(others, begun);
    world.standings(json!({"proven": 7}));
    // Wherever the base branch goes, the record says with which base it was decided.
    world.git(&["switch", "-q", "main"]);
    world.git(&["merge", "-q", "--no-edit", "feature"]);
    world.standings(json!({"proven": 7}));
}

#[test]
fn what_comes_from_the_base_branch_and_touches_the_change_closes_the_approval() {
    let world = World::whose_first_line_changed();
    world.git(&["switch", "-q", "main"]);
    world.change("src/a.rs", "0\n\n\n\n\n\n\n\nother end", None);
    world.git(&["switch", "-q", "feature"]);
    world.git(&["merge", "-q", "--no-edit", "main"]);
    world
        .orch(&["approve", "t"])
        .ends(5)
        .reports("src/a.rs changed since in");
}

#[test]
fn a_rebase_that_keeps_the_change_leaves_the_approval_open() {
    let world = World::on_a_branch(&[("src/a.rs", "0\n")]);
    let world = world.into_accept();
    world.git(&["switch", "-q", "main"]);
    world.change("src/b.rs", "2", None);
    world.git(&["switch", "-q", "feature"]);
    world.git(&["rebase", "-q", "main"]);
    world.orch(&["approve", "t", "--dry-run"]).succeeds();
    world.change("src/c.rs", "3", None);
    world
        .orch(&["approve", "t"])
        .ends(5)
        .reports("src/c.rs changed since in");
    world.git(&["reset", "-q", "--hard", "HEAD~"]);
    world.orch(&["approve", "t"]).succeeds();
    let audit = world.orch_json(&["audit"]);
    assert_eq!(audit["counts"].get("forged"), None, "{}", audit["counts"]);
}

/// In a merge nobody changes the file: it is as on the other side, which lacks the change or has the refused one.
#[test]
fn a_merge_that_takes_a_file_of_the_other_side_closes_the_approval() {
    for is_base_named in [false, true] {
        let world = World::ready();
        world.write("src/a.rs", "0\n");
        world.commit("some code");
        if is_base_named {
            world.base_branch();
            world.git(&["switch", "-qc", "feature"]);
        }
        world.orch(&["new", "t"]).succeeds();
        world.walk_to("t", "codegen");
        world.change("src/a.rs", "refused", Some("t"));
        world.git(&["branch", "side"]);
        world.orch(&["next", "t"]).succeeds();
        world.code_review("t", false, 1);
        world.orch(&["next", "t"]).succeeds();
        world.change("src/a.rs", "good", Some("t"));
        world.orch(&["next", "t"]).succeeds();
        world.judge();
        let here = world.git(&["branch", "--show-current"]);
        world.git(&["switch", "-q", "side"]);
        world.change("src/b.rs", "of the side", None);
        world.git(&["switch", "-q", here.trim()]);
        world.git_ended(&["merge", "-q", "--no-ff", "--no-commit", "side"]);
        world.git(&["checkout", "-q", "side", "--", "src/a.rs"]);
        world.git(&["commit", "-q", "-m", "merge"]);
        assert_eq!(world.read("src/a.rs"), "refused\n");
        world.orch(&["approve", "t"]).ends(5).reports("src/a.rs");
    }
}

#[test]
fn a_file_whose_name_is_no_text_closes_the_approval() {
    let world = World::on_a_branch(&[("src/a.rs", "0\n")]);
    let world = world.into_accept();
    world.shell("printf x > src/$(printf 'e\\377.rs') && git add src && git commit -q -m 'a name'");
    world
        .orch(&["approve", "t"])
        .ends(5)
        .reports("src/e\u{fffd}.rs changed since in");
}

/// The branch is to bring the change of the task, and to leave what the base branch has changed.
#[test]
fn a_merge_that_keeps_an_older_file_of_others_closes_the_approval() {
    let world = World::on_a_branch(&[("src/a.rs", "0\n"), ("src/b.rs", "0\n")]);
    let world = world.into_accept();
    world.git(&["switch", "-q", "main"]);
    world.change("src/b.rs", "a fix", None);
    world.change("src/c.rs", "more", None);
    world.git(&["switch", "-q", "feature"]);
    world.git(&["merge", "-q", "--no-ff", "--no-commit", "main"]);
    world.git(&["checkout", "-q", "HEAD", "--", "src/b.rs"]);
    world.git(&["commit", "-q", "-m", "merge"]);
    world
        .orch(&["approve", "t"])
        .ends(5)
        .reports("src/b.rs changed since in");
}

/// The code is byte for byte what was judged, and what the base branch has changed since is gone.
#[test]
fn a_merge_that_keeps_nothing_of_others_closes_the_approval() {
    let world = World::on_a_branch(&[("src/a.rs", "0\n"), ("src/b.rs", "0\n")]);
    let world = world.into_accept();
    world.git(&["switch", "-q", "main"]);
    world.change("src/b.rs", "a fix", None);
    world.git(&["switch", "-q", "feature"]);
    world.git(&["merge", "-q", "-s", "ours", "--no-edit", "main"]);
    world
        .orch(&["approve", "t"])
        .ends(5)
        .reports("src/b.rs changed since");
    world
        .orch(&["approve", "t", "--override", "the fix is not wanted"])
        .succeeds();
    world.standings(json!({"proven": 6, "overridden": 1}));
}

/// Time says nothing about which commit comes first.
#[test]
fn a_commit_of_the_task_with_an_old_date_is_of_its_change() {
    let world = World::ready();
    world.write("src/a.rs", "0\n");
    world.commit("some code");
    world.orch(&["new", "t"]).succeeds();
    world.walk_to("t", "codegen");
    world.git(&["switch", "-qc", "side"]);
    world.write("src/b.rs", "1\n");
    world.git(&["add", "src"]);
    let mut commit = world.command("git");
    commit.args(["commit", "-q", "-m", "old", "--trailer", "Orch-Task: t"]);
    commit.env("GIT_COMMITTER_DATE", "2020-01-01T00:00:00Z");
    world.end(commit.output().expect("git runs")).succeeds();
    world.git(&["switch", "-q", "main"]);
    world.change("src/a.rs", "1", Some("t"));
    world.git(&["merge", "-q", "--no-ff", "--no-edit", "side"]);
    world.orch(&["next", "t"]).succeeds();
    world.judge();
    world.change("src/b.rs", "2", None);
    world
        .orch(&["approve", "t"])
        .ends(5)
        .reports("src/b.rs changed since in");
}

/// As after a merge.
#[test]
fn a_rebase_onto_other_changes_of_the_same_file_closes_the_approval() {
    let world = World::whose_first_line_changed();
    world.git(&["switch", "-q", "main"]);
    world.change("src/b.rs", "2", None);
    world.git(&["switch", "-q", "feature"]);
    world.git(&["rebase", "-q", "main"]);
    world.orch(&["approve", "t", "--dry-run"]).succeeds();
    world
        .orch(&["suggest", "t"])
        .says("others changed since the code was judged: 1 file (src/b.rs)");
    world.git(&["switch", "-q", "main"]);
    world.change("src/a.rs", "0\n\n\n\n\n\n\n\nother end", None);
    world.git(&["switch", "-q", "feature"]);
    world.git(&["rebase", "-q", "main"]);
    world
        .orch(&["approve", "t"])
        .ends(5)
        .reports("src/a.rs changed since");
}

/// Another task may have the former id since.
#[test]
fn what_names_a_new_task_with_the_former_id_is_not_of_a_renamed_one() {
    let world = World::accepting();
    world.orch(&["rename", "t", "u"]).succeeds();
    world.orch(&["new", "t"]).succeeds();
    world.change("src/b.rs", "2", Some("t"));
    world.orch(&["approve", "u"]).succeeds();
    assert_eq!(world.phase("u"), "done");
    world.orch(&["audit", "--strict"]).succeeds();
}

#[test]
fn the_files_of_a_refused_attempt_are_of_the_change() {
    let world = World::ready();
    world.write("src/a.rs", "0\n");
    world.commit("some code");
    world.orch(&["new", "t"]).succeeds();
    world.walk_to("t", "codegen");
    world.change("src/a.rs", "1", Some("t"));
    world.orch(&["next", "t"]).succeeds();
    world.code_review("t", false, 1);
    world.orch(&["next", "t"]).succeeds();
    world.change("src/b.rs", "1", Some("t"));
    world.orch(&["next", "t"]).succeeds();
    world.judge();
    world.change("src/a.rs", "2", None);
    world
        .orch(&["approve", "t"])
        .ends(5)
        .reports("src/a.rs changed since in");
}

/// What is committed decides, and what the remote has comes before what anyone can move here.
#[test]
fn nothing_that_is_not_committed_moves_the_base() {
    let origin = World::ready();
    origin.write("src/a.rs", "0\n");
    origin.commit("some code");
    for (settings, moves) in [
        ("", &["branch", "-qf", "main", "work"][..]),
        ("", &["remote", "set-head", "origin", "-d"]),
        ("base = \"work\"", &["status"]),
        ("base = \"nowhere\"", &["status"]),
    ] {
        let world = World::without_git();
        let url = origin.root();
        world.git(&["clone", "-q", url.to_str().expect("UTF-8"), "."]);
        world.git(&["switch", "-qc", "work"]);
        let world = world.into_accept();
        world.change("src/evil.rs", "2", None);
        world.git(moves);
        world.write(
            "orch.toml",
            world
                .read("orch.toml")
                .replace("[git]", &format!("[git]\n{settings}")),
        );
        world
            .orch(&["approve", "t"])
            .ends(5)
            .reports("src/evil.rs changed since in");
        world.git(&["checkout", "-q", "orch.toml"]);
        world.git(&["reset", "-q", "--hard", "HEAD~"]);
        world.orch(&["approve", "t"]).succeeds();
    }
}

#[test]
fn a_base_branch_that_is_not_here_is_named() {
    let world = World::ready();
    world.write("src/a.rs", "0\n");
    let settings = world
        .read("orch.toml")
        .replace("# base = \"main\"", "base = \"trunk\"");
    world.write("orch.toml", settings);
    world.commit("the base branch");
    let world = world.into_accept();
    world.change("src/b.rs", "2", None);
    world
        .orch(&["approve", "t"])
        .ends(5)
        .reports("`[git] base` names `trunk`, which is not a branch here");
    world.git(&["branch", "trunk"]);
    world.orch(&["approve", "t"]).succeeds();
}

/// A verdict has to be about what is there, whatever the last phase needs.
#[test]
fn what_a_verdict_judged_is_held_whatever_the_phase_needs() {
    for needs in [
        "needs = [\"text\", \"verdict\"]\n",
        "needs = [\"verdict\"]\n",
        "",
    ] {
        let world = World::ready();
        let rules = format!(
            "[workflow]\ninitial = \"write\"\n[artifact.text]\npath = \"text.md\"\n[artifact.verdict]\n\
             path = \"verdict.json\"\njudges = [\"text\"]\n[artifact.decision]\npath = \"decision.json\"\n\
             [phase.write]\nproduces = [\"text\"]\n[phase.review]\nneeds = [\"text\"]\nproduces = [\"verdict\"]\n\
             [phase.accept]\n{needs}produces = [\"decision\"]\n[phase.done]\nterminal = true\n\
             [[rule]]\nid = \"written\"\nfrom = \"write\"\nwhen = \"text.ready\"\nto = \"review\"\nbecause = \"a\"\n\
             [[rule]]\nid = \"reviewed\"\nfrom = \"review\"\nwhen = \"verdict.ready\"\nto = \"accept\"\nbecause = \"b\"\n\
             [[rule]]\nid = \"accepted\"\nfrom = \"accept\"\nwhen = \"decision.ready\"\nto = \"done\"\nbecause = \"c\"\n"
        );
        world.write(
            "system/workflows/text.md",
            format!("# Text\n\n```toml orch\n{rules}```\n"),
        );
        world.commit("a workflow");
        world.orch(&["new", "t", "--workflow", "text"]).succeeds();
        world.write("tasks/t/text.md", "one\n");
        world.orch(&["next", "t"]).succeeds();
        world.write("tasks/t/verdict.json", "{\"ok\": true}");
        world.orch(&["next", "t"]).succeeds();
        world.write("tasks/t/decision.json", "{\"ok\": true}");
        world.write("tasks/t/text.md", "two\n");
        world
            .orch(&["next", "t"])
            .ends(3)
            .says("`verdict` judged another version of `text`");
        world.write("tasks/t/text.md", "one\n");
        world.orch(&["next", "t"]).succeeds();
        assert_eq!(world.phase("t"), "done");
    }
}

/// The document of an earlier version says of no verdict what it judges.
#[test]
fn code_that_no_verdict_judged_is_held_too() {
    let world = World::ready();
    let path = "system/workflows/global-state-machine.md";
    world.write(path, world.read(path).replace("judges = [\"patch\"]\n", ""));
    world.write("src/a.rs", "0\n");
    world.commit("rules without judges");
    let world = world.into_accept();
    world.change("src/b.rs", "2", None);
    world.orch(&["approve", "t", "--dry-run"]).succeeds();
    world.change("src/a.rs", "2", None);
    world
        .orch(&["approve", "t"])
        .ends(5)
        .reports("`patch` is not as it was recorded: src/a.rs changed since in")
        .reports("orch rollback t --to review");
    world
        .orch(&["approve", "t", "--override", "only a comment"])
        .succeeds();
    world.standings(json!({"proven": 6, "overridden": 1}));
}

/// The base branch went on, and the branch was squashed onto it before a person looked.
#[test]
fn an_approval_after_a_squash_onto_other_code_stays_open() {
    let world = World::ready();
    world.write("src/a.rs", "0\n");
    world.commit("some code");
    world.git(&["switch", "-qc", "feature"]);
    let world = world.into_accept();
    world.git(&["switch", "-q", "main"]);
    world.change("src/b.rs", "2", None);
    world.git(&["merge", "-q", "--squash", "feature"]);
    world.git(&["commit", "-q", "-m", "The task (#1)"]);
    world.orch(&["approve", "t"]).succeeds();
    world.standings(json!({"folded": 1, "proven": 1}));
}

#[test]
fn many_commits_of_others_close_nothing() {
    let world = World::on_a_branch(&[("src/a.rs", "0\n")]);
    let world = world.into_accept();
    let mut stream = String::from("reset refs/heads/main\nfrom refs/heads/main^0\n\n");
    for number in 0..1_100 {
        stream.push_str(
            "commit refs/heads/main\ncommitter A <a@example.org> 4000000000 +0000\ndata 1\nc\n",
        );
        let text = number.to_string();
        stream.push_str(&format!(
            "M 100644 inline src/b.rs\ndata {}\n{text}\n\n",
            text.len()
        ));
    }
    world.write("stream", stream);
    world.shell("git fast-import --quiet --force < stream && rm stream");
    world.git(&["merge", "-q", "--no-edit", "main"]);
    world.orch(&["approve", "t"]).succeeds();
    world.standings(json!({"proven": 7}));
}

/// Somebody has reverted the code already.
#[test]
fn a_rejection_needs_nothing_of_what_is_gone() {
    let world = World::accepting();
    world.change("src/a.rs", "0", None);
    world
        .orch(&["approve", "t"])
        .ends(3)
        .says("patch (code/diff.patch) is missing");
    world
        .orch(&["reject", "t", "--reason", "the code is gone"])
        .succeeds()
        .says("the code is gone");
    assert_eq!(world.phase("t"), "codegen");
    world.standings(json!({"proven": 6, "overridden": 1}));
}

#[test]
fn code_that_is_added_where_the_work_is_undone_is_told() {
    let world = World::accepting();
    world
        .orch(&[
            "reject",
            "t",
            "--to",
            "revert",
            "--reason",
            "it is not wanted",
        ])
        .succeeds();
    let told = "src/a.rs is neither as it was judged nor as it was before the task";
    world.change("src/a.rs", "worse", Some("t"));
    world.orch(&["suggest", "t"]).succeeds().says(told);
    world.change("src/a.rs", "0", Some("t"));
    let suggested = world.orch(&["suggest", "t"]).succeeds();
    assert!(!suggested.stdout.contains(told), "{}", suggested.stdout);
}

/// Where the code was undone, no verdict on it has to stand.
#[test]
fn a_task_whose_work_is_reverted_ends() {
    let world = World::accepting();
    world
        .orch(&[
            "reject",
            "t",
            "--to",
            "revert",
            "--reason",
            "it is not wanted",
        ])
        .succeeds();
    world.change("src/a.rs", "0", Some("t"));
    let record =
        json!({"summary": "undone", "reverted": ["src/a.rs"], "by": "ann", "reason": "not wanted"});
    world.write("tasks/t/revert/record.json", record.to_string());
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(world.phase("t"), "done");
}

#[test]
fn names_that_cannot_be_computed_are_told_and_close_the_approval() {
    let world = World::accepting();
    let path = "system/workflows/global-state-machine.md";
    let document = world
        .read(path)
        .replace("names = \"plan.paths\"", "names = \"plan.present\"");
    world.write(path, document);
    world.commit("other rules");
    world
        .orch(&["workflow", "check"])
        .ends(1)
        .says("`names` yields true or false, not a list of paths");
    world
        .orch(&["approve", "t"])
        .ends(5)
        .reports("what the plan names cannot be computed");
}

#[test]
fn what_judged_something_else_is_not_confirmed() {
    let world = World::accepting();
    let mut review = world.json("tasks/t/review/code/verdict.json");
    review["of"] = json!({"patch": "5a31b217206663d424cb052aa10c2a9b969ed4a6"});
    world
        .orch(&[
            "rollback",
            "t",
            "--to",
            "review",
            "--reason",
            "judge it again",
        ])
        .succeeds();
    world
        .orch(&["suggest", "t"])
        .succeeds()
        .says("orch confirm t code_review");
    world.write("tasks/t/review/code/verdict.json", review.to_string());
    let suggested = world.orch(&["suggest", "t"]).succeeds();
    assert!(
        !suggested.stdout.contains("orch confirm"),
        "{}",
        suggested.stdout
    );
    world
        .orch(&[
            "confirm",
            "t",
            "code_review",
            "--reason",
            "it is still right",
        ])
        .ends(1);
}

/// Its commits continue to name it as it was called then, however many steps followed.
#[test]
fn a_later_commit_closes_an_approval_of_a_task_that_was_renamed() {
    let world = World::ready();
    world.write("src/z.rs", "0\n");
    world.commit("some code");
    world.orch(&["new", "t"]).succeeds();
    world.walk_to("t", "codegen");
    world.change("src/z.rs", "1", Some("t"));
    world.orch(&["rename", "t", "u"]).succeeds();
    world.orch(&["next", "u"]).succeeds();
    world.code_review("u", true, 1);
    world.orch(&["next", "u"]).succeeds();
    world.tests("u", 0, 1);
    world.orch(&["next", "u"]).succeeds();
    assert_eq!(world.phase("u"), "accept");
    world.change("src/z.rs", "2", None);
    let why = "`code_review` and `junit` judged an earlier `patch`: src/z.rs changed since in";
    world.orch(&["approve", "u"]).ends(5).reports(why);
    world.orch(&["audit", "--strict"]).ends(0);
    let state = world.json("tasks/u/state.json");
    assert_eq!(state["relations"]["former"], json!(["t"]));
}
