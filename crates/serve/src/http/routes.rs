//! The table of routes: which command line each is, and how its arguments are written.

use super::arguments::{
    ARTIFACT, AT, DRY_RUN, ISSUE, OPTIONAL, OVERRIDE_TO, REASON, REJECT_TO, REOPEN_TO, ROLLBACK_TO,
    TASK, TASK_IN_USE, TO, WAIT, WORKFLOW,
};
use crate::{Argument, ArgumentForm, command_line};
use serde_json::{Map, Value};

/// A route, which is a command line of `orch`.
pub struct Route {
    /// Its name in the OpenAPI document.
    pub name: &'static str,
    /// The path, with its arguments in braces.
    pub path: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Whether it is an order, which is a POST; otherwise it is a GET.
    pub writes: bool,
    /// The words of the command, without its arguments.
    pub command: &'static [&'static str],
    /// The arguments in the path, in the order of the words.
    pub in_path: &'static [Argument],
    /// The arguments in the query of a GET, or in the body of a POST.
    pub arguments: &'static [Argument],
    /// The kinds of documents that it answers.
    pub kinds: &'static [&'static str],
    /// The list in the answer that is sent in pages.
    pub pages: Option<&'static str>,
    /// Whether the answer identifies the state of a task.
    pub is_tagged: bool,
    /// Whether the command drives a run, which continues after the answer.
    pub starts_run: bool,
}

/// What the rows of the table have in common.
const GET: Route = Route {
    name: "",
    path: "",
    about: "",
    writes: false,
    command: &[],
    in_path: &[],
    arguments: &[],
    kinds: &[],
    pages: None,
    is_tagged: false,
    starts_run: false,
};

/// What the orders about a task have in common.
const ORDER: Route = Route {
    writes: true,
    in_path: &[TASK],
    kinds: &["transitions", "nothing"],
    ..GET
};

/// Who may have to act.
const OWNERS: [&str; 5] = ["agent", "human", "orch", "process", "none"];

