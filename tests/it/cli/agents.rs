//! `orch init --agent`: what agents' programs read.

use crate::harness::{World, project};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const PROGRAMS: [&str; 7] = [
    "claude", "codex", "gemini", "cursor", "copilot", "opencode", "qwen",
];

/// A repository with settings and nothing else.
fn bare() -> World {
    let world = World::new();
    world.write("orch.toml", "version = 1\n");
    world
}

fn walk(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("readable").flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            assert!(
                fs::read_dir(&path).expect("readable").next().is_some(),
                "{} is empty",
                path.display()
            );
            if !path.ends_with(".git") {
                walk(&path, found);
            }
        } else {
            found.push(path);
        }
    }
}

/// Every file of the work tree with its bytes. No directory is empty.
fn tree(world: &World) -> BTreeMap<String, Vec<u8>> {
    let mut paths = Vec::new();
    walk(&world.root(), &mut paths);
    let name = |path: &Path| {
        path.strip_prefix(world.root())
            .expect("inside")
            .to_string_lossy()
            .into_owned()
    };
    paths
        .iter()
        .map(|path| (name(path), fs::read(path).unwrap_or_default()))
        .collect()
}

/// The rows of the table in docs/agents.md: the program, and all files that its row names after the marks.
fn documented() -> Vec<(String, Vec<String>)> {
    let text = fs::read_to_string(project().join("docs/agents.md")).expect("a page");
    let table = text
        .split("\n## ")
        .find(|part| part.starts_with("What is written"))
        .expect("a section");
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    let code = |cell: &str| -> Vec<String> {
        cell.split('`')
            .skip(1)
            .step_by(2)
            .filter(|word| !word.starts_with('$'))
            .map(str::to_owned)
            .collect()
    };
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        (
            code(cells[1]).remove(0),
            cells[3..].iter().flat_map(|cell| code(cell)).collect(),
        )
    })
    .collect()
}

#[test]
fn each_program_gets_the_files_of_the_table_and_loses_them_again() {
    let documented = documented();
    assert_eq!(
        documented
            .iter()
            .map(|(name, _)| name.as_str())
            .collect::<Vec<_>>(),
        PROGRAMS
    );
    for (program, paths) in documented {
        let world = bare();
        let before = tree(&world);
        let made = world.orch(&["init", "--agent", &program]).succeeds();
        let after = tree(&world);
        let new: Vec<&String> = after
            .keys()
            .filter(|path| !before.contains_key(*path))
            .collect();
        let mut expected: Vec<&String> = paths
            .iter()
            .filter(|path| !path.ends_with(".jsonc"))
            .collect();
        expected.sort();
        expected.dedup();
        assert_eq!(new, expected, "{program}");
        for path in new {
            assert!(
                made.stdout.contains(&format!("created {path}\n")),
                "{made:?}"
            );
            let text = world.read(path);
            assert!(text.contains("orch"), "{text}");
            if path.ends_with(".json") {
                serde_json::from_str::<serde_json::Value>(&text).expect("JSON");
            }
        }
        let again = world.orch(&["init", "--agent", &program]).succeeds();
        assert_eq!(again.stdout, "Everything is already set up.\n");
        world
            .orch(&["init", "--agent", &program, "--remove"])
            .succeeds();
        assert_eq!(tree(&world), before, "{program}");
        let nothing = world
            .orch(&["init", "--agent", &program, "--remove"])
            .succeeds();
        assert_eq!(nothing.stdout, "There is nothing to remove.\n");
    }
}

