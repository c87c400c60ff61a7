//! Code as evidence in history: what proves it, what moves it honestly, and how it is forged.

use super::records::{retell, state};
use super::{last, standings};
use crate::harness::World;
use orch_base::{ArtifactName, Digest};
use serde_json::{Value, json};

fn with_code() -> World {
    let world = World::ready();
    world.write("src/a.rs", "0\n");
    world.commit("some code");
    world
}

fn into_codegen(world: World) -> World {
    world.orch(&["new", "t"]).succeeds();
    world.walk_to("t", "codegen");
    world
}

fn coding() -> World {
    into_codegen(with_code())
}

/// All that the task does is on the branch `work`.
fn coding_on_a_branch() -> World {
    let world = with_code();
    world.git(&["switch", "-q", "-c", "work"]);
    into_codegen(world)
}

#[test]
fn a_step_is_judged_by_the_code_before_it() {
    let world = coding();
    world.commit_code("1", Some("t"));
    world.orch(&["next", "t"]).succeeds();
    // Its own commit may hold more, which proves nothing and disproves nothing.
    world.write("src/b.rs", "more\n");
    world.git(&["add", "src"]);
    world.git(&["commit", "-q", "--amend", "--no-edit"]);
    last(&world, "proven");
    // The same record, and a commit before it that does not name the task.
    let record = world.git(&["rev-parse", "HEAD"]);
    world.git(&["reset", "-q", "--hard", "HEAD~2"]);
    world.commit_code("1", None);
    world.git(&["checkout", "-q", record.trim(), "--", "tasks"]);
    world
        .orch(&["check", "--staged"])
        .ends(1)
        .says("is not what the rules yield");
    world.git(&["commit", "-q", "-m", "as if"]);
    last(&world, "forged");
    world
        .orch(&["check", "--commit", "HEAD"])
        .ends(1)
        .says("forged");
}

#[test]
fn a_step_without_any_code_is_forged() {
    let world = coding();
    world.commit_code("1", Some("t"));
    world.orch(&["next", "t"]).succeeds();
    let record = world.git(&["rev-parse", "HEAD"]);
    world.git(&["reset", "-q", "--hard", "HEAD~2"]);
    world.git(&["checkout", "-q", record.trim(), "--", "tasks"]);
    world.git(&["commit", "-q", "-m", "no code at all"]);
    last(&world, "forged");
}

#[test]
fn code_counted_from_where_it_never_was_is_not_proven() {
    let world = World::ready();
    world.write("system/workflows/small.md", include_str!("small.md"));
    world.write(
        "orch.toml",
        "[[root]]\npath = \"tasks/*\"\nworkflow = \"small\"\n",
    );
    world.write("src/a.rs", "0\n");
    world.commit("a small machine");
    let mut shell = world.command("sh");
    shell.args(["-c", "git ls-tree HEAD src | git mktree"]);
    let older = world
        .end(shell.output().expect("git runs"))
        .succeeds()
        .stdout;
    world.write("src/a.rs", "1\n");
    world.commit("other code");
    world.orch(&["new", "t"]).succeeds();
    world.write("tasks/t/plan.json", "{}\n");
    world.orch(&["next", "t"]).succeeds();
    last(&world, "proven");
    for (forged, standing) in [
        ("no code of any commit", "unverifiable"),
        (older.trim(), "proven"),
    ] {
        let mut forged_state = state(&world);
        let digest = Digest::parse(forged).unwrap_or_else(|| Digest::of_blob(forged.as_bytes()));
        let change = ArtifactName::new("change").expect("a name");
        let code = forged_state.actors.get_mut("code").expect("the phase");
        code.entered_with.insert(change, Some(digest));
        world.git(&["reset", "-q", "--soft", "HEAD~1"]);
        retell(&world, &forged_state);
        world.commit("entered with other code");
        // A rebase may have brought the step here, so that code from before is believed where nothing
        // rests on it; a step that does is not proven.
        last(&world, standing);
        world.orch(&["next", "t"]).succeeds();
        let change = last(&world, "unverifiable");
        let why = change["why"].as_str().expect("a reason");
        assert!(why.contains("when `code` was entered"), "{why}");
        world.git(&["reset", "-q", "--hard", "HEAD~1"]);
    }
}

