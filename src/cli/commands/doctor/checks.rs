//! What `orch doctor` examines, one function each. None of them writes; a repair does.

use super::super::prelude::{Context, Failure};
use super::super::{hook, init};
use orch_base::{Class, Code, Diagnostic, Digest, Error, Hint, RepoPath, TypedLine};
use orch_core::decide::{OrdersBy, RecordVersion};
use orch_core::record::{EventLog, LogEvent, TRANSCRIPT_FILE};
use orch_engine::apply::DRIVER;
use orch_engine::drive;
use orch_engine::history::Checker;
use orch_engine::survey::{TaskRef, Workspace, without_repository};
use orch_engine::watch::WatchLimit;
use orch_files::Source as _;
use orch_git::{Objects, Store, durable, git_version};
use orch_view::layout::{counted, size};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// How many findings about tasks are listed; `orch check` lists all.
const MOST: usize = 5;

/// What is examined, and on whose behalf.
pub(super) struct Patient<'a> {
    workspace: &'a Workspace,
    context: &'a Context,
    /// The torn objects, looked for before any is read.
    torn: Result<Vec<Digest>, Error>,
}

/// What there is, in words, and what is wrong.
pub(super) struct Examined {
    pub summary: String,
    pub findings: Vec<Diagnostic>,
}