#[test]
fn files_that_exist_keep_all_else_and_are_restored_to_the_byte() {
    let world = bare();
    for (path, text) in [
        ("CLAUDE.md", "# Ours\r\n\r\nBe kind."),
        ("GEMINI.md", ""),
        ("AGENTS.md", "# Agents\n\n"),
        (
            ".mcp.json",
            "{\"mcpServers\":{\"db\":{\"command\":\"db\"}}}",
        ),
        (
            ".claude/settings.json",
            "{\n  \"statusLine\": { \"type\": \"command\", \"command\": \"mine\" },\n  \"hooks\": {\n    \"Stop\": [\n      \
             { \"hooks\": [] }\n    ]\n  }\n}\n",
        ),
        (
            ".gemini/settings.json",
            "{\n\t// ours\n\t\"theme\": \"dark\", // dark\n}\n",
        ),
        (".cursor/mcp.json", "{ \"mcpServers\": {} }\n"),
        (".vscode/mcp.json", "{}"),
        ("opencode.jsonc", "{\n  \"model\": \"m\" /* the model */\n}"),
        (
            ".codex/config.toml",
            "# ours\nmodel = \"m\"\n\n[mcp_servers.db]\ncommand = \"db\"",
        ),
    ] {
        world.write(path, text);
    }
    let before = tree(&world);
    let all: Vec<&str> = PROGRAMS
        .iter()
        .flat_map(|program| ["--agent", *program])
        .collect();
    let ended = world.orch(&[&["init"], all.as_slice()].concat()).succeeds();
    ended.reports(
        ".claude/settings.json: note[agent-file]: left alone: `statusLine` has another value",
    );
    assert_eq!(
        world.json(".claude/settings.json")["hooks"]["Stop"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
    assert!(
        !world.path("opencode.json").exists(),
        "the file that is there counts"
    );
    assert_eq!(
        world.json(".mcp.json")["mcpServers"]["orch"]["args"][0],
        "mcp"
    );
    let gemini = world.read(".gemini/settings.json");
    assert!(
        gemini.starts_with("{\n\t// ours\n\t\"theme\": \"dark\", // dark\n\t\"mcpServers\""),
        "{gemini}"
    );
    let codex: toml::Table = world.read(".codex/config.toml").parse().expect("TOML");
    assert_eq!(
        codex["mcp_servers"]["orch"]["command"].as_str(),
        Some("orch")
    );
    // `AGENTS.md` is needed by two programs.
    world
        .orch(&["init", "--agent", "codex", "--remove"])
        .succeeds();
    assert!(world.read("AGENTS.md").contains("orch prompt TASK"));
    world
        .orch(&[&["init", "--remove"], all.as_slice()].concat())
        .succeeds();
    for (path, bytes) in tree(&world) {
        assert_eq!(
            String::from_utf8_lossy(&bytes),
            String::from_utf8_lossy(&before[&path]),
            "{path}"
        );
    }
}

/// The paths of the `git add` that is offered.
fn offered(ended: &crate::harness::Ended) -> Vec<String> {
    let added = ended
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("next: git add "));
    let paths = added
        .and_then(|rest| rest.split(" && ").next())
        .unwrap_or_default();
    paths.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn each_file_is_named_once_with_what_became_of_it_and_can_be_added() {
    let world = bare();
    world.write("CLAUDE.md", "# Ours\n");
    world.write(".gitignore", ".mcp.json\n");
    fs::create_dir_all(world.path(".cursor/rules")).expect("made");
    let all = ["init", "--agent", "claude", "--agent", "cursor"];
    let made = world.orch(&all).succeeds();
    assert_eq!(
        made.stdout.matches(".claude/settings.json").count(),
        1,
        "{made:?}"
    );
    made.clone()
        .says("changed CLAUDE.md\n")
        .says("created .claude/settings.json\n");
    let add = |ended: &crate::harness::Ended| {
        let paths = offered(ended);
        world.git(
            &[
                &["add"],
                paths
                    .iter()
                    .map(String::as_str)
                    .collect::<Vec<_>>()
                    .as_slice(),
            ]
            .concat(),
        );
        paths
    };
    assert!(
        !offered(&made).contains(&".mcp.json".to_owned()),
        "{made:?}"
    );
    let removed = world.orch(&[&all[..], &["--remove"]].concat()).succeeds();
    removed
        .clone()
        .says("changed CLAUDE.md\n")
        .says("removed .claude/settings.json\n")
        .says("removed .mcp.json\n");
    assert_eq!(
        add(&removed),
        ["CLAUDE.md"],
        "the others were never committed"
    );
    assert!(world.path(".cursor/rules").exists() && !world.path(".cursor/commands").exists());
    assert!(!world.path(".claude").exists(), "orch made it");
    add(&world.orch(&all).succeeds());
    world.git(&["commit", "-qm", "Agents"]);
    let paths = add(&world.orch(&[&all[..], &["--remove"]].concat()).succeeds());
    assert!(
        paths.contains(&".claude/settings.json".to_owned()),
        "{paths:?}"
    );
    assert!(world.path(".cursor/rules").exists(), "it was there before");
}

#[test]
fn a_changed_part_and_a_foreign_file_are_reported_and_left_alone() {
    let world = bare();
    world.orch(&["init", "--agent", "claude"]).succeeds();
    for (path, from, to) in [
        ("CLAUDE.md", "Never edit", "Ever edit"),
        (".claude/commands/next.md", "Report in two", "Report in ten"),
        (".mcp.json", "\"mcp\"", "\"-C\", \"x\", \"mcp\""),
    ] {
        world.write(path, world.read(path).replace(from, to));
    }
    let changed = ["CLAUDE.md", ".claude/commands/next.md", ".mcp.json"];
    let before = changed.map(|path| world.read(path));
    let ended = world.orch(&["init", "--agent", "claude"]).ends(1);
    for path in changed {
        assert!(
            ended
                .stderr
                .contains(&format!("{path}: error[agent-file]: left alone")),
            "{ended:?}"
        );
    }
    let ended = ended.reports("or write by hand: {\"command\":\"orch\",\"args\":[\"mcp\"]}");
    assert!(ended.stdout.is_empty(), "{ended:?}");
    world
        .orch(&["init", "--agent", "claude", "--remove"])
        .ends(1)
        .reports("remove the part by hand");
    assert_eq!(changed.map(|path| world.read(path)), before);
    let findings = world.orch_json(&["init", "--agent", "claude"])["findings"].clone();
    assert_eq!(findings.as_array().map(Vec::len), Some(3), "{findings}");

    let world = bare();
    world.write(".cursor/commands/next.md", "mine\n");
    world.write(".cursor/mcp.json", "{ \"mcpServers\": {} // }\n");
    world
        .orch(&["init", "--agent", "cursor"])
        .ends(1)
        .reports("it is not valid JSON")
        .reports("move the file away");
    assert!(
        world.path(".cursor/rules/orch.mdc").is_file(),
        "the rest is written"
    );
    world
        .orch(&["init", "--agent", "cursor", "--remove"])
        .ends(1);
    assert_eq!(world.read(".cursor/commands/next.md"), "mine\n");

    // What cannot be read is reported, and the rest is written.
    let world = bare();
    world.write("CLAUDE.md", [0xff, 0xfe]);
    world.write(".mcp.json/x", "");
    let ended = world.orch(&["init", "--agent", "claude"]).ends(1);
    for path in ["CLAUDE.md", ".mcp.json"] {
        assert!(
            ended
                .stderr
                .contains(&format!("{path}: error[agent-file]: left alone")),
            "{ended:?}"
        );
    }
    assert!(world.path(".claude/settings.json").is_file());

    let world = bare();
    world.write(
        ".codex/config.toml",
        "mcp_servers = { orch = { command = \"orch\", args = [\"mcp\"] } }\n",
    );
    world.orch(&["init", "--agent", "codex"]).succeeds();
    world.write(
        ".codex/config.toml",
        "[mcp_servers.orch]\ncommand = \"x\"\n",
    );
    world
        .orch(&["init", "--agent", "codex"])
        .ends(1)
        .reports("`mcp_servers.orch` has another value");
}

/// When the shared instructions come, and how.
type SetUp<'a> = (&'a str, &'a dyn Fn(&World));

#[test]
fn new_instructions_of_claude_import_those_that_all_programs_share() {
    let imports = |world: &World| {
        let text = world.read("CLAUDE.md");
        assert_eq!(world.read("AGENTS.md").matches("orch:begin").count(), 1);
        assert_eq!(text.matches("@AGENTS.md\n").count(), 1, "{text}");
        assert!(!text.contains("orch prompt"), "{text}");
    };
    let shared = |world: &World| world.write("AGENTS.md", "# Ours\n\nBe kind.\n");
    let both: [SetUp<'_>; 4] = [
        ("they are there", &|world| {
            shared(world);
            world.orch(&["init", "--agent", "claude"]).succeeds();
        }),
        ("they come with the same command", &|world| {
            let all = ["init", "--agent", "claude", "--agent", "codex"];
            world.orch(&all).succeeds();
        }),
        ("they come later", &|world| {
            world.orch(&["init", "--agent", "claude"]).succeeds();
            assert!(world.read("CLAUDE.md").contains("orch prompt"));
            world.orch(&["init", "--agent", "opencode"]).succeeds();
        }),
        ("a person writes them later", &|world| {
            world.orch(&["init", "--agent", "claude"]).succeeds();
            shared(world);
            world.orch(&["init", "--agent", "claude"]).succeeds();
        }),
    ];
    for (when, set_up) in both {
        let world = bare();
        set_up(&world);
        imports(&world);
        let again = world.orch(&["init", "--agent", "claude"]).succeeds();
        assert_eq!(again.stdout, "Everything is already set up.\n", "{when}");
        let all = [
            "init", "--remove", "--agent", "claude", "--agent", "codex", "--agent", "opencode",
        ];
        world.orch(&all).succeeds();
        assert!(!world.path("CLAUDE.md").exists(), "{when}");
        let rest = world.path("AGENTS.md").exists();
        assert!(!rest || world.read("AGENTS.md") == "# Ours\n\nBe kind.\n");
    }
    // What a person wrote for Claude Code alone is left as it is.
    let world = bare();
    shared(&world);
    world.write("CLAUDE.md", "# Only for Claude Code\n");
    world.orch(&["init", "--agent", "claude"]).succeeds();
    assert!(world.read("CLAUDE.md").contains("orch prompt"));
    assert!(!world.read("AGENTS.md").contains("orch"));
}

#[test]
fn a_file_that_programs_share_stays_until_the_last_is_removed() {
    let world = bare();
    let before = tree(&world);
    let sharing = ["codex", "copilot", "qwen"];
    for program in sharing {
        world.orch(&["init", "--agent", program]).succeeds();
    }
    for program in sharing {
        assert!(
            world
                .read(".agents/skills/next/SKILL.md")
                .contains("orch:file")
        );
        world
            .orch(&["init", "--agent", program, "--remove"])
            .succeeds();
    }
    assert_eq!(tree(&world), before);
}

#[test]
fn no_link_is_followed_and_a_file_may_stand_for_another() {
    let world = bare();
    world.write("AGENTS.md", "# Agents\n");
    let link = |to: &str, path: &str| {
        let path = world.path(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        std::os::unix::fs::symlink(to, path).expect("a link");
    };
    link("AGENTS.md", "CLAUDE.md");
    world.write("GEMINI.md", "@./AGENTS.md\n");
    world.write("../elsewhere/x", "");
    link("../elsewhere", ".gemini");
    link("elsewhere.json", ".mcp.json");
    let before = tree(&world);
    let ended = world
        .orch(&["init", "--agent", "claude", "--agent", "gemini"])
        .ends(1);
    assert!(world.path("CLAUDE.md").is_symlink());
    assert_eq!(world.read("GEMINI.md"), "@./AGENTS.md\n");
    assert_eq!(world.read("AGENTS.md").matches("orch:begin").count(), 1);
    for path in [".gemini", ".mcp.json"] {
        assert!(
            ended.stderr.contains(&format!("{path} is a symbolic link")),
            "{ended:?}"
        );
    }
    assert!(!world.path("elsewhere.json").exists());
    assert_eq!(
        fs::read_dir(world.path("../elsewhere"))
            .expect("a directory")
            .count(),
        1
    );
    world
        .orch(&["init", "--agent", "claude", "--agent", "gemini", "--remove"])
        .succeeds();
    assert_eq!(tree(&world), before);
}

#[test]
fn what_a_person_wrote_stays_even_if_it_is_the_same() {
    let world = bare();
    world
        .orch(&["init", "--agent", "claude", "--agent", "opencode"])
        .succeeds();
    let own = [".mcp.json", ".claude/settings.json", "opencode.json"];
    // The same without what says that orch wrote it.
    for path in own {
        let text = world.read(path);
        let mut value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        for server in ["/mcpServers/orch/env", "/mcp/orch/environment"] {
            let (parent, key) = server.rsplit_once('/').expect("a key");
            let seal = value
                .pointer_mut(parent)
                .and_then(|entry| entry.as_object_mut())
                .and_then(|entry| entry.remove(key));
            assert!(seal.is_none_or(|seal| seal["ORCH_INIT"].is_string()));
        }
        let text = format!("{value:#}\n");
        let lines = text
            .lines()
            .map(|line| match line.split_once(" # orch:init ") {
                Some((before, after)) => {
                    format!(
                        "{before}{}",
                        after.trim_start_matches(|c: char| c.is_ascii_hexdigit())
                    )
                }
                None => line.to_owned(),
            });
        let text = lines.collect::<Vec<_>>().join("\n");
        assert!(
            !text.contains("orch:init") && !text.contains("ORCH_INIT"),
            "{text}"
        );
        world.write(path, text);
    }
    let before = own.map(|path| world.read(path));
    world
        .orch(&["init", "--agent", "claude", "--agent", "opencode"])
        .succeeds()
        .says("already set up");
    world
        .orch(&[
            "init", "--agent", "claude", "--agent", "opencode", "--remove",
        ])
        .succeeds();
    assert_eq!(own.map(|path| world.read(path)), before);
}

#[test]
fn what_else_is_asked_for_is_done_in_a_repository_that_is_set_up() {
    let world = bare();
    world
        .orch(&["init", "--agent", "codex", "--merge-driver", "--log-alias"])
        .succeeds();
    assert!(
        world
            .git(&["config", "merge.orch.driver"])
            .contains("merge-driver")
    );
    assert!(
        world
            .git(&["config", "alias.log-code"])
            .contains("--invert-grep")
    );
    assert!(!world.path("tasks").exists());
    // The settings that are there have no root for this workflow.
    world
        .orch(&["init", "--agent", "codex", "--workflow", "openspec"])
        .ends(2)
        .reports("no root for the workflow");
}

#[test]
fn the_files_to_commit_are_named_and_no_work_of_others() {
    let world = bare();
    world.write(".github/workflows/ci.yml", "on: push\n");
    world.write("tasks/mine/notes.md", "unfinished\n");
    let hint = |arguments: &[&str]| {
        let ended = world.orch(arguments).succeeds();
        let line = ended
            .stderr
            .lines()
            .find(|line| line.starts_with("next: "))
            .map(str::to_owned);
        line.unwrap_or_else(|| panic!("{ended:?}"))
    };
    let agents = hint(&["init", "--agent", "copilot"]);
    assert_eq!(
        agents,
        "next: git add .github/copilot-instructions.md .github/prompts .agents .vscode .github/mcp.json .github/hooks && git commit -m 'Set up agents'"
    );
    let whole = hint(&["init"]);
    assert_eq!(
        whole,
        "next: git add tasks/.gitignore tasks/.gitattributes system AGENTS.md && git commit -m 'Set up orch'"
    );
}

#[test]
fn what_is_offered_commits_what_was_done_and_nothing_is_offered_outside_of_git() {
    let world = bare();
    world.write("CLAUDE.md", "# Ours\n");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "Ours"]);
    let run = |arguments: &[&str]| {
        let ended = world
            .orch(&[&["init", "--agent", "claude"], arguments].concat())
            .succeeds();
        let offered = ended
            .stderr
            .lines()
            .find_map(|line| line.strip_prefix("next: "))
            .map(str::to_owned);
        if let Some(offered) = &offered {
            let mut shell = world.command("sh");
            let done = world.end(shell.args(["-ec", offered]).output().expect("sh runs"));
            done.succeeds();
        }
        assert_eq!(world.git(&["status", "--short"]), "", "{offered:?}");
        offered.unwrap_or_default()
    };
    for remove in [false, true, false, true] {
        let arguments: &[&str] = if remove { &["--remove"] } else { &[] };
        let message = if remove {
            "Remove what orch wrote for agents"
        } else {
            "Set up agents"
        };
        assert!(run(arguments).ends_with(&format!(" && git commit -m '{message}'")));
        assert_eq!(run(arguments), "", "nothing is left to do");
    }
    // What was not committed, or only added, is taken back.
    world.orch(&["init", "--agent", "claude"]).succeeds();
    assert_eq!(run(&["--remove"]), "");
    world.orch(&["init", "--agent", "claude"]).succeeds();
    world.git(&["add", "-A"]);
    let offered = run(&["--remove"]);
    assert!(
        offered.starts_with("git add ") && !offered.contains("commit"),
        "{offered}"
    );
    // The command works in the directory where it is typed.
    fs::create_dir_all(world.path("below/here")).expect("made");
    for remove in [&[][..], &["--remove"]] {
        let mut command = world.orch_command(&[&["init", "--agent", "claude"], remove].concat());
        command.current_dir(world.path("below/here"));
        let ended = world.end(command.output().expect("orch runs")).succeeds();
        let offered = ended
            .stderr
            .lines()
            .find_map(|line| line.strip_prefix("next: "))
            .expect("a command");
        let mut shell = world.command("sh");
        shell
            .current_dir(world.path("below/here"))
            .args(["-ec", offered]);
        world.end(shell.output().expect("sh runs")).succeeds();
        assert_eq!(world.git(&["status", "--short"]), "", "{offered}");
    }

    let outside = World::without_git();
    outside.orch(&["init"]).succeeds();
    for remove in [&[][..], &["--remove"]] {
        let ended = outside
            .orch(&[&["init", "--agent", "claude"], remove].concat())
            .succeeds();
        assert!(!ended.stderr.contains("git add"), "{ended:?}");
    }
}

#[test]
fn a_file_keeps_the_ends_of_its_lines_to_the_byte() {
    let world = bare();
    for (path, text) in [
        ("CLAUDE.md", "a\r\nb\n"),
        ("GEMINI.md", "z\r"),
        ("AGENTS.md", "a\nb\r\n"),
        (".codex/config.toml", "# x\r\n[a]\nb = 1\n"),
        (".mcp.json", "{\r\n  \"a\": 1\n}\r\n"),
        (".gemini/settings.json", "{\n  \"a\": {},\r\n  \"b\": 1}"),
    ] {
        world.write(path, text);
    }
    let before = tree(&world);
    let all = [
        "init", "--agent", "claude", "--agent", "codex", "--agent", "gemini",
    ];
    world.orch(&all).succeeds();
    let once = tree(&world);
    world
        .orch(&all)
        .succeeds()
        .says("Everything is already set up.");
    assert_eq!(tree(&world), once);
    world.orch(&[&all[..], &["--remove"]].concat()).succeeds();
    assert_eq!(tree(&world), before);
}

#[test]
fn what_is_wrong_in_a_file_is_named() {
    for (file, text, why) in [
        (
            ".mcp.json",
            "{\"mcpServers\": null}",
            "`mcpServers` is there, but not as a single table of settings",
        ),
        (".mcp.json", "[]", "it is not an object of settings"),
        (
            ".claude/settings.json",
            "{\"hooks\": []}",
            "`hooks` is there, but not as a single table of settings",
        ),
        (
            ".claude/settings.json",
            "{\"hooks\": {\"SessionStart\": {}}}",
            "`hooks.SessionStart` is there, but not as a list",
        ),
    ] {
        let world = bare();
        world.write(file, text);
        let ended = world.orch(&["init", "--agent", "claude"]).ends(1);
        ended.reports(&format!("{file}: error[agent-file]: left alone: {why}"));
        let value = text.trim_start_matches('{').trim_end_matches('}');
        assert!(world.read(file).contains(value), "{file} is left as it was");
    }
}
