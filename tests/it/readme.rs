//! The README is true: its commands run word for word, its workflow and its settings are accepted, its
//! JSON and its transcript are what the program prints.

use crate::harness::{World, eventually, project};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// A fenced block: its info string, the nearest heading above it, its text.
struct Block {
    info: String,
    heading: String,
    text: String,
}

fn readme() -> String {
    fs::read_to_string(project().join("README.md")).expect("a README")
}

fn blocks(text: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut heading = String::new();
    let mut open: Option<(String, Block)> = None;
    for line in text.lines() {
        match &mut open {
            Some((fence, _)) if line == fence => found.extend(open.take().map(|(_, block)| block)),
            Some((_, block)) => block.text.push_str(&format!("{line}\n")),
            None if line.starts_with("```") => {
                let info = line.trim_start_matches('`');
                let fence = "`".repeat(line.len() - info.len());
                let block = Block {
                    info: info.to_owned(),
                    heading: heading.clone(),
                    text: String::new(),
                };
                open = Some((fence, block));
            }
            None if line.starts_with('#') => {
                line.trim_start_matches(['#', ' ']).clone_into(&mut heading)
            }
            None => {}
        }
    }
    assert!(open.is_none(), "a block is never closed");
    found
}

/// The blocks of one kind below one heading.
fn below(heading: &str, info: &str) -> Vec<String> {
    let all = blocks(&readme())
        .into_iter()
        .filter(|block| block.heading == heading && block.info == info);
    let texts: Vec<String> = all.map(|block| block.text).collect();
    assert!(!texts.is_empty(), "no `{info}` block below `{heading}`");
    texts
}

/// Runs a block as a user's shell would, with `orch` and `tools` on the path.
#[track_caller]
fn shell(world: &World, script: &str, tools: &Path) -> String {
    let orch = Path::new(env!("CARGO_BIN_EXE_orch"))
        .parent()
        .expect("a directory");
    let rest = std::env::var_os("PATH").unwrap_or_default();
    let path = format!("{}:{}:{}", tools.display(), orch.display(), rest.display());
    let mut command = world.command("sh");
    command
        .args(["-euc", script])
        .env("PATH", path)
        .stdin(world.keyboard());
    let output = command.output().expect("a shell");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(
        output.status.success(),
        "{script}\nstdout:\n{stdout}\nstderr:\n{stderr}"
    );
    stdout
}

#[test]
fn the_quick_start_runs_word_for_word() {
    let world = World::without_git();
    let nowhere = Path::new("/nonexistent");
    let mut watch = None;
    // What each block leads to; the watch needs a moment for its part.
    let phases = [
        "planning",
        "planning",
        "plan_review",
        "planning",
        "planning",
    ];
    let scripts = below("Quick start", "sh");
    assert_eq!(scripts.len(), phases.len());
    let mut shown = String::new();
    for (script, phase) in scripts.iter().zip(phases) {
        if script.trim() == "orch watch" {
            watch = Some(world.orch_spawn(&["watch"]));
            continue;
        }
        shown = shell(&world, script, nowhere);
        eventually(phase, || world.phase("fix-login") == phase);
    }
    let mut watch = watch.expect("the quick start has a watch");
    watch.kill().expect("the watch runs to the end");
    watch.wait().expect("it ended");
    assert!(
        shown.contains("plan-refused")
            && shown.contains("orch(fix-login): plan_review -> planning"),
        "{shown}"
    );
    assert_eq!(world.dirty(), "", "git status shows nothing");
}

#[test]
fn agents_work_until_a_person_is_needed() {
    let tools = tempfile::tempdir().expect("a directory");
    write_agent(&tools.path().join("your-agent"));
    let [run] = <[String; 1]>::try_from(below("Agents at work", "sh")).expect("one way");
    // A run that waits for somebody exits with 3.
    let script = format!("{} || [ $? -eq 3 ]", run.trim_end());
    let world = World::ready();
    world.orch(&["new", "fix-login"]).succeeds();
    shell(&world, &script, tools.path());
    assert_eq!(world.phase("fix-login"), "accept");
    world
        .orch(&["suggest", "fix-login", "--for", "human"])
        .succeeds();
    assert_eq!(world.dirty(), "");
}