#[test]
fn what_is_moved_honestly_is_never_forged() {
    let world = coding();
    world.git(&["switch", "-q", "-c", "work"]);
    world.commit_code("1", Some("t"));
    world.orch(&["next", "t"]).succeeds();
    world.code_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    world.git(&["switch", "-q", "main"]);
    world.write("src/b.rs", "elsewhere\n");
    world.commit("elsewhere");
    // Merged, both steps stand in the history that they were made in.
    world.git(&["switch", "-q", "-c", "merged"]);
    world.git(&["merge", "-q", "-m", "united", "work"]);
    assert_eq!(standings(&world), ["proven"; 5]);
    // Rebased, the code before each step is other code.
    world.git(&["switch", "-q", "work"]);
    world.git(&["rebase", "-q", "main"]);
    let after = standings(&world);
    assert_eq!(
        after,
        ["proven", "proven", "proven", "unverifiable", "unverifiable"]
    );
    world
        .orch(&["audit"])
        .succeeds()
        .says("is not the code of the parent commit");
    // Squashed, the code of a step in the middle is in no commit.
    world.git(&["switch", "-q", "-c", "squashed", "main"]);
    squash(&world);
    let change: Value = last(&world, "unverifiable");
    assert_eq!(
        change["steps"].as_array().map(Vec::len),
        Some(2),
        "{change:#}"
    );
}

/// The commits of a task on the branch `work`, in order: what it did before it entered the phase that makes code, the
/// entry, the code, and the two steps that rest on it.
struct Branch {
    world: World,
    before: Vec<String>,
    entry: String,
    code: String,
    steps: [String; 2],
}

impl Branch {
    /// A branch that changes the last line of `src/a.rs`.
    fn new() -> Self {
        let world = World::ready();
        world.write("src/a.rs", lines("1", "9"));
        world.commit("some code");
        world.git(&["switch", "-q", "-c", "work"]);
        world.orch(&["new", "t"]).succeeds();
        world.walk_to("t", "codegen");
        world.write("src/a.rs", lines("1", "nine"));
        world.git(&["add", "src"]);
        world.git(&["commit", "-q", "-m", "code", "--trailer", "Orch-Task: t"]);
        world.orch(&["next", "t"]).succeeds();
        world.code_review("t", true, 1);
        world.orch(&["next", "t"]).succeeds();
        let listed = world.git(&["rev-list", "--reverse", "main..work"]);
        let mut commits: Vec<String> = listed.lines().map(str::to_owned).collect();
        let rest = commits.split_off(commits.len() - 4);
        let [entry, code, one, other] = <[String; 4]>::try_from(rest).expect("four commits");
        Self {
            world,
            before: commits,
            entry,
            code,
            steps: [one, other],
        }
    }

    fn begin(&self, at: &str) {
        self.world.git(&["switch", "-q", "-C", "scene", at]);
    }

    fn pick(&self, commits: &[&String]) {
        let commits = commits.iter().map(|commit| commit.as_str());
        let arguments: Vec<&str> = ["cherry-pick"].into_iter().chain(commits).collect();
        self.world.git(&arguments);
    }

    fn pick_all_before_the_second_step(&self) {
        let rest = [&self.entry, &self.code, &self.steps[0]];
        self.pick(&self.before.iter().chain(rest).collect::<Vec<_>>());
    }

    fn add(&self, path: &str, text: &str) {
        self.world.write(path, text);
        self.world.commit("not by the task");
    }
}

fn lines(first: &str, last: &str) -> String {
    format!("{first}\n2\n3\n4\n5\n6\n7\n8\n{last}\n")
}

