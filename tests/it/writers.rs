//! Who wrote what, as far as it is seen, and verdicts by those who wrote what they judge.

use crate::harness::{Ended, World, started};
use crate::mcp::Client;
use crate::serve::client::Server;
use serde_json::{Value, json};

/// Writes what each agent of the lifecycle writes. `BUSY` writes more in its turn.
const AGENT: &str = r#"
cat > /dev/null
task=tasks/$ORCH_TASK
mkdir -p $task/planning $task/review/plan $task/review/code $task/eval src
review() { echo "{\"ok\": true, \"issues\": [], \"of\": $1, \"finished_at\": \"2026-11-21T04:10:00Z\"}"; }
case $ORCH_ACTION in
  planner)
    echo '{"title": "Login", "status": "final", "why": "It fails.", "what": "Mend it."}' > $task/planning/plan.json
    BUSY ;;
  plan-reviewer) review '{}' > $task/review/plan/verdict.json ;;
  coder) echo 1 > src/a.rs; git add src; git commit -q -m code --trailer "Orch-Task: $ORCH_TASK" ;;
  code-reviewer) review '{}' > $task/review/code/verdict.json ;;
esac
"#;

impl World {
    /// A task that agents work on.
    fn worked_on(busy: &str) -> Self {
        let world = Self::ready();
        world.write("agent.sh", AGENT.replace("BUSY", busy));
        world.write(".git/info/exclude", "agent.sh\n");
        world.orch(&["new", "t"]).succeeds();
        world
    }

    fn run_agents(&self) -> Value {
        let run = self.orch(&["run", "t", "--json", "--", "sh", "agent.sh"]);
        serde_json::from_str(&run.stdout).expect("JSON")
    }

    /// Requires verdicts by somebody else from now on.
    fn require_independence(&self) {
        let text = self.read("orch.toml");
        self.write(
            "orch.toml",
            text.replace("#independent = false", "independent = true"),
        );
        self.git(&[
            "commit",
            "-q",
            "-m",
            "require verdicts by somebody else",
            "--",
            "orch.toml",
        ]);
    }

    fn events(&self) -> Vec<Value> {
        let log = self.read("tasks/t/transcript.jsonl");
        log.lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect()
    }

    /// The writers that the events name of an artifact.
    fn noted(&self, artifact: &str) -> Vec<Value> {
        let noted = |event: &Value| {
            event["files"][artifact]
                .as_array()
                .cloned()
                .unwrap_or_default()
        };
        let files = self.events().iter().flat_map(noted).collect::<Vec<_>>();
        let one = files.iter().filter_map(|file| file.get("writer").cloned());
        let several = files
            .iter()
            .filter_map(|file| file.get("writers")?.as_array().cloned())
            .flatten();
        one.chain(several).collect()
    }

    fn remarks(&self) -> Vec<String> {
        let suggestion = self.orch_json(&["suggest", "t"])["suggestions"][0].clone();
        let remarks = suggestion["remarks"]
            .as_array()
            .cloned()
            .unwrap_or_else(|| panic!("{suggestion:#}"));
        remarks
            .iter()
            .map(|remark| remark.as_str().expect("a text").to_owned())
            .collect()
    }

    /// What the audit says about each change, here and in a fresh clone.
    #[track_caller]
    fn audited(&self) -> Vec<String> {
        let standings = |audit: &Value| -> Vec<String> {
            let changes = audit["changes"]
                .as_array()
                .unwrap_or_else(|| panic!("{audit:#}"));
            changes
                .iter()
                .map(|one| one["standing"].as_str().expect("a text").to_owned())
                .collect()
        };
        let here = standings(&self.orch_json(&["audit"]));
        let place = self.path("../clone");
        let _ = std::fs::remove_dir_all(&place);
        self.git(&["clone", "-q", ".", place.to_str().expect("UTF-8")]);
        let there = self.orch(&["-C", place.to_str().expect("UTF-8"), "audit", "--json"]);
        assert_eq!(
            standings(&serde_json::from_str(&there.stdout).expect("JSON")),
            here
        );
        here
    }

    /// A command by another person than Ann.
    fn orch_by_bob(&self, arguments: &[&str]) -> Ended {
        let mut command = self.orch_command(arguments);
        command
            .env("GIT_AUTHOR_NAME", "Bob")
            .env("GIT_AUTHOR_EMAIL", "bob@example.com");
        command.stdin(self.keyboard());
        self.end(command.output().expect("orch runs"))
    }

