//! The files of a run in `.orch` of its task: its record, the control request, logs and results.
//!
//! The process that drives a task holds a kernel lock on the task's directory, which is released when the
//! process dies, and it alone writes the record. Other processes write control requests. `control.lock`
//! serializes the two when a run begins or ends and when a request is sent, so that a control request reaches
//! exactly the run it was sent to, or is dropped. Locks are taken in this order: `control.lock`, the lock of
//! the task, the locks of the repository.

use super::document::{ControlDocument, RunDocument};
use super::record::{Process, RunStanding, RunState};
use orch_base::{Code, Digest, Error, Hint, Reason, RepoPath};
use orch_core::decide::ControlRequest;
use orch_files::{Directory, FileLock, OWN_DIRECTORY, io_error};
use orch_git::{SideWork, durable};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// The files of the runs of one task.
#[derive(Debug, Clone)]
pub struct RunFiles {
    root: PathBuf,
    task: PathBuf,
    directory: PathBuf,
    /// The path of the directory relative to the repository, for messages.
    shown: String,
    /// The git directory, where a copy of the record is as long as the run may continue.
    git: Option<PathBuf>,
}

/// The exclusive right to drive a task, released when its process dies.
#[derive(Debug)]
pub struct Lock(FileLock);

/// A pending control request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Control {
    /// The request.
    pub request: ControlRequest,
    /// The name of the sender; of a request for a person, the reason.
    pub by: String,
}

/// Whether a control request reached a run.
#[derive(Debug)]
pub enum ControlOutcome {
    /// Sent to the process that drives this run.
    Sent(Box<RunState>),
    /// Not sent: no process drives the task. Holds the last run of the task.
    NoRunner(Option<Box<RunState>>),
}

/// How many runs keep their logs.
const LOGGED_RUNS: usize = 5;
/// How often to look for a record that must reappear.
const LOOKS: u32 = 50;
/// The record of the last run.
const RECORD: &str = "run.json";
/// The control request for it.
const CONTROL: &str = "control.json";
/// The directory of the logs.
const LOGS: &str = "logs";
/// The directory of the results: a fence opens it to executors.
const RESULTS: &str = "results";

/// Where a file of a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    /// In `.orch`.
    Own,
    /// In `.orch/logs`.
    Logs,
    /// In `.orch/results`.
    Results,
}

impl RunFiles {
    /// The path of the record of the last run in the directory of its task.
    pub const RECORD_PATH: &str = ".orch/run.json";

    /// The files of a task, whether or not they exist.
    #[must_use]
    pub fn of(root: &Path, task: &RepoPath) -> Self {
        let shown = format!("{task}/{OWN_DIRECTORY}");
        let task = task.under(root);
        Self {
            root: root.to_owned(),
            directory: task.join(OWN_DIRECTORY),
            task,
            shown,
            git: None,
        }
    }

    /// The same, with a copy of the record in the git directory as long as the run may continue, so that removing the
    /// files of a task does not give its run a new budget.
    #[must_use]
    pub fn with_copy(self, git: &Path) -> Self {
        Self {
            git: Some(git.to_owned()),
            ..self
        }
    }

    /// The git directory, and the path of the copy in it. Only a run asks for it, so that a look does not pay for the name.
    fn copy(&self) -> Option<(&Path, PathBuf)> {
        let git = self.git.as_deref()?;
        let name = Digest::of_blob(self.shown.as_bytes());
        Some((git, git.join(format!("orch/runs/{name}.json"))))
    }

    /// Creates the directory of the runs, which git ignores. An executor may have deleted it. The task's
    /// directory is never created: if someone moves it away, its place must stay empty. Returns an error if a
    /// directory or file cannot be created, or if a directory is a link: a commit can hold one, and what is
    /// written behind it may be anywhere.
    pub fn create(&self) -> Result<(), Error> {
        let task = Directory::open(&self.root, &self.task);
        let own = task.and_then(|task| task.make_child(OWN_DIRECTORY));
        // What executors are told and print is for the user alone.
        own.and_then(|own| {
            own.permit(0o700)?;
            own.make_child(RESULTS)?;
            own.make_child(LOGS)
        })
        .map_err(|source| self.refused(&self.logs(), source))?;
        let ignore = self.directory.join(".gitignore");
        if durable::read_regular(&ignore).is_some_and(|text| text == b"*\n") {
            return Ok(());
        }
        durable::write_derived(&self.root, &ignore, b"*\n")
    }