#[test]
fn a_rebase_and_a_squash_prove_code_by_the_same_change() {
    let branch = Branch::new();
    let world = &branch.world;
    let start = |name: &str, from: &str| world.git(&["switch", "-q", "-C", name, from]);
    start("exact", "main");
    world.git(&["merge", "-q", "--squash", "work"]);
    world.git(&["commit", "-q", "-m", "all of it, without a trailer"]);
    let change = last(world, "folded");
    let steps = change["steps"].as_array().expect("steps");
    assert!(
        steps
            .iter()
            .all(|step| step["standing"] == "proven" && step["why"].is_null()),
        "{change:#}"
    );
    // Others change other files.
    world.git(&["switch", "-q", "main"]);
    branch.add("src/b.rs", "elsewhere\n");
    // Also other lines of the same file.
    start("elsewhere", "main");
    branch.add("src/a.rs", &lines("one\nand\nmore", "9"));
    start("beside", "work");
    world.git(&["rebase", "-q", "elsewhere"]);
    let change = last(world, "proven");
    assert_eq!(
        change["steps"][0]["why"], "the code here is other code with the same change",
        "{change:#}"
    );
    start("at-once", "elsewhere");
    squash(world);
    last(world, "folded");
    world.orch(&["audit", "--strict"]).succeeds();
    world.git(&["switch", "-q", "main"]);
    // Whatever git would do with these files when it merges, has no part in it.
    world.write(".git/info/attributes", "* merge=union\n");
    start("rebased", "work");
    world.git(&["rebase", "-q", "main"]);
    let objects = world.git(&["count-objects"]);
    let change = last(world, "proven");
    assert_eq!(
        change["steps"][0]["why"], "the code here is other code with the same change",
        "{change:#}"
    );
    world.orch(&["audit", "--strict"]).succeeds();
    assert_eq!(
        world.git(&["count-objects"]),
        objects,
        "an audit writes nothing"
    );
    start("squashed", "main");
    squash(world);
    last(world, "folded");
    world.orch(&["audit", "--strict"]).succeeds();
    world.orch(&["check", "--range", "main..HEAD"]).succeeds();
    // The next steps are judged on the code that is here.
    world.tests("t", 0, 1);
    world.orch(&["next", "t"]).succeeds();
    world.orch(&["audit", "--strict"]).succeeds();
}

/// Brings the branch `work` in one commit.
fn squash(world: &World) {
    world.git(&["merge", "-q", "--squash", "work"]);
    world.git(&["commit", "-q", "-m", "all of it"]);
}

/// What the base branch brought stands before the squash, and was judged with the rest.
#[test]
fn a_squash_of_a_branch_that_took_in_the_base_before_its_review_is_proven() {
    let world = coding_on_a_branch();
    world.git(&["switch", "-q", "main"]);
    world.write("src/b.rs", "elsewhere\n");
    world.commit("elsewhere");
    world.git(&["switch", "-q", "work"]);
    world.commit_code("1", Some("t"));
    world.git(&["merge", "-q", "--no-edit", "main"]);
    world.orch(&["next", "t"]).succeeds();
    world.code_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    world.git(&["switch", "-q", "main"]);
    squash(&world);
    last(&world, "folded");
}

/// Nobody judged that.
#[test]
fn a_squash_that_takes_back_what_the_base_brought_is_not_proven() {
    let world = coding_on_a_branch();
    world.commit_code("1", Some("t"));
    world.orch(&["next", "t"]).succeeds();
    world.git(&["switch", "-q", "main"]);
    world.write("src/b.rs", "elsewhere\n");
    world.commit("elsewhere");
    world.git(&["merge", "-q", "--squash", "work"]);
    world.git(&["rm", "-qf", "src/b.rs"]);
    world.git(&["commit", "-q", "-m", "all of it"]);
    last(&world, "unverifiable");
}

/// A task that began where the clock is ahead, and went on on a branch.
#[test]
fn clocks_that_differ_make_nothing_forged() {
    let world = with_code();
    let ahead = [("GIT_COMMITTER_DATE", "2100-01-01T00:00:00Z")];
    let mut new = world.orch_command(&["new", "t"]);
    world
        .end(new.envs(ahead).output().expect("orch runs"))
        .succeeds();
    world.git(&["switch", "-q", "-c", "work"]);
    world.walk_to("t", "codegen");
    world.commit_code("1", Some("t"));
    world.orch(&["next", "t"]).succeeds();
    world.code_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    world.tests("t", 0, 1);
    world.orch(&["next", "t"]).succeeds();
    world.git(&["switch", "-q", "main"]);
    world.git(&["merge", "-q", "--no-ff", "-m", "merge", "work"]);
    world.write("src/b.rs", "elsewhere\n");
    world.commit("elsewhere");
    world.orch(&["approve", "t"]).succeeds();
    last(&world, "proven");
}

