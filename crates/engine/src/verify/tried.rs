//! Runs the commands of a table on a tree that is checked out, as often as the table permits, and says what became of it.

use super::checkout::{CheckoutMaker, CheckoutTarget, PlacedCode};
use super::commands::{CommandRoom, TimeLeft};
use super::created::{BesideCode, CreatedFiles};
use super::environment::{EnvironmentPlaces, environment};
use super::given::{copy_files, keyed_digest};
use super::masks::Masks;
use super::places::{CheckoutSlot, make, remove_tree, system};
use super::reports::{ReadReports, read_reports, remove_reports};
use super::setup::Setup;
use super::{CouldNotRun, VerifyEvent, VerifyPart, VerifyPlace, VerifyWatch};
use crate::run::{Ended, NetworkFence, SessionLog, end_marked};
use orch_base::{Digest, ObjectFormat};
use orch_core::verification::{
    CommandEnd, EarlierTry, FailedTest, NamedDigest, NotPassed, NotRun, TestCounts, TestNames,
};
use orch_files::writable;
use orch_read::ReportedTestEnd;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// What a tree gave.
pub(super) struct TreeRun {
    pub tests: TestNames,
    pub because: Vec<NotPassed>,
    pub commands: Vec<CommandEnd>,
    pub tries: Vec<EarlierTry>,
    pub counts: TestCounts,
    pub failures: Vec<FailedTest>,
    pub reports: Vec<NamedDigest>,
    pub leftovers: Vec<String>,
    pub changed: Vec<String>,
    pub created: CreatedFiles,
    pub given: Option<String>,
    pub milliseconds: u64,
    pub log: Digest,
    pub log_path: PathBuf,
}

/// A tree to run in a checkout.
pub(super) struct TreeTrial<'t> {
    pub maker: &'t CheckoutMaker<'t>,
    pub place: &'t VerifyPlace,
    pub slot: &'t CheckoutSlot,
    pub target: CheckoutTarget,
    /// A checkout whose caches a new one begins with.
    pub base: Option<CheckoutSlot>,
}

/// One try.
struct OneTry {
    because: Vec<NotPassed>,
    commands: Vec<CommandEnd>,
    reports: ReadReports,
    leftovers: Vec<String>,
    changed: Vec<String>,
    created: CreatedFiles,
    milliseconds: u64,
}

