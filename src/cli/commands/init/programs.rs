//! The table of agents' programs: which files each of them reads in a project, and orch's part of each.

use super::seal::SealPlace;
use super::section::CommentStyle;
use super::splice::JsonSpot;
use serde_json::{Value, json};

/// An agent's program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum AgentProgram {
    /// The programs whose files are in the repository.
    Detected,
    /// Claude Code.
    Claude,
    /// Codex CLI.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Cursor.
    Cursor,
    /// GitHub Copilot in VS Code.
    Copilot,
    /// opencode.
    Opencode,
}

/// What a part is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartPurpose {
    /// The instructions that the program reads in every session.
    Instructions,
    /// The command or skill `/next`.
    Command,
    /// The registration of `orch mcp`.
    Server,
    /// A hook.
    Hook,
    /// The status line, which a person may have chosen otherwise.
    StatusLine,
}

/// How a part lies in its file.
#[derive(Debug, Clone)]
pub enum PartForm {
    /// The standing instructions, between markers in a Markdown file.
    Block,
    /// A file of orch alone.
    Whole {
        /// The text of the file without its last line.
        text: String,
        /// How comments are written in it.
        style: CommentStyle,
    },
    /// A value in a JSON file.
    Json(JsonSpot),
    /// A table in a TOML file, between markers.
    Toml {
        /// The keys that lead to the table.
        keys: &'static [&'static str],
        /// The lines between the markers.
        text: &'static str,
    },
}

/// One part of what orch writes for a program.
#[derive(Debug, Clone)]
pub struct ProgramPart {
    /// What it is for.
    pub purpose: PartPurpose,
    /// The file, relative to the root. If there are several, the first that exists counts, or else the first.
    pub paths: &'static [&'static str],
    /// How it lies in the file.
    pub form: PartForm,
}

impl AgentProgram {
    /// All programs.
    pub const ALL: [Self; 6] = [
        Self::Claude,
        Self::Codex,
        Self::Gemini,
        Self::Cursor,
        Self::Copilot,
        Self::Opencode,
    ];

    /// The name on the command line and in the markers of shared files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Detected => "detected",
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Cursor => "cursor",
            Self::Copilot => "copilot",
            Self::Opencode => "opencode",
        }
    }

    /// The paths that show that the program is used in a repository. `AGENTS.md` shows nothing: many read it.
    #[must_use]
    pub fn marks(self) -> &'static [&'static str] {
        match self {
            Self::Detected => &[],
            Self::Claude => &[".claude", "CLAUDE.md"],
            Self::Codex => &[".codex"],
            Self::Gemini => &[".gemini", "GEMINI.md"],
            Self::Cursor => &[".cursor", ".cursorrules"],
            Self::Copilot => &[".github/copilot-instructions.md", ".github/prompts"],
            Self::Opencode => &["opencode.json", "opencode.jsonc", ".opencode"],
        }
    }

    /// The parts, in the order in which they are written.
    #[must_use]
    pub fn parts(self) -> Vec<ProgramPart> {
        let mut parts = match self {
            Self::Detected => Vec::new(),
            Self::Claude => claude(),
            Self::Codex => codex(),
            Self::Gemini => gemini(),
            Self::Cursor => cursor(),
            Self::Copilot => copilot(),
            Self::Opencode => opencode(),
        };
        parts.retain(|part| cfg!(feature = "mcp") || part.purpose != PartPurpose::Server);
        parts
    }
}

/// Claude Code's settings of one user in the project, which can turn off all hooks.
const CLAUDE_LOCAL_SETTINGS: &str = ".claude/settings.local.json";

/// The files that say which hooks a program has, so that no agent may write them.
pub fn guarded_files() -> impl Iterator<Item = &'static str> {
    let parts = AgentProgram::ALL.into_iter().flat_map(AgentProgram::parts);
    let hooks = parts.filter(|part| part.purpose == PartPurpose::Hook);
    hooks
        .flat_map(|part| part.paths.iter().copied())
        .chain([CLAUDE_LOCAL_SETTINGS])
}

fn claude() -> Vec<ProgramPart> {
    let status_line = json!({"type": "command", "command": "orch hook agent statusline"});
    vec![
        instructions(&["CLAUDE.md"]),
        command(
            &[".claude/commands/next.md"],
            "argument-hint: \"[TASK]\"\n",
            ": $ARGUMENTS",
        ),
        server(
            &[".mcp.json"],
            "mcpServers",
            json!({"command": "orch", "args": ["mcp"]}),
        ),
        hook(
            "SessionStart",
            None,
            "session-start --env-file \"$CLAUDE_ENV_FILE\"",
        ),
        hook(
            "PreToolUse",
            Some("Write|Edit|MultiEdit|NotebookEdit"),
            "pre-tool-use",
        ),
        hook("Stop", None, "stop"),
        ProgramPart {
            purpose: PartPurpose::StatusLine,
            paths: CLAUDE_SETTINGS,
            form: PartForm::Json(JsonSpot {
                keys: vec!["statusLine"],
                value: status_line,
                seal: SealPlace::Comment,
                mark: None,
            }),
        },
    ]
}

const CLAUDE_SETTINGS: &[&str] = &[".claude/settings.json"];

