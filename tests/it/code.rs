//! Committed code as evidence, with real git: what counts, what makes it stale, and where it is looked for.

use crate::harness::{World, eventually, project};
use serde_json::{Value, json};

impl World {
    /// A task of the shipped lifecycle in codegen, beside some code.
    fn coding() -> Self {
        let world = Self::ready();
        world.write("src/a.rs", "0\n");
        world.commit("some code");
        world.orch(&["new", "t"]).succeeds();
        world.walk_to("t", "codegen");
        world
    }

    /// Commits other code, in the name of a task or of none.
    pub fn commit_code(&self, text: &str, task: Option<&str>) {
        self.write("src/a.rs", format!("{text}\n"));
        self.git(&["add", "src"]);
        let trailer = task.map(|task| format!("Orch-Task: {task}"));
        let named = trailer
            .iter()
            .flat_map(|trailer| ["--trailer", trailer])
            .collect::<Vec<_>>();
        self.git(&[&["commit", "-q", "-m", text][..], &named].concat());
    }

    /// What is known of an artifact.
    fn artifact(&self, task: &str, name: &str) -> Value {
        let explained = self.orch_json(&["explain", task]);
        let all = explained["explanations"][0]["artifacts"]
            .as_array()
            .cloned()
            .expect("artifacts");
        all.into_iter()
            .find(|one| one["artifact"] == name)
            .expect("the artifact")
    }

    /// A verdict on the code as it is now.
    fn review_of_code(&self, ok: bool, minute: u32) {
        let of = json!({"patch": self.artifact("t", "patch")["digest"], "plan": self.artifact("t", "plan")["digest"]});
        let at = format!("2026-11-21T04:{minute:02}:00Z");
        let review = json!({"ok": ok, "issues": [], "of": of, "finished_at": at});
        self.write("tasks/t/review/code/verdict.json", format!("{review:#}\n"));
    }

    fn suggestion(&self, task: &str) -> Value {
        self.orch_json(&["suggest", task])["suggestions"][0].clone()
    }

    #[track_caller]
    fn moves_to(&self, phase: &str) {
        self.orch(&["next", "t"]).succeeds();
        assert_eq!(self.phase("t"), phase);
    }

    /// The id that git itself gives to the tree of everything but the tasks.
    fn tree_beside_tasks(&self) -> String {
        let mut shell = self.command("sh");
        shell.args(["-c", "git ls-tree HEAD | grep -v '\ttasks$' | git mktree"]);
        self.end(shell.output().expect("git runs"))
            .succeeds()
            .stdout
            .trim()
            .to_owned()
    }
}

