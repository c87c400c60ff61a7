//! `orch audit`: replays the history and prints a verdict on every recorded step.

use super::check::{Form, form, print};
use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use crate::cli::progress::WorkProgress;
use orch_base::{Code, Digest, Hint, Patterns};
use orch_core::decide::{Detail, Standing};
use orch_core::verification::{RerunOutcome, Vouched};
use orch_engine::drive::{self, RecordedVerification};
use orch_engine::history;
use orch_engine::history::{AuditScope, Audited, Checked, Incremental, ProvenHistories};
use orch_engine::survey::{TaskRef, Workspace};
use orch_engine::verify::{VerifyEvent, VerifyWatch};
use orch_git::Visited;
use orch_git::caches;
use orch_git::durable::{self, PrivateFile};
use orch_view::{AuditCommit, AuditIncremental, AuditReport, AuditedChange, RerunLine};

/// Replay the history and print a verdict on every recorded step.
///
/// Re-derives each commit that changes a task's record from that commit and its parents. The verdicts: proven
/// (the rules yield it), overridden or claimed (a person or an executor vouches for it), folded (several
/// steps in one commit), restored (equal to an ancestor), merged, unverifiable (evidence is not in git),
/// forged.
///
/// A step that was squashed or rebased may be unverifiable, because the files it rested on are gone. If the
/// branch it came from is still there, `--also` proves it by that branch.
///
/// With `--incremental`, an audit that succeeds keeps in the git directory which history it has accepted, and the
/// next one replays only the commits that are newer. It replays the whole history whenever the verdicts could have
/// changed: the history was rewritten, settings or workflows changed, or `orch` did.
///
/// With `--require`, evidence that a verification made or could have made must be vouched for: `run` if orch ran it, `signed`
/// if a trusted signer also signed the commit. What `--rerun` confirms reaches each level. Verdicts are never asked.
///
/// Reads commits only and, without `--incremental`, writes nothing. Exits with 1 if anything is forged, if a step in a
/// range holds only by rules that stand at neither end of the range, if evidence does not reach the level of `--require`,
/// and with `--strict` also if anything is unverifiable. A shallow clone is an error.
#[derive(Debug, Args)]
pub struct AuditArgs {
    /// A range `A..B` or a revision; default: the whole history of HEAD.
    range: Option<String>,
    /// Audit only commits that are not reachable from REV.
    #[arg(long, value_name = "REV")]
    since: Option<String>,
    /// Also use the history of REV to prove steps, for example a branch that was squashed.
    #[arg(long, value_name = "REV")]
    also: Vec<String>,
    /// Continue after the newest commit whose history was accepted in this clone.
    #[arg(long, conflicts_with_all = ["since", "also"])]
    incremental: bool,
    /// Show only the verdicts on TASK, an id or a pattern; repeatable. The whole range is still audited.
    #[arg(long, value_name = "TASK")]
    task: Vec<String>,
    /// Exit with 1 if anything is unverifiable or a range may loosen the rules, and with 2 if there is nothing to audit.
    #[arg(long)]
    strict: bool,
    /// Exit with 1 if evidence that a verification made or could have made does not reach LEVEL.
    #[arg(long, value_name = "LEVEL", conflicts_with = "incremental")]
    require: Option<RequiredLevel>,
    /// Run the recorded verifications again, without caches, and compare by test. Exits with 1 if one gives another result.
    #[arg(long)]
    rerun: bool,
    /// With --rerun: run at most N of them, the newest first.
    #[arg(long, value_name = "N", requires = "rerun")]
    sample: Option<usize>,
    /// With --rerun: start what orch.toml named in these commits although nobody has trusted it.
    #[arg(long, requires = "rerun")]
    trust_once: bool,
    /// The output format. `sarif` and `github` contain only the problems.
    #[arg(long, default_value = "text")]
    format: Form,
}

/// How much has to stand behind the evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum RequiredLevel {
    /// orch ran it.
    Run,
    /// orch ran it, and a trusted signer has signed the commit.
    Signed,
}

impl From<RequiredLevel> for Vouched {
    fn from(level: RequiredLevel) -> Self {
        match level {
            RequiredLevel::Run => Self::Run,
            RequiredLevel::Signed => Self::Signed,
        }
    }
}

