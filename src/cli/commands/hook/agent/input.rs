//! What Claude Code writes to the stdin of its hooks. Keys that orch does not read may be there as well.

use orch_base::{Code, Error};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};

/// What the input of every event contains.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AgentSession {
    /// The current directory of the agent.
    pub cwd: Option<PathBuf>,
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

/// The input of `PreToolUse`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ToolInput {
    /// What every event contains.
    #[serde(flatten)]
    pub session: AgentSession,
    /// The name of the tool.
    pub tool_name: String,
    /// The arguments of the tool.
    #[serde(default)]
    pub tool_input: ToolArguments,
}

/// The arguments of a tool, as far as they name a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ToolArguments {
    /// The file that `Write`, `Edit` and `MultiEdit` write.
    pub file_path: Option<PathBuf>,
    /// The file that `NotebookEdit` writes.
    pub notebook_path: Option<PathBuf>,
}

/// The input of `Stop`.
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

/// The tools that write a file which their arguments name.
const WRITERS: [&str; 4] = ["Write", "Edit", "MultiEdit", "NotebookEdit"];

impl ToolInput {
    /// The file that the tool would write. `None` for a tool whose arguments do not say, such as a shell.
    pub fn file(&self) -> Option<&Path> {
        let arguments = &self.tool_input;
        let file = arguments
            .file_path
            .as_deref()
            .or(arguments.notebook_path.as_deref());
        file.filter(|_| WRITERS.contains(&self.tool_name.as_str()))
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

/// The input of a hook. Returns an error if it is not the JSON that the program documents.
pub fn parsed<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|error| {
        let message = format!("the input of the hook is not what Claude Code documents: {error}");
        Error::new(Code::BadHookInput, message)
    })
}
