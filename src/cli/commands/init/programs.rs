//! The table of agents' programs: which files each of them reads in a project, and orch's part of each.

use super::seal::SealPlace;
use super::section::CommentStyle;
use super::splice::JsonSpot;
use crate::cli::commands::hook::WritingTools;
use orch_base::AgentMark;
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
    /// GitHub Copilot in VS Code, and Copilot CLI.
    Copilot,
    /// opencode.
    Opencode,
    /// Qwen Code.
    Qwen,
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
    pub const ALL: [Self; 7] = [
        Self::Claude,
        Self::Codex,
        Self::Gemini,
        Self::Cursor,
        Self::Copilot,
        Self::Opencode,
        Self::Qwen,
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
            Self::Qwen => "qwen",
        }
    }

    /// The name that the program has in records; `None` if none is known.
    #[must_use]
    pub fn recorded(self) -> Option<&'static str> {
        let own = self.name();
        let is_named = |program: &&str| {
            let first = program.split(' ').next().unwrap_or_default();
            first.eq_ignore_ascii_case(own)
        };
        AgentMark::ALL
            .iter()
            .map(|mark| mark.program)
            .find(is_named)
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
            Self::Copilot => &[
                ".github/copilot-instructions.md",
                ".github/prompts",
                ".github/hooks",
                ".github/mcp.json",
            ],
            Self::Opencode => &["opencode.json", "opencode.jsonc", ".opencode"],
            Self::Qwen => &[".qwen", "QWEN.md"],
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
            Self::Qwen => qwen(),
        };
        parts.retain(|part| cfg!(feature = "mcp") || part.purpose != PartPurpose::Server);
        parts
    }
}

/// Files beside those that orch writes in which a program can be given hooks, or all hooks turned off.
const OTHER_HOOKS: [&str; 2] = [".claude/settings.local.json", ".codex/config.toml"];

/// Where Copilot CLI looks for hooks.
const COPILOT_HOOKS: &str = ".github/hooks/";

/// Whether a file says which hooks a program has, so that no agent may write it.
pub fn is_guarded(path: &str) -> bool {
    let parts = AgentProgram::ALL.into_iter().flat_map(AgentProgram::parts);
    let mut hooks = parts.filter(|part| part.purpose == PartPurpose::Hook);
    OTHER_HOOKS.contains(&path)
        || path.starts_with(COPILOT_HOOKS)
        || hooks.any(|part| part.paths.contains(&path))
}

fn claude() -> Vec<ProgramPart> {
    let status_line = json!({"type": "command", "command": "orch hook agent statusline"});
    let mut parts = vec![
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
        ProgramPart {
            purpose: PartPurpose::StatusLine,
            paths: CLAUDE_SETTINGS,
            form: PartForm::Json(JsonSpot {
                keys: vec!["statusLine"],
                value: status_line,
                seal: SealPlace::Comment,
                mark: None,
                preface: None,
            }),
        },
    ];
    // The hooks before the status line.
    let hooks = HookSettings {
        paths: CLAUDE_SETTINGS,
        program: AgentProgram::Claude,
        events: CLAUDE_EVENTS,
        seconds: "timeout",
        unit: 1,
        is_nested: true,
        preface: None,
    };
    let at = parts.len() - 1;
    parts.splice(at..at, hooks.parts());
    parts
}

const CLAUDE_SETTINGS: &[&str] = &[".claude/settings.json"];