#[test]
fn committed_code_leads_a_task_to_its_end_and_the_audit_names_it() {
    let world = World::coding();
    let suggestion = world.suggestion("t");
    assert_eq!(suggestion["expects"][0]["path"], "tasks/t/code/diff.patch");
    assert_eq!(suggestion["expects"][0]["tree"], json!(["**"]));
    world
        .orch(&["prompt", "t"])
        .succeeds()
        .says("git commit --trailer 'Orch-Task: t'");
    world.commit_code("1", Some("t"));
    world
        .orch(&["diff", "t", "patch"])
        .succeeds()
        .says("no step rests on patch yet");
    let patch = world.artifact("t", "patch");
    assert_eq!(patch["digest"], world.tree_beside_tasks().as_str());
    assert_eq!(patch["paths"], json!(["patch (tree)"]));
    assert_eq!(patch["tree"]["files"], json!(["src/a.rs"]));
    assert_eq!(patch["tree"]["commits"][0]["subject"], "1");
    assert_eq!(patch["tree"]["commits"][0]["tasks"], json!(["t"]));
    world.moves_to("review");
    let judged = world.git(&["rev-parse", "HEAD"]);
    world
        .orch(&["diff", "t", "patch"])
        .ends(2)
        .reports("`patch` is committed code, and no file of the task")
        .reports(&format!("git diff {}", &judged[..10]));
    let trailer = format!(
        "Orch-Evidence: patch (tree)@{}",
        patch["digest"].as_str().expect("a digest")
    );
    assert!(world.git(&["log", "-1", "--format=%B"]).contains(&trailer));
    world.review_of_code(true, 1);
    world.moves_to("test");
    world.tests("t", 0, 1);
    world.moves_to("accept");
    let accepted = world.git(&["rev-parse", "HEAD"]);
    world.accept("t");
    world.orch(&["approve", "t"]).succeeds();
    assert_eq!(world.phase("t"), "done");
    world.commit_code("2", None);
    let reason = world.suggestion("t")["reason"].clone();
    assert_eq!(
        reason, "the task is in `done`, which is terminal",
        "code continues, and that is not news"
    );
    let audit = world.orch_json(&["audit"]);
    assert_eq!(audit["counts"], json!({"proven": 7}));
    let last = audit["changes"]
        .as_array()
        .and_then(|changes| changes.last())
        .expect("a change");
    let code = &last["steps"][0]["code"][0];
    assert_eq!(
        (&code["path"], &code["digest"]),
        (&patch["paths"][0], &patch["digest"])
    );
    assert_eq!(code["commit"], accepted.trim(), "which code was accepted");
    world.orch(&["audit"]).succeeds().says("on patch (tree), ");
    world.orch(&["check", "--range", "HEAD~6..HEAD"]).succeeds();
    world.git(&["fsck", "--strict"]);
}

#[test]
fn only_a_commit_that_names_the_task_moves_it() {
    let world = World::coding();
    world.commit_code("1", None);
    world.commit_code("2", Some("u"));
    world
        .orch(&["next", "t"])
        .ends(3)
        .says("no commit since the last step names this task");
    // What was forgotten can be put right: the code is the same, and its commit another.
    world.git(&[
        "commit",
        "-q",
        "--amend",
        "-m",
        "2",
        "--trailer",
        "Orch-Task: t",
    ]);
    world.moves_to("review");
    world.review_of_code(true, 2);
    world.moves_to("test");
    world.commit_code("3", Some("u"));
    world.orch(&["next", "t"]).ends(3);
    assert_eq!(
        world.artifact("t", "patch")["changed"],
        true,
        "it is other code all the same"
    );
    world.commit_code("4", Some("t"));
    world.moves_to("review");
    world.orch(&["audit"]).succeeds();
}

#[test]
fn a_later_commit_makes_a_report_stale_and_the_reason_says_so() {
    let world = World::coding();
    world.commit_code("1", Some("t"));
    world.moves_to("review");
    world.review_of_code(true, 3);
    assert_eq!(world.artifact("t", "code_review")["fresh"], true);
    world.commit_code("2", None);
    let review = world.artifact("t", "code_review");
    assert_eq!(review["fresh"], false);
    assert_eq!(
        review["staleBecause"],
        "it judged an earlier version of `patch`: the code outside tasks changed since"
    );
    world
        .orch(&["next", "t"])
        .ends(3)
        .says("it judged an earlier version of `patch`");
    // To go back to the code that was judged is to be judged already.
    world.git(&["revert", "--no-edit", "HEAD"]);
    assert_eq!(world.artifact("t", "code_review")["fresh"], true);
    world.moves_to("test");
}