type Examine = fn(&Patient<'_>) -> Result<Examined, Failure>;
/// Repairs what the findings tell, as far as that is safe. Returns what was done.
type Repair = fn(&Patient<'_>, &Examined) -> Result<Vec<String>, Failure>;

/// One thing to examine.
pub(super) struct Check {
    pub name: &'static str,
    pub examine: Examine,
    pub repair: Option<Repair>,
}

/// Everything that is examined, in the order of the report.
pub(super) const CHECKS: [Check; 14] = [
    Check {
        name: "repository",
        examine: repository,
        repair: None,
    },
    Check {
        name: "objects",
        examine: objects,
        repair: None,
    },
    Check {
        name: "locks",
        examine: locks,
        repair: Some(complete),
    },
    Check {
        name: "settings",
        examine: settings,
        repair: None,
    },
    Check {
        name: "workflows",
        examine: workflows,
        repair: None,
    },
    Check {
        name: "tasks",
        examine: tasks,
        repair: None,
    },
    Check {
        name: "runs",
        examine: runs,
        repair: None,
    },
    Check {
        name: "trust",
        examine: trust,
        repair: None,
    },
    Check {
        name: "fence",
        examine: fence,
        repair: None,
    },
    Check {
        name: "verifications",
        examine: verifications,
        repair: None,
    },
    Check {
        name: "hooks",
        examine: hooks,
        repair: Some(update_hooks),
    },
    Check {
        name: "merges",
        examine: merges,
        repair: Some(register),
    },
    Check {
        name: "signatures",
        examine: signatures,
        repair: None,
    },
    Check {
        name: "watching",
        examine: watching,
        repair: None,
    },
];

impl Examined {
    fn new(summary: impl Into<String>, findings: Vec<Diagnostic>) -> Self {
        Self {
            summary: summary.into(),
            findings,
        }
    }

    /// What applies only inside git, and in a work tree.
    fn without_git() -> Self {
        Self::new("not in a work tree of git", Vec::new())
    }

    fn has(&self, code: Code) -> bool {
        self.findings.iter().any(|finding| finding.code == code)
    }
}

impl<'a> Patient<'a> {
    pub fn of(workspace: &'a Workspace, context: &'a Context) -> Self {
        let torn = workspace
            .reader()
            .store()
            .map_or(Ok(Vec::new()), |store| store.objects().torn_objects());
        Self {
            workspace,
            context,
            torn,
        }
    }

    fn store(&self) -> Option<&Store> {
        self.workspace.reader().store()
    }

    /// The repository, if it has a work tree.
    fn work_tree(&self) -> Option<&Store> {
        self.store()
            .filter(|store| store.layout().refuse_bare().is_ok())
    }
}

fn repository(patient: &Patient<'_>) -> Result<Examined, Failure> {
    let Some(store) = patient.store() else {
        let message = "the tasks are not in a git repository, so nothing is recorded and nothing can be proven";
        let finding = Diagnostic::warning(Code::NoRepository, message)
            .hint(without_repository(patient.workspace.reader().root()));
        return Ok(Examined::new(
            patient.workspace.reader().root().display().to_string(),
            vec![finding],
        ));
    };
    let branch = patient.workspace.reader().branch()?;
    let branch = branch.map_or_else(
        || "no branch".to_owned(),
        |branch| format!("branch {branch}"),
    );
    let mut findings = Vec::new();
    if store.refs().is_shallow()? {
        let message =
            "this clone does not have the whole history, so steps before it cannot be proven";
        findings.push(
            Diagnostic::note(Code::Unverifiable, message).hint(Hint::run(&[
                "git",
                "fetch",
                "--unshallow",
            ])),
        );
    }
    if git_version().is_err() {
        let message =
            "the git command cannot be started; orch needs it for merges, hooks and signatures";
        findings.push(Diagnostic::error(Code::NoGit, message).hint("install git"));
    }
    if let Err(error) = store.transactions().require_committable() {
        let message = format!("orch can record nothing here: {}", error.message());
        let is_fault = error.class() == Class::Fault;
        let found = if is_fault {
            Diagnostic::from(error)
        } else {
            error.into_warning()
        };
        findings.push(Diagnostic { message, ..found });
    }
    Ok(Examined::new(branch, findings))
}

/// The objects that a power failure tore, whether or not anything rests on them.
fn objects(patient: &Patient<'_>) -> Result<Examined, Failure> {
    if patient.store().is_none() {
        return Ok(Examined::without_git());
    }
    let torn = patient.torn.clone()?;
    let summary = if torn.is_empty() {
        "no object file is damaged".to_owned()
    } else {
        format!("{} torn", counted(torn.len(), "object"))
    };
    let findings = torn
        .into_iter()
        .take(MOST)
        .map(|object| Diagnostic::from(Objects::torn(object)))
        .collect();
    Ok(Examined::new(summary, findings))
}

fn locks(patient: &Patient<'_>) -> Result<Examined, Failure> {
    let Some(store) = patient.store() else {
        return Ok(Examined::without_git());
    };
    let findings = store.transactions().locks()?;
    let summary = if findings.is_empty() {
        "nothing is locked"
    } else {
        "something is locked"
    };
    Ok(Examined::new(summary, findings))
}

/// Completes what a killed process left.
fn complete(patient: &Patient<'_>, locks: &Examined) -> Result<Vec<String>, Failure> {
    match patient.store().filter(|_| locks.has(Code::Unfinished)) {
        Some(store) => {
            store.transactions().recover_leftovers()?;
            let is_left = store
                .transactions()
                .locks()?
                .iter()
                .any(|finding| finding.code == Code::Unfinished);
            let done = "completed or took back the commit of a killed process".to_owned();
            Ok(if is_left { Vec::new() } else { vec![done] })
        }
        None => Ok(Vec::new()),
    }
}

fn settings(patient: &Patient<'_>) -> Result<Examined, Failure> {
    let roots = patient.workspace.settings().config().roots.iter().count();
    let findings = patient.workspace.settings().findings().to_vec();
    Ok(Examined::new(
        format!("tasks in {}", counted(roots, "root")),
        findings,
    ))
}

fn workflows(patient: &Patient<'_>) -> Result<Examined, Failure> {
    let workspace = patient.workspace;
    let names: BTreeSet<&str> = workspace
        .settings()
        .config()
        .roots
        .iter()
        .map(|root| root.workflow.as_str())
        .collect();
    let mut findings = Vec::new();
    for name in &names {
        match workspace.settings().workflow(name) {
            Ok(loaded) => findings.extend(loaded.problems.iter().cloned()),
            Err(error) => findings.push(error.into()),
        }
    }
    let names: Vec<&str> = names.into_iter().collect();
    Ok(Examined::new(names.join(", "), findings))
}

fn tasks(patient: &Patient<'_>) -> Result<Examined, Failure> {
    let (tasks, unusual) = match patient.workspace.finder().survey() {
        Err(nowhere) if nowhere.code() == Code::NothingToJudge => {
            (Vec::new(), vec![nowhere.into()])
        }
        found => found?,
    };
    let mut findings = Checker::new(patient.workspace, &patient.context.caller)
        .tasks(&tasks)?
        .findings;
    // If not everything could be listed, nobody knows whether there is a task.
    let is_empty = tasks.is_empty() && !unusual.iter().any(Diagnostic::is_fault);
    let outside = if is_empty {
        records_outside(patient.workspace)?
    } else {
        None
    };
    findings.extend(
        unusual
            .into_iter()
            .filter(|one| outside.is_none() || one.code != Code::NothingToJudge),
    );
    findings.extend(outside);
    findings.sort_by_key(|finding| Reverse(finding.severity));
    let left_out = findings.len().saturating_sub(MOST);
    findings.truncate(MOST);
    let mut summary = counted(tasks.len(), "task");
    summary.push_str(&log_versions(patient.workspace, &tasks));
    if left_out > 0 {
        summary.push_str(&format!(
            "; orch check lists {} more",
            counted(left_out, "finding")
        ));
    }
    Ok(Examined::new(summary, findings))
}

/// Which versions of the record the logs of the tasks have, in words; nothing if there is no log.
fn log_versions(workspace: &Workspace, tasks: &[TaskRef]) -> String {
    let mut logs: BTreeMap<BTreeSet<&'static str>, usize> = BTreeMap::new();
    for task in tasks {
        // A log that cannot be read is a finding already.
        let bytes = durable::read_regular(&task.transcript_path().under(workspace.reader().root()))
            .unwrap_or_default();
        let (log, _) = EventLog::parse(&bytes);
        let version = |event: &LogEvent| match event.entry.version {
            RecordVersion::First => "1",
            RecordVersion::Second => "2",
            RecordVersion::Third => "3",
            RecordVersion::Fourth => "4",
        };
        let versions: BTreeSet<&str> = log.events().map(version).collect();
        if !versions.is_empty() {
            *logs.entry(versions).or_default() += 1;
        }
    }
    let texts = logs.iter().map(|(versions, many)| {
        let versions: Vec<&str> = versions.iter().copied().collect();
        format!(
            "{} of version {}",
            counted(*many, "log"),
            versions.join(" and ")
        )
    });
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() {
        String::new()
    } else {
        format!("; {}", texts.join(", "))
    }
}

/// A warning if git tracks records although there is no task: a misspelled root hides them all.
fn records_outside(workspace: &Workspace) -> Result<Option<Diagnostic>, Failure> {
    let Some(store) = workspace.reader().store() else {
        return Ok(None);
    };
    let tracked = store.index().index_source()?.list(&RepoPath::root())?;
    let records = tracked
        .iter()
        .filter_map(|entry| entry.path.strip_suffix(TRANSCRIPT_FILE)?.strip_suffix('/'));
    let records: Vec<&str> = records.collect();
    Ok(records.first().map(|first| {
        let many = counted(records.len(), "record");
        let message =
            format!("no root matches a task, but git tracks {many}, such as that in {first}");
        Diagnostic::warning(Code::NoRoot, message).hint("correct `path` of [[root]] in orch.toml")
    }))
}

fn runs(patient: &Patient<'_>) -> Result<Examined, Failure> {
    let (runs, mut findings) = drive::runs(patient.workspace)?;
    let interrupted = runs.iter().filter(|info| info.standing() == "interrupted");
    findings.extend(interrupted.map(|info| {
        let task = info.task.id.as_str();
        let place = &info.work_tree;
        let message = format!("the process that ran `{task}` in {place} is gone");
        let hint = match place.as_str() {
            "." => Hint::run(&["orch", "run", task]),
            place => Hint::run(&["orch", "-C", place, "run", task]),
        };
        Diagnostic::warning(Code::RunInterrupted, message).hint(hint)
    }));
    let open = runs
        .iter()
        .filter(|info| info.standing() == "running")
        .count();
    Ok(Examined::new(format!("{open} running"), findings))
}

fn trust(patient: &Patient<'_>) -> Result<Examined, Failure> {
    let known = drive::trustees(&patient.context.writer(patient.workspace))?;
    let untrusted = known.iter().filter(|one| !one.is_trusted).count();
    let mut findings = Vec::new();
    if untrusted > 0 {
        let message = format!(
            "{} that orch may start: nobody has trusted this yet",
            counted(untrusted, "item")
        );
        findings.push(
            Diagnostic::note(Code::Untrusted, message).hint(
                Hint::run(&["orch", "trust", "--show"])
                    .text(", then: ")
                    .command(&["orch", "trust"]),
            ),
        );
    }
    Ok(Examined::new(
        format!("{} that orch may start", counted(known.len(), "item")),
        findings,
    ))
}

/// Whether executors can work inside a fence, by a trial.
fn fence(patient: &Patient<'_>) -> Result<Examined, Failure> {
    let writer = patient.context.writer(patient.workspace);
    let (summary, findings) = drive::examine_fence(&writer)?;
    Ok(Examined::new(summary, findings))
}

/// The tables, and the checkouts in which they run.
fn verifications(patient: &Patient<'_>) -> Result<Examined, Failure> {
    if patient.store().is_none() {
        return Ok(Examined::without_git());
    }
    let tables = patient.workspace.settings().config().verify.len();
    let writer = patient.context.writer(patient.workspace);
    let findings = drive::examine_verifications(&writer)?;
    let known = drive::known_checkouts(&writer)?;
    let mut summary = counted(tables, "table");
    if !known.all.is_empty() {
        let bytes: u64 = known.all.iter().map(|one| one.bytes).sum();
        summary.push_str(&format!(
            "; {} with {} in {}: `orch verify --clean` removes them",
            counted(known.all.len(), "checkout"),
            size(bytes),
            known.directory.display()
        ));
    }
    Ok(Examined::new(summary, findings))
}

fn hooks(patient: &Patient<'_>) -> Result<Examined, Failure> {
    if patient.work_tree().is_none() {
        return Ok(Examined::without_git());
    }
    let (summary, findings) = hook::examined(patient.workspace)?;
    Ok(Examined::new(summary, findings))
}

fn update_hooks(patient: &Patient<'_>, hooks: &Examined) -> Result<Vec<String>, Failure> {
    if !hooks.has(Code::HookOutdated) {
        return Ok(Vec::new());
    }
    let updated = hook::update(patient.workspace)?;
    Ok(updated
        .into_iter()
        .map(|name| format!("updated the {name} hook"))
        .collect())
}

/// Whether the attributes of git ask for the merge driver of orch.
fn is_driver_asked_for(store: &Store, workspace: &Workspace) -> Result<bool, Failure> {
    let asks = |base: &RepoPath| {
        // The directory stands for that of any task.
        let state = base
            .join("task/state.json")
            .map_err(|error| Error::new(Code::BadPath, error.to_string()))?;
        Ok::<_, Error>(store.settings().merge_attribute(&state)?.as_deref() == Some(DRIVER))
    };
    let mut is_asked_for = false;
    for base in workspace.settings().config().roots.bases() {
        is_asked_for |= asks(base)?;
    }
    Ok(is_asked_for)
}

fn merges(patient: &Patient<'_>) -> Result<Examined, Failure> {
    let Some(store) = patient.work_tree() else {
        return Ok(Examined::without_git());
    };
    if !is_driver_asked_for(store, patient.workspace)? {
        let message = "the states of tasks are merged as text";
        let finding =
            Diagnostic::note(Code::MergeDriver, message).hint(Hint::run(&["orch", "init"]));
        return Ok(Examined::new("no merge driver is asked for", vec![finding]));
    }
    let finding = match store
        .settings()
        .merge_driver(DRIVER)?
        .map(|driver| TypedLine::of(&driver))
    {
        // `orch resolve` joins what git could not merge as text.
        None => {
            let message =
                "git attributes ask for the merge driver of orch, which this clone does not have";
            Diagnostic::note(Code::MergeDriver, message)
        }
        // git passes the command to the shell, after replacing `%O` and the like.
        Some(driver) => match driver
            .words
            .first()
            .map(|word| word.text.replace("%%", "%"))
        {
            Some(program) if program.contains('/') && !Path::new(&program).exists() => {
                let message =
                    format!("the merge driver of this clone is {program}, which does not exist");
                Diagnostic::warning(Code::MergeDriver, message)
            }
            _ => return Ok(Examined::new("by the merge driver of orch", Vec::new())),
        },
    };
    Ok(Examined::new(
        "as text",
        vec![finding.hint(Hint::run(&["orch", "doctor", "--fix"]))],
    ))
}

fn register(patient: &Patient<'_>, merges: &Examined) -> Result<Vec<String>, Failure> {
    let Some(store) = patient.store().filter(|_| merges.has(Code::MergeDriver)) else {
        return Ok(Vec::new());
    };
    if !is_driver_asked_for(store, patient.workspace)? {
        return Ok(Vec::new());
    }
    init::register_driver(store)?;
    Ok(vec!["registered the merge driver in this clone".to_owned()])
}

fn signatures(patient: &Patient<'_>) -> Result<Examined, Failure> {
    let workspace = patient.workspace;
    if patient.store().is_none() {
        return Ok(Examined::without_git());
    }
    if workspace.settings().config().people.orders != OrdersBy::Signed {
        return Ok(Examined::new("no order needs one", Vec::new()));
    }
    if workspace.callers().signs_verifiably()? {
        return Ok(Examined::new(
            "your commits are signed, and git trusts the key",
            Vec::new(),
        ));
    }
    let message = "orders must be signed, and this clone does not sign with a key that git trusts";
    let hint = Hint::run(&["git", "config", "commit.gpgSign", "true"])
        .text("; docs/audit.md says how git comes to trust a key");
    Ok(Examined::new(
        "missing",
        vec![Diagnostic::warning(Code::Unsigned, message).hint(hint)],
    ))
}

fn watching(patient: &Patient<'_>) -> Result<Examined, Failure> {
    let workspace = patient.workspace;
    let Some(limit) = WatchLimit::of(workspace.reader().root(), &workspace.settings().watched())
    else {
        return Ok(Examined::new(
            "the system does not report the limit",
            Vec::new(),
        ));
    };
    let summary = format!(
        "{} to watch, of {} at most",
        counted(limit.needed, "place"),
        limit.allowed
    );
    let mut findings = Vec::new();
    if limit.is_short() {
        let message = format!("{summary}; all programs of a user share this limit of inotify");
        findings.push(Diagnostic::warning(Code::WatchLimit, message).hint(limit.remedy()));
    }
    Ok(Examined::new(summary, findings))
}