/// The code of the first attempt went with the branch.
#[test]
fn a_squash_of_two_attempts_says_which_code_is_not_in_git() {
    let world = coding_on_a_branch();
    world.commit_code("1", Some("t"));
    world.orch(&["next", "t"]).succeeds();
    world.code_review("t", false, 1);
    world.orch(&["next", "t"]).succeeds();
    world.commit_code("2", Some("t"));
    world.orch(&["next", "t"]).succeeds();
    world.code_review("t", true, 2);
    world.orch(&["next", "t"]).succeeds();
    world.git(&["switch", "-q", "main"]);
    squash(&world);
    let change = last(&world, "unverifiable");
    let why = change["why"].as_str().expect("why");
    assert!(
        why.contains("the code that it was made from") && why.ends_with("is not in git"),
        "{why}"
    );
}

#[test]
fn a_rebase_proves_code_that_was_sent_back_too() {
    // Sent back by the review, or rolled back further, so that the phase is left and entered again.
    for is_rolled_back in [false, true] {
        let world = World::ready();
        world.write("src/a.rs", "0\n");
        world.commit("some code");
        world.git(&["switch", "-q", "-c", "work"]);
        world.orch(&["new", "t"]).succeeds();
        world.walk_to("t", "codegen");
        world.commit_code("1", Some("t"));
        world.orch(&["next", "t"]).succeeds().says("-> review");
        if is_rolled_back {
            world
                .orch(&[
                    "rollback",
                    "t",
                    "--to",
                    "planning",
                    "--reason",
                    "Plan again.",
                ])
                .succeeds();
            world.plan("t", 2);
            world.orch(&["next", "t"]).succeeds();
            world.plan_review("t", true, 2);
            world.orch(&["next", "t"]).succeeds().says("-> codegen");
        } else {
            world.code_review("t", false, 1);
            world.orch(&["next", "t"]).succeeds().says("-> codegen");
        }
        world.commit_code("2", Some("t"));
        world.orch(&["next", "t"]).succeeds().says("-> review");
        world.code_review("t", true, 2);
        world.orch(&["next", "t"]).succeeds().says("-> test");
        world.orch(&["audit", "--strict"]).succeeds();
        world.git(&["switch", "-q", "main"]);
        world.write("src/b.rs", "elsewhere\n");
        world.commit("elsewhere");
        world.git(&["switch", "-q", "work"]);
        world.git(&["rebase", "-q", "main"]);
        world.orch(&["audit", "--strict"]).succeeds();
        world.orch(&["check", "--range", "main..HEAD"]).succeeds();
        // Other code before the second round is not what was accepted.
        let second = world.git(&["log", "-1", "--format=%H", "--grep=^2$"]);
        let rest = world.git(&["rev-list", "--reverse", &format!("{}..HEAD", second.trim())]);
        world.git(&["reset", "-q", "--hard", &format!("{}~1", second.trim())]);
        world.write("src/evil.rs", "evil\n");
        world.git(&["add", "src"]);
        world.git(&["commit", "-q", "-m", "evil"]);
        let picked: Vec<&str> = [second.trim()]
            .into_iter()
            .chain(rest.split_whitespace())
            .collect();
        world.git(&[&["cherry-pick"], picked.as_slice()].concat());
        let change = last(&world, "unverifiable");
        let why = change["why"].as_str().expect("a reason");
        assert!(why.contains("make another change"), "{why}");
    }
}

