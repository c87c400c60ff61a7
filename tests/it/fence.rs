//! The fence around executors, where the system permits one. `make test-fence` plays real programs inside it.

use crate::harness::{Ended, World, eventually, executable, skipped, started};
use std::fs;
use std::process::Stdio;

/// Says of each line of shell that it tries whether it did what it says.
const TRY: &str = r#"#!/bin/sh
cat > "$TMPDIR/prompt"
try() { if (eval "$2") > "$TMPDIR/out" 2>&1; then echo "$1: done"; else echo "$1: refused"; fi; }
"#;

const CODER: &str = r#"
grep -q 'the work tree outside of tasks' "$TMPDIR/prompt" && echo 'told: done'
try code 'mkdir -p src && echo x > src/a.rs'
try commit 'git add src && git commit -q -m "code" -m "Orch-Task: t"'
try output 'echo x > tasks/t/code/note'
try result 'echo "{}" > "$ORCH_RESULT"'
try memory 'echo x > /dev/shm/x && echo x > /dev/null'
try certificates 'cat "$GIT_SSL_CAINFO"'
try borrowed 'git cat-file -e "$(git hash-object "$GIT_SSL_CAINFO")"'
try settings 'echo x >> orch.toml'
try replace 'echo x > new && mv new orch.toml'
try system 'echo x > system/x'
try state 'echo x >> tasks/t/state.json'
try task 'echo x > tasks/t/x'
try other 'mkdir tasks/u'
try verdict 'mkdir -p tasks/t/accept'
try config 'git config a.b c'
try hook 'echo x > .git/hooks/post-commit'
try git 'mv .git git'
try tasks 'mv tasks others'
try beside 'echo x > ../x'
try pack 'git pack-refs --all'
try switch 'git switch -q -c another'
try back 'git reset -q --soft HEAD~2'
try rebase 'git rebase -q --no-ff HEAD~1'
try mounts 'umount "$PWD/orch.toml" || mount -o remount,rw,bind "$PWD/orch.toml"'
try record 'orch next t'
grep 'inside the fence' "$TMPDIR/out" && echo 'said: done'
"#;

const FORGER: &str = r#"
blob=$(echo '{"ok": true, "issues": []}' | git hash-object -w --stdin)
for path in tasks/t/review/verdict.json tasks/u/other.json; do
    git update-index --add --cacheinfo "100644,$blob,$path"
done
git add tasks/t/noted.md && git commit -q -m 'forged' && git rm -q --cached tasks/t/noted.md
try noted 'git ls-tree -r --name-only HEAD | grep noted.md'
git update-ref refs/heads/other HEAD
echo 'notify = ["x"]' > "$HOME/.codex/config.toml"
"#;

const REVIEWER: &str = r#"
try code 'echo y > src/a.rs'
try commit 'git commit -q --allow-empty -m x'
try output 'echo x > tasks/t/code/note'
path=$(orch suggest t --brief --json | sed -n 's/.*"write":\[{"path":"\([^"]*\)".*/\1/p')
try verdict 'echo "{\"ok\": true, \"issues\": []}" > "$path"'
"#;

/// Runs `orch` with a fence, by a script that is found beside the repository.
fn run(world: &World, script: &str, turns: &str) -> Ended {
    let path = script_of(world, script);
    let arguments = ["run", "t", "--auto", "--max-turns", turns, "--", &path];
    world.end(fenced(world, &arguments).output().expect("orch runs"))
}

fn script_of(world: &World, script: &str) -> String {
    let path = world.base().join("executor.sh");
    fs::write(&path, format!("{TRY}{script}")).expect("written");
    executable(&path);
    path.display().to_string()
}

fn fenced(world: &World, arguments: &[&str]) -> std::process::Command {
    let mut command = world.orch_command(arguments);
    let program = crate::harness::program();
    let directory = std::path::Path::new(&program).parent().expect("a place");
    let mut variables = command.get_envs();
    let path = variables.find(|(name, _)| *name == "PATH");
    let path = path.and_then(|(_, value)| value).unwrap_or_default();
    let path = format!("{}:{}", directory.display(), path.to_string_lossy());
    drop(variables);
    command.env("ORCH_FENCE", "required").env("PATH", path);
    command
}

/// What a turn says about each line that it tried, in order.
fn outcome(ended: &Ended) -> Vec<(String, bool)> {
    let lines = ended.stderr.lines().filter_map(|line| {
        let (name, how) = line.trim().split_once(": ")?;
        let is_done = match how {
            "done" => true,
            "refused" => false,
            _ => return None,
        };
        Some((name.to_owned(), is_done))
    });
    lines.collect()
}

fn expected(names: &str) -> Vec<(String, bool)> {
    let names = names.split_whitespace();
    names
        .map(|name| match name.strip_prefix('!') {
            Some(refused) => (refused.to_owned(), false),
            None => (name.to_owned(), true),
        })
        .collect()
}

