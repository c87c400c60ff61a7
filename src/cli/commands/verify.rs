//! `orch verify`: runs verifications of the project on exactly the code that is judged.

mod push;

use super::prelude::{Args, Context, ExitCode, Failure, LockArgs, Ui, threads};
use orch_base::{Code, VerificationName, command};
use orch_engine::apply::{NewResult, Writer};
use orch_engine::drive::{self, VerifyEnd, VerifyOptions, VerifyPlan};
use orch_engine::gather::transition_lines;
use orch_engine::run::serve_as_janitor;
use orch_engine::survey::{TaskRef, Workspace};
use orch_engine::verify::{
    CouldNotRun, RanVerification, VerifyEvent, VerifyPart, VerifySubject, VerifyWatch,
};
use orch_view::layout::{counted, size};
use orch_view::{Style, VerificationLine, Verifications};
use push::Pushing;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Run the verifications of a task on its committed code, and record what they give.
///
/// A verification is a command of the project, a table [verify.NAME] in orch.toml. orch runs it itself, in a clone of its
/// own that has exactly the code of HEAD, and with an environment of its own, so that nothing uncommitted counts. The
/// result is eval/verify/NAME.json, an in-toto Statement, which is committed with an event. Guards of the workflow see it
/// as `verified.NAME`.
///
/// Without a name, runs those that are due. Without a task, runs those of orch.toml on HEAD and records nothing.
///
/// With `--push`, for CI: without a task, runs what is due of every task. What is recorded is pushed to the upstream of the
/// branch, and never forced. Where that is refused, as for a fork, or where the branch has moved meanwhile, orch says so, and
/// the exit code is that of the results all the same. On a detached HEAD nothing is recorded or pushed, and HEAD is verified.
///
/// Exits with 1 if one failed, and with 5 if one could not run: that is no result, and is tried again on the same code only
/// with --again.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// The task, if the first word is one, and the names of verifications.
    #[arg(id = "task", value_name = "[TASK] NAME")]
    words: Vec<String>,
    /// Run those that are not due too.
    #[arg(long)]
    all: bool,
    /// Use no caches.
    #[arg(long)]
    fresh: bool,
    /// Try one again that could not run on the same code.
    #[arg(long)]
    again: bool,
    /// Run nothing; print what is due, and how long it took the last time.
    #[arg(long, conflicts_with_all = ["fresh", "again"])]
    dry_run: bool,
    /// Push what is recorded to the upstream of the branch.
    #[arg(long, conflicts_with = "dry_run")]
    push: bool,
    /// Remove the checkouts of this repository, with their caches.
    #[arg(long, conflicts_with_all = ["all", "fresh", "again", "dry_run", "push", "task"])]
    clean: bool,
    /// End what a process has left once it is gone; orch starts this itself.
    #[arg(long, hide = true, value_name = "OWNER")]
    janitor: Option<String>,
    /// The seconds for which the executors of that process may go on.
    #[arg(long, hide = true, requires = "janitor", default_value_t = 0)]
    patience: u64,
    /// Start what orch.toml names this time although nobody has trusted it.
    #[arg(long)]
    trust_once: bool,
    #[command(flatten)]
    pub locks: LockArgs,
}

