//! `orch repl`: a prompt for the commands of `orch`.
//!
//! A typed line is split into words and becomes the command line of a process of its own: `/next --dry-run` runs
//! `orch --use TASK next --dry-run`. So the prompt has no table of commands, every option is there, and what ends a
//! command does not end the prompt.

mod ahead;
mod background;
mod board;
mod editor;
mod history;
mod own;
mod session;

use super::prelude::{Args, Context, ExitCode, Failure, Ui, threads};
use orch_base::Code;
#[cfg(all(feature = "api", feature = "mcp"))]
pub(super) use own::PROMPT;

use own::goes_on;
use session::Session;
use std::io;

/// Type commands at a prompt that shows the current state of a task.
///
/// Every command begins with a slash and takes its usual options: `/next`, `/status`, `/explain`, `/log`, `/approve
/// --dry-run`. A command without a task means the task in use, which the prompt shows with its phase, the attempt and
/// who must act. `/use TASK` changes it, and `/quit` ends the prompt. `/next` also prints the current phase, the
/// suggested next phase and the reason.
///
/// Meanwhile it watches the tasks as `orch watch` does, and shows above the prompt what it has applied. Keeps the
/// typed lines in `.git/orch/history`. A line continues while a quote is open. Ctrl-C ends the running command, or
/// clears the line.
///
/// If stdin or stdout is not a terminal, or with `-c`, nothing is watched and no prompt is shown. Each line is
/// executed, even after one that failed. Lines that begin with `#` are skipped. Exits with the code of the first line
/// that failed.
#[derive(Debug, Args)]
pub struct ReplArgs {
    /// The task to use; optional if the current directory, the branch name or a single open task identifies it.
    task: Option<String>,
    /// Execute these lines and exit; repeatable.
    #[arg(short = 'c', value_name = "LINES")]
    lines: Vec<String>,
    /// Do not watch the tasks.
    #[arg(long)]
    no_watch: bool,
}

pub fn run(args: &ReplArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    threads::require(threads::FEW)?;
    let workspace = context.workspace(ui)?;
    let mut session = Session::begin(&workspace, args.task.as_deref(), context, ui)?;
    if !args.lines.is_empty() {
        let text = args.lines.join("\n");
        let mut lines = text.lines().map(|line| line.as_bytes().to_vec());
        execute(&mut session, || Ok(lines.next()))?;
    } else if ui.interactive && ui.width > 0 && !context.global.json {
        let watched = (!args.no_watch).then_some(workspace);
        return editor::run(&mut session, watched, context, ui);
    } else {
        execute(&mut session, || ui.read_line())?;
    }
    Ok(session.first_failure())
}

/// Executes lines until there are no more, or one of them says `/quit`. A line continues while a quote is open.
fn execute(
    session: &mut Session<'_>,
    mut next: impl FnMut() -> io::Result<Option<Vec<u8>>>,
) -> Result<(), Failure> {
    let mut number = 0;
    while let Some(mut line) = next()? {
        number += 1;
        let first = number;
        while goes_on(&String::from_utf8_lossy(&line)) {
            let Some(more) = next()? else { break };
            number += 1;
            line.push(b'\n');
            line.extend(more);
        }
        match String::from_utf8(line) {
            Ok(line) if session.execute(&line)? => {}
            Ok(_) => break,
            Err(_) => {
                let failure = Failure::new(Code::Usage, format!("line {first} is not UTF-8"));
                session.refuse(&failure.hint("write commands as UTF-8"));
            }
        }
    }
    Ok(())
}
