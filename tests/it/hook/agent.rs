//! `orch hook agent`: the hooks of agent programs, with inputs as they write them.

use crate::harness::{Ended, World, project, started};
use orch_read::Schema;
use serde_json::{Value, json};
use std::fs;
use std::io::Write as _;
use std::process::Stdio;

const EVENTS: [&str; 5] = [
    "session-start",
    "user-prompt-submit",
    "pre-tool-use",
    "stop",
    "statusline",
];

/// The recorded input of an event, in the repository of a world.
fn recorded(world: &World, event: &str) -> Value {
    let path = project().join(format!("fixtures/agents/claude/{event}.json"));
    let text = fs::read_to_string(path).expect("a recorded input");
    serde_json::from_str(&text.replace("[CWD]", &world.root().to_string_lossy())).expect("JSON")
}

fn fed(world: &World, mut command: std::process::Command, input: &str) -> Ended {
    command
        .env("CLAUDECODE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("started");
    // A hook that reads nothing closes the pipe.
    let _ = child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(input.as_bytes());
    world.end(child.wait_with_output().expect("ended"))
}

/// The answer of a hook to an input; null if it says nothing. It always succeeds.
#[track_caller]
fn hook(world: &World, event: &str, input: &Value) -> Value {
    let ended = fed(
        world,
        world.orch_command(&["hook", "agent", event]),
        &input.to_string(),
    )
    .succeeds();
    if ended.stdout.is_empty() {
        Value::Null
    } else {
        serde_json::from_str(&ended.stdout).expect("JSON")
    }
}

/// Whether a write to a path is refused, and why.
#[track_caller]
fn refused(world: &World, path: &str) -> Option<String> {
    let mut input = recorded(world, "pre-tool-use");
    input["tool_input"]["file_path"] = path.into();
    let answer = hook(world, "pre-tool-use", &input);
    let output = &answer["hookSpecificOutput"];
    assert!(
        answer.is_null() || output["permissionDecision"] == "deny",
        "{answer}"
    );
    output["permissionDecisionReason"]
        .as_str()
        .map(str::to_owned)
}

#[test]
fn recorded_inputs_fit_the_schemas_that_ship() {
    let world = World::new();
    for event in EVENTS {
        let path = format!("system/schemas/input/agent-{event}.schema.json");
        let text = fs::read_to_string(project().join(&path)).expect("a schema");
        let schema = Schema::compile(&path, &text).expect("valid");
        assert_eq!(schema.validate(&recorded(&world, event)), []);
        assert_ne!(schema.validate(&json!({"cwd": 1})), []);
    }
}

#[test]
fn a_session_begins_with_where_the_task_stands_and_the_environment_of_an_agent() {
    let world = started("codegen");
    world.write("env", "export A=1");
    let command = || world.orch_command(&["hook", "agent", "session-start", "--env-file", "env"]);
    for _ in 0..2 {
        let input = recorded(&world, "session-start").to_string();
        let answer: Value =
            serde_json::from_str(&fed(&world, command(), &input).succeeds().stdout).expect("JSON");
        let output = &answer["hookSpecificOutput"];
        assert_eq!(output["hookEventName"], "SessionStart");
        let text = output["additionalContext"].as_str().expect("a text");
        assert!(
            text.contains("t (codegen): agent: write") && text.contains("$ orch prompt t"),
            "{text}"
        );
    }
    let env = world.read("env");
    assert!(env.starts_with("export A=1\n"), "{env}");
    assert_eq!(env.matches("ORCH_ACTOR=").count(), 1, "once");
    // The agent of a run keeps the name that the run gave it, and nobody else becomes a person.
    for (before, expected) in [
        (None, "agent:Claude Code"),
        (Some(""), "agent:Claude Code"),
        (Some("agent:code-reviewer"), "agent:code-reviewer"),
        (Some("human:Ann"), "agent:Claude Code"),
    ] {
        let mut shell = world.command("sh");
        shell.args(["-euc", ". ./env; printf %s \"$ORCH_ACTOR\""]);
        shell.envs(before.map(|actor| ("ORCH_ACTOR", actor)));
        assert_eq!(
            world
                .end(shell.output().expect("sh runs"))
                .succeeds()
                .stdout,
            expected,
            "{before:?}"
        );
    }
    let answer = hook(
        &world,
        "user-prompt-submit",
        &recorded(&world, "user-prompt-submit"),
    );
    assert_eq!(
        answer["hookSpecificOutput"]["hookEventName"],
        "UserPromptSubmit"
    );
    // The variable with the name of the file may be unset.
    let command = world.orch_command(&["hook", "agent", "session-start", "--env-file", ""]);
    fed(
        &world,
        command,
        &recorded(&world, "session-start").to_string(),
    )
    .succeeds()
    .says("codegen");
}

#[test]
fn records_and_rules_are_not_written_by_an_agent_and_its_own_files_are() {
    let world = started("codegen");
    let root = world.root();
    std::os::unix::fs::symlink("tasks/t/transcript.jsonl", world.path("link")).expect("a link");
    for (path, why) in [
        ("tasks/t/state.json", "which only orch writes"),
        ("tasks/./t/../t/transcript.jsonl", "which only orch writes"),
        ("tasks/t/suggestion.json", "which only orch writes"),
        ("tasks/new/state.json", "which only orch writes"),
        ("link", "which only orch writes"),
        ("tasks/t/.orch/run.json", "which only orch writes"),
        (".git/orch/lock", "keeps its own files"),
        ("orch.toml", "a person changes the rules"),
        ("system/workflows/mine.md", "a person changes the rules"),
        (".claude/settings.json", "registers the hooks"),
        (".claude/settings.local.json", "registers the hooks"),
        (".codex/hooks.json", "registers the hooks"),
        (".gemini/settings.json", "registers the hooks"),
        (".qwen/settings.json", "registers the hooks"),
        (".github/hooks/mine.json", "registers the hooks"),
        ("tasks/t/accept/decision.json", "in which a person decides"),
    ] {
        for path in [
            path.to_owned(),
            root.join(path).to_string_lossy().into_owned(),
        ] {
            let reason = refused(&world, &path).unwrap_or_else(|| panic!("{path} may be written"));
            assert!(reason.contains(why), "{path}: {reason}");
        }
    }
    for path in [
        "tasks/t/code/diff.patch",
        "tasks/t/notes/state.json",
        "src/state.json",
        "README.md",
        ".claude/commands/mine.md",
        "/tmp/orch.toml",
    ] {
        assert_eq!(refused(&world, path), None, "{path}");
    }
    // What a shell does is not guessed, and a tool that reads may read.
    for (tool, arguments) in [
        (
            "Bash",
            json!({"command": "rm tasks/t/state.json", "file_path": "tasks/t/state.json"}),
        ),
        ("Read", json!({"file_path": "tasks/t/state.json"})),
        ("Write", json!({})),
        ("view", json!({"path": "tasks/t/state.json"})),
    ] {
        let mut input = recorded(&world, "pre-tool-use");
        (input["tool_name"], input["tool_input"]) = (tool.into(), arguments);
        assert_eq!(hook(&world, "pre-tool-use", &input), Value::Null, "{tool}");
    }
    // Each program names its tools and their arguments in its own way, and reads the answer in its own way.
    let patch = "*** Begin Patch\n*** Add File: ok\n+x\n*** Update File: orch.toml\n@@\n-a\n*** End Patch\n";
    let claude = "/hookSpecificOutput/permissionDecision";
    for (event, tool, arguments, decision) in [
        (
            "PreToolUse",
            "NotebookEdit",
            json!({"notebook_path": "orch.toml"}),
            claude,
        ),
        ("PreToolUse", "Write", json!({"path": "orch.toml"}), claude),
        (
            "PreToolUse",
            "apply_patch",
            json!({"command": patch}),
            claude,
        ),
        (
            "PreToolUse",
            "write_file",
            json!({"file_path": "orch.toml"}),
            claude,
        ),
        (
            "BeforeTool",
            "replace",
            json!({"file_path": "orch.toml"}),
            "/decision",
        ),
        (
            "",
            "create",
            json!({"path": "orch.toml"}),
            "/permissionDecision",
        ),
        ("", "apply_patch", json!(patch), "/permissionDecision"),
        (
            "",
            "edit",
            json!("{\"path\": \"orch.toml\"}"),
            "/permissionDecision",
        ),
    ] {
        let cwd = world.root().to_string_lossy().into_owned();
        let input = if event.is_empty() {
            json!({"sessionId": "s", "cwd": cwd, "toolName": tool, "toolArgs": arguments})
        } else {
            json!({"session_id": "s", "cwd": cwd, "hook_event_name": event, "tool_name": tool, "tool_input": arguments})
        };
        let answer = hook(&world, "pre-tool-use", &input);
        let decided = answer.pointer(decision);
        assert_eq!(decided, Some(&json!("deny")), "{event} {tool}: {answer}");
        assert!(answer.to_string().contains("a person changes the rules"));
    }
}

#[test]
fn copilot_is_told_where_the_task_stands_in_its_own_words() {
    let world = started("codegen");
    let input = json!({"sessionId": "s", "cwd": world.root(), "source": "new"});
    let answer = hook(&world, "session-start", &input);
    let text = answer["additionalContext"].as_str().expect("a text");
    assert!(text.contains("t (codegen): agent: write"), "{answer}");
}

#[test]
fn code_that_belongs_to_another_phase_is_not_written() {
    let world = World::ready();
    let text = world.read("system/workflows/global-state-machine.md");
    let text = text.replacen(
        "[phase.codegen]\n",
        "[phase.codegen]\ntouches = [\"src/**\"]\n",
        1,
    );
    world.write("system/workflows/global-state-machine.md", text);
    world.commit("src belongs to codegen");
    world.orch(&["new", "t"]).succeeds();
    world.git(&["switch", "-q", "-c", "task/t"]);
    let reason = refused(&world, "src/main.rs").expect("refused in planning");
    assert!(
        reason.contains("src/main.rs may change in codegen; task t is in planning"),
        "{reason}"
    );
    world.walk_to("t", "codegen");
    assert_eq!(refused(&world, "src/main.rs"), None);
}

#[test]
fn an_agent_is_kept_from_stopping_while_it_must_act_and_never_for_ever() {
    let world = started("codegen");
    let stop_in = |session: &str, active: bool| {
        let mut input = recorded(&world, "stop");
        input["stop_hook_active"] = active.into();
        input["session_id"] = session.into();
        let answer = hook(&world, "stop", &input);
        assert!(
            answer.is_null() || answer["decision"] == "block",
            "{answer}"
        );
        answer["reason"].as_str().map(str::to_owned)
    };
    let stop = |active: bool| stop_in("a", active);
    assert_eq!(
        stop(false),
        None,
        "neither the directory nor the branch is that of the task, though it is the only one"
    );
    world.git(&["switch", "-q", "-c", "task/t"]);
    let reason = stop(false).expect("blocked");
    assert!(
        reason.contains("t (codegen): agent: write") && reason.contains("orch prompt t"),
        "{reason}"
    );
    assert_eq!(
        stop(true),
        None,
        "it continues already, and nothing has changed"
    );
    assert!(stop(false).is_some() && stop(false).is_some());
    assert_eq!(stop(false), None, "three times on one fingerprint");
    assert!(
        stop_in("b", false).is_some(),
        "another conversation is counted by itself"
    );
    assert!(world.path(".git/orch/agent-stops.json").is_file());
    world.write("tasks/t/code/diff.patch", "no patch\n");
    assert!(stop(true).is_some(), "something has changed");
    world.walk_to_from("t", "codegen", "accept");
    assert_eq!(stop(false), None, "a person must act");
}

#[test]
fn the_status_line_says_where_the_task_stands() {
    let world = started("plan_review");
    let line = |input: &Value| {
        fed(
            &world,
            world.orch_command(&["hook", "agent", "statusline"]),
            &input.to_string(),
        )
        .succeeds()
        .stdout
    };
    assert_eq!(
        line(&json!({"workspace": 1})),
        "",
        "it has no place for a problem"
    );
    // Neither the branch nor the directory says which task is meant, even if there is only one.
    assert_eq!(line(&recorded(&world, "statusline")), "");
    world.orch(&["new", "u"]).succeeds();
    assert_eq!(line(&recorded(&world, "statusline")), "");
    let answer = hook(&world, "session-start", &recorded(&world, "session-start"));
    let text = answer["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .expect("a text");
    assert!(
        text.contains("Several tasks of orch wait for an agent: t, u."),
        "{text}"
    );
    let mut inside = recorded(&world, "statusline");
    inside["workspace"]["current_dir"] = world.path("tasks/u").to_string_lossy().into();
    assert_eq!(line(&inside), "u  planning  attempt 1  agent\n");
    world.git(&["switch", "-q", "-c", "task/t"]);
    assert_eq!(
        line(&recorded(&world, "statusline")),
        "t  plan_review  attempt 1  agent\n"
    );
}

#[test]
fn input_that_cannot_be_read_blocks_nothing_and_is_told() {
    let world = started("codegen");
    for event in EVENTS {
        for input in ["", "{", "[]", "null", "{\"cwd\": 7}", "\u{0}"] {
            let ended =
                fed(&world, world.orch_command(&["hook", "agent", event]), input).succeeds();
            if event == "statusline" {
                assert_eq!(ended.stdout, "");
                continue;
            }
            let answer: Value = serde_json::from_str(&ended.stdout).expect("JSON");
            assert_eq!(
                answer.as_object().map(serde_json::Map::len),
                Some(1),
                "{answer}"
            );
            assert!(
                answer["systemMessage"]
                    .as_str()
                    .is_some_and(|text| text.starts_with("orch: the input"))
            );
        }
    }
    // A directory that is gone, and a repository whose settings are wrong.
    world.write("orch.toml", "limit_bytes = \"x\"\n");
    assert!(
        refused(&world, "orch.toml").is_some(),
        "what the rules are is protected all the same"
    );
    let mut input = recorded(&world, "stop");
    input["cwd"] = "/nowhere".into();
    let answer = hook(&world, "stop", &input);
    assert!(
        answer.is_null() || answer["decision"] == "block" || answer["systemMessage"].is_string()
    );
}

#[test]
fn the_registered_hooks_do_what_they_say() {
    let orch = std::path::Path::new(env!("CARGO_BIN_EXE_orch"))
        .parent()
        .expect("a directory");
    for (program, file, events) in [
        (
            "claude",
            ".claude/settings.json",
            ["SessionStart", "PreToolUse", "Stop"],
        ),
        (
            "codex",
            ".codex/hooks.json",
            ["SessionStart", "PreToolUse", "Stop"],
        ),
        (
            "gemini",
            ".gemini/settings.json",
            ["SessionStart", "BeforeTool", "AfterAgent"],
        ),
        (
            "copilot",
            ".github/hooks/orch.json",
            ["sessionStart", "preToolUse", "agentStop"],
        ),
        (
            "qwen",
            ".qwen/settings.json",
            ["SessionStart", "PreToolUse", "Stop"],
        ),
    ] {
        let world = started("codegen");
        world.orch(&["init", "--agent", program]).succeeds();
        let settings = world.json(file);
        let names: Vec<&String> = settings["hooks"]
            .as_object()
            .expect("hooks")
            .keys()
            .collect();
        assert_eq!(names, events, "no hook at every prompt");
        let command = |event: &str| {
            let entry = &settings["hooks"][event][0];
            let entry = entry.get("hooks").map_or(entry, |hooks| &hooks[0]);
            entry["command"].as_str().expect("a command").to_owned()
        };
        let commands = events.map(command);
        let line = settings["statusLine"]["command"].as_str();
        let inputs = ["session-start", "pre-tool-use", "stop", "statusline"];
        let commands = commands.iter().map(String::as_str).chain(line);
        for (text, input) in commands.zip(inputs) {
            let mut command = world.command("sh");
            command
                .args(["-c", text])
                .env("PATH", format!("{}:/usr/bin:/bin", orch.display()))
                .env("CLAUDE_ENV_FILE", world.path("env"))
                .env("ORCH_TASK", "t");
            let ended = fed(&world, command, &recorded(&world, input).to_string()).succeeds();
            assert!(
                ended.stdout.contains("codegen") || ended.stdout.contains("deny"),
                "{program} {text}: {ended:?}"
            );
        }
        assert_eq!(line.is_some(), program == "claude");
        let env = world.path("env").exists().then(|| world.read("env"));
        assert_eq!(
            env.is_some_and(|env| env.contains("ORCH_ACTOR")),
            program == "claude"
        );
    }
}
