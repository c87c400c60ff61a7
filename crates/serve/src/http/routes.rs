//! The table of routes: which command line each is. What its arguments mean and how they are written says the command
//! line.

use crate::CallArgument::{self, Explained, Own, Renamed, Required, Same};
use crate::{Argument, CommandDescriptions, OwnArgument, OwnForm, command_line};
use serde_json::{Map, Value};
use std::sync::Arc;

/// What a route is besides its command.
pub(super) struct RouteRow {
    pub name: &'static str,
    path: &'static str,
    /// What it does, if that is not what its command does.
    about: &'static str,
    pub writes: bool,
    command: &'static [&'static str],
    in_path: &'static [CallArgument],
    arguments: &'static [CallArgument],
    kinds: &'static [&'static str],
    pages: Option<&'static str>,
    is_tagged: bool,
    starts_run: bool,
}

/// A route, which is a command line of `orch`.
pub struct Route {
    /// Its name in the OpenAPI document.
    pub name: &'static str,
    /// The path, with its arguments in braces.
    pub path: &'static str,
    /// What it does.
    pub about: String,
    /// Whether it is an order, which is a POST; otherwise it is a GET.
    pub writes: bool,
    /// The words of the command, without its arguments.
    pub command: &'static [&'static str],
    /// The arguments in the path, in the order of the words.
    pub in_path: Vec<Argument>,
    /// The arguments in the query of a GET, or in the body of a POST.
    pub arguments: Vec<Argument>,
    /// The kinds of documents that it answers.
    pub kinds: &'static [&'static str],
    /// The list in the answer that is sent in pages.
    pub pages: Option<&'static str>,
    /// Whether the answer identifies the state of a task.
    pub is_tagged: bool,
    /// Whether the command drives a run, which continues after the answer.
    pub starts_run: bool,
}

/// The arguments that several routes have.
const TASK: OwnArgument = OwnArgument {
    name: "task",
    about: "The id of the task.",
    form: OwnForm::Word,
    is_required: true,
};
/// The task of a command whose words after `--` are a program or answers.
const TASK_IN_USE: OwnArgument = OwnArgument {
    form: OwnForm::TaskInUse,
    ..TASK
};
/// The artifact of a command whose words may begin with the task.
const ARTIFACT: OwnArgument = OwnArgument {
    name: "artifact",
    about: "The name of the artifact in the workflow.",
    ..TASK
};
/// The artifact of a confirmation, which may be of something else.
const CONFIRMED: OwnArgument = OwnArgument {
    is_required: false,
    ..ARTIFACT
};
const CODE: OwnArgument = OwnArgument {
    name: "code",
    about: "The code.",
    ..TASK
};
const ANSWERS: OwnArgument = OwnArgument {
    name: "answers",
    about: "The values by key, as the question of the task names them.",
    form: OwnForm::Pairs,
    is_required: true,
};
const WORKFLOW: CallArgument = Required("workflow", "workflow");
/// The only one of several.
const ONE_WORKFLOW: CallArgument = Required("workflow", "workflows");
const NEXT_TO: CallArgument =
    Explained("to", "The target phase: fails if the rules lead elsewhere.");
const OVERRIDE_TO: CallArgument = Explained(
    "to",
    "The target phase; default: the phase that the work of the current one leads to.",
);
const EXPECT: CallArgument = Explained(
    "expect",
    "The phase to reach: fails if the rules lead elsewhere, succeeds if the task is there.",
);
const WAIT: CallArgument = Explained(
    "wait",
    "How long the order may wait for other orders and for locks of other processes, such as `30s`; at most `60s`.",
);