    /// The error for a file that cannot be written: something may be in place of its directory.
    fn refused(&self, path: &Path, source: io::Error) -> Error {
        if source.kind() != io::ErrorKind::NotADirectory {
            return io_error(path, source);
        }
        let is_directory = |path: &Path| {
            path.symlink_metadata()
                .is_ok_and(|metadata| metadata.is_dir())
        };
        let shown = &self.shown;
        let shown = if is_directory(&self.directory) {
            format!("{shown}/{LOGS}")
        } else {
            shown.clone()
        };
        let message = format!("{shown} is not a directory, so nothing is written there");
        let hint = Hint::from("remove it: ").command(&["rm", &shown]);
        Error::new(Code::Symlink, message).with_hint(hint)
    }

    /// The directory of the runs, or below it that of the logs.
    fn open(&self, within: Within) -> io::Result<Directory> {
        let own = Directory::open(&self.root, &self.directory)?;
        match within {
            Within::Own => Ok(own),
            Within::Logs => own.child(LOGS),
            Within::Results => own.child(RESULTS),
        }
    }

    /// Removes a file, if it is there. A failure is ignored.
    fn drop_file(&self, within: Within, name: &str) {
        let _ = self
            .open(within)
            .and_then(|directory| directory.remove(name));
    }

    fn logs(&self) -> PathBuf {
        self.directory.join(LOGS)
    }

    /// The directory in which executors leave their results.
    #[must_use]
    pub fn results(&self) -> PathBuf {
        self.directory.join(RESULTS)
    }

    /// Creates the log of a try, and removes an earlier result. Returns an error if that fails.
    pub fn begin_try(&self, name: &str) -> Result<File, Error> {
        let results = self.open(Within::Results);
        let emptied = results.and_then(|results| results.remove_if_there(result_name(name)));
        let begun = emptied.and_then(|()| self.open(Within::Logs)?.create_anew(log_name(name)));
        begun.map_err(|source| self.refused(&self.log(name), source))
    }

    /// The path of the log of a try.
    #[must_use]
    pub fn log(&self, name: &str) -> PathBuf {
        self.logs().join(log_name(name))
    }

    /// The path of the result file of a try.
    #[must_use]
    pub fn result(&self, name: &str) -> PathBuf {
        self.results().join(result_name(name))
    }

    /// Stores the result of a try, so that it survives the death of this process. Returns an error if it
    /// cannot be written.
    pub fn keep_result(&self, name: &str, result: &Value) -> Result<(), Error> {
        self.replace(Within::Results, &result_name(name), result, false)
    }

    /// Removes the result of a failed try.
    pub fn drop_result(&self, name: &str) {
        self.drop_file(Within::Results, &result_name(name));
    }

    /// Syncs a stored result to the disk. Returns an error if that fails.
    pub fn sync_result(&self, name: &str) -> Result<(), Error> {
        durable::sync(&[self.result(name)])
    }

    /// The stored result of a try, or why it is invalid; `None` if there is none.
    #[must_use]
    pub fn left_result(&self, name: &str) -> Option<Result<Value, Reason>> {
        super::executor::read_result(&self.result(name))
    }

    fn process_file(&self, name: &str) -> PathBuf {
        self.logs().join(process_name(name))
    }

    /// Stores the process group of a try, so that the next process can end it if this one is killed. It is not
    /// synced, because a process does not outlive the machine. Returns an error if it cannot be written.
    pub fn keep_process(&self, name: &str, process: &Process) -> Result<(), Error> {
        self.replace(Within::Logs, &process_name(name), process, false)
    }

    /// Removes the process group of a try that has ended.
    pub fn drop_process(&self, name: &str) {
        self.drop_file(Within::Logs, &process_name(name));
    }

    /// The stored process group of a try; `None` if there is none.
    #[must_use]
    pub fn left_process(&self, name: &str) -> Option<Process> {
        serde_json::from_slice(&durable::read_kept(&self.process_file(name)).ok()??).ok()
    }

