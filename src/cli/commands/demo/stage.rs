//! The repository and the output of the demo. Tasks are moved by the same writer as in every other command.

use super::super::prelude::{Context, Failure, Ui};
use super::super::{next, report};
use crate::cli::pager::Pager;
use crate::cli::{Cli, Command, Global};
use clap::Parser;
use orch_base::Code;
use orch_core::config;
use orch_core::decide::Direction;
use orch_engine::apply::{AdvancePlan, Applied, NewTask, Order, TaskOutcome};
use orch_engine::drive::{self, VerifyEnd, VerifyOptions};
use orch_engine::gather;
use orch_engine::history::AuditScope;
use orch_engine::survey::{Caller, Variables, Workspace};
use orch_engine::verify::VerifyWatch;
use orch_git::Store;
use orch_view::{Paint, Style, Suggestion, VerificationLine};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

/// The id of the demo's task.
pub(super) const TASK: &str = "fix-login";

/// The repository in which the demo is played.
pub(super) struct Stage<'a> {
    pub(super) directory: &'a Path,
    pub(super) context: Context,
    pub(super) ui: &'a Ui,
    aside: bool,
    scene: u32,
    reports: std::cell::Cell<u32>,
    /// Where the tests run; removed at the end.
    _checkouts: TempDir,
}

impl<'a> Stage<'a> {
    /// Creates the repository in `directory` and prints an introduction.
    pub(super) fn open(
        directory: &'a Path,
        context: &Context,
        ui: &'a Ui,
    ) -> Result<Self, Failure> {
        Store::create(directory)?;
        // With `--json`, stdout is one JSON document, so the demo prints to stderr.
        let aside = context.global.json;
        let global = Global {
            directory: None,
            json: false,
            quiet: true,
            ..context.global.clone()
        };
        let checkouts =
            tempfile::tempdir().map_err(|error| Failure::new(Code::Io, error.to_string()))?;
        let cache = checkouts.path().to_string_lossy().into_owned();
        let variables = context.caller.variables.clone();
        let caller = Caller {
            name: Some("Demo".to_owned()),
            variables: Variables::of(move |name: &str| match name {
                "XDG_CACHE_HOME" => Some(cache.clone()),
                _ => variables.get(name),
            }),
            ..context.caller.clone()
        };
        let start = directory.to_owned();
        let interrupts = context.interrupts.clone();
        let logging = Arc::clone(&context.logging);
        let context = Context {
            caller,
            global,
            start,
            interrupts,
            wait: None,
            whole_ids: false,
            later: None,
            settings: None,
            group: None,
            logging,
            pager: Pager::default(),
        };
        let stage = Self {
            directory,
            context,
            ui,
            aside,
            scene: 0,
            reports: std::cell::Cell::new(0),
            _checkouts: checkouts,
        };
        stage.say("The life of a task. Every move below is a real commit in a new repository:")?;
        stage.say(&directory.display().to_string())?;
        Ok(stage)
    }

    pub(super) fn workspace(&self) -> Result<Workspace, Failure> {
        self.context.workspace(self.ui)
    }

    /// Commits everything in the sample repository.
    pub(super) fn commit_everything(&self, message: &str) -> Result<(), Failure> {
        let workspace = self.workspace()?;
        Ok(self.context.writer(&workspace).commit_everything(message)?)
    }

    /// Prints the number and title of the next scene, and its point.
    pub(super) fn scene(&mut self, title: &str, why: &str) -> Result<(), Failure> {
        self.scene += 1;
        self.say("")?;
        self.say(
            &self
                .ui
                .paint
                .paint(Style::Strong, &format!("{}. {title}", self.scene)),
        )?;
        self.say(&format!("  {why}"))
    }

    pub(super) fn say(&self, text: &str) -> Result<(), Failure> {
        if self.aside {
            self.ui.status(text);
            return Ok(());
        }
        Ok(self.ui.answer(&format!("{text}\n"))?)
    }

    /// Prints a command to try and what it shows.
    pub(super) fn command(&self, command: &str, what: &str) -> Result<(), Failure> {
        self.say(&format!(
            "  {}  # {what}",
            self.ui
                .paint
                .paint(Style::Command, &format!("{command:<44}"))
        ))
    }

    /// Creates the task.
    pub(super) fn create(&self, title: &str) -> Result<(), Failure> {
        self.typed(&format!("orch new {TASK} --title '{title}'"))?;
        let workspace = self.workspace()?;
        let new = NewTask {
            title: Some(title),
            ..NewTask::default()
        };
        let created = self.context.writer(&workspace).create().task(TASK, &new)?;
        self.moved(&created.applied)?;
        self.stands(&workspace)
    }

