//! The arguments that several routes have.

use crate::{Argument, ArgumentForm};

/// An argument that may be left out.
pub(super) const OPTIONAL: Argument = Argument {
    name: "",
    about: "",
    form: ArgumentForm::Word,
    is_required: false,
};

pub(super) const TASK: Argument = Argument {
    name: "task",
    about: "The id of the task.",
    is_required: true,
    ..OPTIONAL
};
/// The task of a command whose words after `--` are a program or answers.
pub(super) const TASK_IN_USE: Argument = Argument {
    form: ArgumentForm::Text("--use"),
    ..TASK
};
pub(super) const ARTIFACT: Argument = Argument {
    name: "artifact",
    about: "The name of the artifact in the workflow.",
    is_required: true,
    ..OPTIONAL
};
pub(super) const WORKFLOW: Argument = Argument {
    name: "workflow",
    about: "The name of the workflow.",
    is_required: true,
    ..OPTIONAL
};
pub(super) const AT: Argument = Argument {
    name: "at",
    about: "Read the tasks and the settings from this commit instead of the work tree.",
    form: ArgumentForm::Text("--at"),
    ..OPTIONAL
};
pub(super) const DRY_RUN: Argument = Argument {
    name: "dryRun",
    about: "Write nothing; only say what would happen.",
    form: ArgumentForm::Flag("--dry-run"),
    ..OPTIONAL
};
pub(super) const REASON: Argument = Argument {
    name: "reason",
    about: "The reason. It is recorded in the history and the commit.",
    form: ArgumentForm::Text("--reason"),
    is_required: true,
};
pub(super) const TO: Argument = Argument {
    name: "to",
    about: "The target phase: fails if the rules lead elsewhere.",
    form: ArgumentForm::Text("--to"),
    ..OPTIONAL
};
pub(super) const OVERRIDE_TO: Argument = Argument {
    about: "The target phase; default: the phase that the work of the current one leads to.",
    ..TO
};
pub(super) const ISSUE: Argument = Argument {
    name: "issue",
    about: "Objections that the verdict names, each as `SEVERITY: FILE:LINE: MESSAGE`.",
    form: ArgumentForm::Texts("--issue"),
    ..OPTIONAL
};
pub(super) const REJECT_TO: Argument = Argument {
    about: "The target phase; default: the one that the workflow names first.",
    ..TO
};
pub(super) const ROLLBACK_TO: Argument = Argument {
    about: "The target phase; default: the last consistent phase before the current one.",
    ..TO
};
pub(super) const REOPEN_TO: Argument = Argument {
    about: "The phase to reopen the task in; default: the phase it finished from.",
    ..TO
};
pub(super) const WAIT: Argument = Argument {
    name: "wait",
    about: "How long the order may wait for other orders and for locks of other processes, such as `30s`; at most \
            `60s`.",
    form: ArgumentForm::Duration("--wait"),
    ..OPTIONAL
};