pub fn run(args: &AuditArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.bare_workspace()?;
    let progress = WorkProgress::new(ui);
    let replayed =
        |done: usize, total: usize| progress.show(|| format!("replayed {done} of {total} commits"));
    let progress: Option<&dyn Fn(usize, usize)> = (!context.global.json).then_some(&replayed);
    let proven = args
        .incremental
        .then(|| proven(&workspace, args.range.as_deref()))
        .transpose()?;
    let scope = AuditScope {
        range: args.range.as_deref(),
        since: args.since.as_deref(),
        also: &args.also,
        proven: proven.as_ref(),
        progress,
    };
    let patterns = patterns(&args.task)?;
    let is_task = |name: &&str| workspace.finder().task(name).is_ok();
    let report = report(&workspace, scope).map_err(|failure| {
        match args.range.as_deref().filter(is_task) {
            Some(task) if failure.code() == Some(Code::UnknownRevision) => {
                failure.hint(Hint::run(&["orch", "audit", "--task", task]))
            }
            _ => failure,
        }
    })?;
    if args.strict && !args.incremental {
        let is_range = args.since.is_some()
            || args
                .range
                .as_deref()
                .is_some_and(|range| range.contains(".."));
        let nothing = match (report.commits, is_range) {
            (0, _) => Some("there is no commit to audit"),
            (_, false) if report.changes.is_empty() => Some("no commit records a step"),
            _ => None,
        };
        if let Some(nothing) = nothing {
            let hint = Hint::from("see which tasks there are: ").command(&[
                "orch",
                "status",
                "--everywhere",
            ]);
            return Err(Failure::new(Code::NothingToJudge, nothing).hint(hint));
        }
    }
    let mut report = report.of_tasks(|id| patterns.is_empty() || patterns.matches(id));
    if args.rerun {
        report.reruns = reruns(args, &mut report.changes, &workspace, context, ui)?;
    }
    report.weigh(args.require.map(Vouched::from));
    match form(args.format, context)? {
        Form::Json => ui.document(&report)?,
        Form::Text => {
            context.page(ui, &report.text(ui.paint, ui.width))?;
            report.loosened.iter().for_each(|one| ui.finding(one));
            report.unvouched.iter().for_each(|one| ui.finding(one));
            ui.status(&report.summary());
            report
                .vouched_summary()
                .iter()
                .for_each(|text| ui.status(text));
            report
                .continuation()
                .iter()
                .for_each(|text| ui.status(text));
        }
        form => print(
            &Checked {
                findings: report.findings(),
                ..Checked::default()
            },
            form,
            false,
            ui,
        )?,
    }
    Ok(if report.is_fine(args.strict) {
        ExitCode::Fine
    } else {
        ExitCode::No
    })
}

/// Runs the recorded verifications of these changes again, the newest first. One that gives the same vouches for its result,
/// unless that is forged.
fn reruns(
    args: &AuditArgs,
    changes: &mut [AuditedChange],
    workspace: &Workspace,
    context: &Context,
    ui: &Ui,
) -> Result<Vec<RerunLine>, Failure> {
    let writer = context.writer(workspace);
    if args.trust_once {
        let words = ["orch", "audit", "--rerun", "--trust-once"];
        writer.authority().refuse_agent(&words)?;
    }
    let mut lines = Vec::new();
    for change in changes.iter_mut().rev() {
        let is_forged = change.proof.standing == Standing::Forged;
        for step in change.proof.steps.iter_mut().rev() {
            let (Some(Detail::Verify(run)), Some(workflow)) =
                (step.entry.detail.as_deref(), &step.workflow)
            else {
                continue;
            };
            if args.sample.is_some_and(|most| lines.len() >= most) {
                return Ok(lines);
            }
            let (id, place) = (change.task.clone(), change.place.clone());
            let task = TaskRef::new(id, place, workflow.name.clone())
                .map_err(|why| Failure::new(Code::Usage, why.to_string()))?;
            let recorded = RecordedVerification {
                task: &task,
                commit: change.commit.id,
                parent: change.commit.parent,
                verification: run,
            };
            let mut watch = VerifyWatch {
                wants_stop: &|| false,
                hear: &mut |event| {
                    if let VerifyEvent::Tick(time) = event {
                        ui.passing(&format!(
                            "{} {} {} s",
                            change.task,
                            run.name,
                            time.as_secs()
                        ));
                    }
                },
            };
            let again = drive::rerun(&writer, &recorded, args.trust_once, &mut watch)?;
            ui.passed();
            if again.outcome == RerunOutcome::Same && !is_forged {
                step.vouched
                    .iter_mut()
                    .for_each(|one| one.by = Vouched::Rerun);
            }
            lines.push(RerunLine {
                commit: change.commit.id.to_string(),
                task: change.task.to_string(),
                name: run.name.to_string(),
                outcome: again.outcome,
                why: Some(again.why).filter(|why| !why.is_empty()),
            });
        }
    }
    Ok(lines)
}

