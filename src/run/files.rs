//! The files of a run, in `.orch` of its task: its record, what is wished of it, logs and results.
//!
//! Whoever drives the task holds a lock of the kernel on the task's directory, which dies with it, and
//! alone writes the record. What is wished is written by others. Where the two meet, at the begin and the
//! end of a run and when something is wished, `control.lock` lets one after the other do it: so a wish is
//! either heard by the run that it was said to, or never told as heard. The locks are taken in this order:
//! `control.lock`, the task's, those of the repository.

use super::document::{ControlDocument, RunDocument};
use super::record::{RunStanding, RunState};
use crate::base::{Code, Error, Reason, RepoPath};
use crate::decide::ControlRequest;
use crate::scan::OWN_DIRECTORY;
use crate::store::durable;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// The files of the runs of one task.
#[derive(Debug, Clone)]
pub struct RunFiles {
    task: PathBuf,
    directory: PathBuf,
    /// The directory below the repository, to be told.
    shown: String,
}

/// The right to drive a task; it dies with its process.
#[derive(Debug)]
pub struct Lock(File);

/// A wish as it lies there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Control {
    /// What is wished.
    pub request: ControlRequest,
    /// Who wishes it.
    pub by: String,
}

/// Who heard a wish.
#[derive(Debug)]
pub enum Said {
    /// The process that drives this run.
    Told(Box<RunState>),
    /// Nobody: no process drives the task. This is its last run.
    Nobody(Option<Box<RunState>>),
}

/// How many runs keep their logs.
const LOGGED_RUNS: usize = 5;
/// How often is looked for a record that should be there.
const LOOKS: u32 = 50;
/// The record of the last run.
const RECORD: &str = "run.json";
/// What is wished of it.
const CONTROL: &str = "control.json";

impl RunFiles {
    /// The files of a task, whether they are there or not.
    #[must_use]
    pub fn of(root: &Path, task: &RepoPath) -> Self {
        let shown = format!("{task}/{OWN_DIRECTORY}");
        let task = task.under(root);
        Self { directory: task.join(OWN_DIRECTORY), task, shown }
    }

    /// Creates the directory of the runs, which git ignores; an executor may have cleaned it away. The
    /// directory of the task is never created: whoever moves it away must find its place empty.
    pub fn create(&self) -> Result<(), Error> {
        let logs = self.directory.join("logs");
        for directory in [&self.directory, &logs] {
            fs::create_dir(directory).or_else(|source| match source.kind() {
                io::ErrorKind::AlreadyExists => Ok(()),
                _ => Err(Error::io(directory, source)),
            })?;
        }
        let ignore = self.directory.join(".gitignore");
        if fs::read(&ignore).is_ok_and(|text| text == b"*\n") {
            return Ok(());
        }
        fs::write(&ignore, "*\n").map_err(|source| Error::io(&ignore, source))
    }

    /// Where the log of a try goes.
    #[must_use]
    pub fn log(&self, name: &str) -> PathBuf {
        self.directory.join("logs").join(format!("{name}.log"))
    }

    /// Where the result of a try is looked for.
    #[must_use]
    pub fn result(&self, name: &str) -> PathBuf {
        self.directory.join("logs").join(format!("{name}.result.json"))
    }

    /// Keeps the result of a try, so that it counts whatever becomes of the runner.
    pub fn keep_result(&self, name: &str, result: &Value) -> Result<(), Error> {
        self.replace(&self.result(name), result, false)
    }

    /// Removes the result of a try that has failed.
    pub fn drop_result(&self, name: &str) {
        let _ = fs::remove_file(self.result(name));
    }

    /// Makes sure that a result that was kept is on the disk.
    pub fn sync_result(&self, name: &str) -> Result<(), Error> {
        durable::sync(&[self.result(name)])
    }

    /// The result of a try that lies there; `None` where there is none.
    #[must_use]
    pub fn left_result(&self, name: &str) -> Option<Result<Value, Reason>> {
        super::executor::read_result(&self.result(name))
    }

    /// Takes the right to drive the task and begins with the record that `make` yields from the last one.
    /// What was wished before was wished of somebody else. `None` where another process drives the task.
    pub fn begin(
        &self,
        make: impl FnOnce(Option<RunState>) -> RunState,
    ) -> Result<Option<(Lock, RunState)>, Error> {
        self.create()?;
        let _control = self.control_lock()?;
        let Some(lock) = self.try_lock()? else { return Ok(None) };
        let old = self.read()?;
        let before = old.as_ref().map(|old| old.id.clone());
        let run = make(old);
        self.write(&run)?;
        self.drop_request()?;
        if before.is_some_and(|before| before != run.id) {
            self.prune(&run.id);
        }
        Ok(Some((lock, run)))
    }

    /// Writes down how a run ended and gives up the right to drive the task. If something stronger is
    /// wished than what was heeded, that comes first: then nothing is written and the wish is returned.
    pub fn finish(
        &self,
        lock: &mut Option<Lock>,
        run: &RunState,
        heeded: Option<ControlRequest>,
    ) -> Result<Option<Control>, Error> {
        let _control = self.control_lock()?;
        if let Some(control) = self.request().filter(|control| Some(control.request) > heeded) {
            return Ok(Some(control));
        }
        let written = self.write(run).and_then(|()| self.drop_request());
        *lock = None;
        written.map(|()| None)
    }