pub fn run(args: &VerifyArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    if let Some(owner) = &args.janitor {
        serve_as_janitor(owner, Duration::from_secs(args.patience));
        return Ok(ExitCode::Fine);
    }
    threads::require(threads::FEW)?;
    let workspace = context.workspace(ui)?;
    let writer = context.writer(&workspace);
    if args.clean {
        return clean(&writer, ui);
    }
    let (task, names) = args.asked(&workspace, context)?;
    if args.trust_once {
        let words = ["orch", "verify", "--trust-once"];
        writer.authority().refuse_agent(&words)?;
    }
    let options = VerifyOptions {
        fresh: args.fresh,
        again: args.again,
        trust: args.trust_once,
        unrecorded: false,
    };
    let verifying = Verifying {
        writer: &writer,
        context,
        ui,
        options,
    };
    let pushing = if args.push {
        Some(Pushing::prepared(&workspace)?)
    } else {
        None
    };
    let is_named = task.is_some();
    let tasks = match &pushing {
        Some(pushing) => pushing.tasks(&workspace, task, &names)?,
        None => vec![task],
    };
    let mut answer = Verifications {
        repository: workspace.reader().repository()?,
        task: None,
        commit: String::new(),
        uncommitted: 0,
        verifications: Vec::new(),
        transitions: Vec::new(),
        push: None,
    };
    for task in &tasks {
        let before = answer.verifications.len();
        let is_stopped = args.task(&verifying, task.as_ref(), &names, &mut answer)?;
        let id = task.as_ref().map(|task| task.id.to_string());
        if tasks.len() == 1 {
            answer.task.clone_from(&id);
        }
        if !is_named {
            for line in &mut answer.verifications[before..] {
                line.task.clone_from(&id);
            }
        }
        if is_stopped {
            break;
        }
    }
    if let Some(pushing) = &pushing {
        answer.push = Some(pushing.push(&workspace, !answer.transitions.is_empty())?);
    }
    if context.global.json {
        ui.document(&answer)?;
    } else {
        ui.answer(&answer.text(ui.paint))?;
        if answer.verifications.is_empty() {
            ui.status("nothing is due");
        }
    }
    Ok(exit_of(&answer))
}

fn exit_of(answer: &Verifications) -> ExitCode {
    let is = |outcome: &str| {
        answer
            .verifications
            .iter()
            .any(|one| one.outcome == outcome)
    };
    if is("could-not-run") {
        ExitCode::NotNow
    } else if is("failed") {
        ExitCode::No
    } else {
        ExitCode::Fine
    }
}

/// Runs the verifications of HEAD and records nothing. Returns none if its settings have none.
pub(super) fn of_head(
    trust: bool,
    context: &Context,
    ui: &Ui,
) -> Result<Vec<VerificationLine>, Failure> {
    threads::require(threads::FEW)?;
    let workspace = context.workspace(ui)?;
    let writer = context.writer(&workspace);
    if trust {
        writer
            .authority()
            .refuse_agent(&["orch", "ci", "--verify", "--trust-once"])?;
    }
    let plan = match drive::plan_verifications(&writer, None, &[], true) {
        Err(error) if error.code() == Code::VerificationUnknown => return Ok(Vec::new()),
        plan => plan?,
    };
    let mut answer = answer_of(&writer, None, &plan)?;
    let verifying = Verifying {
        writer: &writer,
        context,
        ui,
        options: VerifyOptions {
            trust,
            ..VerifyOptions::default()
        },
    };
    verifying.carry_out(&plan, &mut answer)?;
    Ok(answer.verifications)
}

/// What the verifications on the way to a phase gave.
pub(super) enum WayVerified {
    /// All of them passed, or none is due. Nothing is recorded yet.
    Passed(Vec<NewResult>),
    /// One failed or could not run, which was printed.
    Failed(ExitCode),
}

/// The answer about a plan of which nothing has run yet.
fn answer_of(
    writer: &Writer<'_>,
    task: Option<&TaskRef>,
    plan: &VerifyPlan,
) -> Result<Verifications, Failure> {
    Ok(Verifications {
        repository: writer.workspace.reader().repository()?,
        task: task.map(|task| task.id.to_string()),
        commit: plan.head.to_string(),
        uncommitted: plan.uncommitted,
        verifications: Vec::new(),
        transitions: Vec::new(),
        push: None,
    })
}