/// Code that was not in what the record names is never proven, however the record came to stand on it.
#[test]
fn code_that_nobody_reviewed_is_proven_by_no_other_base() {
    const OTHER: &str = "the commits since that phase was entered make another change";
    type Scene = fn(&Branch);
    let scenes: [(&str, &str, Scene); 7] = [
        ("between the entry and the code", OTHER, |at| {
            at.begin(&at.entry);
            at.add("src/evil.rs", "evil\n");
            at.pick(&[&at.code, &at.steps[0]]);
        }),
        ("between the two steps", OTHER, |at| {
            at.begin(&at.steps[0]);
            at.add("src/evil.rs", "evil\n");
            at.pick(&[&at.steps[1]]);
        }),
        ("in the commit of the entry", OTHER, |at| {
            at.begin(&at.entry);
            at.world.write("src/evil.rs", "evil\n");
            at.world.git(&["add", "src"]);
            at.world.git(&["commit", "-q", "--amend", "--no-edit"]);
            at.pick(&[&at.code, &at.steps[0]]);
        }),
        (
            "by the task, before it entered the phase",
            "the task changed the code before that phase",
            |at| {
                at.begin("main");
                at.world.write("src/evil.rs", "evil\n");
                at.world.git(&["add", "src"]);
                at.world
                    .git(&["commit", "-q", "-m", "early", "--trailer", "Orch-Task: t"]);
                at.pick_all_before_the_second_step();
            },
        ),
        ("beside the lines that the task changes", OTHER, |at| {
            at.begin("main");
            at.add("src/a.rs", &lines("1", "9").replace("7\n", "evil\n"));
            at.pick_all_before_the_second_step();
        }),
        (
            "while the record was away",
            "no single commit shows when",
            |at| {
                at.begin(&at.entry);
                at.world.git(&["rm", "-qr", "tasks/t"]);
                at.add("src/evil.rs", "evil\n");
                at.world.git(&["checkout", "-q", &at.entry, "--", "tasks"]);
                at.world.commit("back again");
                at.pick(&[&at.code, &at.steps[0]]);
            },
        ),
        ("in a squash", OTHER, |at| {
            at.begin("main");
            at.world.git(&["merge", "-q", "--squash", "work"]);
            at.add("src/evil.rs", "evil\n");
        }),
    ];
    let branch = Branch::new();
    for (place, words, scene) in scenes {
        scene(&branch);
        let change = last(&branch.world, "unverifiable");
        let why = change["why"].as_str().expect("a reason");
        assert!(why.contains(words), "{place}: {why}");
    }
}

/// Two tasks of a branch, one after the other, in one squash. The plans tell their changes apart, if they do.
#[test]
fn a_squash_of_several_tasks_is_told_apart_by_what_their_plans_name() {
    for (files, extra, counts) in [
        (["src/a.rs", "src/b.rs"], None, json!({"folded": 2})),
        (["src/a.rs", "src/a.rs"], None, json!({"unverifiable": 2})),
        (
            ["src/a.rs", "src/b.rs"],
            Some("src/c.rs"),
            json!({"unverifiable": 2}),
        ),
    ] {
        let world = World::ready();
        world.write("src/a.rs", "0\n");
        world.write("src/b.rs", "0\n");
        world.commit("some code");
        world.git(&["switch", "-q", "-c", "work"]);
        for (number, file) in files.into_iter().enumerate() {
            let task = ["one", "two"][number];
            world.orch(&["new", task]).succeeds();
            world.plan(task, 1);
            let mut plan = world.json(&format!("tasks/{task}/planning/plan.json"));
            plan["draft_files"] = json!([file]);
            world.write(
                &format!("tasks/{task}/planning/plan.json"),
                plan.to_string(),
            );
            world.orch(&["next", task]).succeeds();
            world.walk_to_from(task, "plan_review", "codegen");
            world.write(file, format!("{}\n", number + 1));
            world.git(&["add", file]);
            world.git(&[
                "commit",
                "-q",
                "-m",
                "code",
                "--trailer",
                &format!("Orch-Task: {task}"),
            ]);
            world.orch(&["next", task]).succeeds();
            world.walk_to_from(task, "review", "done");
        }
        if let Some(extra) = extra {
            world.write(extra, "nobody looked at it\n");
            world.commit("more");
        }
        world.git(&["switch", "-q", "main"]);
        world.git(&["merge", "-q", "--squash", "work"]);
        world.git(&["commit", "-q", "-m", "two tasks"]);
        assert_eq!(
            world.orch_json(&["audit"])["counts"],
            counts,
            "{files:?} {extra:?}"
        );
    }
}
