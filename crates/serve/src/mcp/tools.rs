//! The tools: which command each is, and how its arguments become those of the command.
//!
//! An agent pays for every word here in each conversation, so descriptions are short. No tool is an order that only a
//! person may give.

use crate::{Argument, ArgumentForm, command_line};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use std::sync::Arc;

/// A tool, which is the command with its name.
pub struct ToolRow {
    /// The name of the tool and of the command.
    pub name: &'static str,
    about: &'static str,
    /// Its arguments.
    pub arguments: &'static [Argument],
    /// Whether it moves a task.
    pub writes: bool,
    /// The key of the answer that is a text for the agent; the whole answer otherwise.
    pub text: Option<&'static str>,
}

const TASK: Argument = Argument {
    name: "task",
    about: "task id; optional if only one is open",
    form: ArgumentForm::Word,
    is_required: false,
};

/// The tools, in the order in which an agent needs them.
pub const TOOLS: [ToolRow; 9] = [
    ToolRow {
        name: "suggest",
        about: "What to do next for a task, or for the most urgent tasks, and why.",
        arguments: &[
            Argument {
                about: "task id; default: all open tasks",
                ..TASK
            },
            Argument {
                name: "for",
                about: "only what waits for this actor",
                form: ArgumentForm::OneOf("--for", &["agent", "human"]),
                is_required: false,
            },
            Argument {
                name: "brief",
                about: "only what to do now",
                form: ArgumentForm::Flag("--brief"),
                is_required: false,
            },
        ],
        writes: false,
        text: None,
    },
    ToolRow {
        name: "prompt",
        about: "The complete instructions for a task's current phase: files to read, files to write, examples.",
        arguments: &[TASK],
        writes: false,
        text: Some("prompt"),
    },
    ToolRow {
        name: "draft",
        about: "Write a draft of the file that is expected next: replace each TODO. Never overwrites a file.",
        arguments: &[
            TASK,
            Argument {
                name: "artifact",
                about: "artifact of the workflow; needs `task`; default: the first that is missing",
                form: ArgumentForm::Word,
                is_required: false,
            },
        ],
        writes: true,
        text: None,
    },
    ToolRow {
        name: "explain",
        about: "Why a task is in its phase: every rule that was tried, and the values it saw.",
        arguments: &[TASK],
        writes: false,
        text: None,
    },
    ToolRow {
        name: "check",
        about: "Findings in the files of a task, or of all tasks: path, line, code, hint.",
        arguments: &[Argument {
            about: "task id; default: all tasks",
            ..TASK
        }],
        writes: false,
        text: None,
    },
    ToolRow {
        name: "next",
        about: "Apply the transition that the rules decide, as a commit. Call it after writing the files.",
        arguments: &[
            TASK,
            Argument {
                name: "expect",
                about: "phase to reach; fails if the rules lead elsewhere, succeeds if already there",
                form: ArgumentForm::Text("--expect"),
                is_required: false,
            },
            Argument {
                name: "dryRun",
                about: "write nothing",
                form: ArgumentForm::Flag("--dry-run"),
                is_required: false,
            },
        ],
        writes: true,
        text: None,
    },
    ToolRow {
        name: "answer",
        about: "Answer the question that a task waits for, or pick an offered action with the key `action`.",
        arguments: &[
            // A word with `=` would be an answer.
            Argument {
                form: ArgumentForm::Text("--use"),
                ..TASK
            },
            Argument {
                name: "answers",
                about: "values by key, as the question of `suggest` names them",
                form: ArgumentForm::Pairs,
                is_required: true,
            },
            Argument {
                name: "expect",
                about: "`rev` of `suggest`; fails if it is another one now",
                form: ArgumentForm::Number("--expect"),
                is_required: false,
            },
        ],
        writes: true,
        text: None,
    },
    ToolRow {
        name: "log",
        about: "The recorded steps of a task, with reasons, evidence and commits.",
        arguments: &[TASK],
        writes: false,
        text: None,
    },
    ToolRow {
        name: "schema",
        about: "A JSON schema, or an example that it accepts.",
        arguments: &[
            Argument {
                name: "name",
                about: "a schema or an artifact, such as plan-review",
                form: ArgumentForm::Word,
                is_required: true,
            },
            Argument {
                name: "example",
                about: "an example instead",
                form: ArgumentForm::Flag("--example"),
                is_required: false,
            },
        ],
        writes: false,
        text: None,
    },
];