    /// Applies what the rules decide, as the watch would, and prints the current phase of the task.
    pub(super) fn settle(&self) -> Result<(), Failure> {
        let workspace = self.workspace()?;
        let task = workspace.finder().task(TASK)?;
        let plan = AdvancePlan {
            may: &|due| !due.by_human,
            lapses: false,
            once: false,
            own: true,
            dry_run: false,
            adopt: &|_| false,
        };
        for outcome in self
            .context
            .writer(&workspace)
            .advance()
            .tasks(std::slice::from_ref(&task), &plan)?
        {
            if let TaskOutcome::Applied(applied) = outcome {
                self.moved(&applied)?;
            }
        }
        self.stands(&workspace)
    }

    /// Tries to move to `phase`, which is refused, and prints the part of the explanation about `rule`.
    pub(super) fn ask_for(&self, phase: &str, rule: &str) -> Result<(), Failure> {
        let words = ["orch", "next", TASK, "--to", phase];
        self.typed(&words.join(" "))?;
        let cli = Cli::try_parse_from(words)
            .map_err(|error| Failure::new(Code::DemoFailed, error.to_string()))?;
        if let Some(Command::Next(args)) = cli.command
            && let Err(Failure::Reported { error, .. }) =
                next::run(&args, &self.context, &self.ui.muted())
        {
            self.say(&format!(
                "  {} {error}",
                self.ui.paint.paint(Style::Bad, "error:")
            ))?;
            if let Some(hint) = error.hint() {
                self.say(&format!(
                    "  {} {hint}",
                    self.ui.paint.paint(Style::Command, "hint:")
                ))?;
            }
        }
        self.typed(&format!("orch explain {TASK}"))?;
        let workspace = self.workspace()?;
        let sight = workspace.look(&workspace.finder().task(TASK)?)?;
        let explanations = report::explanations(&workspace, std::slice::from_ref(&sight))?;
        let text = explanations.text(Paint::PLAIN, self.ui.width);
        let ours = |line: &&str| !line.contains(&format!(". {rule}:"));
        let mut lines = text.lines().skip_while(ours);
        self.say("  …")?;
        for (index, line) in lines.by_ref().enumerate() {
            let next_rule = line
                .trim_start()
                .starts_with(|first: char| first.is_ascii_digit());
            if index > 0 && (next_rule || line.is_empty()) {
                break;
            }
            self.say(line)?;
        }
        self.say("  …")
    }

    /// Permits orders without a person, because the demo plays every person itself.
    pub(super) fn let_anyone_order(&self) -> Result<(), Failure> {
        let path = self.directory.join(config::FILE);
        let failed =
            |error: std::io::Error| Failure::new(Code::Io, format!("{}: {error}", config::FILE));
        let text = std::fs::read_to_string(&path).map_err(failed)?;
        std::fs::write(
            &path,
            text.replace("#orders = \"terminal\"", "orders = \"anyone\""),
        )
        .map_err(failed)
    }

    /// Gives an order as a person would, by this command.
    pub(super) fn order(&self, typed: &str, order: &Order) -> Result<(), Failure> {
        self.typed(typed)?;
        let workspace = self.workspace()?;
        let task = workspace.finder().task(TASK)?;
        let applied = self
            .context
            .writer(&workspace)
            .orders()
            .give(&task, order, false)?;
        self.moved(&applied)?;
        self.stands(&workspace)
    }

    /// Lets `orch` run the tests of the project itself from now on.
    pub(super) fn define_tests(&self, check: &str) -> Result<(), Failure> {
        self.file("check.sh", check)?;
        let path = self.directory.join(config::FILE);
        let failed =
            |error: std::io::Error| Failure::new(Code::Io, format!("{}: {error}", config::FILE));
        let text = std::fs::read_to_string(&path).map_err(failed)?;
        let table = "[verify.tests]\ncommand = [\"sh\", \"check.sh\"]\n";
        std::fs::write(&path, format!("{text}\n{table}")).map_err(failed)?;
        for line in table.lines() {
            self.say(&format!("  {}: {line}", config::FILE))?;
        }
        self.commit_everything("Let orch run the tests")
    }

