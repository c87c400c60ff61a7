//! `orch review`: a person sees what is decided, and writes the verdict in an editor.

use super::prelude::{Args, Context, ExitCode, Failure, LockArgs, Ui};
use super::report;
use orch_base::{ArtifactName, Code, Diagnostic, Hint, TaskId, command};
use orch_core::decide::{WHY, asked_verdict};
use orch_engine::apply::{Order, Writer};
use orch_engine::gather;
use orch_engine::survey::{Sight, TaskRef, Workspace};
use orch_git::durable;
use orch_view::SheetForm;
use serde_json::Value;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Review a task at a terminal: see what is decided, and write the verdict in your editor.
///
/// Shows what `orch show` shows. Then an editor opens the verdict by which `orch approve` would let the task continue, to be
/// changed: what is judged is filled in. Left as it is, it decides nothing unless you say so. The editor is that of git:
/// `GIT_EDITOR`, `core.editor`, `VISUAL` or `EDITOR`. A verdict that its schema does not accept is told with the lines, and
/// can be edited again. When it is accepted, the file, the verdict and the transition are one commit, as with `orch approve`
/// and `orch reject`.
///
/// A verdict that decides nothing yet is kept in `.git/orch`, and the next `orch review` continues it.
///
/// Only a person can review so: see `[people]` in orch.toml. Exits with 2 without a terminal, with 6 if the caller may not
/// decide, and with 3 if the phase asks for no verdict, or none was given.
#[derive(Debug, Args)]
pub struct ReviewArgs {
    /// The task; optional if the current directory, the branch name or a single open task identifies it.
    task: Option<String>,
    #[command(flatten)]
    pub locks: LockArgs,
}

/// A verdict that is being written.
struct Review<'a> {
    context: &'a Context,
    ui: &'a Ui,
    writer: &'a Writer<'a>,
    task: &'a TaskRef,
    artifact: ArtifactName,
    /// Where it is kept while it is written.
    file: PathBuf,
}

pub fn run(args: &ReviewArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    if context.global.json || !ui.interactive {
        return Err(no_terminal(args.task.as_deref()));
    }
    let workspace = context.workspace(ui)?;
    let task = report::meant(&workspace, context, args.task.as_deref())?;
    let writer = context.writer(&workspace);
    writer
        .authority()
        .refuse_agent(&["orch", "review", task.id.as_str()])?;
    let sight = workspace.look(&task)?;
    let Some(artifact) = asked(&sight) else {
        report::nothing(context, ui, &sight.decision, &no_verdict(&sight))?;
        return Ok(ExitCode::Nothing);
    };
    show(&workspace, &sight, context, ui)?;
    let review = Review {
        context,
        ui,
        writer: &writer,
        task: &task,
        file: workspace.reader().scratch(&kept_as(&task.id, &artifact)),
        artifact,
    };
    workspace
        .reader()
        .store()
        .map(|store| store.layout().own_directory())
        .transpose()?;
    let Some(text) = review.written()? else {
        return Ok(ExitCode::Nothing);
    };
    let order = Order::Verdict {
        artifact: review.artifact.to_string(),
        text,
    };
    match writer.orders().give(&task, &order, false) {
        Ok(applied) => {
            drop(std::fs::remove_file(&review.file));
            report::applied(&workspace, context, ui, &applied, false)?;
            Ok(ExitCode::Fine)
        }
        Err(error) => {
            review.tell_kept();
            Err(error.into())
        }
    }
}

/// That a review needs a terminal, with the commands that do not.
fn no_terminal(task: Option<&str>) -> Failure {
    let task = task.unwrap_or("TASK");
    let hint = Hint::run(&["orch", "show", task])
        .text(", then ")
        .command(&["orch", "approve", task])
        .text(" or ")
        .command(&["orch", "reject", task, "--reason", WHY]);
    Failure::new(
        Code::NoTerminal,
        "a review opens an editor, and there is no terminal to do so, or --json is given",
    )
    .hint(hint)
}

/// The verdict that the phase of a task asks one person for.
fn asked(sight: &Sight) -> Option<ArtifactName> {
    let workflow = sight.workflow();
    let phase = workflow.phase(sight.decision.phase.as_ref()?)?;
    asked_verdict(workflow, phase).map(|artifact| artifact.name.clone())
}

fn no_verdict(sight: &Sight) -> String {
    let phase = sight.decision.phase.as_ref();
    let phase = phase.map_or("this phase", |phase| phase.as_str());
    let shown = command(&["orch", "show", sight.task.id.as_str()]);
    format!("`{phase}` asks for no verdict that one person writes; to see the task: {shown}")
}

/// Shows what `orch show` shows.
fn show(workspace: &Workspace, sight: &Sight, context: &Context, ui: &Ui) -> Result<(), Failure> {
    let mut sheet = gather::sheet_of(workspace, sight)?;
    sheet.type_at(&ui.here());
    let form = SheetForm {
        paint: ui.paint,
        width: ui.width,
        now: context.caller.clock.now(),
        names_only: false,
    };
    Ok(context.page(ui, &sheet.text(form))?)
}

/// The name of the file that keeps a verdict while it is written.
fn kept_as(task: &TaskId, artifact: &ArtifactName) -> String {
    let task = task.as_str().replace('%', "%25").replace('/', "%2F");
    format!("review-{task}-{artifact}.json")
}