/// The ids and patterns. Returns an error if one is no pattern.
fn patterns(names: &[String]) -> Result<Patterns, Failure> {
    Patterns::new(names).map_err(|error| {
        let message = format!("invalid pattern: {error}");
        Failure::new(Code::Usage, message).hint("for example: --task 'team/*'")
    })
}

/// The histories that earlier audits accepted. Returns an error if the audit is of a range.
fn proven(workspace: &Workspace, range: Option<&str>) -> Result<ProvenHistories, Failure> {
    if range.is_some_and(|range| range.contains("..")) {
        let message = "--incremental audits the whole history and takes no range A..B";
        return Err(Failure::new(Code::Usage, message)
            .hint("give a revision, or audit the range without it"));
    }
    // Another build may come to other verdicts.
    let program = std::fs::read("/proc/self/exe").map_err(|error| {
        let message =
            format!("cannot read the program, which an incremental audit depends on: {error}");
        Failure::new(Code::Io, message).hint("audit without --incremental")
    })?;
    let program = Digest::of_blob(&program);
    let kept = workspace
        .reader()
        .store()
        .map(|store| durable::read_private(&store.layout().own(caches::PROVEN)));
    Ok(match kept.transpose() {
        Ok(Some(PrivateFile::Own(bytes))) => ProvenHistories::parse(program, &bytes),
        Ok(None | Some(PrivateFile::Missing)) => {
            ProvenHistories::none(program, "no earlier audit was kept in this clone")
        }
        Ok(Some(PrivateFile::Foreign)) | Err(_) => ProvenHistories::none(
            program,
            "what an earlier audit kept belongs to others, or others may change it",
        ),
    })
}

/// Keeps the accepted history for the next audit. Returns why that failed.
fn keep(
    workspace: &Workspace,
    known: &ProvenHistories,
    incremental: &Incremental,
) -> Result<(), String> {
    let to = incremental.to.as_ref().map_err(|why| (*why).to_owned())?;
    let replaced = incremental.from.as_ref().ok().map(|from| from.commit);
    let Some(store) = workspace.reader().store() else {
        return Ok(());
    };
    store
        .layout()
        .keep_private(caches::PROVEN, known.with(to, replaced).as_bytes())
        .map_err(|error| error.to_string())
}

/// Audits these commits, and keeps what an incremental audit accepted. Returns an error if a revision is unknown, or
/// git cannot read the history.
pub(super) fn report(workspace: &Workspace, scope: AuditScope<'_>) -> Result<AuditReport, Failure> {
    let audit = history::audit(workspace, scope)?;
    let changes = audit.changes.into_iter().map(|change| {
        let Audited {
            commit,
            task,
            proof,
            is_doubted,
            acknowledged,
            ..
        } = change;
        let Visited {
            id,
            parents,
            at,
            author,
            ..
        } = &*commit;
        let parent = parents.first().copied();
        let author = author.clone();
        let commit = AuditCommit {
            id: *id,
            parent,
            at: *at,
            author,
        };
        let (task, place) = (task.id.clone(), task.place.clone());
        AuditedChange {
            commit,
            task,
            place,
            proof,
            is_doubted,
            acknowledged,
        }
    });
    let loosened = audit.loosened;
    let report = AuditReport::new(
        workspace.reader().repository()?,
        audit.commits,
        changes.collect(),
    );
    let incremental = scope
        .proven
        .zip(audit.incremental.as_ref())
        .map(|(known, incremental)| {
            let from = incremental.from.as_ref();
            AuditIncremental {
                from: from.ok().map(|from| from.commit.to_string()),
                commits: from.map_or(0, |from| from.commits),
                changes: from.map_or(0, |from| from.changes),
                why: from.err().cloned(),
                not_kept: keep(workspace, known, incremental).err(),
            }
        });
    Ok(AuditReport {
        loosened,
        incremental,
        ..report
    })
}