    /// Takes the right to drive the task and writes the record that `make` derives from the last one. Drops
    /// requests that were sent to an earlier run. Returns `None` if another process drives the task, and an
    /// error if the last record cannot be read or the new one cannot be written.
    pub fn begin(
        &self,
        make: impl FnOnce(Option<RunState>) -> RunState,
    ) -> Result<Option<(Lock, RunState)>, Error> {
        self.create()?;
        let _control = self.control().control_lock()?;
        let Some(lock) = self.try_lock()? else {
            return Ok(None);
        };
        self.drop_abandoned();
        let old = self.last()?;
        let before = old.as_ref().map(|old| old.id.clone());
        let run = make(old);
        // The run may have the id of one that a killed process drove, to which the request was sent.
        self.control().drop_request()?;
        self.write(&run)?;
        // The directory of the runs may be new.
        durable::sync(std::slice::from_ref(&self.task))?;
        if before.is_some_and(|before| before != run.id) {
            self.prune(&run.id);
        }
        Ok(Some((lock, run)))
    }

    /// Removes the temporary files that killed processes left. The caller holds `control.lock` and the right to drive the
    /// task, so that no other process writes what [`Self::replace`] does.
    fn drop_abandoned(&self) {
        durable::remove_abandoned(&self.directory);
        if let Some((_, copy)) = self.copy() {
            durable::remove_abandoned(durable::parent(&copy));
        }
        let Ok(own) = self.open(Within::Own) else {
            return;
        };
        let is_ours = |name: &str| name.starts_with(durable::TEMPORARY) && name.ends_with(".json");
        for name in own.names().unwrap_or_default() {
            if name.to_str().is_some_and(is_ours) {
                let _ = own.remove(&name);
            }
        }
    }

    /// Writes how a run ended and releases the right to drive the task. If a stronger request than `applied`
    /// is pending, writes nothing and returns that request. Returns an error if the record cannot be written.
    pub fn finish(
        &self,
        lock: &mut Option<Lock>,
        run: &RunState,
        applied: Option<ControlRequest>,
    ) -> Result<Option<Control>, Error> {
        // The executor deleted or moved the task: there is no place for a record.
        if self.is_task_gone() {
            self.forget_copy();
            *lock = None;
            return Ok(None);
        }
        let _control = self.control().control_lock()?;
        let pending = self.control().request(&run.id).ok().flatten();
        if let Some(control) = pending.filter(|control| Some(control.request) > applied) {
            return Ok(Some(control));
        }
        let written = self.write(run);
        // What cannot be removed is not for the next run.
        if let Err(error) = self.control().drop_request() {
            tracing::warn!(error = error.logged(), "cannot remove the control request");
        }
        *lock = None;
        written.map(|()| None)
    }

    /// Whether a process drives the task now.
    #[must_use]
    pub fn is_driven(&self) -> bool {
        let Ok(file) = File::open(&self.task) else {
            return false;
        };
        // Readers share the lock; only the process that drives the task excludes them.
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }

    /// The record of the last run; `None` if there is none. Returns an error if it cannot be read.
    pub fn read(&self) -> Result<Option<RunState>, Error> {
        let path = self.directory.join(RECORD);
        let shown = format!("{}/{RECORD}", self.shown);
        let refuse = |why: &str| {
            let message = format!("cannot read {shown}, the record of the last run: {why}");
            let aside = format!("{shown}.old");
            let hint =
                Hint::from("move it away to start a new run: ").command(&["mv", &shown, &aside]);
            Error::new(Code::RunUnreadable, message).with_hint(hint)
        };
        let bytes = durable::read_kept(&path).map_err(|error| refuse(&error.to_string()))?;
        bytes
            .map(|bytes| RunDocument::read(&bytes).map_err(|why| refuse(&why)))
            .transpose()
    }

