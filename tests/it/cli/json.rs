//! `--json` is exactly one document on stdout, in success and in failure; exit codes per class.

use crate::harness::{Ended, World, started};
use serde_json::Value;

fn document(arguments: &[&str], ended: &Ended) -> Value {
    let value: Value = serde_json::from_str(&ended.stdout)
        .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {ended:?}"));
    assert!(ended.stdout.ends_with('\n'), "{arguments:?}");
    value
}

fn world() -> World {
    started("review")
}

#[test]
fn every_command_answers_with_one_document() {
    let world = world();
    let commands: &[(&[&str], i32, &str)] = &[
        (&[], 0, "status"),
        (&["status"], 0, "status"),
        (&["init"], 0, "init"),
        (&["suggest"], 0, "suggestions"),
        (&["suggest", "t"], 0, "suggestions"),
        (&["prompt", "t"], 0, "prompt"),
        (&["explain", "t"], 0, "explanations"),
        (&["check"], 0, "findings"),
        (&["log"], 0, "log"),
        (&["log", "t"], 0, "log"),
        (&["next", "t"], 3, "nothing"),
        (&["next", "t", "--to", "accept"], 1, "error"),
        (&["next", "t", "--to", "nowhere"], 2, "error"),
        (&["recover", "t"], 3, "recovery"),
        (&["resolve"], 3, "resolution"),
        (&["resolve", "t"], 3, "resolution"),
        (&["resolve", "t", "--ours"], 2, "error"),
        (
            &["rollback", "t", "--to", "codegen", "--reason", "r"],
            0,
            "transitions",
        ),
        (
            &["confirm", "t", "patch", "--reason", "r"],
            0,
            "transitions",
        ),
        (&["next", "t"], 0, "transitions"),
        (&["new", "u"], 0, "transitions"),
        (&["new", "u"], 2, "error"),
        (&["reopen", "t", "--reason", "r"], 1, "error"),
        (&["hook", "status"], 1, "hooks"),
        (&["hook", "install"], 0, "hooks"),
        (&["hook", "status"], 0, "hooks"),
        (&["hook", "uninstall"], 0, "hooks"),
        (&["hook", "uninstall"], 3, "hooks"),
        (&["workflow", "list"], 0, "workflows"),
        (&["workflow", "check"], 0, "findings"),
        (&["workflow", "show"], 0, "text"),
        (&["workflow", "diagram"], 0, "text"),
        (&["workflow", "fmt"], 0, "formatted"),
        (&["workflow", "show", "nope"], 2, "error"),
        (&["help"], 0, "text"),
        (&["help", "exit-codes"], 0, "text"),
        (&["help", "json-syntax"], 0, "code"),
        (&["completions", "bash"], 0, "text"),
        (&["man", "next"], 0, "text"),
        (&["demo", "../demo"], 0, "demo"),
        (&["trust", "--show"], 0, "trust"),
        (&["nonsense"], 2, "error"),
        (&["suggest", "nope"], 2, "error"),
        (&["schema", "nope"], 2, "error"),
    ];
    for (arguments, code, kind) in commands {
        let ended = world.orch(&[*arguments, &["--json"]].concat());
        let value = document(arguments, &ended);
        assert_eq!(
            (ended.code, value["kind"].as_str()),
            (*code, Some(*kind)),
            "{arguments:?}: {ended:?}"
        );
        assert_eq!(value["schemaVersion"], 1, "{arguments:?}");
        if *kind == "error" {
            assert!(
                value["error"]["code"].is_string() && value["error"]["message"].is_string(),
                "{value:#}"
            );
        }
    }
}

#[test]
fn a_schema_and_its_example_are_documents_themselves() {
    let world = world();
    let schema = document(
        &["schema"],
        &world.orch(&["schema", "plan-review", "--json"]).succeeds(),
    );
    assert!(schema["$schema"].is_string());
    let example = document(
        &["schema"],
        &world
            .orch(&["schema", "plan_review", "--example", "--json"])
            .succeeds(),
    );
    assert!(example["ok"].is_boolean());
}