/// The way that the README shows to let agents work ends, even if the agent does nothing.
#[test]
fn an_idle_agent_ends_the_run_as_stalled() {
    let tools = tempfile::tempdir().expect("a directory");
    let path = tools.path().join("your-agent");
    fs::write(&path, "#!/bin/sh\nexit 0\n").expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
    let [run] = <[String; 1]>::try_from(below("Agents at work", "sh")).expect("one way");
    let world = World::ready();
    world.orch(&["new", "fix-login"]).succeeds();
    let shown = shell(
        &world,
        &format!("{} || [ $? -eq 1 ]", run.trim_end()),
        tools.path(),
    );
    assert!(shown.contains("stalled"), "{shown}");
    assert!(world.orch(&["runs"]).succeeds().stdout.contains("stalled"));
    assert_eq!(world.phase("fix-login"), "planning");
}

#[test]
fn the_executors_are_accepted() {
    let world = World::ready();
    world.write("orch.toml", &below("Agents at work", "toml")[0]);
    world.orch(&["new", "fix-login"]).succeeds();
    // A program that is not installed is refused before anything is recorded.
    let mut bare = world.orch_command(&["run", "fix-login", "--dry-run"]);
    let bare = world.end(
        bare.env("PATH", "/nonexistent")
            .output()
            .expect("orch starts"),
    );
    bare.ends(2).reports("claude");
    let tools = tempfile::tempdir().expect("a directory");
    for program in ["claude", "codex"] {
        write_agent(&tools.path().join(program));
    }
    let told = shell(&world, "orch run fix-login --dry-run", tools.path());
    assert!(told.contains("planner"), "{told}");
}

#[test]
fn the_orders_of_people_are_carried_out_word_for_word() {
    let world = World::ready();
    let scripts = below("When a person knows better", "sh");
    let nowhere = Path::new("/nonexistent");
    world.orch(&["new", "fix-login"]).succeeds();
    world.walk_to("fix-login", "codegen");
    let told = shell(&world, &scripts[0], nowhere);
    assert!(
        told.contains("codegen -> review") && told.contains("review -> planning"),
        "{told}"
    );
    assert_eq!(world.phase("fix-login"), "planning");
    world
        .orch(&["next", "fix-login"])
        .succeeds()
        .says("planning -> plan_review");

    let done = World::ready();
    done.orch(&["new", "fix-login"]).succeeds();
    done.walk_to("fix-login", "done");
    shell(&done, &scripts[1], nowhere);
    assert_eq!(done.phase("fix-login"), "accept");
}

#[test]
fn the_settings_are_accepted() {
    let world = World::ready();
    world.write("orch.toml", &below("Configuration", "toml")[0]);
    world.orch(&["new", "fix-login"]).succeeds();
    world.write("openspec/changes/add-login/proposal.md", "# Add a login\n");
    let status = world.orch(&["status"]).succeeds();
    assert!(
        status.stdout.contains("fix-login") && status.stdout.contains("add-login"),
        "{status:?}"
    );
    assert_eq!(status.stderr, "");
    world.git(&["switch", "-q", "-c", "release/1"]);
    world.plan("fix-login", 1);
    world
        .orch(&["next", "fix-login"])
        .ends(5)
        .reports("release/1");
}

/// An agent that reads its instruction and writes what it asks for; it refuses to go round for ever.
fn write_agent(path: &Path) {
    let script = r#"#!/bin/sh
set -eu
file=$(sed -n 's/^## Write `\(.*\)`.*/\1/p' | head -n 1)
mkdir -p "$(dirname "$file")"
echo "$file" >> ../calls
[ "$(wc -l < ../calls)" -le 10 ] || { rm -r tasks; exit 1; }
case $file in
*plan.json) echo '{"title": "Login", "what": "Refuse an empty password."}' > "$file" ;;
*review.json) echo '{"ok": true, "issues": [], "finished_at": "2026-01-05T10:00:00Z"}' > "$file" ;;
*.patch) printf 'diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n' > "$file" ;;
*) echo '<testsuite tests="1"><testcase name="a"/></testsuite>' > "$(dirname "$file")/junit.xml" ;;
esac
"#;
    fs::write(path, script).expect("written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("executable");
}

#[test]
fn the_workflow_is_accepted_and_its_misspelling_is_told() {
    let world = World::ready();
    let document = below("The workflow document", "markdown").remove(0);
    let path = "system/workflows/article.md";
    world.write(path, &document);
    world.orch(&["workflow", "check", "article"]).succeeds();
    world.write(
        path,
        document.replace("to = \"published\"", "to = \"publised\""),
    );
    let told = world.orch(&["workflow", "check", "article"]).ends(1);
    let shown = below("The workflow document", "text").remove(0);
    assert!(told.stdout.contains(shown.trim_end()), "{}", told.stdout);
}

