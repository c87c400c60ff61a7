//! What agent programs write to the stdin of their hooks. Keys that orch does not read may be there as well.
//!
//! Claude Code, Codex, Gemini CLI and Qwen Code write the same keys. Copilot CLI has its own, which are renamed first.

use super::writing_tools::written_files;
use orch_base::{Code, Error};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// How a program writes the input of its hooks, and reads their answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookDialect {
    /// As Claude Code documents it; so do Codex and Qwen Code.
    Claude,
    /// The same keys, but other names of events, and a decision instead of a permission.
    Gemini,
    /// The keys of Copilot CLI, when it runs its own hooks.
    Copilot,
}

/// The keys of Copilot CLI, and what the others call them.
const COPILOT_KEYS: [(&str, &str); 3] = [
    ("sessionId", "session_id"),
    ("toolName", "tool_name"),
    ("toolArgs", "tool_input"),
];

/// An input, in the words of Claude Code.
pub struct HookInput {
    /// How the program reads the answer.
    pub dialect: HookDialect,
    document: Value,
}

impl HookInput {
    /// Reads an input. Returns an error if it is not JSON.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut document: Value = serde_json::from_str(text).map_err(|error| bad_input(&error))?;
        let mut dialect = match document["hook_event_name"].as_str() {
            Some("BeforeTool" | "AfterAgent" | "BeforeAgent") => HookDialect::Gemini,
            _ => HookDialect::Claude,
        };
        if let Some(members) = document.as_object_mut() {
            for (own, common) in COPILOT_KEYS {
                if let Some(value) = members.remove(own) {
                    dialect = HookDialect::Copilot;
                    members.insert(common.to_owned(), value);
                }
            }
        }
        Ok(Self { dialect, document })
    }

    /// What an event reads of the input. Returns an error if it is not what the programs document.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Error> {
        T::deserialize(&self.document).map_err(|error| bad_input(&error))
    }
}

fn bad_input(error: &serde_json::Error) -> Error {
    let message = format!("the input of the hook is not what agent programs document: {error}");
    Error::new(Code::BadHookInput, message)
}

/// What the input of every event contains.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AgentSession {
    /// The current directory of the agent.
    pub cwd: Option<PathBuf>,
    /// The conversation.
    pub session_id: Option<String>,
}

/// The input of `SessionStart`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SessionStartInput {
    /// What every event contains.
    #[serde(flatten)]
    pub session: AgentSession,
}

/// The input of `UserPromptSubmit`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UserPromptInput {
    /// What every event contains.
    #[serde(flatten)]
    pub session: AgentSession,
}

/// The input of `PreToolUse`, which is `BeforeTool` in Gemini CLI.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ToolInput {
    /// What every event contains.
    #[serde(flatten)]
    pub session: AgentSession,
    /// The name of the tool.
    pub tool_name: String,
    /// The arguments of the tool. Those that name a file are read.
    #[serde(default)]
    pub tool_input: Value,
}

/// The input of `Stop`, which is `AfterAgent` in Gemini CLI and `agentStop` in Copilot CLI.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StopInput {
    /// What every event contains.
    #[serde(flatten)]
    pub session: AgentSession,
    /// Whether the agent continues because such a hook blocked it before.
    #[serde(default)]
    pub stop_hook_active: bool,
}

/// The input of the command for the status line.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StatuslineInput {
    /// What every event contains.
    #[serde(flatten)]
    pub session: AgentSession,
    /// The directories of the session.
    pub workspace: Option<StatuslineDirectories>,
}

/// The directories of a session.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StatuslineDirectories {
    /// The current directory of the agent.
    pub current_dir: Option<PathBuf>,
}

impl ToolInput {
    /// The files that the tool would write. None for a tool whose arguments do not say, such as a shell.
    pub fn files(&self) -> Vec<PathBuf> {
        // Some versions of Copilot CLI write the arguments as a text of JSON.
        let parsed = self
            .tool_input
            .as_str()
            .and_then(|text| serde_json::from_str(text).ok());
        written_files(&self.tool_name, parsed.as_ref().unwrap_or(&self.tool_input))
    }
}

impl StatuslineInput {
    /// The current directory of the agent.
    pub fn directory(&self) -> Option<&Path> {
        let workspace = self
            .workspace
            .as_ref()
            .and_then(|workspace| workspace.current_dir.as_deref());
        workspace.or(self.session.cwd.as_deref())
    }
}
