//! `orch workflow test`: runs the tests in workflow documents.

use super::super::prelude::{Args, Context, ExitCode, Failure, Ui};
use orch_base::Diagnostic;
use orch_core::trial::RuleCoverage;
use orch_engine::survey::Workspace;
use orch_engine::trial::{TestRun, TrialWorkflow};
use orch_view::layout::counted;
use orch_view::{TestedWorkflow, UncoveredCase, WorkflowTests, findings};
use std::fmt::Write as _;

/// Run the tests in workflow documents.
///
/// A test is in a fenced block `toml orch-test`: what is given, and what the rules have to say of it. No file and no
/// repository is touched. Exits with 1 if a test fails.
#[derive(Debug, Args)]
pub struct WorkflowTestArgs {
    /// The workflows; default: all that have tests.
    workflows: Vec<String>,
    /// Tell which rules and edges the tests cover.
    #[arg(long)]
    coverage: bool,
    /// Print a test for each rule and each edge that is not covered.
    ///
    /// Its files are generated from the schemas, and it passes: what it expects is what the rules say. Read it before you
    /// paste it into the document.
    #[arg(long)]
    missing: bool,
}

pub(super) fn run(
    args: &WorkflowTestArgs,
    workspace: &Workspace,
    context: &Context,
    ui: &Ui,
) -> Result<ExitCode, Failure> {
    let is_named = !args.workflows.is_empty();
    let names = if is_named {
        args.workflows.clone()
    } else {
        workspace.settings().workflow_names()
    };
    let mut problems: Vec<Diagnostic> = Vec::new();
    let mut tested = Vec::new();
    let mut out = String::new();
    for name in &names {
        let loaded = workspace.settings().workflow(name)?;
        let usable = match loaded.usable() {
            Ok(usable) => usable,
            Err(error) if is_named => return Err(error.into()),
            Err(_) => continue,
        };
        let schemas = workspace.settings().schemas();
        let trial = TrialWorkflow::of(&loaded.document, &usable.workflow, schemas);
        let run = trial.run();
        if run.count == 0 && !is_named {
            continue;
        }
        let of = tested_workflow(args, &trial, &run);
        text(&mut out, args, &of);
        problems.extend(run.findings);
        tested.push(of);
    }
    let is_fine = problems.is_empty();
    if context.global.json {
        ui.document(&WorkflowTests::new(tested, &problems))?;
    } else {
        ui.answer(&findings::snippets(&problems, ui.paint, ui.width))?;
        context.page(ui, &out)?;
    }
    Ok(if is_fine {
        ExitCode::Fine
    } else {
        ExitCode::No
    })
}

fn tested_workflow(
    args: &WorkflowTestArgs,
    trial: &TrialWorkflow<'_>,
    run: &TestRun,
) -> TestedWorkflow {
    let workflow = trial.workflow;
    let (rules, edges) = run.open(workflow);
    let mut missing = Vec::new();
    if args.missing {
        for case in trial.missing(run) {
            missing.push(UncoveredCase {
                rule: case.rule.to_string(),
                phase: case.phase.to_string(),
                test: case.test_text(),
                why: case.found.err(),
            });
        }
    }
    let whole = RuleCoverage::of_all(workflow);
    TestedWorkflow {
        workflow: workflow.name.to_string(),
        tests: run.count,
        passed: run.passed,
        rules: whole.rules.len(),
        edges: whole.edges.len(),
        open_rules: rules.iter().map(ToString::to_string).collect(),
        open_edges: edges
            .iter()
            .map(|edge| format!("{} -> {}", edge.from, edge.to))
            .collect(),
        unreachable: run.unreachable.iter().cloned().collect(),
        missing,
    }
}

fn text(out: &mut String, args: &WorkflowTestArgs, of: &TestedWorkflow) {
    let _ = writeln!(
        out,
        "{}: {}, {} passed",
        of.workflow,
        counted(of.tests, "test"),
        of.passed
    );
    if args.coverage {
        let rules = of.rules - of.open_rules.len() - of.unreachable.len();
        let edges = of.edges - of.open_edges.len();
        let _ = writeln!(
            out,
            "  covered: {rules} of {}, {edges} of {}",
            counted(of.rules, "rule"),
            counted(of.edges, "edge")
        );
        for open in of.open_rules.iter().chain(&of.open_edges) {
            let _ = writeln!(out, "  not covered: {open}");
        }
        for (rule, why) in &of.unreachable {
            let _ = writeln!(out, "  not reachable: {rule}: {why}");
        }
    }
    for case in &of.missing {
        match (&case.test, &case.why) {
            (Some(test), _) => {
                let _ = write!(out, "\n```toml orch-test\n{test}```\n");
            }
            (None, why) => {
                let why = why.as_deref().unwrap_or_default();
                let _ = writeln!(out, "\n{} in {}: {why}", case.rule, case.phase);
            }
        }
    }
}