#[test]
fn a_failing_test_uses_the_code_up() {
    let world = World::coding();
    world.commit_code("1", Some("t"));
    world.moves_to("review");
    world.review_of_code(true, 4);
    world.moves_to("test");
    world.tests("t", 1, 1);
    world.moves_to("codegen");
    let suggestion = world.suggestion("t");
    assert_eq!(suggestion["expects"][0]["state"], "stale");
    assert_eq!(suggestion["expects"][0]["path"], "patch (tree)");
    world
        .orch(&["prompt", "t"])
        .succeeds()
        .says("## Commit the `patch`");
    // By chance: the same code passes when it is run again, and its review still stands.
    world.tests("t", 0, 2);
    world.moves_to("review");
    world.moves_to("test");
    world.tests("t", 1, 3);
    world.moves_to("codegen");
    // By a person, who vouches for the code.
    world
        .orch(&["confirm", "t", "patch", "--reason", "the runner was broken"])
        .succeeds();
    world.moves_to("review");
    world.review_of_code(false, 5);
    world.moves_to("codegen");
    // And by another commit.
    world.commit_code("2", Some("t"));
    world.moves_to("review");
    let counts = world.orch_json(&["audit"])["counts"].clone();
    assert_eq!(
        (&counts["claimed"], &counts["forged"]),
        (&json!(1), &Value::Null),
        "{counts}"
    );
}

#[test]
fn code_that_is_taken_back_is_missing() {
    let world = World::coding();
    world.commit_code("1", Some("t"));
    world.moves_to("review");
    world.git(&["revert", "--no-edit", "HEAD~1"]);
    let suggestion = world.suggestion("t");
    assert_eq!(suggestion["kind"], "inconsistent", "{suggestion:#}");
    assert!(
        suggestion["reason"]
            .as_str()
            .expect("a reason")
            .contains("patch"),
        "{suggestion:#}"
    );
    world
        .orch(&[
            "rollback",
            "t",
            "--to",
            "codegen",
            "--reason",
            "it was taken back",
        ])
        .succeeds();
    world.commit_code("2", Some("t"));
    world.moves_to("review");
    assert_eq!(
        world.orch_json(&["audit"])["counts"],
        json!({"proven": 5, "overridden": 1})
    );
}

#[test]
fn a_clone_that_is_too_shallow_says_so_and_guesses_nothing() {
    let world = World::coding();
    world.commit_code("1", Some("t"));
    world.commit_code("2", None);
    let source = format!("file://{}", world.root().display());
    let clone = |name: &str, depth: &str| -> Value {
        let place = world.path(&format!("../{name}"));
        let place = place.to_str().expect("UTF-8");
        world.git(&["clone", "-q", "--depth", depth, &source, place]);
        world.orch_json(&["-C", place, "suggest", "t"])["suggestions"][0].clone()
    };
    let shallow = clone("shallow", "1");
    assert_eq!(shallow["suggestedNext"], "codegen", "{shallow:#}");
    let problem = &shallow["expects"][0]["problems"][0];
    assert_eq!(
        (&problem["code"], &problem["hint"]),
        (&"not-in-clone".into(), &"git fetch --unshallow".into())
    );
    world
        .orch(&[
            "-C",
            world.path("../shallow").to_str().expect("UTF-8"),
            "check",
        ])
        .succeeds();
    assert_eq!(clone("deep", "4")["suggestedNext"], "review");
    assert_eq!(world.suggestion("t")["suggestedNext"], "review");
    world.moves_to("review");
    let audit = world.orch(&[
        "-C",
        world.path("../shallow").to_str().expect("UTF-8"),
        "audit",
    ]);
    audit.reports("this clone is shallow");
}