/// The routes, by what they are about.
pub static ROUTES: &[Route] = &[
    Route {
        name: "listTasks",
        path: "/api/v1/tasks",
        about: "The status of the tasks, the most urgent first.",
        command: &["status"],
        arguments: &[
            Argument {
                name: "phase",
                about: "Only the tasks in this phase; repeatable.",
                form: ArgumentForm::Texts("--phase"),
                ..OPTIONAL
            },
            Argument {
                name: "owner",
                about: "Only the tasks for which this owner must act; repeatable.",
                form: ArgumentForm::SomeOf("--owner", &OWNERS),
                ..OPTIONAL
            },
            Argument {
                name: "workflow",
                about: "Only the tasks of this workflow; repeatable.",
                form: ArgumentForm::Texts("--workflow"),
                ..OPTIONAL
            },
            Argument {
                name: "all",
                about: "The archived tasks, too.",
                form: ArgumentForm::Flag("--all"),
                ..OPTIONAL
            },
            AT,
        ],
        kinds: &["status"],
        pages: Some("tasks"),
        ..GET
    },
    Route {
        name: "listSuggestions",
        path: "/api/v1/suggestions",
        about: "What to do next for each open task, the most urgent first.",
        command: &["suggest", "--all"],
        arguments: &[
            Argument {
                name: "for",
                about: "Only what waits for this actor.",
                form: ArgumentForm::OneOf("--for", &["agent", "human"]),
                ..OPTIONAL
            },
            Argument {
                name: "limit",
                about: "At most this many tasks.",
                form: ArgumentForm::Number("--limit"),
                ..OPTIONAL
            },
            Argument {
                name: "brief",
                about: "Only what to do now.",
                form: ArgumentForm::Flag("--brief"),
                ..OPTIONAL
            },
            AT,
        ],
        kinds: &["suggestions", "briefs"],
        ..GET
    },
    Route {
        name: "getOverview",
        path: "/api/v1/overview",
        about: "The tasks of all branches, remote-tracking branches and work trees, each where it is furthest.",
        command: &["status", "--everywhere"],
        kinds: &["everywhere"],
        ..GET
    },
    Route {
        name: "getTask",
        path: "/api/v1/tasks/{task}",
        about: "What to do next for a task, and why. The answer has an `ETag` of the state of the task.",
        command: &["suggest"],
        in_path: &[TASK],
        arguments: &[AT],
        kinds: &["suggestions"],
        is_tagged: true,
        ..GET
    },
    Route {
        name: "explainTask",
        path: "/api/v1/tasks/{task}/explanation",
        about: "Why a task is in its phase: its artifacts, every rule that was tried, and the values it saw.",
        command: &["explain"],
        in_path: &[TASK],
        arguments: &[AT],
        kinds: &["explanations"],
        ..GET
    },
    Route {
        name: "getPrompt",
        path: "/api/v1/tasks/{task}/prompt",
        about: "The complete instructions for the current phase of a task.",
        command: &["prompt"],
        in_path: &[TASK],
        kinds: &["prompt"],
        ..GET
    },
    Route {
        name: "getLog",
        path: "/api/v1/tasks/{task}/log",
        about: "The recorded steps of a task, with reasons, evidence and commits.",
        command: &["log"],
        in_path: &[TASK],
        kinds: &["log"],
        ..GET
    },
    Route {
        name: "diffArtifact",
        path: "/api/v1/tasks/{task}/artifacts/{artifact}/diff",
        about: "What has changed in an artifact since the last step that rests on it: a patch for each file.",
        command: &["diff"],
        in_path: &[TASK, ARTIFACT],
        kinds: &["diff"],
        ..GET
    },
    Route {
        name: "checkTask",
        path: "/api/v1/tasks/{task}/findings",
        about: "The findings in the files of a task.",
        command: &["check"],
        in_path: &[TASK],
        arguments: &[AT],
        kinds: &["findings"],
        ..GET
    },
    Route {
        name: "checkTasks",
        path: "/api/v1/findings",
        about: "The findings in the files of all tasks.",
        command: &["check"],
        arguments: &[AT],
        kinds: &["findings"],
        ..GET
    },
    Route {
        name: "next",
        path: "/api/v1/tasks/{task}/next",
        about: "Apply the transition that the rules decide. Answers `nothing` if none is due.",
        command: &["next"],
        arguments: &[
            Argument {
                name: "expect",
                about: "The phase to reach: fails if the rules lead elsewhere, succeeds if the task is there.",
                form: ArgumentForm::Text("--expect"),
                ..OPTIONAL
            },
            TO,
            DRY_RUN,
            WAIT,
        ],
        ..ORDER
    },
    Route {
        name: "override",
        path: "/api/v1/tasks/{task}/override",
        about: "Override the rules, as a person.",
        command: &["next"],
        arguments: &[
            Argument {
                form: ArgumentForm::Text("--override"),
                ..REASON
            },
            OVERRIDE_TO,
            DRY_RUN,
            WAIT,
        ],
        ..ORDER
    },
    Route {
        name: "approve",
        path: "/api/v1/tasks/{task}/approve",
        about: "Approve a task that waits for a verdict, so that it moves on.",
        command: &["approve"],
        arguments: &[
            Argument {
                name: "override",
                about: "Why the task moves on although the evidence for the approval no longer stands.",
                form: ArgumentForm::Text("--override"),
                ..OPTIONAL
            },
            ISSUE,
            DRY_RUN,
            WAIT,
        ],
        ..ORDER
    },
    Route {
        name: "reject",
        path: "/api/v1/tasks/{task}/reject",
        about: "Reject a task that waits for a verdict, and send it back.",
        command: &["reject"],
        arguments: &[REASON, REJECT_TO, ISSUE, DRY_RUN, WAIT],
        ..ORDER
    },
    Route {
        name: "rollback",
        path: "/api/v1/tasks/{task}/rollback",
        about: "Go back to an earlier phase, as a person.",
        command: &["rollback"],
        arguments: &[REASON, ROLLBACK_TO, DRY_RUN, WAIT],
        ..ORDER
    },
    Route {
        name: "reopen",
        path: "/api/v1/tasks/{task}/reopen",
        about: "Leave a terminal phase, as a person.",
        command: &["reopen"],
        arguments: &[REASON, REOPEN_TO, WAIT],
        ..ORDER
    },
    Route {
        name: "draft",
        path: "/api/v1/tasks/{task}/draft",
        about: "Write a draft of the file that is expected next, for you to fill in. Never overwrites a file.",
        command: &["draft"],
        arguments: &[
            Argument {
                about: "The artifact; default: the first that is missing.",
                is_required: false,
                ..ARTIFACT
            },
            Argument {
                name: "print",
                about: "Only return the draft.",
                form: ArgumentForm::Flag("--stdout"),
                ..OPTIONAL
            },
        ],
        kinds: &["draft"],
        ..ORDER
    },
    Route {
        name: "confirm",
        path: "/api/v1/tasks/{task}/confirm",
        about: "Confirm that an unchanged artifact is still correct.",
        command: &["confirm"],
        arguments: &[ARTIFACT, REASON, WAIT],
        ..ORDER
    },
    Route {
        name: "answer",
        path: "/api/v1/tasks/{task}/answer",
        about: "Answer the question that a task waits for, or pick an offered action with the key `action`.",
        command: &["answer"],
        in_path: &[TASK_IN_USE],
        arguments: &[
            Argument {
                name: "answers",
                about: "The values by key, as the question of the task names them.",
                form: ArgumentForm::Pairs,
                is_required: true,
            },
            Argument {
                name: "expect",
                about: "The revision (`rev` of the suggestion) that the answer rests on: fails with 412 if the task \
                        is at another one.",
                form: ArgumentForm::Number("--expect"),
                ..OPTIONAL
            },
            DRY_RUN,
            WAIT,
        ],
        ..ORDER
    },
    Route {
        name: "undo",
        path: "/api/v1/tasks/{task}/undo",
        about: "Take back the last order, as a person.",
        command: &["undo"],
        arguments: &[
            Argument {
                is_required: false,
                ..REASON
            },
            DRY_RUN,
            WAIT,
        ],
        ..ORDER
    },
    Route {
        name: "newTask",
        path: "/api/v1/tasks",
        about: "Create a task.",
        command: &["new"],
        in_path: &[],
        arguments: &[
            Argument {
                name: "id",
                about: "The id of the task.",
                is_required: true,
                ..OPTIONAL
            },
            Argument {
                name: "title",
                about: "A title for people.",
                form: ArgumentForm::Text("--title"),
                ..OPTIONAL
            },
            Argument {
                name: "workflow",
                about: "The workflow that governs the task; default: that of its root.",
                form: ArgumentForm::Text("--workflow"),
                ..OPTIONAL
            },
            Argument {
                name: "root",
                about: "The root that the task belongs to.",
                form: ArgumentForm::Text("--root"),
                ..OPTIONAL
            },
            WAIT,
        ],
        kinds: &["transitions"],
        ..ORDER
    },
    Route {
        name: "rename",
        path: "/api/v1/tasks/{task}/rename",
        about: "Give a task another id.",
        command: &["rename"],
        arguments: &[
            Argument {
                name: "id",
                about: "The new id.",
                is_required: true,
                ..OPTIONAL
            },
            DRY_RUN,
            WAIT,
        ],
        ..ORDER
    },
    Route {
        name: "archive",
        path: "/api/v1/tasks/{task}/archive",
        about: "Archive a finished task.",
        command: &["archive"],
        arguments: &[
            Argument {
                name: "force",
                about: "Archive the task although it is not finished, for this reason.",
                form: ArgumentForm::Text("--force"),
                ..OPTIONAL
            },
            DRY_RUN,
            WAIT,
        ],
        ..ORDER
    },
    Route {
        name: "recover",
        path: "/api/v1/tasks/{task}/recover",
        about: "Rebuild the record of a task.",
        command: &["recover"],
        kinds: &["recovery"],
        ..ORDER
    },
    Route {
        name: "listRuns",
        path: "/api/v1/runs",
        about: "The last run of every task.",
        command: &["runs"],
        arguments: &[Argument {
            name: "open",
            about: "Only active and interrupted runs.",
            form: ArgumentForm::Flag("--open"),
            ..OPTIONAL
        }],
        kinds: &["runs"],
        ..GET
    },
    Route {
        name: "run",
        path: "/api/v1/tasks/{task}/run",
        about: "Start a run. Answers when it has begun, with the run, or has ended already.",
        command: &["run"],
        arguments: &[
            Argument {
                name: "auto",
                about: "Answer questions with the defaults that the workflow declares.",
                form: ArgumentForm::Flag("--auto"),
                ..OPTIONAL
            },
            Argument {
                name: "interactive",
                about: "End the run at a question, so that a person answers it.",
                form: ArgumentForm::Flag("--interactive"),
                ..OPTIONAL
            },
            Argument {
                name: "maxTurns",
                about: "Start executors at most this many times.",
                form: ArgumentForm::Number("--max-turns"),
                ..OPTIONAL
            },
            DRY_RUN,
        ],
        kinds: &["runs", "run"],
        in_path: &[TASK_IN_USE],
        starts_run: true,
        ..ORDER
    },
    Route {
        name: "pause",
        path: "/api/v1/tasks/{task}/pause",
        about: "End a run after the action in progress, to be resumed.",
        command: &["pause"],
        kinds: &["control", "nothing"],
        ..ORDER
    },
    Route {
        name: "resume",
        path: "/api/v1/tasks/{task}/resume",
        about: "Continue a paused run. Answers when it has begun, with the run, or has ended already.",
        command: &["resume"],
        kinds: &["runs", "run", "control", "nothing"],
        in_path: &[TASK_IN_USE],
        starts_run: true,
        ..ORDER
    },
    Route {
        name: "stop",
        path: "/api/v1/tasks/{task}/stop",
        about: "End a run now.",
        command: &["stop"],
        kinds: &["control", "nothing"],
        ..ORDER
    },
    Route {
        name: "audit",
        path: "/api/v1/audit",
        about: "Whether every recorded step follows from the files in its commit.",
        command: &["audit"],
        arguments: &[
            Argument {
                name: "range",
                about: "A range `A..B` or a revision; default: the whole history of HEAD.",
                ..OPTIONAL
            },
            Argument {
                name: "since",
                about: "Audit only commits that are not reachable from this revision.",
                form: ArgumentForm::Text("--since"),
                ..OPTIONAL
            },
            Argument {
                name: "also",
                about: "Prove steps by the history of this revision, too; repeatable.",
                form: ArgumentForm::Texts("--also"),
                ..OPTIONAL
            },
            Argument {
                name: "task",
                about: "Only the verdicts on this task; repeatable.",
                form: ArgumentForm::Texts("--task"),
                ..OPTIONAL
            },
            Argument {
                name: "strict",
                about: "The exit code is 1 if anything is unverifiable.",
                form: ArgumentForm::Flag("--strict"),
                ..OPTIONAL
            },
        ],
        kinds: &["audit"],
        ..GET
    },
    Route {
        name: "getSchema",
        path: "/api/v1/schemas/{schema}",
        about: "A schema, or an example that it accepts.",
        command: &["schema"],
        in_path: &[Argument {
            name: "schema",
            about: "The name of the schema.",
            is_required: true,
            ..OPTIONAL
        }],
        arguments: &[Argument {
            name: "example",
            about: "An example instead.",
            form: ArgumentForm::Flag("--example"),
            ..OPTIONAL
        }],
        ..GET
    },
    Route {
        name: "listWorkflows",
        path: "/api/v1/workflows",
        about: "The workflows, with their numbers of phases and rules.",
        command: &["workflow", "list"],
        kinds: &["workflows"],
        ..GET
    },
    Route {
        name: "getWorkflow",
        path: "/api/v1/workflows/{workflow}",
        about: "The document of a workflow.",
        command: &["workflow", "show"],
        in_path: &[WORKFLOW],
        kinds: &["text"],
        ..GET
    },
    Route {
        name: "drawWorkflow",
        path: "/api/v1/workflows/{workflow}/diagram",
        about: "The diagram of a workflow, as text.",
        command: &["workflow", "diagram"],
        in_path: &[WORKFLOW],
        arguments: &[Argument {
            name: "format",
            about: "The diagram language; default: mermaid.",
            form: ArgumentForm::OneOf("--format", &["mermaid", "dot"]),
            ..OPTIONAL
        }],
        kinds: &["text"],
        ..GET
    },
    Route {
        name: "checkWorkflow",
        path: "/api/v1/workflows/{workflow}/findings",
        about: "The problems in the document of a workflow.",
        command: &["workflow", "check"],
        in_path: &[WORKFLOW],
        kinds: &["findings"],
        ..GET
    },
    Route {
        name: "explainCode",
        path: "/api/v1/codes/{code}",
        about: "What a code of an error or a finding means, and what to do about it.",
        command: &["help"],
        in_path: &[Argument {
            name: "code",
            about: "The code.",
            is_required: true,
            ..OPTIONAL
        }],
        kinds: &["code"],
        ..GET
    },
];