/// What the rows of the table have in common.
const GET: RouteRow = RouteRow {
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
const ORDER: RouteRow = RouteRow {
    writes: true,
    in_path: &[Own(TASK)],
    kinds: &["transitions", "nothing"],
    ..GET
};

/// The routes, by what they are about.
pub(super) const ROWS: &[RouteRow] = &[
    RouteRow {
        name: "listTasks",
        path: "/api/v1/tasks",
        about: "The status of the tasks, the most urgent first.",
        command: &["status"],
        arguments: &[
            Same("phase"),
            Same("owner"),
            Same("workflow"),
            Same("all"),
            Same("at"),
        ],
        kinds: &["status"],
        pages: Some("tasks"),
        ..GET
    },
    RouteRow {
        name: "listSuggestions",
        path: "/api/v1/suggestions",
        about: "What to do next for each open task, the most urgent first.",
        command: &["suggest", "--all"],
        arguments: &[
            Same("for"),
            Explained("limit", "At most this many tasks."),
            Same("brief"),
            Same("at"),
        ],
        kinds: &["suggestions", "briefs"],
        ..GET
    },
    RouteRow {
        name: "listFree",
        path: "/api/v1/free",
        command: &["free"],
        kinds: &["free"],
        ..GET
    },
    RouteRow {
        name: "getOverview",
        path: "/api/v1/overview",
        about: "The tasks of all branches, remote-tracking branches and work trees, each where it is furthest.",
        command: &["status", "--everywhere"],
        kinds: &["everywhere"],
        ..GET
    },
    RouteRow {
        name: "getTask",
        path: "/api/v1/tasks/{task}",
        about: "What to do next for a task, and why. The answer has an `ETag` of the state of the task.",
        command: &["suggest"],
        in_path: &[Own(TASK)],
        arguments: &[Same("at")],
        kinds: &["suggestions"],
        is_tagged: true,
        ..GET
    },
    RouteRow {
        name: "showTask",
        path: "/api/v1/tasks/{task}/sheet",
        about: "All that is decided about a task: what is in doubt, its files, what an approval would rest on, the code.",
        command: &["show"],
        in_path: &[Own(TASK)],
        arguments: &[Same("at")],
        kinds: &["sheet"],
        ..GET
    },
    RouteRow {
        name: "explainTask",
        path: "/api/v1/tasks/{task}/explanation",
        about: "Why a task is in its phase: its artifacts, every rule that was tried, and the values it saw.",
        command: &["explain"],
        in_path: &[Own(TASK)],
        arguments: &[Same("at")],
        kinds: &["explanations"],
        ..GET
    },
    RouteRow {
        name: "getPrompt",
        path: "/api/v1/tasks/{task}/prompt",
        command: &["prompt"],
        in_path: &[Own(TASK)],
        kinds: &["prompt"],
        ..GET
    },
    RouteRow {
        name: "getLog",
        path: "/api/v1/tasks/{task}/log",
        command: &["log"],
        in_path: &[Own(TASK)],
        kinds: &["log"],
        ..GET
    },
    RouteRow {
        name: "diffArtifact",
        path: "/api/v1/tasks/{task}/artifacts/{artifact}/diff",
        command: &["diff"],
        in_path: &[Own(TASK), Own(ARTIFACT)],
        kinds: &["diff"],
        ..GET
    },
    RouteRow {
        name: "describePullRequest",
        path: "/api/v1/tasks/{task}/pull-request",
        about: "What a pull request with the task says of it, as Markdown.",
        command: &["pr"],
        in_path: &[Own(TASK)],
        arguments: &[Same("at")],
        kinds: &["pull-request"],
        ..GET
    },
    RouteRow {
        name: "checkTask",
        path: "/api/v1/tasks/{task}/findings",
        about: "The findings in the files of a task.",
        command: &["check"],
        in_path: &[Own(TASK)],
        arguments: &[Same("at")],
        kinds: &["findings"],
        ..GET
    },
    RouteRow {
        name: "checkTasks",
        path: "/api/v1/findings",
        about: "The findings in the files of all tasks.",
        command: &["check"],
        arguments: &[Same("at")],
        kinds: &["findings"],
        ..GET
    },
    RouteRow {
        name: "next",
        path: "/api/v1/tasks/{task}/next",
        about: "Apply the transition that the rules decide. Answers `nothing` if none is due.",
        command: &["next"],
        arguments: &[EXPECT, NEXT_TO, Same("dry-run"), WAIT],
        ..ORDER
    },
    RouteRow {
        name: "take",
        path: "/api/v1/tasks/{task}/take",
        about: "Take a task for the work tree of the server, or renew its lease.",
        command: &["take"],
        arguments: &[Same("for"), Same("as"), Same("break"), WAIT],
        kinds: &["take"],
        ..ORDER
    },
    RouteRow {
        name: "takeFree",
        path: "/api/v1/take",
        about: "Take the first task that is free for the work tree of the server.",
        command: &["take"],
        in_path: &[],
        arguments: &[Same("for"), Same("as"), Same("any"), WAIT],
        kinds: &["take"],
        ..ORDER
    },
    RouteRow {
        name: "release",
        path: "/api/v1/tasks/{task}/release",
        command: &["release"],
        arguments: &[Same("break"), WAIT],
        kinds: &["release"],
        ..ORDER
    },
    RouteRow {
        name: "override",
        path: "/api/v1/tasks/{task}/override",
        about: "Override the rules, as a person.",
        command: &["next"],
        arguments: &[
            Required("reason", "override"),
            OVERRIDE_TO,
            Same("dry-run"),
            WAIT,
        ],
        ..ORDER
    },
    RouteRow {
        name: "approve",
        path: "/api/v1/tasks/{task}/approve",
        command: &["approve"],
        arguments: &[Same("override"), Same("issue"), Same("dry-run"), WAIT],
        ..ORDER
    },
    RouteRow {
        name: "reject",
        path: "/api/v1/tasks/{task}/reject",
        command: &["reject"],
        arguments: &[
            Same("reason"),
            Same("to"),
            Same("issue"),
            Same("dry-run"),
            WAIT,
        ],
        ..ORDER
    },
    RouteRow {
        name: "rollback",
        path: "/api/v1/tasks/{task}/rollback",
        command: &["rollback"],
        arguments: &[Same("reason"), Same("to"), Same("dry-run"), WAIT],
        ..ORDER
    },
    RouteRow {
        name: "reopen",
        path: "/api/v1/tasks/{task}/reopen",
        command: &["reopen"],
        arguments: &[Same("reason"), Same("to"), WAIT],
        ..ORDER
    },
    RouteRow {
        name: "draft",
        path: "/api/v1/tasks/{task}/draft",
        command: &["draft"],
        arguments: &[Same("artifact"), Renamed("print", "stdout")],
        kinds: &["draft"],
        ..ORDER
    },
    RouteRow {
        name: "confirm",
        path: "/api/v1/tasks/{task}/confirm",
        command: &["confirm"],
        arguments: &[Own(CONFIRMED), Same("lost"), Same("reason"), WAIT],
        ..ORDER
    },
    RouteRow {
        name: "answer",
        path: "/api/v1/tasks/{task}/answer",
        about: "Answer the question that a task waits for, or pick an offered action with the key `action`.",
        command: &["answer"],
        in_path: &[Own(TASK_IN_USE)],
        arguments: &[Own(ANSWERS), Same("expect"), Same("dry-run"), WAIT],
        ..ORDER
    },
    RouteRow {
        name: "undo",
        path: "/api/v1/tasks/{task}/undo",
        command: &["undo"],
        arguments: &[Same("reason"), Same("dry-run"), WAIT],
        ..ORDER
    },
    RouteRow {
        name: "newTask",
        path: "/api/v1/tasks",
        command: &["new"],
        in_path: &[],
        arguments: &[
            Required("id", "id"),
            Same("title"),
            Renamed("brief", "brief-text"),
            Same("workflow"),
            Same("root"),
            Same("after"),
            Same("parent"),
            Same("priority"),
            Same("assignee"),
            WAIT,
        ],
        kinds: &["transitions"],
        ..ORDER
    },
    RouteRow {
        name: "relate",
        path: "/api/v1/tasks/{task}/relate",
        command: &["relate"],
        arguments: &[
            Same("after"),
            Same("not-after"),
            Same("parent"),
            Same("no-parent"),
            Same("priority"),
            Same("no-priority"),
            Same("assignee"),
            Same("no-assignee"),
            Same("dry-run"),
            WAIT,
        ],
        ..ORDER
    },
    RouteRow {
        name: "graph",
        path: "/api/v1/graph",
        command: &["graph"],
        in_path: &[],
        arguments: &[],
        kinds: &["graph"],
        ..GET
    },
    RouteRow {
        name: "rename",
        path: "/api/v1/tasks/{task}/rename",
        command: &["rename"],
        arguments: &[Renamed("id", "new"), Same("dry-run"), WAIT],
        ..ORDER
    },
    RouteRow {
        name: "archive",
        path: "/api/v1/tasks/{task}/archive",
        command: &["archive"],
        arguments: &[Same("force"), Same("dry-run"), WAIT],
        ..ORDER
    },
    RouteRow {
        name: "recover",
        path: "/api/v1/tasks/{task}/recover",
        about: "Rebuild the record of a task.",
        command: &["recover"],
        kinds: &["recovery"],
        ..ORDER
    },
    RouteRow {
        name: "listRuns",
        path: "/api/v1/runs",
        command: &["runs"],
        arguments: &[Same("open")],
        kinds: &["runs"],
        ..GET
    },
    RouteRow {
        name: "run",
        path: "/api/v1/tasks/{task}/run",
        about: "Start a run. Answers when it has begun, with the run, or has ended already.",
        command: &["run"],
        in_path: &[Own(TASK_IN_USE)],
        arguments: &[
            Same("auto"),
            Explained(
                "interactive",
                "End the run at a question, so that a person answers it.",
            ),
            Same("max-turns"),
            Same("no-wait"),
            Same("dry-run"),
        ],
        kinds: &["runs", "run"],
        starts_run: true,
        ..ORDER
    },
    RouteRow {
        name: "pause",
        path: "/api/v1/tasks/{task}/pause",
        about: "End a run after the action in progress, to be resumed.",
        command: &["pause"],
        kinds: &["control", "nothing"],
        ..ORDER
    },
    RouteRow {
        name: "resume",
        path: "/api/v1/tasks/{task}/resume",
        about: "Continue a paused run. Answers when it has begun, with the run, or has ended already.",
        command: &["resume"],
        in_path: &[Own(TASK_IN_USE)],
        kinds: &["runs", "run", "control", "nothing"],
        starts_run: true,
        ..ORDER
    },
    RouteRow {
        name: "stop",
        path: "/api/v1/tasks/{task}/stop",
        about: "End a run now.",
        command: &["stop"],
        kinds: &["control", "nothing"],
        ..ORDER
    },
    RouteRow {
        name: "audit",
        path: "/api/v1/audit",
        command: &["audit"],
        arguments: &[
            Same("range"),
            Same("since"),
            Same("also"),
            Same("task"),
            Same("strict"),
            Same("require"),
        ],
        kinds: &["audit"],
        ..GET
    },
    RouteRow {
        name: "getSchema",
        path: "/api/v1/schemas/{schema}",
        command: &["schema"],
        in_path: &[Renamed("schema", "schema_name")],
        arguments: &[Same("example")],
        ..GET
    },
    RouteRow {
        name: "listWorkflows",
        path: "/api/v1/workflows",
        command: &["workflow", "list"],
        kinds: &["workflows"],
        ..GET
    },
    RouteRow {
        name: "getWorkflow",
        path: "/api/v1/workflows/{workflow}",
        about: "The document of a workflow.",
        command: &["workflow", "show"],
        in_path: &[WORKFLOW],
        kinds: &["text"],
        ..GET
    },
    RouteRow {
        name: "drawWorkflow",
        path: "/api/v1/workflows/{workflow}/diagram",
        about: "The diagram of a workflow, as text.",
        command: &["workflow", "diagram"],
        in_path: &[WORKFLOW],
        arguments: &[Same("format")],
        kinds: &["text"],
        ..GET
    },
    RouteRow {
        name: "checkWorkflow",
        path: "/api/v1/workflows/{workflow}/findings",
        about: "The problems in the document of a workflow.",
        command: &["workflow", "check"],
        in_path: &[ONE_WORKFLOW],
        kinds: &["findings"],
        ..GET
    },
    RouteRow {
        name: "explainCode",
        path: "/api/v1/codes/{code}",
        about: "What a code of an error or a finding means, and what to do about it.",
        command: &["help"],
        in_path: &[Own(CODE)],
        kinds: &["code"],
        ..GET
    },
];

/// The routes, for these commands. One whose command or argument is not there is left out.
#[must_use]
pub fn routes(commands: &CommandDescriptions) -> Vec<Arc<Route>> {
    let routes = ROWS.iter().filter_map(|row| row.route(commands));
    routes.map(Arc::new).collect()
}

impl RouteRow {
    fn route(&self, commands: &CommandDescriptions) -> Option<Route> {
        let command = commands.of(self.command)?;
        Some(Route {
            name: self.name,
            path: self.path,
            about: command.about_or(self.about),
            writes: self.writes,
            command: self.command,
            in_path: command.arguments_of(self.in_path)?,
            arguments: command.arguments_of(self.arguments)?,
            kinds: self.kinds,
            pages: self.pages,
            is_tagged: self.is_tagged,
            starts_run: self.starts_run,
        })
    }
}

impl Route {
    /// The words of the command for these arguments. Returns what is wrong if they are not accepted.
    pub fn words(&self, given: &Map<String, Value>) -> Result<Vec<String>, String> {
        command_line(
            self.name,
            self.command,
            self.in_path.iter().chain(&self.arguments),
            given,
        )
    }

    /// The argument with this name, in the query or the body.
    pub(super) fn argument(&self, name: &str) -> Option<&Argument> {
        self.arguments.iter().find(|argument| argument.name == name)
    }

    /// Whether it is about one task.
    pub(super) fn names_task(&self) -> bool {
        self.in_path
            .iter()
            .any(|argument| argument.name == TASK.name)
    }
}