#[test]
fn a_shallow_clone_of_a_task_with_code_is_no_inconsistent_task() {
    let world = World::coding();
    world.commit_code("1", Some("t"));
    world.moves_to("review");
    world.commit_code("2", None);
    let source = format!("file://{}", world.root().display());
    let clone = world.path("../shallow");
    let clone = clone.to_str().expect("UTF-8");
    world.git(&["clone", "-q", "--depth", "1", &source, clone]);
    let suggestion = world.orch_json(&["-C", clone, "suggest", "t"])["suggestions"][0].clone();
    assert_eq!(
        (&suggestion["kind"], &suggestion["do"]),
        (&"wait".into(), &"repair".into()),
        "{suggestion:#}"
    );
    let options = suggestion["options"].as_array().expect("options");
    let commands: Vec<&Value> = options.iter().map(|option| &option["argv"]).collect();
    assert_eq!(commands, [&json!(["git", "fetch", "--unshallow"])]);
    for command in [&["status"][..], &["explain", "t"], &["suggest", "t"]] {
        let said = world
            .orch(&[&["-C", clone], command].concat())
            .succeeds()
            .stdout;
        assert!(
            !said.contains("inconsistent") && !said.contains("rollback"),
            "{command:?}: {said}"
        );
        assert!(
            command == ["status"] || said.contains("this clone is shallow"),
            "{command:?}: {said}"
        );
    }
    world.orch(&["-C", clone, "check"]).succeeds();
    let next = world.orch(&["-C", clone, "next", "t"]);
    assert!(
        next.code != 0 && format!("{next:?}").contains("git fetch --unshallow"),
        "{next:?}"
    );
    world.git(&["-C", clone, "fetch", "-q", "--unshallow"]);
    assert_eq!(
        world.orch_json(&["-C", clone, "suggest", "t"])["suggestions"][0]["suggestedNext"],
        "review"
    );
}

#[test]
fn a_scope_is_a_part_of_the_tree_wherever_it_is_moved_to() {
    let world = World::ready();
    world.write("system/workflows/small.md", SMALL);
    world.write(
        "orch.toml",
        "[[root]]\npath = \"work/tasks/*\"\nworkflow = \"small\"\n",
    );
    world.write("src/a.rs", "0\n");
    world.write("work/notes.md", "0\n");
    world.write("other/a.rs", "0\n");
    world.commit("a root within a directory");
    world.orch(&["workflow", "check", "small"]).succeeds();
    world.orch(&["new", "t"]).succeeds();
    world
        .orch(&["next", "t"])
        .ends(3)
        .says("change (tree) is missing");
    world.write("other/a.rs", "1\n");
    world.commit("not in the scope");
    world.write("work/tasks/t/mine.json", "{}\n");
    world.commit("not in the scope either");
    world
        .orch(&["next", "t"])
        .ends(3)
        .says("change (tree) is missing");
    world
        .orch(&["prompt", "t"])
        .succeeds()
        .says("The artifact is the code committed in `src/**`, `work/**`.");
    world.write("work/notes.md", "1\n");
    world.commit("beside the tasks");
    assert_eq!(
        world.artifact("t", "change")["tree"]["files"],
        json!(["work/notes.md"])
    );
    world.git(&["mv", "src", "lib"]);
    world.commit("moved away");
    let change = world.artifact("t", "change");
    assert_eq!(
        change["tree"]["files"],
        json!(["src/a.rs", "work/notes.md"]),
        "{change:#}"
    );
    world.git(&["mv", "lib", "src"]);
    world.git(&["rm", "-q", "work/notes.md"]);
    world.commit("and back");
    let script = "git read-tree --empty && git read-tree --prefix=src/ HEAD:src && git write-tree";
    let mut shell = world.command("sh");
    shell
        .args(["-c", script])
        .env("GIT_INDEX_FILE", world.path("../index"));
    let expected = world
        .end(shell.output().expect("git runs"))
        .succeeds()
        .stdout;
    assert_eq!(world.artifact("t", "change")["digest"], expected.trim());
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(world.json("work/tasks/t/state.json")["phase"], "done");
    assert_eq!(world.orch_json(&["audit"])["counts"], json!({"proven": 2}));
}