impl TreeTrial<'_> {
    /// Checks the tree out, sets it up, and runs the commands.
    pub(super) fn run(mut self, watch: &mut VerifyWatch<'_>) -> Result<TreeRun, CouldNotRun> {
        let base = self.base.take();
        let request = self.maker.request;
        let table = request.table;
        let mark = self.slot.root.to_string_lossy();
        if end_marked(&mark, self.place.grace) {
            tracing::warn!(%mark, "ended what a killed process had left in a checkout");
        }
        let temporary = TemporaryPlace(self.temporary()?);
        let places = EnvironmentPlaces {
            checkout: &self.slot.root,
            temporary: &temporary.0,
            repository: request.store.layout().root(),
        };
        let environment = environment(&self.place.environment, table, &places);
        let room = CommandRoom {
            directory: &self.slot.root,
            environment: &environment,
            grace: self.place.grace,
            mark: &mark,
        };
        let path = self
            .slot
            .file(&format!("log-{}", self.target.subject.word()));
        let mut log = SessionLog::create(&path).map_err(|error| system(&path, &error))?;
        let log = &mut log;
        if request.fresh {
            self.slot
                .wipe()
                .map_err(|error| system(&self.slot.root, &error))?;
        } else if let Some(base) = base
            && !self.slot.root.exists()
            && base.root.is_dir()
        {
            let scratch = CommandRoom {
                directory: &temporary.0,
                environment: &environment,
                grace: self.place.grace,
                mark: &mark,
            };
            super::caches::begin_with_caches(&base, self.slot, table, &scratch, log, watch)?;
        }
        let mut placed = self.maker.place(self.slot, self.target, watch)?;
        let mut given = self.prepare(&placed, &room, log, watch)?;
        let fence = self.fence(&temporary.0, &environment, log, watch)?;
        let masks = self.masks(&environment, &temporary.0);
        let mut tries = Vec::new();
        let mut failed_before: Vec<String> = Vec::new();
        let mut number = 1;
        let last = loop {
            let trial = Trial {
                of: &self,
                placed: &placed,
                room: &room,
                fence: fence.as_ref(),
                masks: &masks,
            };
            let tried = trial.run(number, log, watch)?;
            if tried.because.is_empty() || number > table.retries {
                break tried;
            }
            let failed = tried.reports.named(ReportedTestEnd::Failed);
            failed_before.extend(failed.iter().cloned());
            tries.push(EarlierTry {
                because: tried.because,
                commands: tried.commands,
                failed,
            });
            number += 1;
            temporary.empty()?;
            placed = self.maker.place(self.slot, self.target, watch)?;
            given = self.prepare(&placed, &room, log, watch)?;
        };
        let bytes = log.finish().map_err(|error| system(&path, &error))?;
        let is_flaky = |name: &String| failed_before.contains(name);
        let passed = last.reports.named(ReportedTestEnd::Passed);
        let (flaky, passed): (Vec<String>, Vec<String>) = passed.into_iter().partition(is_flaky);
        let failed = last.reports.failed;
        let named = (passed.len() + flaky.len()) as u64;
        let of_reports = last.reports.executed.saturating_sub(failed).max(named);
        let counts = TestCounts {
            tests: of_reports + failed,
            passed: of_reports,
            failed,
            skipped: last.reports.skipped,
        };
        Ok(TreeRun {
            tests: TestNames {
                passed,
                failed: last.reports.named(ReportedTestEnd::Failed),
                flaky,
            },
            because: last.because,
            commands: last.commands,
            tries,
            counts,
            failures: last.reports.failures,
            reports: last.reports.files,
            leftovers: last.leftovers,
            changed: last.changed,
            created: last.created,
            given,
            milliseconds: last.milliseconds,
            log: self
                .format()
                .blob(masks.apply(&String::from_utf8_lossy(&bytes)).as_bytes()),
            log_path: path,
        })
    }

    fn format(&self) -> ObjectFormat {
        self.maker.request.store.objects().format()
    }

    /// Copies files and sets up. Returns the digest of what was given.
    fn prepare(
        &self,
        placed: &PlacedCode,
        room: &CommandRoom<'_>,
        log: &mut SessionLog,
        watch: &mut VerifyWatch<'_>,
    ) -> Result<Option<String>, CouldNotRun> {
        let request = self.maker.request;
        let table = request.table;
        let files = copy_files(request.store, table, &placed.entries, &self.slot.root)?;
        let given = keyed_digest(request.store, table, &self.place.environment, &files)?;
        let setup = Setup {
            table,
            slot: self.slot,
            entries: &placed.entries,
            room,
            subject: self.target.subject,
        };
        setup.run(&|| placed.others(&self.maker.clone), log, watch)?;
        Ok(given)
    }

    /// The fence around the commands, if the table wants one. Returns why the system permits none.
    fn fence(
        &self,
        directory: &Path,
        environment: &BTreeMap<String, String>,
        log: &mut SessionLog,
        watch: &mut VerifyWatch<'_>,
    ) -> Result<Option<NetworkFence>, CouldNotRun> {
        let table = self.maker.request.table;
        if table.network {
            return Ok(None);
        }
        let fence = NetworkFence::new();
        let room = CommandRoom {
            directory,
            environment,
            grace: self.place.grace,
            mark: &self.slot.root.to_string_lossy(),
        };
        let time = TimeLeft::new(table.timeout);
        let nothing = ["true".to_owned()];
        let tried = room.run(&nothing, Some(&fence), &time, log, watch)?;
        if tried.ended == Ended::Well {
            return Ok(Some(fence));
        }
        let message = "the system permits no network namespace, which `network = false` needs";
        let mut why = CouldNotRun::new(NotRun::Network, message);
        why.log = Some(log.path().to_owned());
        why.hint = Some(
            "install `unshare` and `ip`, and let this user make user namespaces; or remove `network = false`"
                .into(),
        );
        Err(why)
    }

    /// An empty directory for temporary files, with a short name: sockets in it have one, too.
    fn temporary(&self) -> Result<PathBuf, CouldNotRun> {
        let of_caller = self.place.environment.get("TMPDIR").map(PathBuf::from);
        let shared = of_caller
            .filter(|path| path.is_absolute() && path.is_dir())
            .unwrap_or_else(|| PathBuf::from("/tmp"));
        let root = self.slot.root.to_string_lossy();
        let digest = ObjectFormat::Sha256.blob(root.as_bytes()).to_string();
        let short = shared.join(format!("orch-{}", &digest[..12]));
        let is_inside = shared.starts_with(self.maker.request.store.layout().root());
        let own = self.slot.file("tmp");
        for path in [&short, &own] {
            if is_inside && path == &short {
                continue;
            }
            // Somebody else's cannot be removed, and then not be made.
            let made = remove_tree(path)
                .and_then(|()| fs::DirBuilder::new().mode(0o700).create(path))
                .and_then(|()| path.canonicalize());
            if let Ok(path) = made {
                return Ok(path);
            }
        }
        let error = std::io::ErrorKind::PermissionDenied.into();
        Err(system(&own, &error))
    }

    fn masks(&self, environment: &BTreeMap<String, String>, temporary: &Path) -> Masks {
        let mut masks = Masks::default();
        masks.directory(&self.slot.root.to_string_lossy(), "");
        masks.directory(&temporary.to_string_lossy(), "$TMPDIR");
        if let Some(home) = environment.get("HOME") {
            masks.directory(home, "~");
        }
        for name in &self.maker.request.table.env {
            if let Some(value) = environment.get(name) {
                masks.value(name, value);
            }
        }
        masks
    }
}

