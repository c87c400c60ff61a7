//! The tools: which command each is. What its arguments mean and how they are written says the command line.
//!
//! An agent pays for every word here in each conversation, so descriptions are short. No tool is an order that only a
//! person may give.

use crate::CallArgument::{self, Explained, Own, Renamed, Same};
use crate::{Argument, CommandDescriptions, OwnArgument, OwnForm, command_line};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use std::sync::Arc;

/// What a tool is besides the command with its name.
struct ToolRow {
    name: &'static str,
    /// What it does, if that is not what its command does.
    about: &'static str,
    arguments: &'static [CallArgument],
    writes: bool,
    leads_on: bool,
    text: Option<&'static str>,
}

/// A tool, which is the command with its name.
pub struct AgentTool {
    /// The name of the tool and of the command.
    pub name: &'static str,
    about: String,
    /// Its arguments.
    pub arguments: Vec<Argument>,
    /// Whether it moves a task.
    pub writes: bool,
    /// Whether its answer ends with what comes next.
    pub leads_on: bool,
    /// The key of the answer that is a text for the agent; the whole answer otherwise.
    pub text: Option<&'static str>,
}

const TASK: OwnArgument = OwnArgument {
    name: "task",
    about: "Default: the only open one.",
    form: OwnForm::Word,
    is_required: false,
};
/// The task of a command that is about all tasks if none is named.
const TASK_OR_ALL: OwnArgument = OwnArgument {
    about: "The task; default: all.",
    ..TASK
};
/// The task that is taken.
const FREE_TASK: OwnArgument = OwnArgument {
    about: "Default: the first free one.",
    ..TASK
};
/// The task that is given back.
const HELD_TASK: OwnArgument = OwnArgument {
    about: "Default: the one you hold.",
    ..TASK
};
/// The task of a command whose words are answers.
const TASK_IN_USE: OwnArgument = OwnArgument {
    form: OwnForm::TaskInUse,
    ..TASK
};
const ANSWERS: OwnArgument = OwnArgument {
    name: "answers",
    about: "By key, as the question of `suggest` names them.",
    form: OwnForm::Pairs,
    is_required: true,
};

/// What the rows of the table have in common.
const QUESTION: ToolRow = ToolRow {
    name: "",
    about: "",
    arguments: &[Own(TASK)],
    writes: false,
    leads_on: false,
    text: None,
};

/// The tools, in the order in which an agent needs them.
const ROWS: [ToolRow; 12] = [
    ToolRow {
        name: "suggest",
        arguments: &[
            Own(TASK_OR_ALL),
            Explained("for", "Only the tasks that this actor has to work on."),
            Explained("brief", "Only what to do now, in a few lines."),
        ],
        ..QUESTION
    },
    ToolRow {
        name: "take",
        about: "Take a task before you work on it, so that nobody else does. Call it again to renew.",
        arguments: &[Own(FREE_TASK)],
        writes: true,
        ..QUESTION
    },
    ToolRow {
        name: "release",
        about: "Give a task back when you are done with it.",
        arguments: &[Own(HELD_TASK)],
        writes: true,
        ..QUESTION
    },
    ToolRow {
        name: "prompt",
        about: "The instructions for a task's current phase: files to read, files to write, examples.",
        text: Some("prompt"),
        ..QUESTION
    },
    ToolRow {
        name: "draft",
        about: "Draft the file that is expected next: replace each TODO. Never overwrites a file.",
        arguments: &[
            Own(TASK),
            Explained(
                "artifact",
                "Default: the first that is missing, or else used up.",
            ),
        ],
        writes: true,
        leads_on: true,
        ..QUESTION
    },
    ToolRow {
        name: "show",
        about: "What to review: doubts, plan, verdicts, tests, the diff of the code.",
        ..QUESTION
    },
    ToolRow {
        name: "explain",
        about: "Every rule that was tried, what in its guard was false, and the values it saw.",
        ..QUESTION
    },
    ToolRow {
        name: "check",
        about: "Findings in the files of a task, or of all tasks: path, line, code, hint.",
        arguments: &[Own(TASK_OR_ALL)],
        leads_on: true,
        ..QUESTION
    },
    ToolRow {
        name: "next",
        about: "Commit the transition that the rules decide. Call it after writing the files.",
        arguments: &[
            Own(TASK),
            Explained(
                "expect",
                "The phase to reach; succeeds if the task is there.",
            ),
            Same("dry-run"),
        ],
        writes: true,
        leads_on: true,
        ..QUESTION
    },
    ToolRow {
        name: "answer",
        about: "Answer the question that a task waits for, or pick an offered action with the key `action`.",
        arguments: &[
            Own(TASK_IN_USE),
            Own(ANSWERS),
            Explained(
                "expect",
                "The `rev` of `suggest`; fails if it is another one now.",
            ),
        ],
        writes: true,
        leads_on: true,
        ..QUESTION
    },
    ToolRow {
        name: "log",
        about: "Every recorded step with its reason, evidence and commit.",
        ..QUESTION
    },
    ToolRow {
        name: "schema",
        arguments: &[
            Renamed("name", "schema_name"),
            Explained("example", "Instead, a document that the schema accepts."),
        ],
        ..QUESTION
    },
];

/// The tools, for these commands. One whose command or argument is not there is left out.
#[must_use]
pub fn tools(commands: &CommandDescriptions) -> Vec<AgentTool> {
    ROWS.iter().filter_map(|row| row.tool(commands)).collect()
}

impl ToolRow {
    fn tool(&self, commands: &CommandDescriptions) -> Option<AgentTool> {
        let command = commands.of(&[self.name])?;
        Some(AgentTool {
            name: self.name,
            about: command.about_or(self.about),
            arguments: command.arguments_of(self.arguments)?,
            writes: self.writes,
            leads_on: self.leads_on,
            text: self.text,
        })
    }
}

impl AgentTool {
    /// What a client is told about the tool.
    #[must_use]
    pub fn wire(&self) -> Tool {
        let notes = ToolAnnotations::new()
            .read_only(!self.writes)
            .open_world(false);
        let notes = if self.writes {
            notes.destructive(false)
        } else {
            notes
        };
        Tool::new(self.name, self.about.clone(), Arc::new(self.schema())).with_annotations(notes)
    }

    /// The schema of its arguments.
    fn schema(&self) -> JsonObject {
        Argument::object(&self.arguments, Argument::schema)
    }

    /// The words of the command for these arguments. Returns what is wrong if the schema does not accept them.
    pub fn command(&self, given: &JsonObject) -> Result<Vec<String>, String> {
        command_line(self.name, &[self.name], self.arguments.iter(), given)
    }
}