impl Review<'_> {
    /// Lets the person write the verdict until its schema accepts it; `None` if they do not.
    fn written(&self) -> Result<Option<String>, Failure> {
        let draft = self
            .writer
            .drafts()
            .of(self.task, Some(self.artifact.as_str()))?;
        if let Some(issue) = example_of_issue(&draft.text) {
            self.ui.status(&format!("an issue looks so: {issue}"));
        }
        let approval = self.writer.orders().approval_text(self.task)?;
        let prefilled = approval.unwrap_or(draft.text);
        let begun = self.begun(&prefilled)?;
        if begun != prefilled {
            self.ui
                .status(&format!("continues {}", self.file.display()));
        }
        if self.kept()?.is_some_and(|kept| kept != begun) {
            self.ui
                .problem("what it judged has changed since it was kept, so read it again");
        }
        durable::write_derived(durable::parent(&self.file), &self.file, begun.as_bytes())?;
        loop {
            let text = self
                .context
                .edited(&self.file)
                .inspect_err(|_| self.tell_kept())?;
            if text == begun && !self.is_meant(&text)? {
                if text == prefilled {
                    drop(std::fs::remove_file(&self.file));
                } else {
                    self.tell_kept();
                }
                self.ui.status("nothing was changed, so nothing is decided");
                return Ok(None);
            }
            let problems = self.problems(&text)?;
            if problems.is_empty() {
                return Ok(Some(text));
            }
            problems.iter().for_each(|problem| self.ui.finding(problem));
            let answer = self.ui.ask("edit it again? [Y/n] ");
            let is_left = match answer {
                Some(answer) => answer.to_lowercase().starts_with('n'),
                None => true,
            };
            if is_left {
                self.tell_kept();
                return Ok(None);
            }
        }
    }

    /// The text to begin with: one that was kept, with what is judged now, or else the draft.
    fn begun(&self, draft: &str) -> Result<String, Failure> {
        Ok(match self.kept()? {
            Some(kept) => with_present_of(&kept, draft),
            None => draft.to_owned(),
        })
    }

    /// The verdict that an earlier review has kept. Returns an error if it cannot be read as text.
    fn kept(&self) -> Result<Option<String>, Failure> {
        match std::fs::read_to_string(&self.file) {
            Ok(kept) => Ok(Some(kept).filter(|kept| !kept.trim().is_empty())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => {
                let message = format!("cannot read the verdict in {}: {error}", shown(&self.file));
                Err(Failure::new(Code::Io, message).hint("mend the file, or move it away"))
            }
        }
    }

    /// Whether a verdict that nobody has changed is given as it is, if it can be.
    fn is_meant(&self, text: &str) -> Result<bool, Failure> {
        if !self.problems(text)?.is_empty() {
            return Ok(false);
        }
        let answer = self
            .ui
            .ask("nothing was changed: give this verdict? [y/N] ");
        Ok(answer.is_some_and(|answer| answer.to_lowercase().starts_with('y')))
    }

    fn problems(&self, text: &str) -> Result<Vec<Diagnostic>, Failure> {
        let drafts = self.writer.drafts();
        let mut problems = drafts.problems(self.task, self.artifact.as_str(), text)?;
        problems.retain(Diagnostic::is_error);
        Ok(problems)
    }

    fn tell_kept(&self) {
        if self.file.exists() {
            let again = command(&["orch", "review", self.task.id.as_str()]);
            let file = shown(&self.file);
            self.ui.problem(&format!(
                "the verdict is kept in {file}; to continue: {again}"
            ));
        }
    }
}

/// The first issue of a draft, on one line.
fn example_of_issue(draft: &str) -> Option<String> {
    let draft: Value = serde_json::from_str(draft).ok()?;
    Some(draft.get("issues")?.get(0)?.to_string())
}

fn shown(file: &Path) -> String {
    file.display().to_string()
}

/// A kept verdict that says it judged what a draft made now says.
fn with_present_of(kept: &str, draft: &str) -> String {
    let parsed: Result<Value, _> = serde_json::from_str(kept);
    let draft: Result<Value, _> = serde_json::from_str(draft);
    let (Ok(Value::Object(mut members)), Ok(draft)) = (parsed, draft) else {
        return kept.to_owned();
    };
    match (members.get("of"), draft.get("of")) {
        (Some(before), Some(now)) if before != now => {
            members.insert("of".to_owned(), now.clone());
            format!("{:#}\n", Value::Object(members))
        }
        _ => kept.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_verdict_is_about_what_is_there_now() {
        let draft = "{\"ok\": \"TODO\", \"of\": {\"plan\": \"2\"}}";
        for (kept, expected) in [
            ("{\"of\": {\"plan\": \"2\"}}", "{\"of\": {\"plan\": \"2\"}}"),
            (
                "{\"ok\": true, \"of\": {\"plan\": \"1\"}}",
                "{\n  \"ok\": true,\n  \"of\": {\n    \"plan\": \"2\"\n  }\n}\n",
            ),
            ("{\"ok\": tru", "{\"ok\": tru"),
            ("{\"ok\": true}", "{\"ok\": true}"),
        ] {
            assert_eq!(with_present_of(kept, draft), expected);
        }
    }
}