    /// Commits code in the name of the task, with these further lines at the end of the message.
    fn commit_in_name(&self, text: &str, trailers: &[&str]) {
        self.write("src/a.rs", format!("{text}\n"));
        self.git(&["add", "src"]);
        let named = ["Orch-Task: t"]
            .iter()
            .chain(trailers)
            .flat_map(|trailer| ["--trailer", trailer]);
        self.git(
            &[
                &["commit", "-q", "-m", text][..],
                &named.collect::<Vec<_>>(),
            ]
            .concat(),
        );
    }

    /// The task in code review, with code of these trailers.
    fn reviewed(trailers: &[&str]) -> Self {
        let world = Self::ready();
        world.orch(&["new", "t"]).succeeds();
        world.walk_to("t", "codegen");
        world.commit_in_name("1", trailers);
        world.orch(&["next", "t"]).succeeds();
        assert_eq!(world.phase("t"), "review");
        world
    }
}

#[test]
fn each_turn_of_a_run_is_a_writer_of_its_own() {
    let world = World::worked_on(":");
    world.require_independence();
    let report = world.run_agents();
    // No tests are written.
    assert_eq!(report["currentPhase"], "test", "{report:#}");
    let run = report["run"].clone();
    let by = |name: &str, number: u32| {
        let turn = json!({"executor": "sh", "run": run, "number": number});
        json!({"kind": "agent", "name": name, "turn": turn})
    };
    for (artifact, name, number) in [
        ("plan", "planner", 1),
        ("plan_review", "plan-reviewer", 2),
        ("patch", "coder", 3),
        ("code_review", "code-reviewer", 4),
    ] {
        assert_eq!(world.noted(artifact), [by(name, number)], "{artifact}");
    }
    let inputs: Vec<bool> = world
        .events()
        .iter()
        .map(|event| event["inputs"].is_string())
        .collect();
    assert_eq!(
        inputs,
        // Neither the creation nor the take-over rests on files.
        [false, false, true, true, true, true],
        "the event names what was required"
    );
    assert_eq!(
        world.seen_writers(),
        Vec::<Value>::new(),
        "what is noted is forgotten"
    );
    assert_eq!(world.remarks(), Vec::<String>::new());
    assert_eq!(
        world.audited(),
        ["proven", "folded", "proven", "proven", "proven"]
    );
}

#[test]
fn an_agent_that_judges_its_own_work_in_its_turn_is_told_and_held_where_that_is_required() {
    let busy = r#"review "{\"plan\": \"$(git hash-object $task/planning/plan.json)\"}" > $task/review/plan/verdict.json"#;
    let world = World::worked_on(busy);
    let report = world.run_agents();
    assert_eq!(report["currentPhase"], "test", "{report:#}");
    let remarks = world.remarks();
    assert_eq!(remarks.len(), 1, "{remarks:?}");
    assert!(
        remarks[0].contains("who also wrote `plan` in the same turn"),
        "{remarks:?}"
    );
    for command in [&["explain", "t"][..], &["prompt", "t"]] {
        world
            .orch(command)
            .succeeds()
            .says("who also wrote `plan` in the same turn");
    }
    // A turn whose files make two steps due makes one commit.
    assert_eq!(world.audited(), ["proven", "folded", "proven", "proven"]);

    // Where that is required, a turn of its own has to judge.
    let world = World::worked_on(busy);
    world.require_independence();
    assert_eq!(world.run_agents()["currentPhase"], "test");
    let numbers: Vec<Value> = world
        .noted("plan_review")
        .iter()
        .map(|one| one["turn"]["number"].clone())
        .collect();
    assert_eq!(numbers, [1, 2]);

    let world = World::worked_on(busy);
    world.require_independence();
    world.write(
        "agent.sh",
        world.read("agent.sh").replace("plan-reviewer)", "nobody)"),
    );
    let report = world.run_agents();
    assert_eq!(
        (&report["currentPhase"], &report["ending"]),
        (&"plan_review".into(), &"stalled".into())
    );
    world.orch(&["suggest", "t"]).says("not-independent");
    world.orch(&["approve", "t"]).succeeds();
    assert_eq!(
        world.noted("plan_review").last().expect("a writer")["name"],
        "Ann <ann@example.com>"
    );
}

