//! `orch doctor`: what is wrong with a repository and around it, and what to type.

mod checks;

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use checks::{CHECKS, Examined, Patient};
use orch_base::Diagnostic;
use orch_git::{git_version, libgit2_version};
use orch_view::{DoctorCheck, DoctorReport, Finding, Versions};

/// Check the repository, its settings and its surroundings, and say what to type.
///
/// Looks at the objects of git, the locks and who holds them, commits that a killed process left, the settings, the workflows, the tasks
/// and their evidence, which versions of the record their logs have, runs, git hooks, the merge driver, signatures, trust, the fence of executors, the tables
/// of verifications with their checkouts and what in the home directory decides in them, and the limits of the system. Exits with 1 if something needs attention. A note needs none.
///
/// Without `--fix` it writes nothing, and leaves even an unfinished commit as it is.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Repair what is safe: complete a commit that a killed process left, update the hooks of orch that are out of
    /// date, register the merge driver in this clone if the repository asks for it.
    #[arg(long)]
    fix: bool,
}

pub fn run(args: &DoctorArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    context.interrupts.listen();
    let workspace = context.bare_workspace()?;
    context.show_looks(&workspace, None, ui);
    let patient = Patient::of(&workspace, context);
    let mut rows = Vec::new();
    let mut problems = Vec::new();
    let mut fixed = Vec::new();
    for check in &CHECKS {
        let mut examined = (check.examine)(&patient).unwrap_or_else(unexamined);
        if let Some(repair) = check.repair.filter(|_| args.fix) {
            match repair(&patient, &examined) {
                Ok(repaired) if repaired.is_empty() => {}
                Ok(repaired) => {
                    fixed.extend(repaired);
                    examined = (check.examine)(&patient).unwrap_or_else(unexamined);
                }
                Err(failure) => examined.findings.extend(unexamined(failure).findings),
            }
        }
        let findings = examined.findings.iter().map(Finding::of).collect();
        rows.push(DoctorCheck::new(check.name, examined.summary, findings));
        problems.extend(examined.findings);
    }
    let versions = Versions {
        orch: env!("CARGO_PKG_VERSION").to_owned(),
        git: git_version().ok(),
        libgit2: libgit2_version(),
    };
    // A HEAD that cannot be read is a finding above.
    let repository = workspace
        .reader()
        .repository()
        .unwrap_or_else(|_| workspace.reader().repository_without_head());
    let report = DoctorReport {
        repository,
        versions,
        checks: rows,
        fixed,
    };
    if context.global.json {
        ui.document(&report)?;
    } else {
        context.page(ui, &report.text(ui.paint, &ui.here()))?;
        ui.status(&report.summary());
    }
    let is_well = report
        .checks
        .iter()
        .all(|check| !["warning", "error"].contains(&check.result));
    Ok(report::exit_after(
        &problems,
        if is_well {
            ExitCode::Fine
        } else {
            ExitCode::No
        },
    ))
}

/// What cannot be examined is a finding itself, so that the other checks still tell something.
fn unexamined(failure: Failure) -> Examined {
    let finding = failure.into_error().map(Diagnostic::from);
    Examined {
        summary: "cannot be examined".to_owned(),
        findings: finding.into_iter().collect(),
    }
}