#[test]
fn a_watch_prints_a_document_a_line() {
    let world = world();
    world.code_review("t", true, 1);
    let ended = world.orch(&["watch", "--once", "--json"]).succeeds();
    let events: Vec<Value> = ended
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("a document a line"))
        .collect();
    assert!(
        events.iter().all(|event| event["kind"] == "event"),
        "{events:#?}"
    );
    assert!(
        events.iter().any(|event| event["event"] == "transition"),
        "{events:#?}"
    );
    assert_eq!(world.phase("t"), "test");
}

#[test]
fn a_step_reads_the_same_in_every_answer() {
    let world = world();
    world.code_review("t", true, 1);
    let answer = |arguments: &[&str]| document(arguments, &world.orch(arguments).succeeds());
    let step = answer(&["next", "t", "--json"])["transitions"][0].clone();
    assert!(step["seq"].is_u64() && step["at"].is_string(), "{step:#}");
    let last = |list: &Value| {
        list.as_array()
            .and_then(|all| all.last())
            .cloned()
            .expect("not empty")
    };
    let logged = last(&answer(&["log", "t", "--json"])["entries"]);
    let audited = last(&last(&answer(&["audit", "--json"])["changes"])["steps"]);
    for key in [
        "task", "path", "seq", "at", "from", "to", "kind", "action", "rule", "reason", "actor",
        "waived", "commit",
    ] {
        assert_eq!(
            (&logged[key], &audited[key]),
            (&step[key], &step[key]),
            "{key}"
        );
    }
    assert_eq!(step["evidence"][0]["path"], logged["evidence"][0]["path"]);
}

#[test]
fn findings_come_in_every_format() {
    let world = world();
    world.write(
        "tasks/t/review/code/verdict.json",
        "{\n  \"ok\": \"yes\"\n}\n",
    );
    let place = "tasks/t/review/code/verdict.json:2:";
    world.orch(&["check"]).ends(1).says(place);
    let json = document(
        &["check"],
        &world.orch(&["check", "--format", "json"]).ends(1),
    );
    assert_eq!(json["findings"][0]["line"], 2, "{json:#}");
    world
        .orch(&["check", "--format", "github"])
        .ends(1)
        .says("::error file=tasks/t/review/code/verdict.json,line=2");
    let sarif = document(
        &["check"],
        &world.orch(&["check", "--format", "sarif"]).ends(1),
    );
    assert_eq!(sarif["version"], "2.1.0");
    assert_eq!(
        sarif["runs"][0]["results"].as_array().map(Vec::len),
        Some(1)
    );
}

#[test]
fn usage_configuration_and_documents_end_with_two() {
    let world = world();
    world.orch(&["next", "t", "--nope"]).ends(2);
    world.write("orch.toml", "version = 1\nsetle_ms = 5\n");
    world
        .orch(&["status"])
        .ends(2)
        .reports("orch.toml:2:1")
        .reports("settle_ms");
    world.git(&["checkout", "-q", "orch.toml"]);
    let path = "system/workflows/global-state-machine.md";
    let text = world
        .read(path)
        .replacen("initial = \"planning\"", "initial = \"planing\"", 1);
    let line = text
        .lines()
        .position(|line| line.contains("\"planing\""))
        .expect("it is there")
        + 1;
    world.write(path, text);
    world
        .orch(&["workflow", "check"])
        .says(&format!("{path}:{line}:"))
        .says("planning");
    world.orch(&["next", "t"]).ends(2);
}

#[test]
fn a_busy_repository_ends_with_four() {
    let world = world();
    world.code_review("t", true, 1);
    world.write(".git/index.lock", "");
    world.orch(&["next", "t"]).ends(4).reports("index.lock");
    assert_eq!(
        document(&["next"], &world.orch(&["next", "t", "--json"]).ends(4))["error"]["code"],
        "busy"
    );
    world.remove(".git/index.lock");
    world.orch(&["next", "t"]).succeeds();
}