impl Route {
    /// The words of the command for these arguments. Returns what is wrong if they are not accepted.
    pub fn words(&self, given: &Map<String, Value>) -> Result<Vec<String>, String> {
        command_line(
            self.name,
            self.command,
            self.in_path.iter().chain(self.arguments),
            given,
        )
    }

    /// The argument with this name, in the query or the body.
    pub(super) fn argument(&self, name: &str) -> Option<&'static Argument> {
        self.arguments.iter().find(|argument| argument.name == name)
    }

    /// Whether it is about one task.
    pub(super) fn names_task(&self) -> bool {
        self.in_path
            .iter()
            .any(|argument| argument.name == TASK.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::collections::BTreeSet;

    /// What a client sends is never a program to start.
    #[test]
    fn no_route_names_an_executor() {
        for route in ROUTES.iter().filter(|route| route.starts_run) {
            let given = Map::from_iter([("task".to_owned(), json!("rm"))]);
            let words = route.words(&given).expect("accepted");
            assert_eq!(words[1..], ["--use=rm", "--"], "{}", route.name);
        }
    }

    #[test]
    fn paths_name_their_arguments_and_names_are_used_once() {
        let names: BTreeSet<&str> = ROUTES.iter().map(|route| route.name).collect();
        let places: BTreeSet<(bool, &str)> = ROUTES
            .iter()
            .map(|route| (route.writes, route.path))
            .collect();
        assert_eq!((names.len(), places.len()), (ROUTES.len(), ROUTES.len()));
        for route in ROUTES {
            let braced: Vec<&str> = route
                .path
                .split('/')
                .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
                .collect();
            let arguments: Vec<&str> = route.in_path.iter().map(|argument| argument.name).collect();
            assert_eq!(braced, arguments, "{}", route.path);
            assert!(
                route.path.starts_with("/api/v1/") && route.about.ends_with('.'),
                "{}",
                route.path
            );
        }
        assert_eq!(
            OWNERS,
            orch_core::workflow::Owner::ALL.map(orch_core::workflow::Owner::as_str)
        );
    }
}