impl World {
    /// The writers that were seen and not noted yet.
    fn seen_writers(&self) -> Vec<Value> {
        let tasks = std::fs::read_dir(self.path(".git/orch/writers"))
            .into_iter()
            .flatten()
            .flatten();
        let files = tasks.flat_map(|task| {
            std::fs::read_dir(task.path())
                .expect("a directory")
                .flatten()
        });
        let read =
            |path| serde_json::from_slice(&std::fs::read(path).expect("read")).expect("JSON");
        files.map(|file| read(file.path())).collect()
    }
}

#[test]
fn whoever_wrote_the_code_does_not_approve_it_where_that_is_required() {
    for required in [false, true] {
        let world = World::reviewed(&[]);
        assert_eq!(
            world.noted("patch"),
            [json!({"kind": "human", "name": "Ann <ann@example.com>"})]
        );
        if required {
            world.require_independence();
            let refused = world
                .orch(&["approve", "t"])
                .ends(3)
                .says("who also wrote `patch`");
            refused.reports("let another person decide");
            world.orch_by_bob(&["approve", "t"]).succeeds();
            assert!(
                world
                    .remarks()
                    .iter()
                    .all(|one| one.ends_with("is unknown")),
                "{:?}",
                world.remarks()
            );
        } else {
            world.orch(&["approve", "t"]).succeeds();
            assert_eq!(world.remarks().len(), 1, "{:?}", world.remarks());
        }
        assert_eq!(world.phase("t"), "test");
        assert!(
            world
                .audited()
                .iter()
                .all(|one| one == "proven" || one == "claimed"),
            "{:?}",
            world.audited()
        );
    }
}

#[test]
fn a_commit_says_who_made_it() {
    let agent = |name: &str| json!({"kind": "agent", "name": name});
    for (trailers, expected) in [
        (
            &["Co-Authored-By: Claude <noreply@anthropic.com>"][..],
            vec![agent("Claude Code")],
        ),
        (
            &["Co-authored-by: Bob <bob@example.com>"],
            vec![json!({"kind": "human", "name": "Ann <ann@example.com>"})],
        ),
        (&["Orch-Writer: reviewer"], vec![agent("reviewer")]),
        (
            &[
                "Orch-Writer: a",
                "Co-authored-by: Codex <noreply@openai.com>",
            ],
            vec![agent("a"), agent("Codex")],
        ),
    ] {
        let world = World::reviewed(trailers);
        assert_eq!(world.noted("patch"), expected, "{trailers:?}");
        world.require_independence();
        // A person judges what an agent wrote.
        let is_own = expected[0]["kind"] == "human";
        world
            .orch(&["approve", "t"])
            .ends(if is_own { 3 } else { 0 });
        assert_eq!(
            world
                .audited()
                .iter()
                .filter(|one| *one == "forged")
                .count(),
            0,
            "{:?}",
            world.audited()
        );
    }
}

#[test]
fn each_agent_that_marks_the_commit_of_a_verdict_is_its_writer() {
    let agent = |name: &str| json!({"kind": "agent", "name": name});
    let world = World::reviewed(&["Orch-Writer: coder"]);
    world.require_independence();
    world.code_review("t", true, 1);
    world.git(&["add", "tasks/t/review"]);
    let marks = [
        "Co-authored-by: Codex <noreply@openai.com>",
        "Orch-Writer: coder",
    ];
    let marks: Vec<&str> = marks.iter().flat_map(|mark| ["--trailer", mark]).collect();
    world.git(&[&["commit", "-q", "-m", "Review"][..], &marks].concat());
    let held = world.orch(&["next", "t"]).ends(3);
    assert!(
        held.stdout
            .contains("by the agent coder, who also wrote `patch`"),
        "{held:?}"
    );
    // Another one, by two that have not written the code.
    world.code_review("t", true, 2);
    world.git(&["add", "tasks/t/review"]);
    let marks = ["--trailer", "Orch-Writer: a", "--trailer", "Orch-Writer: b"];
    world.git(&[&["commit", "-q", "-m", "Review again"][..], &marks].concat());
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(world.noted("code_review"), [agent("a"), agent("b")]);
    assert!(
        world.audited().iter().all(|one| one == "proven"),
        "{:?}",
        world.audited()
    );
}