/// How the command of a hook begins that orch writes, or a person wrote for the same purpose.
const HOOK: &str = "orch hook agent ";

/// A hook of Claude Code, for the tools that match, if it is about tools.
fn hook(event: &'static str, tools: Option<&str>, arguments: &str) -> ProgramPart {
    let run =
        json!([{ "type": "command", "command": format!("{HOOK}{arguments}"), "timeout": 10 }]);
    let value = match tools {
        Some(tools) => json!({"matcher": tools, "hooks": run}),
        None => json!({"hooks": run}),
    };
    let spot = JsonSpot {
        keys: vec!["hooks", event],
        value,
        seal: SealPlace::Comment,
        mark: Some(HOOK),
    };
    ProgramPart {
        purpose: PartPurpose::Hook,
        paths: CLAUDE_SETTINGS,
        form: PartForm::Json(spot),
    }
}

fn codex() -> Vec<ProgramPart> {
    let keys = &["mcp_servers", "orch"];
    let text = "[mcp_servers.orch]\ncommand = \"orch\"\nargs = [\"mcp\"]\n";
    vec![
        instructions(&["AGENTS.md"]),
        command(&[".agents/skills/next/SKILL.md"], "name: next\n", ""),
        ProgramPart {
            purpose: PartPurpose::Server,
            paths: &[".codex/config.toml"],
            form: PartForm::Toml { keys, text },
        },
    ]
}

fn gemini() -> Vec<ProgramPart> {
    let text = format!(
        "description = \"{DESCRIPTION}\"\nprompt = '''\n{}'''\n",
        next(": {{args}}")
    );
    vec![
        instructions(&["GEMINI.md"]),
        ProgramPart {
            purpose: PartPurpose::Command,
            paths: &[".gemini/commands/next.toml"],
            form: PartForm::Whole {
                text,
                style: CommentStyle::Hash,
            },
        },
        server(
            &[".gemini/settings.json"],
            "mcpServers",
            json!({"command": "orch", "args": ["mcp"]}),
        ),
    ]
}

fn cursor() -> Vec<ProgramPart> {
    let rule = format!(
        "---\ndescription: How the tasks of this repository are run\nalwaysApply: true\n---\n\n{}",
        super::INSTRUCTIONS
    );
    // Cursor passes what follows a command as it is.
    let command = PartForm::Whole {
        text: next(""),
        style: CommentStyle::Markup,
    };
    let args = json!({"command": "orch", "args": ["-C", "${workspaceFolder}", "mcp"]});
    vec![
        ProgramPart {
            purpose: PartPurpose::Instructions,
            paths: &[".cursor/rules/orch.mdc"],
            form: PartForm::Whole {
                text: rule,
                style: CommentStyle::Markup,
            },
        },
        ProgramPart {
            purpose: PartPurpose::Command,
            paths: &[".cursor/commands/next.md"],
            form: command,
        },
        server(&[".cursor/mcp.json"], "mcpServers", args),
    ]
}

fn copilot() -> Vec<ProgramPart> {
    let args =
        json!({"type": "stdio", "command": "orch", "args": ["-C", "${workspaceFolder}", "mcp"]});
    vec![
        instructions(&[".github/copilot-instructions.md"]),
        command(&[".github/prompts/next.prompt.md"], "agent: agent\n", ""),
        server(&[".vscode/mcp.json"], "servers", args),
    ]
}

fn opencode() -> Vec<ProgramPart> {
    let value = json!({"type": "local", "command": ["orch", "mcp"], "enabled": true});
    vec![
        instructions(&["AGENTS.md"]),
        command(&[".opencode/command/next.md"], "", ": $ARGUMENTS"),
        sealed_server(
            &["opencode.json", "opencode.jsonc"],
            "mcp",
            value,
            "environment",
        ),
    ]
}

fn instructions(paths: &'static [&'static str]) -> ProgramPart {
    ProgramPart {
        purpose: PartPurpose::Instructions,
        paths,
        form: PartForm::Block,
    }
}

/// What a program shows about the command `/next`.
const DESCRIPTION: &str = "Do what the rules of orch ask for next";

/// The text of the command; `task` says where the program puts what the user typed after it.
fn next(task: &str) -> String {
    include_str!("next_command.md").replace("{task}", task)
}

/// A Markdown file with front matter that defines the command.
fn command(paths: &'static [&'static str], more: &str, task: &str) -> ProgramPart {
    let text = format!(
        "---\ndescription: {DESCRIPTION}\n{more}---\n\n{}",
        next(task)
    );
    ProgramPart {
        purpose: PartPurpose::Command,
        paths,
        form: PartForm::Whole {
            text,
            style: CommentStyle::Markup,
        },
    }
}

fn server(paths: &'static [&'static str], key: &'static str, value: Value) -> ProgramPart {
    sealed_server(paths, key, value, "env")
}

/// The registration of a server, whose environment the program reads from the member `variables`.
fn sealed_server(
    paths: &'static [&'static str],
    key: &'static str,
    value: Value,
    variables: &'static str,
) -> ProgramPart {
    let spot = JsonSpot {
        keys: vec![key, "orch"],
        value,
        seal: SealPlace::Variable(variables),
        mark: None,
    };
    ProgramPart {
        purpose: PartPurpose::Server,
        paths,
        form: PartForm::Json(spot),
    }
}
