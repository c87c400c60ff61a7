//! `orch workflow play`: tries a workflow without a task.

use super::super::prelude::{Args, Context, ExitCode, Failure, Ui};
use orch_engine::survey::Workspace;
use orch_engine::trial::{Play, PlayChoice, TrialWorkflow};
use orch_view::{Explanation, PlayedStep, PlayedWorkflow, Subject};
use std::fmt::Write as _;

/// How many choices a play by itself makes at most.
const MOST_CHOICES: usize = 60;

/// Try a workflow without a task.
///
/// Shows the phase and what the rules say, and asks what happens next: a file that appears or changes, a result of an
/// action, an order of a person. The files are generated from the schemas. The play ends where the workflow does, with
/// `q`, or at the end of input; reads one choice a line, also from a pipe. Writes nothing.
#[derive(Debug, Args)]
pub struct WorkflowPlayArgs {
    /// The name of the workflow.
    #[arg(default_value = "global-state-machine")]
    workflow: String,
    /// Choose by itself, and print the way; the same number chooses the same.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

pub(super) fn run(
    args: &WorkflowPlayArgs,
    workspace: &Workspace,
    context: &Context,
    ui: &Ui,
) -> Result<ExitCode, Failure> {
    let loaded = workspace.settings().workflow(&args.workflow)?;
    let usable = loaded.usable()?;
    let schemas = workspace.settings().schemas();
    let trial = TrialWorkflow::of(&loaded.document, &usable.workflow, schemas);
    let mut play = Play::begin(&trial);
    match args.seed {
        Some(seed) => by_itself(seed, &mut play, context, ui),
        None => with_somebody(&mut play, &trial, workspace, ui),
    }
}

/// Numbers that follow from a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % limit.max(1)
    }
}

fn by_itself(
    seed: u64,
    play: &mut Play<'_, '_>,
    context: &Context,
    ui: &Ui,
) -> Result<ExitCode, Failure> {
    let mut numbers = Numbers(seed);
    let mut steps = Vec::new();
    for _ in 0..MOST_CHOICES {
        if play.is_over() {
            break;
        }
        let Some(choice) = play.drawn(&mut |limit| numbers.below(limit)) else {
            break;
        };
        let known = play.way.len();
        play.choose(&choice);
        steps.push(PlayedStep {
            happened: choice.label,
            steps: play.way[known..].to_vec(),
        });
    }
    let decision = play.decision();
    let answer = PlayedWorkflow {
        seed,
        steps,
        phase: decision.phase.as_ref().map(ToString::to_string),
        over: play.is_over(),
        reason: decision.reason,
    };
    if context.global.json {
        ui.document(&answer)?;
    } else {
        context.page(ui, &answer.text())?;
    }
    Ok(ExitCode::Fine)
}

fn with_somebody(
    play: &mut Play<'_, '_>,
    trial: &TrialWorkflow<'_>,
    workspace: &Workspace,
    ui: &Ui,
) -> Result<ExitCode, Failure> {
    loop {
        let choices = play.choices();
        ui.answer(&shown(play, trial, workspace, &choices, ui))?;
        if play.is_over() || choices.is_empty() {
            return Ok(ExitCode::Fine);
        }
        let Some(line) = ui.ask("What happens next?") else {
            return Ok(ExitCode::Fine);
        };
        let line = line.trim();
        if line == "q" {
            return Ok(ExitCode::Fine);
        }
        let number = line
            .parse::<usize>()
            .ok()
            .and_then(|nth| nth.checked_sub(1));
        match number.and_then(|nth| choices.get(nth)) {
            Some(choice) => {
                let known = play.way.len();
                play.choose(choice);
                let mut out = format!("\n> {}\n", choice.label);
                for step in &play.way[known..] {
                    let _ = writeln!(out, "  {step}");
                }
                ui.answer(&out)?;
            }
            None => ui.status(&format!(
                "there is no choice `{line}`; type a number from 1 to {}, or q",
                choices.len()
            )),
        }
    }
}

/// Where the play stands, why, and what may happen.
fn shown(
    play: &Play<'_, '_>,
    trial: &TrialWorkflow<'_>,
    workspace: &Workspace,
    choices: &[PlayChoice],
    ui: &Ui,
) -> String {
    let decision = play.decision();
    let place = trial.files.place();
    let subject = Subject {
        decision: &decision,
        workflow: trial.workflow,
        system: workspace.settings().system(),
        title: None,
        place,
        path: place.directory().clone(),
        unmoved_since: None,
        system_dir: None,
        issue_places: Vec::new(),
        runner: None,
        has_executors: false,
        held: None,
    };
    let mut out = String::from("\n");
    out.push_str(&Explanation::of(&subject, None).text(ui.paint, ui.width));
    out.push('\n');
    for (nth, choice) in choices.iter().enumerate() {
        let _ = writeln!(out, "{:3}  {}", nth + 1, choice.label);
    }
    out
}