/// Runs these verifications of a task that are due, and records nothing.
pub(super) fn on_the_way(
    writer: &Writer<'_>,
    task: &TaskRef,
    names: &[VerificationName],
    context: &Context,
    ui: &Ui,
) -> Result<WayVerified, Failure> {
    if names.is_empty() {
        return Ok(WayVerified::Passed(Vec::new()));
    }
    threads::require(threads::FEW)?;
    let plan = drive::plan_verifications(writer, Some(task), names, false)?;
    let mut answer = answer_of(writer, Some(task), &plan)?;
    let verifying = Verifying {
        writer,
        context,
        ui,
        options: VerifyOptions {
            unrecorded: true,
            ..VerifyOptions::default()
        },
    };
    let carried_out = verifying.carry_out(&plan, &mut answer)?;
    match exit_of(&answer) {
        ExitCode::Fine if carried_out.is_stopped => Ok(WayVerified::Failed(ExitCode::NotNow)),
        ExitCode::Fine => {
            ui.status(answer.text(ui.paint_status).trim_end());
            Ok(WayVerified::Passed(carried_out.unrecorded))
        }
        exit if context.global.json => {
            ui.document(&answer)?;
            Ok(WayVerified::Failed(exit))
        }
        exit => {
            ui.answer(&answer.text(ui.paint))?;
            Ok(WayVerified::Failed(exit))
        }
    }
}

/// Removes the checkouts that no process uses.
fn clean(writer: &Writer<'_>, ui: &Ui) -> Result<ExitCode, Failure> {
    let cleaned = drive::clean_checkouts(writer)?;
    let bytes: u64 = cleaned.removed.iter().map(|one| one.bytes).sum();
    ui.status(&format!(
        "removed {}, {}",
        counted(cleaned.removed.len(), "checkout"),
        size(bytes)
    ));
    for one in cleaned.left {
        ui.status(&format!("{} is in use, and stays", one.path.display()));
    }
    Ok(ExitCode::Fine)
}

impl VerifyArgs {
    /// Verifies a task, or HEAD, and adds to the answer what that gave. Returns whether it was stopped.
    fn task(
        &self,
        verifying: &Verifying<'_>,
        task: Option<&TaskRef>,
        names: &[VerificationName],
        answer: &mut Verifications,
    ) -> Result<bool, Failure> {
        let plan = drive::plan_verifications(verifying.writer, task, names, self.all)?;
        answer.commit = plan.head.to_string();
        answer.uncommitted = plan.uncommitted;
        let standing = plan.standing.iter();
        answer
            .verifications
            .extend(standing.map(|name| VerificationLine::of_none(name.as_str(), "fresh")));
        if !self.dry_run {
            return Ok(verifying.carry_out(&plan, answer)?.is_stopped);
        }
        answer
            .verifications
            .extend(plan.wanted.iter().map(|wanted| VerificationLine {
                milliseconds: wanted.last,
                ..VerificationLine::of_none(wanted.name.as_str(), "due")
            }));
        Ok(false)
    }
}

/// How verifications are run, and for whom.
struct Verifying<'v> {
    writer: &'v Writer<'v>,
    context: &'v Context,
    ui: &'v Ui,
    options: VerifyOptions,
}

/// What running the verifications of a plan gave beside their lines.
#[derive(Default)]
struct CarriedOut {
    is_stopped: bool,
    /// The results that are not recorded yet.
    unrecorded: Vec<NewResult>,
}

impl Verifying<'_> {
    /// Runs what is planned, one after the other, and adds its lines to the answer.
    fn carry_out(
        &self,
        plan: &VerifyPlan,
        answer: &mut Verifications,
    ) -> Result<CarriedOut, Failure> {
        let mut carried_out = CarriedOut::default();
        let is_stopped = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&is_stopped);
        self.context
            .interrupts
            .instead(move || stop.store(true, Ordering::Relaxed));
        let wants_stop = || is_stopped.load(Ordering::Relaxed);
        for wanted in &plan.wanted {
            let name = wanted.name.as_str();
            let mut shown = ShownVerification {
                ui: self.ui,
                name,
                has_terminal: self.ui.live,
            };
            let ended = {
                let mut watch = VerifyWatch {
                    wants_stop: &wants_stop,
                    hear: &mut |event| shown.hear(event),
                };
                drive::verify_wanted(self.writer, plan, wanted, &self.options, &mut watch)
            };
            self.ui.passed();
            match ended? {
                VerifyEnd::Ran(ran, applied) => {
                    answer.verifications.push(VerificationLine {
                        log: Some(ran.log.display().to_string()),
                        ..VerificationLine::of(&ran.result)
                    });
                    answer.verifications.extend(protected_line(&ran));
                    if self.options.unrecorded {
                        let results = drive::new_results(self.writer, &ran)?;
                        carried_out.unrecorded.extend(results);
                    }
                    if let Some(applied) = applied {
                        self.writer.renew_suggestion(&applied.sight)?;
                        answer.transitions.extend(transition_lines(&applied));
                    }
                }
                VerifyEnd::CouldNotRun(why) => {
                    answer.verifications.push(could_not_run(name, &why));
                }
                VerifyEnd::Stands => {
                    let line = VerificationLine::of_none(name, "fresh");
                    answer.verifications.push(line);
                }
            }
            if wants_stop() {
                carried_out.is_stopped = true;
                break;
            }
        }
        Ok(carried_out)
    }
}