/// How a program is told of its hooks.
struct HookSettings {
    paths: &'static [&'static str],
    program: AgentProgram,
    /// What it calls the start of a session, the use of a tool, and the end of a turn.
    events: [&'static str; 3],
    /// The key of the time limit.
    seconds: &'static str,
    /// How many of its units of time a second has.
    unit: u32,
    /// Whether the hooks of an event are a list in a list, each with the tools that it is for.
    is_nested: bool,
    /// The member without which the file is not accepted.
    preface: Option<(&'static str, Value)>,
}

const CLAUDE_EVENTS: [&str; 3] = ["SessionStart", "PreToolUse", "Stop"];

impl HookSettings {
    fn parts(&self) -> Vec<ProgramPart> {
        let [start, tool, stop] = self.events;
        let own = format!(" --program {}", self.program.name());
        // Claude Code marks the environment of its hooks, and Copilot CLI, which runs them too, with its own mark.
        let (own, start_options) = if self.program == AgentProgram::Claude {
            (String::new(), " --env-file \"$CLAUDE_ENV_FILE\"")
        } else {
            (own, "")
        };
        vec![
            self.part(start, &format!("session-start{own}{start_options}")),
            self.part(tool, &format!("pre-tool-use{own}")),
            self.part(stop, &format!("stop{own}")),
        ]
    }

    fn part(&self, event: &'static str, arguments: &str) -> ProgramPart {
        let run = json!({
            "type": "command",
            "command": format!("{HOOK}{arguments}"),
            self.seconds: 10 * self.unit,
        });
        let is_about_tools = event == self.events[1];
        let value = match self.program.recorded() {
            _ if !self.is_nested => run,
            Some(program) if is_about_tools => {
                json!({"matcher": WritingTools::matcher(program), "hooks": [run]})
            }
            _ => json!({"hooks": [run]}),
        };
        ProgramPart {
            purpose: PartPurpose::Hook,
            paths: self.paths,
            form: PartForm::Json(JsonSpot {
                keys: vec!["hooks", event],
                value,
                seal: SealPlace::Comment,
                mark: Some(HOOK),
                preface: self.preface.clone(),
            }),
        }
    }
}

/// How the command of a hook begins that orch writes, or a person wrote for the same purpose.
const HOOK: &str = "orch hook agent ";

fn codex() -> Vec<ProgramPart> {
    let keys = &["mcp_servers", "orch"];
    let text = "[mcp_servers.orch]\ncommand = \"orch\"\nargs = [\"mcp\"]\n";
    let mut parts = vec![
        instructions(&["AGENTS.md"]),
        skill(),
        ProgramPart {
            purpose: PartPurpose::Server,
            paths: &[".codex/config.toml"],
            form: PartForm::Toml { keys, text },
        },
    ];
    let hooks = HookSettings {
        paths: &[".codex/hooks.json"],
        program: AgentProgram::Codex,
        events: CLAUDE_EVENTS,
        seconds: "timeout",
        unit: 1,
        is_nested: true,
        preface: None,
    };
    parts.extend(hooks.parts());
    parts
}

fn gemini() -> Vec<ProgramPart> {
    let text = format!(
        "description = \"{DESCRIPTION}\"\nprompt = '''\n{}'''\n",
        next(": {{args}}")
    );
    let mut parts = vec![
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
    ];
    let hooks = HookSettings {
        paths: &[".gemini/settings.json"],
        program: AgentProgram::Gemini,
        events: ["SessionStart", "BeforeTool", "AfterAgent"],
        seconds: "timeout",
        unit: 1000,
        is_nested: true,
        preface: None,
    };
    parts.extend(hooks.parts());
    parts
}

fn qwen() -> Vec<ProgramPart> {
    let hooks = HookSettings {
        paths: &[".qwen/settings.json"],
        program: AgentProgram::Qwen,
        events: CLAUDE_EVENTS,
        seconds: "timeout",
        unit: 1000,
        is_nested: true,
        preface: None,
    };
    let mut parts = vec![
        instructions(&["AGENTS.md"]),
        skill(),
        server(
            &[".qwen/settings.json"],
            "mcpServers",
            json!({"command": "orch", "args": ["mcp"]}),
        ),
    ];
    parts.extend(hooks.parts());
    parts
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

/// What VS Code reads, and what Copilot CLI does: it knows neither the prompts nor the servers of VS Code.
fn copilot() -> Vec<ProgramPart> {
    let args =
        json!({"type": "stdio", "command": "orch", "args": ["-C", "${workspaceFolder}", "mcp"]});
    let local = json!({"type": "local", "command": "orch", "args": ["mcp"], "tools": ["*"]});
    let hooks = HookSettings {
        paths: &[".github/hooks/orch.json"],
        program: AgentProgram::Copilot,
        events: ["sessionStart", "preToolUse", "agentStop"],
        seconds: "timeoutSec",
        unit: 1,
        is_nested: false,
        preface: Some(("version", json!(1))),
    };
    let mut parts = vec![
        instructions(&[".github/copilot-instructions.md"]),
        command(&[".github/prompts/next.prompt.md"], "agent: agent\n", ""),
        skill(),
        server(&[".vscode/mcp.json"], "servers", args),
        server(&[".github/mcp.json"], "mcpServers", local),
    ];
    parts.extend(hooks.parts());
    parts
}

fn opencode() -> Vec<ProgramPart> {
    let value = json!({"type": "local", "command": ["orch", "mcp"], "enabled": true});
    vec![
        instructions(&["AGENTS.md"]),
        command(&[".opencode/command/next.md"], "", ": $ARGUMENTS"),
        ProgramPart {
            purpose: PartPurpose::Server,
            paths: &["opencode.json", "opencode.jsonc"],
            form: PartForm::Json(JsonSpot {
                keys: vec!["mcp", "orch"],
                value,
                seal: SealPlace::Variable("environment"),
                mark: None,
                // opencode adds it at its first start, to a file that is then no longer as orch wrote it.
                preface: Some(("$schema", json!("https://opencode.ai/config.json"))),
            }),
        },
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

/// The skill that several programs read at the same place.
fn skill() -> ProgramPart {
    command(&[".agents/skills/next/SKILL.md"], "name: next\n", "")
}

/// The registration of a server.
fn server(paths: &'static [&'static str], key: &'static str, value: Value) -> ProgramPart {
    let spot = JsonSpot {
        keys: vec![key, "orch"],
        value,
        seal: SealPlace::Variable("env"),
        mark: None,
        preface: None,
    };
    ProgramPart {
        purpose: PartPurpose::Server,
        paths,
        form: PartForm::Json(spot),
    }
}
