//! `orch man`: the manual pages, by clap_mangen.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::{help, report};
use crate::cli::manual::command_line;
use clap_mangen::Man;
use orch_base::Code;
use orch_git::durable;
use orch_view::layout::counted;
use std::path::{Path, PathBuf};

/// Print the manual page of a command, or write all pages to a directory.
///
/// The pages are for man(1), in section 1: `orch.1`, `orch-next.1`, `orch-workflow-check.1` and so on.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// The command, such as `next` or `workflow check`; default: `orch` itself.
    page: Vec<String>,
    /// Write all pages to this directory, which orch creates if needed.
    #[arg(long, value_name = "DIR", conflicts_with = "page")]
    dir: Option<PathBuf>,
}

pub fn run(args: &ManArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let mut command = command_line();
    if let Some(directory) = &args.dir {
        let target = context.start.join(directory);
        std::fs::create_dir_all(&target).map_err(|error| {
            let message = format!(
                "cannot write manual pages to {}: {error}",
                directory.display()
            );
            Failure::new(Code::Io, message)
        })?;
        let written = write(&command, &target)?;
        let pages = counted(written, "page");
        let text = format!("wrote {pages} to {}\n", directory.display());
        if context.global.json {
            report::text(context, ui, &text)?;
        } else {
            ui.done(&text)?;
        }
        return Ok(ExitCode::Fine);
    }
    let command = help::command_named(&mut command, &args.page)?.clone();
    let mut page = Vec::new();
    man(command).render(&mut page)?;
    report::text(context, ui, &String::from_utf8_lossy(&page))?;
    Ok(ExitCode::Fine)
}

/// Writes the pages of a command and of its subcommands, each as a whole or not at all, and returns their number.
fn write(command: &clap::Command, directory: &Path) -> Result<usize, Failure> {
    let page = man(command.clone());
    let mut text = Vec::new();
    page.render(&mut text)?;
    durable::write_derived(directory, &directory.join(page.get_filename()), &text)?;
    let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    shown
        .map(|sub| write(sub, directory))
        .sum::<Result<usize, Failure>>()
        .map(|below| below + 1)
}

fn man(command: clap::Command) -> Man {
    Man::new(command)
        .source(concat!("orch ", env!("CARGO_PKG_VERSION")))
        .manual("orch")
}
