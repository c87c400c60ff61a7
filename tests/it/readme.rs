//! The README and the guides are true: their commands run word for word in an empty directory, and print what the pages
//! show. So do the workflow, the settings and the JSON of the other pages.

use crate::harness::{World, project};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// A fenced block: its info string, the nearest heading above it, its text.
struct Block {
    info: String,
    heading: String,
    text: String,
}

fn page(name: &str) -> String {
    fs::read_to_string(project().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
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

/// The blocks of one kind below one heading of a page.
fn below(name: &str, heading: &str, info: &str) -> Vec<String> {
    let all = blocks(&page(name))
        .into_iter()
        .filter(|block| block.heading == heading && block.info == info);
    let texts: Vec<String> = all.map(|block| block.text).collect();
    assert!(
        !texts.is_empty(),
        "{name}: no `{info}` block below `{heading}`"
    );
    texts
}

/// A user's shell in a new world, with `orch` and the programs of agents on its path.
struct Shell {
    world: World,
    tools: tempfile::TempDir,
    directory: PathBuf,
}

impl Shell {
    fn new(world: World) -> Self {
        let tools = tempfile::tempdir().expect("a directory");
        for program in ["your-agent", "claude", "codex"] {
            write_agent(&tools.path().join(program));
        }
        let directory = world.root();
        Self {
            world,
            tools,
            directory,
        }
    }

    /// Runs a block and returns what it prints. Where it ends is where the next one begins.
    #[track_caller]
    fn run(&mut self, script: &str, code: i32) -> String {
        let orch = Path::new(env!("CARGO_BIN_EXE_orch"))
            .parent()
            .expect("a directory");
        let rest = std::env::var_os("PATH").unwrap_or_default();
        let tools = self.tools.path();
        let path = format!("{}:{}:{}", tools.display(), orch.display(), rest.display());
        let end = tools.join("end");
        let prelude = format!("exec 2>&1; trap 'pwd > {}' EXIT", end.display());
        let mut command = self.world.command("sh");
        command
            .args(["-euc", &format!("{prelude}\n{script}")])
            .env("PATH", path)
            .current_dir(&self.directory)
            .stdin(self.world.keyboard());
        let output = command.output().expect("a shell");
        let shown = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(code), "{script}\n{shown}");
        self.directory = fs::read_to_string(end)
            .expect("where it ended")
            .trim_end()
            .into();
        shown
    }

    /// Plays blocks in their order. `sh` is run, `sh exits with N` too; `text` is what the last one printed; a block with
    /// the name of a file is saved under that name; others only show something.
    #[track_caller]
    fn play(&mut self, blocks: &[Block]) {
        let mut shown = String::new();
        let mut ran = 0;
        for block in blocks {
            let words: Vec<&str> = block.info.split(' ').collect();
            match words[..] {
                ["sh"] => shown = self.run(&block.text, 0),
                ["sh", "exits", "with", code] => {
                    shown = self.run(&block.text, code.parse().expect("an exit code"));
                }
                ["text"] => in_order(&block.text, &shown),
                [_, file] => self.world.write(file, &block.text),
                _ => {}
            }
            ran += usize::from(words[0] == "sh");
        }
        assert!(ran > 2, "nothing was played");
    }
}

/// The blocks of a page below one heading.
fn part(name: &str, heading: &str) -> Vec<Block> {
    let mut all = blocks(&page(name));
    all.retain(|block| block.heading == heading);
    all
}

#[test]
fn the_first_minutes_are_as_the_readme_shows_them() {
    let mut shell = Shell::new(World::without_git());
    shell.play(&part("README.md", "First minutes"));
    assert_eq!(shell.world.phase("fix-login"), "done");
    assert_eq!(shell.world.dirty(), "", "git status shows nothing");
}

/// Each arrow of the picture is one of the workflow; the words beside it are for people.
#[test]
fn the_picture_shows_the_shipped_workflow() {
    let world = World::ready();
    let diagram = world
        .orch(&["workflow", "diagram", "global-state-machine"])
        .succeeds()
        .stdout;
    let arrow = |line: &str| line.split(':').next().expect("a part").trim().to_owned();
    let real: Vec<String> = diagram.lines().map(arrow).collect();
    let picture = below("README.md", "orch", "mermaid").remove(0);
    for line in picture.lines() {
        assert!(real.contains(&arrow(line)), "{line}\n{diagram}");
    }
}

/// In threads, because each waits for many processes.
#[test]
fn the_guides_run_word_for_word() {
    let guides: Vec<PathBuf> = fs::read_dir(project().join("docs/guides"))
        .expect("guides")
        .map(|entry| entry.expect("a guide").path())
        .collect();
    assert!(guides.len() >= 4, "{guides:?}");
    std::thread::scope(|scope| {
        for guide in guides {
            scope.spawn(move || {
                println!("{}", guide.display());
                let text = fs::read_to_string(&guide).expect("a guide");
                Shell::new(World::without_git()).play(&blocks(&text));
            });
        }
    });
}

#[test]
fn the_tables_of_the_guide_about_verifications_can_be_read() {
    let guide = "docs/guides/verifications.md";
    for heading in ["In a task", "Tables"] {
        for table in below(guide, heading, "toml") {
            let (_, findings) = orch_core::config::parse(&table, "orch.toml");
            assert_eq!(findings, [], "{table}");
        }
    }
}

#[test]
fn agents_work_until_a_person_is_needed() {
    let [run] = <[String; 1]>::try_from(below("README.md", "Agents", "sh")).expect("one way");
    let mut shell = Shell::new(World::ready());
    shell.world.orch(&["new", "fix-login"]).succeeds();
    // A run that waits for somebody exits with 3.
    shell.run(&run, 3);
    let world = shell.world;
    assert_eq!(world.phase("fix-login"), "accept");
    world
        .orch(&["suggest", "fix-login", "--for", "human"])
        .succeeds();
    assert_eq!(world.dirty(), "");
}

/// The way that the README shows to let agents work ends, even if the agent does nothing.
#[test]
fn an_idle_agent_ends_the_run_as_stalled() {
    let [run] = <[String; 1]>::try_from(below("README.md", "Agents", "sh")).expect("one way");
    let mut shell = Shell::new(World::ready());
    write_program(
        &shell.tools.path().join("your-agent"),
        "#!/bin/sh\nexit 0\n",
    );
    shell.world.orch(&["new", "fix-login"]).succeeds();
    let shown = shell.run(&run, 1);
    assert!(shown.contains("stalled"), "{shown}");
    let world = shell.world;
    assert!(world.orch(&["runs"]).succeeds().stdout.contains("stalled"));
    assert_eq!(world.phase("fix-login"), "planning");
}

/// A program that is not installed is refused before anything is recorded.
#[test]
fn the_executors_of_the_guide_are_looked_for_first() {
    let world = World::ready();
    let guide = "docs/guides/agent-program.md";
    let settings = below(guide, "Configure who does what", "toml orch.toml").remove(0);
    world.write("orch.toml", settings);
    world.orch(&["new", "fix-login"]).succeeds();
    let mut bare = world.orch_command(&["run", "fix-login", "--dry-run"]);
    let bare = world.end(
        bare.env("PATH", "/nonexistent")
            .output()
            .expect("orch starts"),
    );
    bare.ends(2).reports("claude");
}

#[test]
fn the_settings_are_accepted() {
    let world = World::ready();
    world.write(
        "orch.toml",
        &below("docs/configuration.md", "orch.toml", "toml")[0],
    );
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
[ "$(wc -l < ../calls)" -le 20 ] || { rm -r tasks; exit 1; }
case $file in
*plan.json) echo '{"title": "Login", "what": "Refuse an empty password."}' > "$file" ;;
*verdict.json) echo '{"ok": true, "issues": [], "finished_at": "2026-01-05T10:00:00Z"}' > "$file" ;;
*.patch) printf 'diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n' > "$file" ;;
*) echo '<testsuite tests="1"><testcase name="a"/></testsuite>' > "$(dirname "$file")/junit.xml" ;;
esac
"#;
    write_program(path, script);
}