impl ToolRow {
    /// The tool with this name.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        TOOLS.iter().find(|tool| tool.name == name)
    }

    /// What a client is told about the tool.
    pub(super) fn wire(&self) -> Tool {
        let notes = ToolAnnotations::new()
            .read_only(!self.writes)
            .open_world(false);
        let notes = if self.writes {
            notes.destructive(false)
        } else {
            notes
        };
        Tool::new(self.name, self.about, Arc::new(self.schema())).with_annotations(notes)
    }

    /// The schema of its arguments.
    fn schema(&self) -> JsonObject {
        Argument::object(self.arguments, Argument::schema)
    }

    /// The words of the command for these arguments. Returns what is wrong if the schema does not accept them.
    pub fn command(&self, given: &JsonObject) -> Result<Vec<String>, String> {
        command_line(self.name, &[self.name], self.arguments.iter(), given)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orch_core::decide::is_order;
    use serde_json::{Value, json};

    fn words(tool: &str, given: Value) -> Result<String, String> {
        let given = given.as_object().expect("an object").clone();
        ToolRow::named(tool)
            .expect("a tool")
            .command(&given)
            .map(|words| words.join(" "))
    }

    #[test]
    fn arguments_become_those_of_the_command() {
        for (tool, given, expected) in [
            ("suggest", json!({}), "suggest --"),
            (
                "suggest",
                json!({"task": "t", "for": "agent", "brief": true}),
                "suggest --for=agent --brief -- t",
            ),
            (
                "next",
                json!({"task": "--to=done", "expect": "test", "dryRun": false}),
                "next --expect=test -- --to=done",
            ),
            ("next", json!({"task": null}), "next --"),
            (
                "answer",
                json!({"task": "t", "answers": {"a": "3", "b": 3, "c": [1]}}),
                r#"answer --use=t -- a="3" b=3 c=[1]"#,
            ),
            (
                "schema",
                json!({"name": "plan", "example": true}),
                "schema --example -- plan",
            ),
        ] {
            assert_eq!(words(tool, given).as_deref(), Ok(expected));
        }
        for (tool, given, expected) in [
            (
                "next",
                json!({"override": "x"}),
                "`next` has no argument `override`; it has task, expect, dryRun",
            ),
            (
                "next",
                json!({"task": 3}),
                "the argument `task` is not a string",
            ),
            (
                "suggest",
                json!({"for": "me"}),
                "the argument `for` is not one of agent, human",
            ),
            (
                "suggest",
                json!({"brief": "yes"}),
                "the argument `brief` is not true or false",
            ),
            (
                "answer",
                json!({"task": "t"}),
                "the argument `answers` is missing",
            ),
            (
                "answer",
                json!({"answers": {}}),
                "the argument `answers` is not an object with at least one member",
            ),
            (
                "answer",
                json!({"answers": {"a=b": 1}}),
                "`a=b` is not a key of an answer",
            ),
            (
                "schema",
                json!({"name": ""}),
                "the argument `name` is not a string",
            ),
        ] {
            assert_eq!(words(tool, given).expect_err("refused"), expected);
        }
    }

    #[test]
    fn no_tool_is_an_order_of_a_person() {
        for tool in &TOOLS {
            assert!(!is_order(tool.name), "{}", tool.name);
            for argument in tool.arguments {
                let option = match argument.form {
                    ArgumentForm::Text(option)
                    | ArgumentForm::Texts(option)
                    | ArgumentForm::SomeOf(option, _)
                    | ArgumentForm::Duration(option)
                    | ArgumentForm::Number(option)
                    | ArgumentForm::Flag(option)
                    | ArgumentForm::OneOf(option, _) => option,
                    ArgumentForm::Word | ArgumentForm::Pairs => "",
                };
                assert!(
                    !["--override", "--to", "--force"].contains(&option),
                    "{} {option}",
                    tool.name
                );
            }
        }
    }

    /// What each conversation pays for: about one token for four bytes.
    #[test]
    fn the_tools_are_cheap_to_describe() {
        let tools: Vec<Tool> = TOOLS.iter().map(ToolRow::wire).collect();
        let size = serde_json::to_string(&tools).expect("JSON").len();
        assert!(size < 4000, "{size} bytes");
    }
}