#[test]
fn a_verdict_of_which_nobody_saw_the_writer_is_held_only_where_that_is_required() {
    let world = World::reviewed(&[]);
    world.code_review("t", true, 1);
    assert_eq!(world.remarks(), Vec::<String>::new(), "no noise");
    world.require_independence();
    let suggestion = world.orch_json(&["suggest", "t"])["suggestions"][0].clone();
    assert_eq!(suggestion["owner"], "agent", "{suggestion:#}");
    assert!(
        suggestion["reason"]
            .as_str()
            .expect("one")
            .contains("is unknown"),
        "{suggestion:#}"
    );
    world.orch(&["next", "t"]).ends(3);
    // A commit of its own tells who has written it.
    let mut bob = world.command("git");
    bob.args(["commit", "-q", "-m", "Review", "--", "tasks/t/review"]);
    world.git(&["add", "tasks/t/review"]);
    bob.env("GIT_AUTHOR_NAME", "Bob")
        .env("GIT_AUTHOR_EMAIL", "bob@example.com");
    world.end(bob.output().expect("git runs")).succeeds();
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(
        world.noted("code_review"),
        [json!({"kind": "human", "name": "Bob <bob@example.com>"})]
    );
    assert!(
        world.audited().iter().all(|one| one == "proven"),
        "{:?}",
        world.audited()
    );
}

#[test]
fn what_is_required_is_what_head_says() {
    let world = World::reviewed(&[]);
    world.code_review("t", true, 1);
    let text = world.read("orch.toml");
    world.write(
        "orch.toml",
        text.replace("#independent = false", "independent = true"),
    );
    world
        .orch(&["next", "t", "--dry-run"])
        .succeeds()
        .says("test");
    world.git(&["add", "orch.toml"]);
    world.git(&["commit", "-q", "-m", "require", "--", "orch.toml"]);
    world.write("orch.toml", text);
    world.orch(&["next", "t"]).ends(3);
    // Whatever attributes somebody writes beside it.
    world.write(".git/info/attributes", "orch.toml ident\n");
    world.orch(&["next", "t"]).ends(3);
}

/// The file in the work tree is without fault, so only HEAD's tells what is required.
#[test]
fn a_fault_of_the_settings_in_head_is_told_and_loosens_nothing() {
    for (fault, said) in [
        (
            "independent = 'yes'",
            "orch.toml:2:15 in HEAD: expected a boolean, found a string",
        ),
        (
            "indepedent = true",
            "orch.toml:2:1 in HEAD: unknown key `indepedent`",
        ),
        (
            "independent = false\n[next]",
            "orch.toml:3:2 in HEAD: unknown key `next`",
        ),
        ("independent = ", "orch.toml:2:"),
        ("link", "orch.toml in HEAD: cannot read orch.toml"),
    ] {
        let world = World::reviewed(&[]);
        world.code_review("t", true, 1);
        let text = world.read("orch.toml");
        if fault == "link" {
            world.write("settings.toml", &text);
            std::fs::remove_file(world.path("orch.toml")).expect("it is there");
            std::os::unix::fs::symlink("settings.toml", world.path("orch.toml")).expect("a link");
        } else {
            world.write("orch.toml", format!("[require]\n{fault}\n"));
        }
        world.git(&["add", "orch.toml"]);
        world.git(&["commit", "-q", "-m", "Settings", "--", "orch.toml"]);
        std::fs::remove_file(world.path("orch.toml")).expect("it is there");
        world.write("orch.toml", &text);
        let held =
            format!("nothing to apply: who wrote review/code/verdict.json is unknown; {said}");
        world
            .orch(&["next", "t"])
            .ends(3)
            .says(&held)
            .says("so a verdict by somebody else is required");
        world
            .orch(&["suggest", "t"])
            .succeeds()
            .says(said)
            .says("correct orch.toml and commit it");
        world
            .orch(&["approve", "t"])
            .ends(2)
            .reports(said)
            .reports("so nobody knows who may order this");
        assert_eq!(world.phase("t"), "review", "{fault}");
        // Whoever brings it is told, and nobody else.
        world
            .orch(&["check", "--commit", "HEAD"])
            .ends(1)
            .says("orch.toml");
        world
            .orch(&["check", "--range", "HEAD~1..HEAD"])
            .ends(1)
            .says("orch.toml");
        world.git(&["commit", "-q", "--allow-empty", "-m", "Nothing"]);
        world.orch(&["check", "--commit", "HEAD"]).ends(0);
        world.git(&["add", "orch.toml"]);
        world.git(&[
            "commit",
            "-q",
            "-m",
            "Correct the settings",
            "--",
            "orch.toml",
        ]);
        world.orch(&["next", "t"]).succeeds();
        assert!(
            world.audited().iter().all(|one| one == "proven"),
            "{fault}: {:?}",
            world.audited()
        );
    }
}