fn write_program(path: &Path, script: &str) {
    fs::write(path, script).expect("written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("executable");
}

const WORKFLOW_GUIDE: &str = "docs/guides/your-own-workflow.md";

/// The article of the guide, as a document in a new world.
fn world_of_articles() -> (World, String) {
    let world = World::ready();
    let info = "markdown system/workflows/article.md";
    let document = below(WORKFLOW_GUIDE, "Write the document", info).remove(0);
    world.write("system/workflows/article.md", &document);
    (world, document)
}

#[test]
fn the_workflow_is_accepted_and_its_misspelling_is_told() {
    let (world, document) = world_of_articles();
    world.orch(&["workflow", "check", "article"]).succeeds();
    world.write(
        "system/workflows/article.md",
        document.replace("to = \"published\"", "to = \"publised\""),
    );
    let told = world.orch(&["workflow", "check", "article"]).ends(1);
    let shown = below(WORKFLOW_GUIDE, "Check it", "text of a misspelling").remove(0);
    assert!(told.stdout.contains(shown.trim_end()), "{}", told.stdout);
}

/// Whoever has the turn is told what to write, and what it looks like: also a person who cannot just approve.
#[test]
fn a_task_of_the_workflow_tells_its_author_and_its_reader_what_to_do() {
    let (world, _) = world_of_articles();
    world.commit("A workflow for articles");
    world
        .orch(&["new", "spring", "--workflow", "article"])
        .succeeds();
    world
        .orch(&["suggest", "spring"])
        .succeeds()
        .says("write text/text.md");
    world.write(
        "tasks/spring/text/text.md",
        format!("# Spring\n\n{}\n", "It thaws. ".repeat(100)),
    );
    world
        .orch(&["next", "spring"])
        .succeeds()
        .says("drafting -> review");
    let told = world.orch_json(&["suggest", "spring"])["suggestions"][0].clone();
    let first = &told["options"][0];
    assert_eq!(told["owner"], "human", "{told:#}");
    assert_eq!(first["by"], "human", "{told:#}");
    assert_eq!(
        first["argv"],
        serde_json::json!(["orch", "prompt", "spring"])
    );
    let prompt = world.orch(&["prompt", "spring"]).succeeds().stdout;
    for part in [
        "`tasks/spring/text/text.md` (text)",
        "## Write `tasks/spring/review/review.json`",
        "{\"ok\": false, ",
    ] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    world
        .orch(&["draft", "spring"])
        .ends(5)
        .reports("has no schema");
    world.write("tasks/spring/review/review.json", "{\"ok\": true}");
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
    let shown: Value =
        serde_json::from_str(&below("docs/json.md", "`suggestions`", "json")[0]).expect("JSON");
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
    in_order(&below("docs/concepts.md", "Going back", "text")[0], &demo);
    in_order(
        &below("docs/git.md", "A transition is a commit", "text")[0],
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
        !(is_hex && matches!(word.len(), 7 | 10 | 40))
    });
    words.join(" ").trim().to_owned()
}

#[test]
fn the_exit_codes_are_those_of_the_program() {
    let text = page("docs/json.md");
    for code in orch::cli::ExitCode::ALL {
        let meaning = code
            .meaning()
            .replace("--for", "`--for`")
            .replace("orch.toml", "`orch.toml`");
        let row = format!("| {} | {meaning} |", code as u8);
        assert!(text.contains(&row), "no row {row}");
    }
}

/// What a newcomer reads first stays short.
#[test]
fn the_readme_and_the_architecture_are_short() {
    let words = page("README.md").split_whitespace().count();
    assert!(words <= 1300, "README.md: {words} words");
    let bytes = page("ARCHITECTURE.md").len();
    assert!(bytes <= 9 * 1024, "ARCHITECTURE.md: {bytes} bytes");
}

/// What sets up a clone is a target of the Makefile, word for word.
#[test]
fn the_commands_for_a_clone_exist() {
    let makefile = page("Makefile");
    let shown = below("README.md", "Install", "text").concat();
    for target in ["install", "demo", "test"] {
        assert!(shown.contains(&format!("make {target}")), "{target}");
        assert!(makefile.contains(&format!("\n{target}: ")), "{target}");
    }
}