    /// Replaces the record of the run atomically and syncs it; of a task that is gone there is none. Returns
    /// an error if it cannot be written.
    pub fn write(&self, run: &RunState) -> Result<(), Error> {
        if self.is_task_gone() {
            return Ok(());
        }
        self.replace(Within::Own, RECORD, &RunDocument::of(run), true)?;
        if !run.goes_on() {
            self.forget_copy();
        } else if let Err(error) = self.keep_copy(run) {
            tracing::warn!(
                error = error.logged(),
                "cannot keep a copy of the record of the run"
            );
        }
        Ok(())
    }

    /// Begins to do what [`Self::write`] does. The next one may begin only when this is over.
    pub(crate) fn begin_write(&self, run: RunState) -> SideWork {
        let files = self.clone();
        let writing = SideWork::default();
        writing.begin(move || files.write(&run));
        writing
    }

    /// Writes the copy of the record. It is not synced: it is read only if somebody has removed the record.
    fn keep_copy(&self, run: &RunState) -> Result<(), Error> {
        let Some((git, path)) = self.copy() else {
            return Ok(());
        };
        Directory::make(git, durable::parent(&path)).map_err(|error| io_error(&path, error))?;
        let text = serde_json::to_vec(&RunDocument::of(run))
            .map_err(|error| io_error(&path, error.into()))?;
        durable::write_derived(git, &path, &text)
    }

    /// The record of the last run. If somebody has removed it and the run may continue, it is the copy, without work: what
    /// that wrote is gone, too. Returns an error if the record cannot be read.
    pub fn last(&self) -> Result<Option<RunState>, Error> {
        let known = self.read()?;
        let copied = || {
            let bytes = durable::read_kept(&self.copy()?.1).ok()??;
            Some(RunState {
                standing: RunStanding::Idle,
                ..RunDocument::read(&bytes).ok()?
            })
        };
        Ok(known.or_else(copied))
    }

    /// Removes the copy of the record, as if the run had ended.
    pub fn forget_copy(&self) {
        if let Some((_, path)) = self.copy() {
            let _ = fs::remove_file(path);
        }
    }

    /// The bytes of the record of the last run; `None` if there is none that can be read.
    #[must_use]
    pub fn record(&self) -> Option<Vec<u8>> {
        durable::read_kept(&self.directory.join(RECORD))
            .ok()
            .flatten()
    }

