//! The files of a run, in `.orch` of its task: what it has used, who drives it, what is wished of it.
//!
//! The runner alone writes the record, others alone write the wish, and each is replaced as a whole
//! under one lock: so nobody's word is lost. The runner's own lock is the kernel's and dies with it.

use crate::base::{Digest, Period, RepoPath, RuleId, Timestamp};
use crate::decide::{Ending, Mode, Spent, Work};
use crate::scan::OWN_DIRECTORY;
use crate::store::{Error, durable};
use serde_json::{Map, Value, json};
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// The files of the runs of one task.
#[derive(Debug, Clone)]
pub struct Files {
    task: PathBuf,
    directory: PathBuf,
}

/// The right to drive a task; it dies with its process.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "it is held, not looked at")] File);

/// What is wished of a run from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// End after the action that is going on.
    Pause,
    /// End that action too.
    Stop,
}

/// A wish as it lies there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Control {
    /// What is wished.
    pub wish: Wish,
    /// Of which run.
    pub run: String,
    /// Who wishes it.
    pub by: String,
}

/// What is known of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunState {
    /// Its id.
    pub id: String,
    /// The process that drives it.
    pub pid: u32,
    /// How it goes about questions.
    pub mode: Mode,
    /// When it began.
    pub started: Timestamp,
    /// When it was last written.
    pub updated: Timestamp,
    /// What it has used.
    pub spent: Spent,
    /// How many turns it may use.
    pub max_turns: u32,
    /// What an executor is doing for it.
    pub work: Option<WorkState>,
    /// How it ended, and why.
    pub ended: Option<(Ending, String)>,
}

/// Something that an executor was started for.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkState {
    /// What it does.
    pub work: Work,
    /// Since when.
    pub started: Timestamp,
    /// Its process group.
    pub group: Option<i32>,
    /// When the leader of that was started, as the system counts.
    pub group_started: Option<u64>,
    /// The name of its log and result, without their ends.
    pub name: String,
    /// The revision of the state that it was begun on.
    pub rev: u64,
}

impl Files {
    /// The files of a task, whether they are there or not.
    #[must_use]
    pub fn of(root: &Path, task: &RepoPath) -> Self {
        let task = task.under(root);
        Self { directory: task.join(OWN_DIRECTORY), task }
    }

    /// Makes the directory, which git is told to pass over.
    pub fn create(&self) -> Result<(), Error> {
        fs::create_dir_all(self.directory.join("logs"))
            .map_err(|source| Error::io(&self.directory, source))?;
        let ignore = self.directory.join(".gitignore");
        if !ignore.exists() {
            fs::write(&ignore, "*\n").map_err(|source| Error::io(&ignore, source))?;
        }
        Ok(())
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
        self.replace(&self.result(name), result)
    }

    /// The result of a try that a killed run has left; `None` where there is none.
    #[must_use]
    pub fn left_result(&self, name: &str) -> Option<Value> {
        super::executor::read_result(&self.result(name))?.ok()
    }

    /// Takes the right to drive the task, unless another process has it.
    pub fn try_lock(&self) -> Result<Option<Lock>, Error> {
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

    /// Whether a process drives the task now.
    #[must_use]
    pub fn is_driven(&self) -> bool {
        let Ok(file) = File::open(&self.task) else { return false };
        // Several may look at once; only who drives it keeps them out.
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }

    /// What is known of the last run; `None` where there was none, or its record is not whole.
    #[must_use]
    pub fn read(&self) -> Option<RunState> {
        let bytes = durable::read_regular(&self.directory.join("run.json"))?;
        RunState::read(&serde_json::from_slice(&bytes).ok()?)
    }

    /// Writes what is known of the run; it is on the disk when this returns.
    pub fn write(&self, run: &RunState) -> Result<(), Error> {
        durable::write_atomic(&self.directory.join("run.json"), pretty(&run.value()).as_bytes())
    }

    /// The same for what may be lost with the machine, but not with the process.
    pub fn note(&self, run: &RunState) -> Result<(), Error> {
        self.replace(&self.directory.join("run.json"), &run.value())
    }

    /// Replaces a file as a whole, without waiting for the disk.
    fn replace(&self, path: &Path, value: &Value) -> Result<(), Error> {
        let beside = self.directory.join(format!("{}-run", durable::TEMPORARY));
        let written = fs::write(&beside, pretty(value)).and_then(|()| fs::rename(&beside, path));
        written.map_err(|source| Error::io(path, source))
    }

    /// What is wished of a run, if something is.
    #[must_use]
    pub fn wish(&self, run: &str) -> Option<Control> {
        let bytes = durable::read_regular(&self.directory.join("control.json"))?;
        let value: Value = serde_json::from_slice(&bytes).ok()?;
        let text = |key: &str| value.get(key)?.as_str().map(str::to_owned);
        let wish = match value.get("wish")?.as_str()? {
            "pause" => Wish::Pause,
            "stop" => Wish::Stop,
            _ => return None,
        };
        Some(Control { wish, run: text("run")?, by: text("by")? }).filter(|control| control.run == run)
    }

    /// Says what is wished of a run; `None` takes a wish back. One after the other is written, so that
    /// the last word counts; but a stop is not softened by a pause.
    pub fn say(&self, run: &str, control: Option<&Control>) -> Result<(), Error> {
        let _lock = self.control_lock()?;
        let path = self.directory.join("control.json");
        let softens = |wish| self.wish(run).is_some_and(|old| old.wish == Wish::Stop && wish == Wish::Pause);
        match control {
            Some(control) if softens(control.wish) => Ok(()),
            Some(control) => {
                let wish = control.wish.as_str();
                let value = json!({"wish": wish, "run": control.run, "by": control.by});
                durable::write_atomic(&path, pretty(&value).as_bytes())
            }
            None => match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io(&path, error)),
                _ => Ok(()),
            },
        }
    }

    fn control_lock(&self) -> Result<File, Error> {
        let path = self.directory.join("control.lock");
        let fail = |source| Error::io(&path, source);
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(fail)?;
        file.lock().map_err(fail)?;
        Ok(file)
    }
}

