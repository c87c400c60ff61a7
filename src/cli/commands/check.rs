//! `orch check`: validates artifacts and state.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use crate::base::{Diagnostic, Place, Severity};
use crate::decide::Verdict;
use crate::engine::Judged;
use crate::view::layout::counted;
use crate::view::{findings, pretty};
use std::collections::BTreeMap;

/// Validates the artifacts and the state of tasks. Each finding has a place, a stable code and a
/// hint. Exits 1 on findings; a task that merely waits is none.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The tasks; without one, all of them.
    tasks: Vec<String>,
    /// In which form to print the findings.
    #[arg(long, default_value = "text")]
    format: Form,
}

/// A form of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Form {
    /// Source snippets.
    Text,
    /// One JSON document.
    Json,
    /// Annotations of GitHub Actions.
    Github,
    /// SARIF 2.1.0.
    Sarif,
}

pub fn run(args: &CheckArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let engine = context.engine(ui)?;
    let tasks = if args.tasks.is_empty() {
        engine.tasks()
    } else {
        args.tasks.iter().map(|name| engine.task(name)).collect::<Result<_, _>>()?
    };
    let (judged, mut found) = report::judge_all(&engine, &tasks);
    for one in &judged {
        found.extend(findings_of(one));
        found.extend(engine.ignored_evidence(one)?);
        found.extend(engine.filtered(one)?);
    }
    found.retain(|finding| finding.severity > Severity::Note);
    let mut seen = Vec::new();
    found.retain(|finding| {
        let is_new = !seen.contains(finding);
        seen.push(finding.clone());
        is_new
    });
    let form = if context.global.json { Form::Json } else { args.format };
    match form {
        Form::Json => ui.answer(&pretty(&findings::Findings::new(&found)))?,
        Form::Github => ui.answer(&findings::github(&found))?,
        Form::Sarif => ui.answer(&pretty(&findings::sarif(&found, env!("CARGO_PKG_VERSION"))))?,
        Form::Text => {
            let sources = sources(&engine, &found);
            ui.answer(&findings::snippets(&found, &sources, ui.paint, ui.width))?;
            ui.status(&format!("{}: {}", counted(judged.len(), "task"), findings::summary(&found)));
        }
    }
    Ok(if found.is_empty() { ExitCode::Fine } else { ExitCode::No })
}

/// What is wrong with one task: its diagnostics, and a verdict that is itself a finding.
fn findings_of(judged: &Judged) -> Vec<Diagnostic> {
    let mut found = judged.decision.diagnostics.clone();
    let decision = &judged.decision;
    let code = match &decision.verdict {
        Verdict::Inconsistent { .. } => Some("inconsistent"),
        Verdict::Error { code } if !found.iter().any(|finding| finding.code == *code) => Some(*code),
        Verdict::Livelock { .. } => Some("livelock"),
        _ => None,
    };
    if let Some(code) = code {
        let mut finding = Diagnostic::error(code, format!("task `{}`: {}", decision.task, decision.reason));
        let place = match decision.rule.as_ref().zip(judged.workflow()) {
            Some((rule, workflow)) if code == "guard-error" => {
                workflow.rules.iter().find(|candidate| candidate.id == *rule).map(|rule| rule.place.clone())
            }
            _ => None,
        };
        finding.place =
            place.or_else(|| Some(Place { path: judged.task.directory.to_string(), ..Place::default() }));
        finding.hint = decision.options.first().map(|choice| choice.argv.join(" "));
        found.push(finding);
    }
    found
}

/// The texts of the files that findings point into, for snippets.
fn sources(engine: &crate::engine::Engine, found: &[Diagnostic]) -> BTreeMap<String, String> {
    let mut sources = BTreeMap::new();
    for place in
        found.iter().filter_map(|finding| finding.place.as_ref()).filter(|place| place.line.is_some())
    {
        if !sources.contains_key(&place.path)
            && let Ok(text) = std::fs::read_to_string(engine.root().join(&place.path))
        {
            sources.insert(place.path.clone(), text);
        }
    }
    sources
}