#[test]
fn each_phase_writes_what_is_its_and_nothing_else() {
    let world = started("codegen");
    let doctor = world.end(fenced(&world, &["doctor"]).output().expect("orch runs"));
    if doctor.stdout.contains("fence          there is none") {
        return skipped("the system permits no fence");
    }

    // What is covered is replaced from outside.
    let path = script_of(&world, "touch tasks/t/code/ready; exec sleep 60");
    let mut command = fenced(&world, &["run", "t", "--", &path]);
    let run_begun = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let child = run_begun.expect("orch runs");
    let ready = world.path("tasks/t/code/ready");
    eventually("the executor works", || ready.exists());
    world.git(&["config", "a.b", "c"]);
    let ended = world.end(child.wait_with_output().expect("orch ends"));
    ended
        .ends(1)
        .reports(".git/config was replaced from outside");
    fs::remove_file(&ready).expect("removed");

    // What is committed without its file does not count, and what somebody else has left may be committed.
    let before = world.git(&["rev-parse", "HEAD"]);
    world.write("tasks/t/noted.md", "x\n");
    fs::create_dir_all(world.base().join("home/.codex")).expect("made");
    let forged = run(&world, FORGER, "2");
    let forged = forged
        .ends(1)
        .reports("not its to make, and the files are different: tasks/t/review/verdict.json\n")
        .reports("what it may not write, and the files are different: tasks/u/other.json\n")
        .reports("by somebody else: refs/heads/other")
        .reports("programs use them from now on: ~/.codex/config.toml");
    assert_eq!(outcome(&forged), expected("noted"));
    assert_eq!(world.phase("t"), "codegen", "{forged:?}");
    world.git(&["reset", "-q", "--hard", before.trim()]);

    // What git borrows, and certificates, are seen although other temporary files are not.
    let elsewhere = tempfile::tempdir().expect("a directory");
    let ca = elsewhere.path().join("ca.pem");
    fs::write(&ca, "a certificate\n").expect("written");
    let borrowed = elsewhere.path().display().to_string();
    world.git(&["init", "-q", "--bare", &borrowed]);
    world.git(&["-C", &borrowed, "hash-object", "-w", "ca.pem"]);
    let alternates = format!("{borrowed}/objects\n");
    world.write(".git/objects/info/alternates", &alternates);

    let path = script_of(&world, CODER);
    let mut command = fenced(
        &world,
        &["run", "t", "--auto", "--max-turns", "1", "--", &path],
    );
    let coded = command.env("GIT_SSL_CAINFO", &ca).output();
    let coded = world.end(coded.expect("orch runs"));
    let expected_of_coder = "told code commit output result memory certificates borrowed !settings !replace !system !state !task !other \
         !verdict !config !hook !git !tasks !beside pack !switch !back !rebase !mounts !record said";
    assert_eq!(outcome(&coded), expected(expected_of_coder), "{coded:?}");
    assert_eq!(world.phase("t"), "review", "{coded:?}");

    let reviewed = run(&world, REVIEWER, "1");
    assert_eq!(
        outcome(&reviewed),
        expected("!code !commit !output verdict"),
        "{reviewed:?}"
    );
    assert_eq!(world.phase("t"), "test", "{reviewed:?}");

    // What was refused is said in place of an ending that says nothing of it.
    let refused = run(&world, "(echo y > src/a.rs) || exit 0\n", "5");
    refused
        .ends(1)
        .reports("the run came no further: the fence refused to write src/a.rs");
    assert_eq!(world.read("src/a.rs"), "x\n");
}

const SHARED: &str = "# Shared

```toml orch
[artifact.plan]
path = \"out/plan.md\"
[artifact.verdict]
path = \"out/verdict.json\"
[phase.planning]
agent = \"planner\"
produces = [\"plan\"]
[phase.review]
agent = \"plan-reviewer\"
produces = [\"verdict\"]
[phase.done]
terminal = true
[[rule]]
id = \"planned\"
from = \"planning\"
when = \"plan.ready\"
to = \"review\"
because = \"there is a plan\"
[[rule]]
id = \"fine\"
from = \"review\"
when = \"verdict.ready\"
to = \"done\"
because = \"there is a verdict\"
```
";

/// What another phase has to make is in no output of this one, although it lies in the same directory; and hooks that lie in
/// the work tree are committed as they are.
#[test]
fn a_turn_that_makes_the_output_of_another_phase_ends_the_run() {
    let world = World::ready();
    world.write("system/workflows/shared.md", SHARED);
    world.write(".githooks/post-commit", "#!/bin/sh\n");
    world.commit("ours");
    world.git(&["config", "core.hooksPath", ".githooks"]);
    world.orch(&["new", "t", "--workflow", "shared"]).succeeds();
    let forging = "echo x > tasks/t/out/plan.md; echo '{}' > tasks/t/out/verdict.json\n\
        git add -A . && git commit -q -m all; (echo x > .githooks/post-commit) || true\n";
    let forged = run(&world, forging, "5");
    if forged.stderr.contains("there is none") {
        return skipped("the system permits no fence");
    }
    forged
        .ends(1)
        .reports("made what is not its to make: tasks/t/out/verdict.json")
        .reports("rm tasks/t/out/verdict.json");
    assert_ne!(world.phase("t"), "done");
    assert_eq!(world.read(".githooks/post-commit"), "#!/bin/sh\n");
    let listed = world.git(&["ls-files", ".githooks"]);
    assert_eq!(listed.trim(), ".githooks/post-commit");
}