    /// Runs the tests on exactly the code of the task, and applies what follows.
    pub(super) fn verify(&self) -> Result<(), Failure> {
        self.typed(&format!("orch verify {TASK}"))?;
        let workspace = self.workspace()?;
        let writer = self.context.writer(&workspace);
        let task = workspace.finder().task(TASK)?;
        let plan = drive::plan_verifications(&writer, Some(&task), &[], false)?;
        let options = VerifyOptions {
            // The demo has written what it runs.
            trust: true,
            ..VerifyOptions::default()
        };
        for wanted in &plan.wanted {
            let mut watch = VerifyWatch {
                wants_stop: &|| false,
                hear: &mut |_| {},
            };
            match drive::verify_wanted(&writer, &plan, wanted, &options, &mut watch)? {
                VerifyEnd::Ran(ran, applied) => {
                    let line = VerificationLine {
                        milliseconds: None,
                        ..VerificationLine::of(&ran.result)
                    };
                    for line in line.text(self.ui.paint).lines() {
                        self.say(&format!("  {line}"))?;
                    }
                    if let Some(applied) = applied {
                        self.moved(&applied)?;
                    }
                }
                VerifyEnd::Stands => {}
                VerifyEnd::CouldNotRun(why) => {
                    return Err(Failure::new(Code::DemoFailed, why.message));
                }
            }
        }
        self.settle()
    }

    /// Prints the audit, which re-derives every move from its commit.
    pub(super) fn audit(&self) -> Result<(), Failure> {
        self.typed("orch audit")?;
        let report = super::super::audit::report(&self.workspace()?, AuditScope::default())?;
        for line in report.text(self.ui.paint, 0).lines() {
            self.say(&format!("  {line}"))?;
        }
        self.say(&format!("  {}", report.summary()))
    }

    /// Writes a file of the project.
    pub(super) fn file(&self, path: &str, text: &str) -> Result<(), Failure> {
        let target = self.directory.join(path);
        let written = target
            .parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::fs::write(&target, text));
        written.map_err(|error| Failure::new(Code::Io, format!("{path}: {error}")))
    }

    /// Writes a file of the task.
    pub(super) fn artifact(&self, who: &str, path: &str, text: &str) -> Result<(), Failure> {
        self.file(&format!("tasks/{TASK}/{path}"), text)?;
        self.say(&format!("  {who} writes {path}"))
    }

    /// Writes a report of the task, with the `of` map that `orch suggest` prints for it.
    pub(super) fn report(&self, who: &str, path: &str, mut value: Value) -> Result<(), Failure> {
        let workspace = self.workspace()?;
        let sight = workspace.look(&workspace.finder().task(TASK)?)?;
        if let Some(expected) = sight
            .decision
            .expects
            .iter()
            .find(|expected| expected.path == path)
        {
            let of = expected
                .of
                .iter()
                .map(|(name, digest)| (name.to_string(), Value::from(digest.to_string())));
            value["of"] = Value::Object(of.collect());
        }
        value["task_id"] = Value::from(TASK);
        let hour = 9 + self.reports.replace(self.reports.get() + 1);
        value["finished_at"] = Value::from(format!("2026-01-05T{hour:02}:00:00Z"));
        self.artifact(who, path, &format!("{value:#}\n"))
    }

    fn typed(&self, command: &str) -> Result<(), Failure> {
        self.say(&format!(
            "  $ {}",
            self.ui.paint.paint(Style::Command, command)
        ))
    }

    fn moved(&self, applied: &Applied) -> Result<(), Failure> {
        for line in gather::transition_lines(applied) {
            let step = &line.step;
            let commit = step.commit.as_deref().map(short).unwrap_or_default();
            let style = if line.direction == Direction::Advance {
                Style::Good
            } else {
                Style::Warn
            };
            let head = format!("{} -> {}", step.from.as_deref().unwrap_or("new"), step.to);
            let head = self.ui.paint.paint(style, &head);
            let id = self.ui.paint.paint(Style::Dim, &commit);
            self.say(&format!("  {head}  {id}"))?;
            let cause = step.rule.as_deref().unwrap_or(step.kind.as_str());
            self.say(&format!("    {cause}: {}", step.reason))?;
            if line.undo.is_some() {
                let undo = self
                    .ui
                    .paint
                    .paint(Style::Command, &format!("git revert {commit}"));
                self.say(&format!("    undo: {undo}"))?;
            }
        }
        Ok(())
    }

    fn stands(&self, workspace: &Workspace) -> Result<(), Failure> {
        let sight = workspace.look(&workspace.finder().task(TASK)?)?;
        let Suggestion { task, duty, .. } = Suggestion::of(&workspace.reader().subject(&sight));
        let phase = task.current_phase.unwrap_or_default();
        self.say(
            &self
                .ui
                .paint
                .paint(Style::Dim, &format!("  now in {phase}: {}", duty.reason)),
        )
    }
}

/// Abbreviates a commit id as `git log --oneline` does.
fn short(commit: &str) -> String {
    commit.chars().take(7).collect()
}