#[test]
fn what_orch_writes_for_somebody_is_of_that_somebody() {
    let world = started("planning");
    world.orch_by_agent(&["draft", "t"]).succeeds();
    assert_eq!(world.seen_writers().len(), 1);
    assert_eq!(world.seen_writers()[0]["kind"], "agent");
}

#[test]
fn rewritten_commits_forge_nobody() {
    // An amended step, a squash of code and steps, and a rebase onto other work.
    let world = World::reviewed(&[]);
    world.require_independence();
    world.orch_by_bob(&["approve", "t"]).succeeds();
    let start = world
        .git(&["rev-list", "--max-parents=0", "HEAD"])
        .trim()
        .to_owned();
    let end = world.git(&["rev-parse", "HEAD"]).trim().to_owned();
    world.git(&["commit", "-q", "--amend", "-m", "Another message"]);
    assert!(
        world.audited().iter().all(|one| one != "forged"),
        "{:?}",
        world.audited()
    );
    world.git(&["reset", "-q", "--hard", &end]);
    world.git(&["switch", "-q", "-c", "squashed", &start]);
    world.git(&["merge", "-q", "--squash", &end]);
    world.git(&["commit", "-q", "-m", "All of it"]);
    assert!(
        world.audited().iter().all(|one| one != "forged"),
        "{:?}",
        world.audited()
    );
    world.git(&["switch", "-q", "-c", "moved", &start]);
    world.write("other.rs", "1\n");
    world.commit("other work");
    world.git(&["cherry-pick", &format!("{start}..{end}")]);
    assert!(
        world.audited().iter().all(|one| one != "forged"),
        "{:?}",
        world.audited()
    );
}

#[test]
fn what_a_branch_no_longer_requires_is_told_and_judged_by_where_it_began() {
    let world = World::reviewed(&[]);
    world.require_independence();
    world.git(&["switch", "-q", "-c", "work"]);
    let text = world.read("orch.toml");
    world.write(
        "orch.toml",
        text.replace("independent = true", "independent = false"),
    );
    world.git(&["commit", "-q", "-a", "-m", "Require less"]);
    for command in [
        &["check", "--range", "main..work"][..],
        &["audit", "main..work"],
    ] {
        let told = world.orch(&[command, &["--strict"]].concat()).ends(1);
        let said = format!("{}{}", told.stdout, told.stderr);
        assert!(
            said.contains("`independent` is no longer required"),
            "{said}"
        );
    }
    world.orch(&["approve", "t"]).succeeds();
    for command in [
        &["check", "--range", "main..work"][..],
        &["audit", "main..work"],
    ] {
        let told = world.orch(command).ends(1);
        assert!(told.stdout.contains("that it begins with"), "{told:?}");
    }
    // Each step followed the settings of its parent commit.
    assert!(
        world.audited().iter().all(|one| one == "proven"),
        "{:?}",
        world.audited()
    );
    // Settings that stood only for the step do not count either.
    world.write("orch.toml", text);
    world.git(&["commit", "-q", "-a", "-m", "Require it again"]);
    let audited = world.audited();
    assert_eq!(
        audited.last().map(String::as_str),
        Some("unverifiable"),
        "{audited:?}"
    );
}

#[test]
fn an_order_by_the_api_is_of_the_person_whose_token_it_has() {
    let world = World::reviewed(&["Orch-Writer: coder"]);
    let server = Server::start(&world, &["--no-watch"]);
    let refused = server.by_agent("POST", "/api/v1/tasks/t/approve", "{}");
    assert_ne!(refused.status, 200, "{refused:?}");
    let done = server.post("tasks/t/approve", &json!({}));
    assert_eq!(done.status, 200, "{done:?}");
    let ann = json!({"kind": "human", "name": "Ann <ann@example.com>", "ordered": true});
    assert_eq!(world.noted("code_review"), [ann]);
    assert!(
        world.audited().iter().all(|one| one != "forged"),
        "{:?}",
        world.audited()
    );
}

#[test]
fn what_a_tool_of_the_protocol_writes_is_of_the_agent_that_calls_it() {
    let world = started("planning");
    let mut client = Client::begin(&world);
    let drafted = client.tool("draft", json!({"task": "t"}));
    assert_ne!(drafted["isError"], true, "{drafted:#}");
    client.end();
    assert_eq!(
        world
            .seen_writers()
            .iter()
            .map(|one| one["kind"].clone())
            .collect::<Vec<_>>(),
        ["agent"]
    );
}