    /// The sizes of the logs, by their names.
    #[must_use]
    pub fn log_sizes(&self) -> BTreeMap<String, u64> {
        let entries = fs::read_dir(self.logs()).into_iter().flatten().flatten();
        let named = entries.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry));
        let logs = named.filter(|(name, _)| name.ends_with(".log"));
        logs.filter_map(|(name, entry)| Some((name, entry.metadata().ok()?.len())))
            .collect()
    }

    fn is_task_gone(&self) -> bool {
        self.task
            .symlink_metadata()
            .is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    }

    /// Whether there is a record.
    #[must_use]
    pub fn has_record(&self) -> bool {
        self.directory.join(RECORD).is_file()
    }

    /// Replaces a file atomically. With `sync`, the new one is there after a power cut, too; otherwise it may be the old one, or
    /// have no bytes. Creates the directory again if someone has deleted it.
    fn replace(
        &self,
        within: Within,
        name: &str,
        value: &impl Serialize,
        sync: bool,
    ) -> Result<(), Error> {
        let path = match within {
            Within::Own => self.directory.join(name),
            Within::Logs => self.logs().join(name),
            Within::Results => self.results().join(name),
        };
        let beside = format!("{}-{name}", durable::TEMPORARY);
        let text = serde_json::to_string_pretty(value).map(|text| format!("{text}\n"));
        let text = text.map_err(|error| io_error(&path, error.into()))?;
        let write = || {
            let own = self.open(Within::Own)?;
            let target = self.open(within)?;
            let mut file = own.create_anew(&beside)?;
            let written = file.write_all(text.as_bytes());
            let written = written.and_then(|()| if sync { file.sync_data() } else { Ok(()) });
            let placed = written.and_then(|()| durable::rename_over(&own, &beside, &target, name));
            placed.inspect_err(|_| drop(own.remove(&beside)))
        };
        let written = match write() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.create()?;
                write()
            }
            written => written,
        };
        written.map_err(|source| self.refused(&path, source))?;
        if sync {
            durable::sync(&[durable::parent(&path).to_owned()])
        } else {
            Ok(())
        }
    }

    /// Takes the lock again if the task's directory was replaced by another one since.
    pub fn keep_lock(&self, lock: &mut Option<Lock>) {
        let is_same = |lock: &Lock| {
            let here = fs::metadata(&self.task).map(|here| (here.dev(), here.ino()));
            here.ok()
                == lock
                    .0
                    .metadata()
                    .map(|locked| (locked.dev(), locked.ino()))
                    .ok()
        };
        if lock.as_ref().is_some_and(|lock| !is_same(lock))
            && let Ok(Some(anew)) = self.try_lock()
        {
            *lock = Some(anew);
        }
    }

    /// Keeps every process from driving the task while the returned value lives; `None` if one drives it.
    /// Returns an error if the task's directory cannot be opened.
    pub fn keep_idle(&self) -> Result<Option<Lock>, Error> {
        self.try_lock()
    }

    fn try_lock(&self) -> Result<Option<Lock>, Error> {
        let fail = |source| io_error(&self.task, source);
        // A process that only checks the lock holds it for a moment.
        for attempt in 0..5 {
            let file = File::open(&self.task).map_err(fail)?;
            if let Some(lock) = FileLock::try_new(file).map_err(fail)? {
                return Ok(Some(Lock(lock)));
            }
            sleep(Duration::from_millis(2 << attempt));
        }
        Ok(None)
    }

    /// Removes the logs of all but the last runs. Files that cannot be removed stay.
    fn prune(&self, current: &str) {
        let mut named: Vec<(String, OsString)> = Vec::new();
        let kept = [Within::Logs, Within::Results].map(|within| self.open(within));
        let kept: Vec<Directory> = kept.into_iter().flatten().collect();
        for directory in &kept {
            let names = directory.names().unwrap_or_default().into_iter();
            named.extend(names.filter_map(|name| Some((run_of(name.to_str()?)?.to_owned(), name))));
        }
        let mut runs: BTreeSet<(u64, &str)> = named
            .iter()
            .map(|(run, _)| (begun(run), run.as_str()))
            .collect();
        while runs.len() >= LOGGED_RUNS {
            let Some((_, oldest)) = runs.pop_first() else {
                break;
            };
            for (_, name) in named
                .iter()
                .filter(|(run, _)| run == oldest && run != current)
            {
                for directory in &kept {
                    let _ = directory.remove(name);
                }
            }
        }
    }

    /// The control request for its run.
    #[must_use]
    pub fn control(&self) -> RunControl<'_> {
        RunControl { files: self }
    }
}

/// The control request of a task, from other processes to its run.
pub struct RunControl<'f> {
    files: &'f RunFiles,
}

