//! `orch new --from`: tasks made of the task list of another program.

use super::{NewArgs, read};
use crate::cli::commands::prelude::{Context, ExitCode, Failure, Ui};
use crate::cli::commands::report;
use orch_base::{Code, RepoPath, TaskId};
use orch_engine::apply::{NewTask, PlannedTask, RelationWish, ids_like};
use orch_engine::survey::{TaskRef, Workspace};
use orch_read::{ListEntry, task_list};
use orch_view::{ImportAnswer, ImportLine, SkippedLine};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// An entry that becomes a task.
struct Import {
    entry: ListEntry,
    planned: PlannedTask,
    relations: RelationWish,
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
    let known = KnownEntries::of(&list.entries, &ids, workspace)?;
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
            relations: None,
        };
        match writer.create().planned(id.as_str(), &new)? {
            Some(planned) => imports.push(Import {
                relations: known.relations(&entry),
                entry,
                planned,
            }),
            None => {
                let reason = format!("the task `{id}` is there already");
                skipped.push(SkippedLine { source, reason });
            }
        }
    }
    let imports = in_order(imports)?;
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

/// The ids of the entries of a list that are tasks, or become some.
struct KnownEntries {
    ids: BTreeMap<String, String>,
}

impl KnownEntries {
    /// Those that are not left out, and those whose task is there. Returns an error if the tasks cannot be listed.
    fn of(entries: &[ListEntry], ids: &[TaskId], workspace: &Workspace) -> Result<Self, Failure> {
        let tasks = workspace.finder().tasks()?;
        let names = |task: &TaskRef| {
            let before = task.id.unarchived().map(str::to_owned);
            [Some(task.id.to_string()), before]
        };
        let there: BTreeSet<String> = tasks.iter().flat_map(names).flatten().collect();
        let mut known = BTreeMap::new();
        for (entry, id) in entries.iter().zip(ids) {
            if entry.left_out.is_none() || there.contains(id.as_str()) {
                known.insert(entry.source.clone(), id.to_string());
            }
        }
        Ok(Self { ids: known })
    }

    /// What the list says of the relations of an entry, as far as the others are tasks.
    fn relations(&self, entry: &ListEntry) -> RelationWish {
        let after = entry.after.iter().filter_map(|source| self.ids.get(source));
        let parent = entry
            .parent
            .as_ref()
            .and_then(|source| self.ids.get(source));
        RelationWish {
            after: after.cloned().collect(),
            not_after: Vec::new(),
            parent: parent.cloned().map(Some),
            priority: entry.priority.map(Some),
            assignee: entry.assignee.clone().map(Some),
        }
    }
}

/// The same imports, each after those that it names. Returns an error if they wait for one another in a circle.
fn in_order(imports: Vec<Import>) -> Result<Vec<Import>, Failure> {
    let ids: BTreeSet<String> = imports
        .iter()
        .map(|import| import.planned.task.id.to_string())
        .collect();
    let mut placed: BTreeSet<String> = BTreeSet::new();
    let mut ordered = Vec::new();
    let mut left = imports;
    while !left.is_empty() {
        let before = ordered.len();
        let mut rest = Vec::new();
        for import in left {
            let relations = &import.relations;
            let parent = relations.parent.iter().flatten();
            let mut named = relations.after.iter().chain(parent);
            if named.all(|id| placed.contains(id) || !ids.contains(id)) {
                placed.insert(import.planned.task.id.to_string());
                ordered.push(import);
            } else {
                rest.push(import);
            }
        }
        if ordered.len() == before {
            let named = rest.iter().map(|import| import.entry.source.as_str());
            let named: Vec<&str> = named.collect();
            let message = format!("these entries wait for one another: {}", named.join(", "));
            return Err(Failure::new(Code::RelationCycle, message)
                .hint("correct it in the program that the list comes from"));
        }
        left = rest;
    }
    Ok(ordered)
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
    let new = imports.iter().map(|import| {
        let new = NewTask {
            place: args.place(here.as_ref()),
            title: Some(&import.entry.title),
            brief: import.brief(),
            relations: Some(&import.relations),
        };
        (import.planned.task.id.as_str(), new)
    });
    let mut all_applied = Vec::new();
    let created = writer
        .create()
        .tasks(new, |one| all_applied.push(one.applied));
    if let Err(error) = created {
        let done = all_applied.len();
        let all = imports.len();
        ui.problem(&format!(
            "{done} of {all} tasks were created; the same command continues"
        ));
        return Err(error.into());
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