/// The line of the run with protected tests, if there was one.
fn protected_line(ran: &RanVerification) -> Option<VerificationLine> {
    let name = ran.result.run.name.protected();
    Some(match ran.protected.as_ref()? {
        Ok(result) => VerificationLine::of(result),
        Err(why) => could_not_run(name.as_str(), why),
    })
}

fn could_not_run(name: &str, why: &CouldNotRun) -> VerificationLine {
    VerificationLine {
        log: why.log.as_ref().map(|log| log.display().to_string()),
        ..VerificationLine::of_could_not_run(
            name,
            why.reason.as_str(),
            &why.message,
            why.hint.as_ref(),
        )
    }
}

/// A verification as it is shown while it runs.
struct ShownVerification<'u> {
    ui: &'u Ui,
    name: &'u str,
    has_terminal: bool,
}

impl ShownVerification<'_> {
    fn hear(&mut self, event: VerifyEvent<'_>) {
        let ui = self.ui;
        let name = self.name;
        match event {
            VerifyEvent::Waits => ui.status(&format!("{name}: another process runs it; waiting")),
            VerifyEvent::Begins(VerifyPart::Checkout(_)) => {}
            VerifyEvent::Begins(VerifyPart::Setup(subject)) => {
                ui.status(&format!("{name}{}: setup", subject_words(subject)));
            }
            VerifyEvent::Begins(VerifyPart::Command(subject, argv, attempt)) => {
                let again = if attempt > 1 {
                    format!(", try {attempt}")
                } else {
                    String::new()
                };
                ui.status(&format!(
                    "{name}{}: {}{again}",
                    subject_words(subject),
                    command(argv)
                ));
            }
            VerifyEvent::Line(line) if self.has_terminal => {
                ui.status(&format!("  {}", ui.paint_status.paint(Style::Dim, line)));
            }
            VerifyEvent::Line(_) => {}
            VerifyEvent::Tick(time) => ui.passing(&format!("{name} {} s", time.as_secs())),
        }
    }
}

fn subject_words(subject: VerifySubject) -> &'static str {
    match subject {
        VerifySubject::Code => "",
        VerifySubject::Base => " at the base",
        VerifySubject::Protected => " with the tests of the base",
    }
}

impl VerifyArgs {
    /// The task, if the first word is one, or the one in use; and the names. Returns an error if a name is none.
    fn asked(
        &self,
        workspace: &Workspace,
        context: &Context,
    ) -> Result<(Option<TaskRef>, Vec<VerificationName>), Failure> {
        let mut names = self.words.as_slice();
        let mut task = None;
        if let Some((first, others)) = names.split_first() {
            match workspace.finder().task(first) {
                Ok(found) => {
                    task = Some(found);
                    names = others;
                }
                Err(error) if others.is_empty() && VerificationName::new(first).is_err() => {
                    return Err(error.into());
                }
                Err(_) => {}
            }
        }
        if let (None, Some(used)) = (&task, &context.global.task_in_use) {
            task = Some(workspace.finder().task(used)?);
        }
        let parsed = names.iter().map(VerificationName::new);
        let parsed: Result<Vec<_>, _> = parsed.collect();
        let parsed = parsed.map_err(|why| Failure::new(Code::Usage, why.to_string()))?;
        Ok((task, parsed))
    }
}