impl RunControl<'_> {
    /// Sends a request to the process that drives the task; `None` withdraws the pending one. A new request
    /// replaces an older one, but a pause does not replace a stop. Returns an error if the files cannot be
    /// written or another process drives the task without a record.
    pub fn send(&self, request: Option<ControlRequest>, by: &str) -> Result<ControlOutcome, Error> {
        if !self.files.directory.is_dir() && !self.files.is_driven() {
            return Ok(ControlOutcome::NoRunner(None));
        }
        self.files.create()?;
        let _control = self.control_lock()?;
        let mut run = self.files.read()?.map(Box::new);
        let is_going_on = |run: &RunState| !matches!(run.standing, RunStanding::Ended { .. });
        for _ in 0..LOOKS {
            if !self.files.is_driven() {
                return Ok(ControlOutcome::NoRunner(run));
            }
            if run.as_deref().is_some_and(is_going_on) {
                break;
            }
            // Someone has deleted it, or the process that drives the task has just begun, and writes it shortly.
            sleep(Duration::from_millis(20));
            run = self.files.read()?.map(Box::new);
        }
        let Some(run) = run.filter(|run| is_going_on(run)) else {
            let what = "another process runs this task but has written no record".to_owned();
            return Err(Error::busy(what));
        };
        match request {
            None => self.drop_request()?,
            Some(request) if self.pending(&run.id) > Some(request) => {}
            Some(request) => {
                let document = ControlDocument::of(&run.id, request, by);
                self.files.replace(Within::Own, CONTROL, &document, true)?;
                tracing::info!(request = request.as_str(), "control request sent");
            }
        }
        Ok(ControlOutcome::Sent(run))
    }

    /// The pending request to this run; `None` if there is none. Returns an error that says what is wrong if
    /// there is a file that is not a request to it: such a file has no effect.
    pub fn request(&self, run: &str) -> Result<Option<Control>, Reason> {
        let text = match durable::read_kept(&self.files.directory.join(CONTROL)) {
            Ok(Some(text)) => text,
            Ok(None) => return Ok(None),
            Err(error) => return Err(error.to_string().into()),
        };
        let document: ControlDocument =
            serde_json::from_slice(&text).map_err(|error| Reason::from(error.to_string()))?;
        let request = document.request(run)?;
        Ok(Some(Control {
            request,
            by: document.by,
        }))
    }

    /// The pending request to this run; `None` if the file is not a request to it.
    #[must_use]
    pub fn pending(&self, run: &str) -> Option<ControlRequest> {
        Some(self.request(run).ok()??.request)
    }

    /// The path of the control request, as messages show it.
    #[must_use]
    pub fn control_shown(&self) -> String {
        format!("{}/{CONTROL}", self.files.shown)
    }

    fn drop_request(&self) -> Result<(), Error> {
        let removed = self
            .files
            .open(Within::Own)
            .and_then(|own| own.remove_if_there(CONTROL));
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self
                .files
                .refused(&self.files.directory.join(CONTROL), error)),
            _ => Ok(()),
        }
    }

    fn control_lock(&self) -> Result<FileLock, Error> {
        let path = self.files.directory.join("control.lock");
        let fail = |source| self.files.refused(&path, source);
        let open = || self.files.open(Within::Own)?.touch("control.lock");
        let file = match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.files.create()?;
                open()
            }
            opened => opened,
        };
        file.and_then(FileLock::new).map_err(fail)
    }
}

fn log_name(name: &str) -> String {
    format!("{name}.log")
}

fn result_name(name: &str) -> String {
    format!("{name}.result.json")
}

fn process_name(name: &str) -> String {
    format!("{name}.process.json")
}

/// The run that a log belongs to: start time in seconds and process id, before the number of the turn.
fn run_of(name: &str) -> Option<&str> {
    let (end, _) = name.match_indices('-').nth(1)?;
    Some(&name[..end])
}

