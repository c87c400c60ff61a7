//! `orch status --watch`: the status on a terminal, renewed whenever it changes.

use super::super::prelude::{Context, ExitCode, Failure, Ui};
use super::{StatusArgs, answer};
use orch_base::{Code, Hint};
use orch_engine::drive;
use orch_engine::gather;
use orch_view::{StatusForm, Style};
use std::time::Duration;

/// How often the size of the terminal is checked.
const SIZED: Duration = Duration::from_secs(1);
/// How often the ages are renewed, as a multiple of that.
const AGED: u32 = 30;

pub(super) fn run(args: &StatusArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    if ui.height == 0 {
        let failure = Failure::new(
            Code::NoTerminal,
            "`--watch` shows the status on a terminal, and stdout is none",
        );
        let hint = Hint::from("for a program: ")
            .command(&["orch", "watch", "--json"])
            .text(", or ")
            .command(&["orch", "suggest", "--wait"]);
        return Err(failure.hint(hint));
    }
    // Errors of the command line and of the repository end it before the screen is taken.
    let workspace = context.workspace(ui)?;
    text(args, context, ui, (ui.width, ui.height))?;
    let mut screen = ui.screen()?;
    let mut size = screen.size();
    let mut rounds = 0;
    let begin = |stop: drive::Stop| -> Result<(), Failure> {
        context.interrupts.instead(move || stop.stop());
        Ok(())
    };
    drive::follow(&workspace, SIZED, begin, |has_changed| {
        rounds += 1;
        let now = screen.size();
        if has_changed || now != size || rounds >= AGED {
            (size, rounds) = (now, 0);
            let shown = match text(args, context, ui, size) {
                // What is wrong now may be right soon.
                Err(Failure::Reported { error, .. }) => error.to_string(),
                shown => shown?,
            };
            screen.show(&shown)?;
        }
        Ok(())
    })?;
    Ok(ExitCode::Fine)
}

/// The status, with a line that says how it ends.
fn text(
    args: &StatusArgs,
    context: &Context,
    ui: &Ui,
    (width, height): (usize, usize),
) -> Result<String, Failure> {
    // The settings may have changed too, so the workspace is opened again.
    let mut workspace = context.bare_workspace()?;
    workspace.know_looks(gather::STATUS_CACHE);
    if let Some(finding) = workspace
        .settings()
        .findings()
        .iter()
        .find(|finding| finding.is_error())
    {
        return Err(Failure::from(finding.clone()));
    }
    let form = StatusForm {
        fewest: 1,
        ..args.form(&workspace, context, (width, height))
    };
    let text = match args.everywhere {
        true => gather::everywhere(args.filter(), &workspace)?
            .0
            .text(ui.paint, &form),
        false => answer(args, &workspace, |_| ())?
            .status
            .text(ui.paint, &form),
    };
    // The last row belongs to the line about the end.
    let rows = height.saturating_sub(1);
    let mut lines: Vec<&str> = text.lines().take(rows).collect();
    lines.resize(rows, "");
    let end = ui.paint.paint(Style::Dim, "Ctrl-C ends");
    lines.push(&end);
    Ok(lines.join("\n"))
}