impl Wish {
    /// The wish as files and people spell it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Stop => "stop",
        }
    }
}

impl RunState {
    fn value(&self) -> Value {
        let spent = &self.spent;
        let seen: Vec<Value> =
            spent.seen.iter().map(|(name, ground)| json!([name, ground.to_string()])).collect();
        json!({
            "version": 1,
            "run": self.id,
            "pid": self.pid,
            "mode": self.mode.as_str(),
            "started": self.started.to_string(),
            "updated": self.updated.to_string(),
            "maxTurns": self.max_turns,
            "turns": spent.turns,
            "cost": spent.cost,
            "milliseconds": spent.time.milliseconds(),
            "failures": spent.failures,
            "seen": seen,
            "work": self.work.as_ref().map(WorkState::value),
            "ended": self.ended.as_ref().map(|(ending, why)| json!({"ending": ending.as_str(), "why": why})),
        })
    }

    fn read(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key)?.as_str();
        let number = |key: &str| value.get(key)?.as_u64();
        let time = |key: &str| Timestamp::parse(text(key)?);
        let failures: &Map<String, Value> = value.get("failures")?.as_object()?;
        let seen =
            value.get("seen")?.as_array()?.iter().map(|pair| {
                Some((pair.get(0)?.as_str()?.to_owned(), Digest::parse(pair.get(1)?.as_str()?)?))
            });
        Some(Self {
            id: text("run")?.to_owned(),
            pid: u32::try_from(number("pid")?).ok()?,
            mode: Mode::named(text("mode")?)?,
            started: time("started")?,
            updated: time("updated")?,
            max_turns: u32::try_from(number("maxTurns")?).ok()?,
            spent: Spent {
                turns: u32::try_from(number("turns")?).ok()?,
                cost: value.get("cost")?.as_f64()?,
                time: Period::from_milliseconds(number("milliseconds")?),
                failures: failures
                    .iter()
                    .map(|(name, count)| Some((name.clone(), u32::try_from(count.as_u64()?).ok()?)))
                    .collect::<Option<_>>()?,
                seen: seen.collect::<Option<_>>()?,
            },
            work: match value.get("work")? {
                Value::Null => None,
                work => Some(WorkState::read(work)?),
            },
            ended: match value.get("ended")? {
                Value::Null => None,
                ended => Some((
                    Ending::named(ended.get("ending")?.as_str()?)?,
                    ended.get("why")?.as_str()?.to_owned(),
                )),
            },
        })
    }
}

impl WorkState {
    fn value(&self) -> Value {
        json!({
            "name": self.work.name,
            "action": self.work.action.as_ref().map(|action| action.as_str()),
            "rule": self.work.rule.as_ref().map(|rule| rule.as_str()),
            "attempt": self.work.attempt,
            "ground": self.work.ground.to_string(),
            "started": self.started.to_string(),
            "group": self.group,
            "groupStarted": self.group_started,
            "log": self.name,
            "rev": self.rev,
        })
    }

    fn read(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key)?.as_str();
        Some(Self {
            work: Work {
                name: text("name")?.to_owned(),
                action: text("action").and_then(|name| crate::base::ActionName::new(name).ok()),
                rule: text("rule").and_then(|rule| RuleId::new(rule).ok()),
                attempt: u32::try_from(value.get("attempt")?.as_u64()?).ok()?,
                wait: Period::default(),
                ground: Digest::parse(text("ground")?)?,
            },
            started: Timestamp::parse(text("started")?)?,
            group: value.get("group")?.as_i64().and_then(|group| i32::try_from(group).ok()),
            group_started: value.get("groupStarted")?.as_u64(),
            name: text("log")?.to_owned(),
            rev: value.get("rev")?.as_u64()?,
        })
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).map(|text| format!("{text}\n")).unwrap_or_default()
}