/// The directory for temporary files, removed in the end.
struct TemporaryPlace(PathBuf);

impl TemporaryPlace {
    fn empty(&self) -> Result<(), CouldNotRun> {
        let emptied = remove_tree(&self.0).and_then(|()| make(&self.0));
        emptied.map_err(|error| system(&self.0, &error))
    }
}

impl Drop for TemporaryPlace {
    fn drop(&mut self) {
        if let Err(error) = remove_tree(&self.0) {
            tracing::warn!(%error, "cannot remove temporary files");
        }
    }
}

/// One try of the commands.
struct Trial<'t> {
    of: &'t TreeTrial<'t>,
    placed: &'t PlacedCode,
    room: &'t CommandRoom<'t>,
    fence: Option<&'t NetworkFence>,
    masks: &'t Masks,
}

impl Trial<'_> {
    fn run(
        &self,
        number: u32,
        log: &mut SessionLog,
        watch: &mut VerifyWatch<'_>,
    ) -> Result<OneTry, CouldNotRun> {
        let table = self.of.maker.request.table;
        let root = &self.of.slot.root;
        remove_reports(root, &table.report).map_err(|error| system(root, &error))?;
        let beside = BesideCode {
            maker: self.of.maker,
            placed: self.placed,
            root,
        };
        let before = beside.all()?;
        let time = TimeLeft::new(table.timeout);
        let mut commands = Vec::new();
        let mut leftovers = Vec::new();
        for argv in &table.commands {
            let subject = self.of.target.subject;
            let part = VerifyPart::Command(subject, argv, number);
            (watch.hear)(VerifyEvent::Begins(part));
            let end = self.room.run(argv, self.fence, &time, log, watch)?;
            leftovers.extend(end.leftovers);
            let (exit, signal) = match end.ended {
                Ended::Well => (Some(0), None),
                Ended::Code(code) => (Some(code), None),
                Ended::Signal(signal) => (None, Some(signal)),
                _ => (None, None),
            };
            commands.push(CommandEnd {
                command: argv.iter().map(|word| self.masks.apply(word)).collect(),
                exit,
                signal,
            });
            if exit != Some(0) {
                break;
            }
        }
        let milliseconds = time.passed();
        leftovers.sort();
        leftovers.dedup();
        let reports = read_reports(root, &table.report, self.masks, self.of.format());
        for why in &reports.unreadable {
            let _ = log.note(&format!("[orch: {why}]"));
        }
        let is_judged = |path: &str| table.paths.is_empty() || table.paths.matches(path);
        let changed = self.placed.changes(&self.of.maker.clone, &is_judged)?;
        let mut tried = OneTry {
            because: Vec::new(),
            commands,
            reports,
            leftovers,
            changed,
            created: beside.since(&before)?,
            milliseconds,
        };
        tried.because = self.because(&tried);
        if !tried.because.is_empty() {
            self.refuse_full_disk(log)?;
        }
        Ok(tried)
    }

    /// What fails while the disk is full says nothing about the code.
    fn refuse_full_disk(&self, log: &SessionLog) -> Result<(), CouldNotRun> {
        let temporary = self.room.environment.get("TMPDIR").map(Path::new);
        for place in temporary.into_iter().chain([self.room.directory]) {
            if let Err(error) = writable(place)
                && error.kind() == std::io::ErrorKind::StorageFull
            {
                let mut why = system(place, &error);
                why.log = Some(log.path().to_owned());
                return Err(why);
            }
        }
        Ok(())
    }

    /// Everything for which a try did not pass.
    fn because(&self, tried: &OneTry) -> Vec<NotPassed> {
        let table = self.of.maker.request.table;
        let last = tried.commands.last();
        let reports = &tried.reports;
        let expects_report = !table.report.is_empty();
        let has_report = !reports.files.is_empty() || !reports.unreadable.is_empty();
        let ran_nothing =
            reports.executed == 0 && reports.failed == 0 && reports.unreadable.is_empty();
        let reasons = [
            (
                NotPassed::Exit,
                last.is_some_and(|end| end.exit.is_some_and(|code| code != 0)),
            ),
            (NotPassed::Signal, last.is_none_or(|end| end.exit.is_none())),
            (NotPassed::Failures, reports.failed > 0),
            (NotPassed::NoReport, expects_report && !has_report),
            (NotPassed::Unreadable, !reports.unreadable.is_empty()),
            (
                NotPassed::NoTests,
                expects_report && has_report && ran_nothing && !table.allow_empty,
            ),
            (NotPassed::Changed, !tried.changed.is_empty()),
        ];
        let holding = reasons.into_iter().filter(|(_, holds)| *holds);
        holding.map(|(reason, _)| reason).collect()
    }
}
