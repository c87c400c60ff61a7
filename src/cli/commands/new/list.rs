//! `orch new --from`: tasks made of the task list of another program.

use super::{NewArgs, read};
use crate::cli::commands::prelude::{Context, ExitCode, Failure, Ui};
use crate::cli::commands::report;
use orch_base::RepoPath;
use orch_engine::apply::{NewTask, PlannedTask, ids_like};
use orch_engine::survey::Workspace;
use orch_read::{ListEntry, task_list};
use orch_view::{ImportAnswer, ImportLine, SkippedLine};
use std::path::Path;

/// An entry that becomes a task.
struct Import {
    entry: ListEntry,
    planned: PlannedTask,
}

impl Import {
    fn brief(&self) -> Option<&str> {
        let brief = self.entry.brief.as_deref();
        brief.filter(|_| self.planned.takes_brief)
    }

    fn line(&self) -> ImportLine {
        ImportLine {
            source: self.entry.source.clone(),
            task: self.planned.task.id.to_string(),
            directory: self.planned.task.directory().to_string(),
            title: self.entry.title.clone(),
            brief: self.brief().is_some(),
        }
    }
}

/// Checks every entry of the list, then creates the tasks that are not there yet.
pub(super) fn run(
    args: &NewArgs,
    workspace: &Workspace,
    context: &Context,
    ui: &Ui,
) -> Result<ExitCode, Failure> {
    let path = args.from.as_deref().unwrap_or(Path::new("-"));
    let limit = workspace.settings().config().limit_bytes;
    let bytes = read(path, "task list", limit, context)?;
    let list = task_list(&named(path), &bytes).map_err(|problem| *problem)?;
    let ids = ids_like(list.entries.iter().map(|entry| entry.name.as_str()));
    let here = context.here(workspace);
    let writer = context.writer(workspace);
    let mut imports = Vec::new();
    let mut skipped = Vec::new();
    for (entry, id) in list.entries.into_iter().zip(ids) {
        let source = entry.source.clone();
        if let Some(reason) = entry.left_out {
            skipped.push(SkippedLine { source, reason });
            continue;
        }
        let new = NewTask {
            place: args.place(here.as_ref()),
            title: Some(&entry.title),
            brief: None,
        };
        match writer.create().planned(id.as_str(), &new)? {
            Some(planned) => imports.push(Import { entry, planned }),
            None => {
                let reason = format!("the task `{id}` is there already");
                skipped.push(SkippedLine { source, reason });
            }
        }
    }
    for one in &skipped {
        ui.status(&format!("skipped {}: {}", one.source, one.reason));
    }
    let exit = if imports.is_empty() {
        ui.status("there is nothing to import");
        ExitCode::Nothing
    } else {
        ExitCode::Fine
    };
    let is_quiet = context.global.json || imports.is_empty();
    if !args.dry_run {
        create(args, &imports, workspace, context, ui)?;
    } else if !is_quiet {
        for line in imports.iter().map(Import::line) {
            ui.answer(&format!("{}  {}\n", line.task, line.title))?;
        }
        ui.status("nothing was written (--dry-run)");
    }
    if context.global.json {
        ui.document(&ImportAnswer {
            program: list.program.as_str(),
            applied: !args.dry_run,
            tasks: imports.iter().map(Import::line).collect(),
            skipped,
        })?;
    }
    Ok(exit)
}

/// Creates the tasks, each in one commit. If one fails, those before it stay, and a second import continues.
fn create(
    args: &NewArgs,
    imports: &[Import],
    workspace: &Workspace,
    context: &Context,
    ui: &Ui,
) -> Result<(), Failure> {
    let here = context.here(workspace);
    let writer = context.writer(workspace);
    let mut all_applied = Vec::new();
    for import in imports {
        let new = NewTask {
            place: args.place(here.as_ref()),
            title: Some(&import.entry.title),
            brief: import.brief(),
        };
        match writer.create().task(import.planned.task.id.as_str(), &new) {
            Ok(created) => all_applied.push(created.applied),
            Err(error) => {
                let done = all_applied.len();
                let all = imports.len();
                ui.problem(&format!(
                    "{done} of {all} tasks were created; the same command continues"
                ));
                return Err(error.into());
            }
        }
    }
    if context.global.json {
        for one in &all_applied {
            writer.renew_suggestion(&one.sight)?;
        }
    } else if !all_applied.is_empty() {
        report::applied_to_several(workspace, context, ui, &all_applied, false)?;
    }
    Ok(())
}

/// What messages call the list: its path as it was typed, or its name alone if it is elsewhere.
fn named(path: &Path) -> RepoPath {
    let typed = if path == Path::new("-") {
        "stdin".into()
    } else {
        path.to_string_lossy()
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let named = RepoPath::new(&*typed).or_else(|_| RepoPath::new(&*name));
    named.unwrap_or_else(|_| RepoPath::root())
}