#[test]
fn a_dead_lock_of_the_index_is_named_with_its_age_and_the_way_out() {
    let world = world();
    world.code_review("t", true, 1);
    world.write(".git/index.lock", "");
    let lock = std::fs::File::options()
        .write(true)
        .open(world.path(".git/index.lock"))
        .expect("opened");
    let begun = lock
        .metadata()
        .and_then(|metadata| metadata.modified())
        .expect("a time");
    let aged = |seconds: u64| {
        lock.set_modified(begun - std::time::Duration::from_secs(seconds))
            .expect("aged");
    };
    aged(3 * 3600 + 5);
    let left = world
        .orch(&["next", "t"])
        .ends(4)
        .reports("index.lock was left behind 3 hours ago");
    assert!(
        left.stderr
            .contains("hint: remove it: rm [ROOT]/.git/index.lock\n"),
        "{left:?}"
    );
    // A lock that is as old belongs to a git process at work; one that is new may belong to any program.
    let mut git = world.command("git");
    let mut git = git
        .args(["cat-file", "--batch"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .expect("git");
    world
        .orch(&["next", "t"])
        .ends(4)
        .reports("another git process holds");
    drop(git.stdin.take());
    git.wait().expect("ended");
    aged(5);
    let young = world
        .orch(&["next", "t"])
        .ends(4)
        .reports("index.lock has been held for ");
    assert!(
        young
            .stderr
            .contains("hint: try again; if it stays, remove it: rm [ROOT]/.git/index.lock\n")
    );
    world.remove(".git/index.lock");
    world.write(".git/refs/heads/main.lock", "");
    let branch = world
        .orch(&["next", "t"])
        .ends(4)
        .reports("refs/heads/main.lock has been held for ");
    assert!(
        branch
            .stderr
            .contains("if it stays, remove it: rm [ROOT]/.git/refs/heads/main.lock\n")
    );
    world.remove(".git/refs/heads/main.lock");
    world.orch(&["next", "t"]).succeeds();
}

#[test]
fn what_the_repository_does_not_allow_ends_with_five() {
    let world = world();
    world.code_review("t", true, 1);
    let head = world.git(&["rev-parse", "HEAD"]);
    world.git(&["checkout", "-q", "--detach"]);
    world.orch(&["next", "t"]).ends(5).reports("detached");
    world.git(&["checkout", "-q", "main"]);
    for (file, word) in [
        ("MERGE_HEAD", "merge"),
        ("CHERRY_PICK_HEAD", "cherry-pick"),
        ("REVERT_HEAD", "revert"),
    ] {
        world.write(&format!(".git/{file}"), &head);
        world.orch(&["next", "t"]).ends(5).reports(word);
        world.remove(&format!(".git/{file}"));
    }
    world.write(".git/BISECT_LOG", "");
    world.orch(&["next", "t"]).ends(5).reports("bisect");
    world.remove(".git/BISECT_LOG");
    let settings = world.read("orch.toml");
    world.write(
        "orch.toml",
        settings.replace("#protected = []", "protected = [\"main\", \"release/*\"]"),
    );
    world.orch(&["next", "t"]).ends(5).reports("protected");
    world.write("orch.toml", settings);
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    world.orch(&["next", "t"]).succeeds();
}

#[test]
fn without_an_identity_it_ends_with_five() {
    let world = world();
    world.code_review("t", true, 1);
    let mut command = world.orch_command(&["next", "t"]);
    for name in [
        "GIT_AUTHOR_NAME",
        "GIT_AUTHOR_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_COMMITTER_EMAIL",
    ] {
        command.env_remove(name);
    }
    let output = command.output().expect("orch runs");
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("git config user.name"),
        "{output:?}"
    );
    assert_eq!(world.phase("t"), "review");
}

#[test]
fn a_detached_head_is_allowed_where_the_settings_say_so() {
    let world = world();
    world.write(
        "orch.toml",
        world
            .read("orch.toml")
            .replace("#detached_head = false", "detached_head = true"),
    );
    world.commit("Allow it");
    world.git(&["checkout", "-q", "--detach"]);
    let main = world.git(&["rev-parse", "main"]);
    world.code_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(world.git(&["rev-parse", "HEAD^"]), main);
    assert_eq!(world.git(&["rev-parse", "main"]), main);
    assert_eq!(world.dirty(), "");
}

#[test]
fn the_exit_codes_are_documented() {
    let world = World::new();
    let text = world.orch(&["help", "exit-codes"]).succeeds().stdout;
    for code in ["0", "1", "2", "3", "4", "5", "70", "130"] {
        assert!(
            text.lines()
                .any(|line| line.trim_start().starts_with(&format!("{code} "))),
            "{code}: {text}"
        );
    }
}