/// Whoever has the turn is told what to write, and what it looks like: also a person who cannot just approve.
#[test]
fn a_task_of_the_workflow_tells_its_author_and_its_reader_what_to_do() {
    let world = World::ready();
    let document = below("The workflow document", "markdown").remove(0);
    world.write("system/workflows/article.md", &document);
    let asked = shell(
        &world,
        &below("The workflow document", "sh")[0],
        Path::new("/nonexistent"),
    );
    assert!(asked.contains("write text.md"), "{asked}");
    world.write(
        "tasks/spring/text.md",
        format!("# Spring\n\n{}\n", "It thaws. ".repeat(100)),
    );
    world
        .orch(&["next", "spring"])
        .succeeds()
        .says("drafting -> review");
    let told = world.orch_json(&["suggest", "spring"])["suggestions"][0].clone();
    let first = &told["options"][0];
    assert_eq!(
        (&told["owner"], &first["by"]),
        (&"human".into(), &"human".into()),
        "{told:#}"
    );
    assert_eq!(
        first["argv"],
        serde_json::json!(["orch", "prompt", "spring"])
    );
    let prompt = world.orch(&["prompt", "spring"]).succeeds().stdout;
    for part in [
        "`tasks/spring/text.md` (text)",
        "## Write `tasks/spring/review.json`",
        "{\"ok\": false, ",
    ] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    world
        .orch(&["draft", "spring"])
        .ends(5)
        .reports("has no schema");
    world.write("tasks/spring/review.json", "{\"ok\": true}");
    world
        .orch(&["next", "spring"])
        .succeeds()
        .says("review -> published");
    world.orch(&["audit"]).succeeds();
}

#[test]
fn the_json_is_what_suggest_prints() {
    let world = World::ready();
    world.orch(&["new", "fix-login"]).succeeds();
    let shown: Value = serde_json::from_str(&below("JSON", "json")[0]).expect("JSON");
    let real = world.orch_json(&["suggest", "fix-login"]);
    part_of(&shown, &real, "");
}

/// Every member that is shown has that value in the real answer, which may hold more.
fn part_of(shown: &Value, real: &Value, at: &str) {
    match (shown, real) {
        (Value::Object(shown), Value::Object(real)) => {
            for (key, value) in shown {
                part_of(
                    value,
                    real.get(key).unwrap_or(&Value::Null),
                    &format!("{at}/{key}"),
                );
            }
        }
        (Value::Array(shown), Value::Array(real)) => {
            assert_eq!(shown.len(), real.len(), "{at}");
            shown
                .iter()
                .zip(real)
                .for_each(|(shown, real)| part_of(shown, real, at));
        }
        _ => assert_eq!(shown, real, "{at}"),
    }
}

#[test]
fn the_transcript_is_what_the_demo_prints() {
    let world = World::without_git();
    let demo = world.orch(&["demo", "sample"]).succeeds().stdout;
    assert!(
        demo.lines().all(|line| line.chars().count() < 100),
        "{demo}"
    );
    assert!(demo.contains("now in done"), "{demo}");
    let shown = below("A task from plan to done", "text");
    in_order(&shown[0], &demo);
    in_order(
        &shown[1],
        &world.git(&["-C", "sample", "log", "--reverse", "--format=%B"]),
    );
}

/// Every line that is shown is in the real text, in the same order.
#[track_caller]
fn in_order(shown: &str, real: &str) {
    let mut told = real.lines().map(without_ids);
    for line in shown.lines().map(without_ids) {
        assert!(
            told.any(|real| real == line),
            "not said, or not there: {line}\n{real}"
        );
    }
}

/// A line without what differs from run to run: the ids of commits and blobs.
fn without_ids(line: &str) -> String {
    let mut words: Vec<&str> = line.split([' ', '@']).collect();
    words.retain(|word| {
        let is_hex = word.chars().all(|letter| letter.is_ascii_hexdigit());
        !(is_hex && matches!(word.len(), 7 | 40))
    });
    words.join(" ").trim_end().to_owned()
}

#[test]
fn the_exit_codes_are_those_of_the_program() {
    let readme = readme();
    for code in orch::cli::ExitCode::ALL {
        let meaning = code
            .meaning()
            .replace("--for", "`--for`")
            .replace("orch.toml", "`orch.toml`");
        let row = format!("| {} | {meaning} |", code as u8);
        assert!(readme.contains(&row), "no row {row}");
    }
}