fn begun(run: &str) -> u64 {
    run.split('-')
        .next()
        .and_then(|seconds| seconds.parse().ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use orch_base::Timestamp;
    use orch_core::decide::{Ending, Mode, Usage};

    fn run(id: &str, standing: RunStanding) -> RunState {
        let now = Timestamp::from_seconds(0);
        let pid = 1;
        let mode = Mode::Auto;
        let usage = Usage::default();
        let id = id.to_owned();
        let command = Vec::new();
        RunState {
            id,
            pid,
            mode,
            started: now,
            updated: now,
            usage,
            max_turns: 1,
            command,
            met: None,
            unfenced: None,
            standing,
        }
    }

    #[test]
    fn what_is_no_request_to_a_run_is_told_and_has_no_effect() {
        let root = tempfile::tempdir().expect("a directory");
        let files = RunFiles::of(root.path(), &RepoPath::new("t").expect("valid"));
        fs::create_dir(&files.task).expect("made");
        files.create().expect("made");
        let control = files.directory.join(CONTROL);
        for (text, why) in [
            ("", "EOF"),
            ("{", "EOF"),
            ("[]", "expected struct"),
            (
                "{\"request\": \"stop\", \"by\": \"Ann\"}",
                "missing field `run`",
            ),
            (
                "{\"run\": \"1-1\", \"request\": \"stop\"}",
                "missing field `by`",
            ),
            (
                "{\"run\": \"1-2\", \"request\": \"stop\", \"by\": \"Ann\"}",
                "for another run, \"1-2\"",
            ),
            (
                "{\"run\": \"1-1\", \"request\": \"halt\", \"by\": \"Ann\"}",
                "unknown request \"halt\"",
            ),
            (
                "{\"run\": \"1-1\", \"request\": \"interrupt\", \"by\": \"Ann\"}",
                "unknown request",
            ),
        ] {
            fs::write(&control, text).expect("written");
            let refused = files.control().request("1-1").expect_err(text);
            assert!(refused.to_string().contains(why), "{refused}");
        }
        // Nothing of it is on the disk.
        File::create(&control)
            .and_then(|file| file.set_len(1 << 30))
            .expect("grown");
        let refused = files.control().request("1-1").expect_err("a large file");
        assert!(refused.to_string().contains("longer than"), "{refused}");
        fs::remove_file(&control).expect("removed");
        fs::create_dir(&control).expect("made");
        let refused = files.control().request("1-1").expect_err("a directory");
        assert!(
            refused.to_string().contains("not a regular file"),
            "{refused}"
        );
        fs::remove_dir(&control).expect("removed");
        assert_eq!(files.control().request("1-1"), Ok(None));
    }

    #[test]
    fn a_request_reaches_the_run_it_was_sent_to_or_is_dropped() {
        let root = tempfile::tempdir().expect("a directory");
        let files = RunFiles::of(root.path(), &RepoPath::new("t").expect("valid"));
        assert!(
            files.create().is_err() && !files.task.exists(),
            "the task's directory is never created"
        );
        fs::create_dir(&files.task).expect("made");
        let over = |ending| RunStanding::Ended {
            ending,
            why: String::new(),
            kept: None,
        };
        assert!(matches!(
            files.control().send(Some(ControlRequest::Stop), "Ann"),
            Ok(ControlOutcome::NoRunner(None))
        ));
        assert!(
            !files.directory.exists(),
            "a request without a run writes nothing"
        );

        // A request that was sent to a dead run does not reach the next run.
        files.create().expect("made");
        let stop =
            |run: &str| format!("{{\"run\": \"{run}\", \"request\": \"stop\", \"by\": \"Ann\"}}");
        fs::write(files.directory.join(CONTROL), stop("1-1")).expect("written");
        let begun = files.begin(|old| old.unwrap_or_else(|| run("1-1", RunStanding::Idle)));
        let (lock, state) = begun.expect("no fault").expect("not driven");
        assert_eq!(
            (files.control().request("1-1"), state.id.as_str()),
            (Ok(None), "1-1")
        );
        assert!(
            files
                .begin(|_| unreachable!("already driven"))
                .expect("no fault")
                .is_none()
        );

        // A new request replaces an older one, but a pause does not replace a stop.
        for (request, expected) in [
            (Some(ControlRequest::Pause), Some(ControlRequest::Pause)),
            (None, None),
            (Some(ControlRequest::Stop), Some(ControlRequest::Stop)),
            (Some(ControlRequest::Pause), Some(ControlRequest::Stop)),
        ] {
            assert!(
                matches!(files.control().send(request, "Ann"), Ok(ControlOutcome::Sent(run)) if run.id == "1-1")
            );
            assert_eq!(
                files
                    .control()
                    .request("1-1")
                    .expect("valid")
                    .map(|control| control.request),
                expected
            );
            assert_eq!(
                files.control().pending("1-2"),
                None,
                "it is for another run"
            );
        }

        // A run cannot end while a stronger request is pending.
        let mut lock = Some(lock);
        let ended = run("1-1", over(Ending::Paused));
        let pending = files
            .finish(&mut lock, &ended, Some(ControlRequest::Pause))
            .expect("no fault");
        assert_eq!(
            pending.map(|control| control.request),
            Some(ControlRequest::Stop)
        );
        assert!(
            lock.is_some()
                && files.read().expect("readable") == Some(run("1-1", RunStanding::Idle))
        );
        let ended = run("1-1", over(Ending::Stopped));
        assert_eq!(
            files
                .finish(&mut lock, &ended, Some(ControlRequest::Stop))
                .expect("no fault"),
            None
        );
        assert!(lock.is_none() && files.control().request("1-1") == Ok(None) && !files.is_driven());
        assert!(
            matches!(files.control().send(Some(ControlRequest::Stop), "Ann"), Ok(ControlOutcome::NoRunner(Some(last))) if *last == ended)
        );
    }
}