    /// Wishes something of whoever drives the task; `None` takes a wish back. The last word counts, but a
    /// pause does not soften a stop.
    pub fn say(&self, request: Option<ControlRequest>, by: &str) -> Result<Said, Error> {
        if !self.directory.is_dir() && !self.is_driven() {
            return Ok(Said::Nobody(None));
        }
        self.create()?;
        let _control = self.control_lock()?;
        let mut run = self.read()?.map(Box::new);
        for _ in 0..LOOKS {
            if !self.is_driven() {
                return Ok(Said::Nobody(run));
            }
            if run.is_some() {
                break;
            }
            // Somebody has cleaned it away; whoever drives the task writes it again in a moment.
            sleep(Duration::from_millis(20));
            run = self.read()?.map(Box::new);
        }
        let Some(run) = run.filter(|run| !matches!(run.standing, RunStanding::Ended { .. })) else {
            let what = "another process runs this task, and what it does is not written down".to_owned();
            return Err(Error::busy(what));
        };
        match request {
            None => self.drop_request()?,
            Some(request) if self.request().is_some_and(|old| old.request > request) => {}
            Some(request) => {
                let document = ControlDocument::of(request, by);
                self.replace(&self.directory.join(CONTROL), &document, true)?;
                tracing::info!(request = request.as_str(), "control request sent");
            }
        }
        Ok(Said::Told(run))
    }

    /// What is wished of whoever drives the task.
    #[must_use]
    pub fn request(&self) -> Option<Control> {
        let bytes = durable::read_regular(&self.directory.join(CONTROL))?;
        let document: ControlDocument = serde_json::from_slice(&bytes).ok()?;
        Some(Control { request: document.request()?, by: document.by })
    }

    /// Whether a process drives the task now.
    #[must_use]
    pub fn is_driven(&self) -> bool {
        let Ok(file) = File::open(&self.task) else { return false };
        // Several may look at once; only who drives it keeps them out.
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }

    /// What is known of the last run; `None` where there was none.
    pub fn read(&self) -> Result<Option<RunState>, Error> {
        let path = self.directory.join(RECORD);
        if path.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            return Ok(None);
        }
        let shown = format!("{}/{RECORD}", self.shown);
        let refuse = |why: &str| {
            let message = format!("{shown}, the record of the last run, cannot be read: {why}");
            let hint = format!("move it away to begin anew: mv {shown} {shown}.old");
            Error::new(Code::RunUnreadable, message).with_hint(hint)
        };
        let bytes = durable::read_regular(&path).ok_or_else(|| refuse("it is no readable file"))?;
        RunDocument::read(&bytes).map(Some).map_err(|why| refuse(&why))
    }

    /// Writes what is known of the run: whole, whatever happens, and on the disk when this returns.
    pub fn write(&self, run: &RunState) -> Result<(), Error> {
        self.replace(&self.directory.join(RECORD), &RunDocument::of(run), true)
    }

    /// Whether a record lies there.
    #[must_use]
    pub fn has_record(&self) -> bool {
        self.directory.join(RECORD).is_file()
    }

    /// Replaces a file as a whole. That of the directory is not waited for: after a power cut there is the
    /// old file or the new one. A directory that was cleaned away is made again.
    fn replace(&self, path: &Path, value: &impl Serialize, sync: bool) -> Result<(), Error> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let beside = self.directory.join(format!("{}-{name}", durable::TEMPORARY));
        let text = serde_json::to_string_pretty(value).map(|text| format!("{text}\n"));
        let text = text.map_err(|error| Error::io(path, error.into()))?;
        let write = || {
            let mut file = File::create(&beside)?;
            file.write_all(text.as_bytes())?;
            if sync {
                file.sync_data()?;
            }
            fs::rename(&beside, path)
        };
        let written = match write() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.create()?;
                write()
            }
            written => written,
        };
        written.map_err(|source| {
            let _ = fs::remove_file(&beside);
            Error::io(path, source)
        })
    }

    fn drop_request(&self) -> Result<(), Error> {
        let path = self.directory.join(CONTROL);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io(&path, error)),
            _ => Ok(()),
        }
    }

    /// Takes the right anew where the directory of the task is another one than that it was taken on.
    pub fn keep_lock(&self, lock: &mut Option<Lock>) {
        let is_same = |lock: &Lock| {
            let here = fs::metadata(&self.task).map(|here| (here.dev(), here.ino()));
            here.ok() == lock.0.metadata().map(|locked| (locked.dev(), locked.ino())).ok()
        };
        if lock.as_ref().is_some_and(|lock| !is_same(lock))
            && let Ok(Some(anew)) = self.try_lock()
        {
            *lock = Some(anew);
        }
    }

    fn try_lock(&self) -> Result<Option<Lock>, Error> {
        let fail = |source| Error::io(&self.task, source);
        let file = File::open(&self.task).map_err(fail)?;
        // Whoever only looks holds it for a moment.
        for attempt in 0..5 {
            match file.try_lock() {
                Ok(()) => return Ok(Some(Lock(file))),
                Err(TryLockError::WouldBlock) => sleep(Duration::from_millis(2 << attempt)),
                Err(TryLockError::Error(source)) => return Err(fail(source)),
            }
        }
        Ok(None)
    }

    fn control_lock(&self) -> Result<File, Error> {
        let path = self.directory.join("control.lock");
        let fail = |source| Error::io(&path, source);
        let open = || File::options().create(true).truncate(false).write(true).open(&path);
        let file = match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.create()?;
                open()
            }
            opened => opened,
        };
        let file = file.map_err(fail)?;
        file.lock().map_err(fail)?;
        Ok(file)
    }

    /// Removes the logs of all but the last runs. What cannot be removed stays.
    fn prune(&self, current: &str) {
        let entries = fs::read_dir(self.directory.join("logs")).into_iter().flatten().flatten();
        let named: Vec<(String, PathBuf)> = entries
            .filter_map(|entry| Some((run_of(entry.file_name().to_str()?)?.to_owned(), entry.path())))
            .collect();
        let mut runs: BTreeSet<(u64, &str)> =
            named.iter().map(|(run, _)| (begun(run), run.as_str())).collect();
        while runs.len() >= LOGGED_RUNS {
            let Some((_, oldest)) = runs.pop_first() else { break };
            for (_, path) in named.iter().filter(|(run, _)| run == oldest && run != current) {
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// The run that a log belongs to: its second and its process, before the number of the turn.
fn run_of(name: &str) -> Option<&str> {
    let (end, _) = name.match_indices('-').nth(1)?;
    Some(&name[..end])
}

fn begun(run: &str) -> u64 {
    run.split('-').next().and_then(|seconds| seconds.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Timestamp;
    use crate::decide::{Ending, Mode, Usage};

    fn run(id: &str, standing: RunStanding) -> RunState {
        let now = Timestamp::from_seconds(0);
        let (pid, mode, usage) = (1, Mode::Auto, Usage::default());
        RunState { id: id.to_owned(), pid, mode, started: now, updated: now, usage, max_turns: 1, standing }
    }

    #[test]
    fn a_wish_is_heard_by_the_run_it_was_said_to_or_by_nobody() {
        let root = tempfile::tempdir().expect("a directory");
        let files = RunFiles::of(root.path(), &RepoPath::new("t").expect("valid"));
        assert!(
            files.create().is_err() && !files.task.exists(),
            "the task's directory is not ours to create"
        );
        fs::create_dir(&files.task).expect("made");
        let over = |ending| RunStanding::Ended { ending, why: String::new(), kept: None };
        assert!(matches!(files.say(Some(ControlRequest::Stop), "Ann"), Ok(Said::Nobody(None))));
        assert!(!files.directory.exists(), "who only asks leaves nothing behind");

        // What was said to somebody who died is not heard by whoever comes next.
        files.create().expect("made");
        fs::write(files.directory.join(CONTROL), "{\"request\": \"stop\", \"by\": \"Ann\"}")
            .expect("written");
        let begun = files.begin(|old| old.unwrap_or_else(|| run("1-1", RunStanding::Idle)));
        let (lock, state) = begun.expect("no fault").expect("nobody else");
        assert_eq!((files.request(), state.id.as_str()), (None, "1-1"));
        assert!(files.begin(|_| unreachable!("somebody drives it")).expect("no fault").is_none());

        // The last word counts, but a pause does not soften a stop.
        for (request, heard) in [
            (Some(ControlRequest::Pause), Some(ControlRequest::Pause)),
            (None, None),
            (Some(ControlRequest::Stop), Some(ControlRequest::Stop)),
            (Some(ControlRequest::Pause), Some(ControlRequest::Stop)),
        ] {
            assert!(matches!(files.say(request, "Ann"), Ok(Said::Told(told)) if told.id == "1-1"));
            assert_eq!(files.request().map(|control| control.request), heard);
        }

        // A run does not end over a stronger wish than it has heeded.
        let mut lock = Some(lock);
        let ended = run("1-1", over(Ending::Paused));
        let unheard = files.finish(&mut lock, &ended, Some(ControlRequest::Pause)).expect("no fault");
        assert_eq!(unheard.map(|control| control.request), Some(ControlRequest::Stop));
        assert!(lock.is_some() && files.read().expect("readable") == Some(run("1-1", RunStanding::Idle)));
        let ended = run("1-1", over(Ending::Stopped));
        assert_eq!(files.finish(&mut lock, &ended, Some(ControlRequest::Stop)).expect("no fault"), None);
        assert!(lock.is_none() && files.request().is_none() && !files.is_driven());
        assert!(
            matches!(files.say(Some(ControlRequest::Stop), "Ann"), Ok(Said::Nobody(Some(last))) if *last == ended)
        );
    }
}