#[test]
fn each_work_tree_has_its_own_code() {
    let world = World::coding();
    let linked = world.path("../linked");
    let linked = linked.to_str().expect("UTF-8");
    world.git(&["worktree", "add", "-q", "-b", "task/t", linked]);
    let next = |place: &str| {
        world.orch_json(&["-C", place, "suggest", "t"])["suggestions"][0]["suggestedNext"].clone()
    };
    world.commit_code("1", Some("t"));
    assert_eq!(
        (next("."), next(linked)),
        ("review".into(), "codegen".into())
    );
    world.git(&["-C", linked, "merge", "-q", "--ff-only", "main"]);
    world.orch(&["-C", linked, "next", "t"]).succeeds();
    assert_eq!(next("."), "review", "nothing was moved here");
    world.git(&["merge", "-q", "--ff-only", "task/t"]);
    assert_eq!(world.phase("t"), "review");
    // Where HEAD is kept makes no difference.
    world.git(&["pack-refs", "--all"]);
    let before = world.artifact("t", "patch");
    world.git(&["switch", "-q", "--detach"]);
    assert_eq!(world.artifact("t", "patch"), before);
    world.commit_code("2", Some("t"));
    assert_eq!(
        world.artifact("t", "patch")["tree"]["commits"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
}

#[test]
fn before_the_first_commit_the_code_is_nothing() {
    let world = World::new();
    world.orch(&["init"]).succeeds();
    world.orch(&["new", "t"]).succeeds();
    world.plan("t", 1);
    world.plan_review_of("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    world.orch(&["next", "t"]).succeeds();
    let state = world.json("tasks/t/state.json");
    let empty = world.git(&["hash-object", "-t", "tree", "/dev/null"]);
    assert_eq!(
        state["actors"]["codegen"]["entered_with"]["patch"],
        empty.trim()
    );
    world.commit_code("1", Some("t"));
    world.moves_to("review");
    assert_eq!(world.orch_json(&["audit"])["counts"], json!({"proven": 4}));
}

#[test]
fn what_is_only_staged_or_written_is_no_code() {
    let world = World::coding();
    world.write("src/a.rs", "staged\n");
    world.git(&["add", "src"]);
    world.write("src/a.rs", "written\n");
    world
        .orch(&["next", "t"])
        .ends(3)
        .says("code/diff.patch is missing");
    let staged = world.git(&["diff", "--cached"]);
    world.orch(&["check", "--staged"]).succeeds();
    assert_eq!(world.git(&["diff", "--cached"]), staged);
    world.git(&["commit", "-q", "-m", "staged", "--trailer", "Orch-Task: t"]);
    world.moves_to("review");
    assert_eq!(world.dirty(), " M src/a.rs\n");
}

#[test]
fn where_transitions_are_not_committed_code_counts_and_outside_git_files_do() {
    let world = World::without_git();
    world.orch(&["init"]).succeeds();
    world.orch(&["new", "t"]).succeeds();
    world.walk_to("t", "done");
    let world = World::ready();
    world.write(
        "orch.toml",
        world
            .read("orch.toml")
            .replace("[git]", "[git]\ncommit = \"off\""),
    );
    world.commit("transitions are written only");
    world.orch(&["new", "t"]).succeeds();
    world.walk_to("t", "codegen");
    world.commit_code("1", Some("u"));
    world.orch(&["next", "t"]).ends(3).says("names this task");
    world.commit_code("2", Some("t"));
    world.moves_to("review");
}

#[test]
fn a_watch_reacts_to_a_commit() {
    let world = World::coding();
    let linked = world.path("../linked");
    world.git(&[
        "worktree",
        "add",
        "-q",
        "-b",
        "task/t",
        linked.to_str().expect("UTF-8"),
    ]);
    world.orch(&["new", "u"]).succeeds();
    let phase = |text: &std::path::Path| -> Value {
        let state = std::fs::read_to_string(text.join("tasks/t/state.json")).expect("a state");
        serde_json::from_str::<Value>(&state).expect("JSON")["phase"].clone()
    };
    for place in [world.root(), linked] {
        let place = place.to_str().expect("UTF-8");
        let mut watch = world.orch_spawn(&["-C", place, "watch"]);
        std::io::BufRead::read_line(
            &mut std::io::BufReader::new(watch.stdout.as_mut().expect("piped")),
            &mut String::new(),
        )
        .expect("it says that it watches");
        let file = format!("{place}/src/a.rs");
        std::fs::write(file, "watched\n").expect("written");
        world.git(&[
            "-C",
            place,
            "commit",
            "-q",
            "-a",
            "-m",
            "code",
            "--trailer",
            "Orch-Task: t",
        ]);
        eventually("the commit is noticed", || {
            phase(std::path::Path::new(place)) == "review"
        });
        watch.kill().expect("it is there");
        watch.wait().expect("it ends");
    }
}

#[test]
fn the_shipped_texts_say_how_code_is_committed() {
    let coder = std::fs::read_to_string(project().join("system/agents/coder.md")).expect("a text");
    assert!(coder.contains("git commit --trailer \"Orch-Task: <task>\""));
}

/// A machine whose only evidence is code, in a repository with a root below a directory.
const SMALL: &str = r#"# Small

```toml orch
[artifact.change]
title = "the change"
tree = ["src/**", "work/**"]

[phase.code]
produces = ["change"]

[phase.done]
terminal = true

[[rule]]
id = "built"
from = "code"
when = "change.ready"
to = "done"
because = "there is a change"
```
"#;

#[test]
fn a_last_commit_that_names_no_task_can_be_amended() {
    let world = World::coding();
    let offered = || -> Vec<String> {
        let options = world.suggestion("t")["options"]
            .as_array()
            .cloned()
            .expect("a list");
        options
            .iter()
            .map(|option| option["id"].as_str().expect("an id").to_owned())
            .collect()
    };
    assert!(!offered().contains(&"trailer".to_owned()));
    world.commit_code("1", None);
    let ids = offered();
    let (amend, order) = ["trailer", "override"]
        .map(|id| ids.iter().position(|one| one == id))
        .into();
    assert!(amend.is_some() && amend < order, "{ids:?}");
    let suggested = world.suggestion("t");
    let options = suggested["options"].as_array().expect("a list");
    let amend = options
        .iter()
        .find(|option| option["id"] == "trailer")
        .expect("offered");
    let argv: Vec<&str> = amend["argv"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    world.write("staged", "work\n");
    world.git(&["add", "staged"]);
    world.git(&argv[1..]);
    assert_eq!(world.git(&["diff", "--cached", "--name-only"]), "staged\n");
    assert_eq!(world.suggestion("t")["suggestedNext"], "review");
}

#[test]
fn code_below_the_transition_of_another_task_is_named_by_an_empty_commit() {
    let world = World::coding();
    world.commit_code("1", None);
    world.orch(&["new", "u"]).succeeds();
    let head = world.git(&["rev-parse", "HEAD"]);
    let suggested = world.suggestion("t");
    let options = suggested["options"].as_array().expect("a list");
    let named = options
        .iter()
        .find(|option| option["id"] == "trailer")
        .expect("offered");
    let argv: Vec<&str> = named["argv"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert!(
        !argv.contains(&"--amend"),
        "the last commit is not the one of the code: {argv:?}"
    );
    world.write("staged", "work\n");
    world.git(&["add", "staged"]);
    world.git(&argv[1..]);
    assert_eq!(world.git(&["diff", "--cached", "--name-only"]), "staged\n");
    world.git(&["reset", "-q", "--", "staged"]);
    world.remove("staged");
    assert_eq!(
        world.git(&["rev-parse", "HEAD~1"]),
        head,
        "nothing is rewritten"
    );
    world.moves_to("review");
    assert_eq!(
        world.artifact("t", "patch")["tree"]["commits"]
            .as_array()
            .map(Vec::len),
        Some(0)
    );
    world.orch(&["audit", "--strict"]).succeeds();
    world.orch(&["check", "--range", "HEAD~4..HEAD"]).succeeds();
}
