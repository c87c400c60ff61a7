//! The record of a run: what it has used, who drives it, what is worked on, how it ended.

use crate::base::{ActionName, Digest, Period, PhaseId, RuleId, Timestamp};
use crate::decide::{Ending, Job, Mode, Precondition, Usage, Work, Worker};
use serde_json::{Map, Value, json};
use std::fs;

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
    pub usage: Usage,
    /// How many turns it may use.
    pub max_turns: u32,
    /// Where it stands.
    pub standing: RunStanding,
}

/// Where a run stands.
#[derive(Debug, Clone, PartialEq)]
pub enum RunStanding {
    /// Between two turns.
    Idle,
    /// An executor was started, and what came of it is not settled.
    Working(WorkState),
    /// It is over.
    Ended {
        /// How.
        ending: Ending,
        /// Why.
        why: String,
        /// Work whose result is there and could not be recorded; the next run takes it in first.
        kept: Option<WorkState>,
    },
}

/// Something that an executor was started for.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkState {
    /// What it does.
    pub work: Work,
    /// In which turn.
    pub turn: Turn,
}

/// A turn: one start of an executor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Its number in the run, from 1.
    pub number: u32,
    /// When it began.
    pub started: Timestamp,
    /// The processes that work in it, once they are known.
    pub process: Option<Process>,
}

/// A process group, told apart from others that have had its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub group: i32,
    /// When its leader was started, as the system counts.
    pub started: Option<u64>,
    /// The start of the system in which it has that number.
    boot: Option<String>,
}

/// The version of the record.
const VERSION: u64 = 1;

impl Process {
    /// A group of now.
    #[must_use]
    pub fn new(group: i32, started: Option<u64>) -> Self {
        Self { group, started, boot: boot() }
    }

    /// Whether the system has not been started anew since.
    #[must_use]
    pub fn is_of_this_boot(&self) -> bool {
        self.boot == boot()
    }
}

/// What the system calls the time since it was started; `None` where it has no name for it.
fn boot() -> Option<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

impl RunState {
    /// What is worked on now, or was when its process died.
    #[must_use]
    pub fn work(&self) -> Option<&WorkState> {
        match &self.standing {
            RunStanding::Working(work) => Some(work),
            _ => None,
        }
    }

    /// How it ended, and why.
    #[must_use]
    pub fn ended(&self) -> Option<(Ending, &str)> {
        match &self.standing {
            RunStanding::Ended { ending, why, .. } => Some((*ending, why)),
            _ => None,
        }
    }

    /// What is to be settled before anything else is done.
    #[must_use]
    pub fn unsettled(&self) -> Option<&WorkState> {
        match &self.standing {
            RunStanding::Idle => None,
            RunStanding::Working(work) => Some(work),
            RunStanding::Ended { kept, .. } => kept.as_ref(),
        }
    }

    /// Whether the next run goes on with it, on what is left of its limits.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        self.unsettled().is_some() || self.ended().is_none_or(|(ending, _)| ending.goes_on())
    }

    /// What the files of a turn are called, without their ends.
    #[must_use]
    pub fn name_of(&self, work: &WorkState) -> String {
        format!("{}-{:04}-{}", self.id, work.turn.number, work.work.name())
    }

    pub(super) fn value(&self) -> Value {
        let usage = &self.usage;
        let seen: Vec<Value> = usage
            .seen
            .iter()
            .map(|(worker, fingerprint)| json!([worker.to_string(), fingerprint.to_string()]))
            .collect();
        let failures: Map<String, Value> =
            usage.failures.iter().map(|(worker, count)| (worker.to_string(), json!(count))).collect();
        let ended = |(ending, why): (Ending, &str)| json!({"ending": ending.as_str(), "why": why});
        json!({
            "version": VERSION,
            "run": self.id,
            "pid": self.pid,
            "mode": self.mode.as_str(),
            "started": self.started.to_string(),
            "updated": self.updated.to_string(),
            "maxTurns": self.max_turns,
            "turns": usage.turns,
            "cost": usage.cost,
            "milliseconds": usage.time.milliseconds(),
            "failures": failures,
            "seen": seen,
            "work": self.unsettled().map(WorkState::value),
            "ended": self.ended().map(ended),
        })
    }

    /// Reads a record; the error says what is wrong with it.
    pub(super) fn read(value: &Value) -> Result<Self, &'static str> {
        match value.get("version").and_then(Value::as_u64) {
            Some(VERSION) => Self::of(value).ok_or("something is missing in it"),
            Some(_) => Err("another version of orch wrote it"),
            None => Err("it is no record of a run"),
        }
    }

    fn of(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key)?.as_str();
        let number = |key: &str| value.get(key)?.as_u64();
        let time = |key: &str| Timestamp::parse(text(key)?);
        let failures = value.get("failures")?.as_object()?;
        let seen = value.get("seen")?.as_array()?.iter().map(|pair| {
            Some((Worker::parse(pair.get(0)?.as_str()?)?, Digest::parse(pair.get(1)?.as_str()?)?))
        });
        let work = match value.get("work")? {
            Value::Null => None,
            work => Some(WorkState::of(work)?),
        };
        Some(Self {
            id: text("run")?.to_owned(),
            pid: small(number("pid")?)?,
            mode: Mode::named(text("mode")?)?,
            started: time("started")?,
            updated: time("updated")?,
            max_turns: small(number("maxTurns")?)?,
            usage: Usage {
                turns: small(number("turns")?)?,
                cost: value.get("cost")?.as_f64()?,
                time: Period::from_milliseconds(number("milliseconds")?),
                failures: failures
                    .iter()
                    .map(|(worker, count)| Some((Worker::parse(worker)?, small(count.as_u64()?)?)))
                    .collect::<Option<_>>()?,
                seen: seen.collect::<Option<_>>()?,
            },
            standing: match (value.get("ended")?, work) {
                (Value::Null, None) => RunStanding::Idle,
                (Value::Null, Some(work)) => RunStanding::Working(work),
                (ended, kept) => RunStanding::Ended {
                    ending: Ending::named(ended.get("ending")?.as_str()?)?,
                    why: ended.get("why")?.as_str()?.to_owned(),
                    kept,
                },
            },
        })
    }
}

impl WorkState {
    fn value(&self) -> Value {
        let (kind, rule) = match &self.work.job {
            Job::Action { rule, .. } => ("action", Some(rule.as_str())),
            Job::Agent(_) => ("agent", None),
        };
        let precondition = &self.work.precondition;
        let process = self.turn.process.as_ref();
        json!({
            "kind": kind,
            "name": self.work.name(),
            "rule": rule,
            "attempt": self.work.attempt,
            "turn": self.turn.number,
            "started": self.turn.started.to_string(),
            "group": process.map(|process| process.group),
            "groupStarted": process.and_then(|process| process.started),
            "boot": process.and_then(|process| process.boot.as_deref()),
            "on": {
                "fingerprint": precondition.fingerprint.to_string(),
                "phase": precondition.phase.as_str(),
                "entered": precondition.entered,
                "done": precondition.done,
                "last": precondition.last.as_ref().map(|(seq, digest)| json!([seq, digest.to_string()])),
            },
        })
    }

    fn of(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key)?.as_str();
        let number = |key: &str| value.get(key)?.as_u64();
        let name = text("name")?;
        let job = match text("kind")? {
            "action" => {
                Job::Action { action: ActionName::new(name).ok()?, rule: RuleId::new(text("rule")?).ok()? }
            }
            "agent" => Job::Agent(name.to_owned()),
            _ => return None,
        };
        let group = value.get("group")?.as_i64().and_then(|group| i32::try_from(group).ok());
        let process = group.map(|group| Process {
            group,
            started: number("groupStarted"),
            boot: text("boot").map(str::to_owned),
        });
        Some(Self {
            work: Work {
                job,
                attempt: small(number("attempt")?)?,
                wait: Period::default(),
                again: None,
                precondition: precondition(value.get("on")?)?,
            },
            turn: Turn {
                number: small(number("turn")?)?,
                started: Timestamp::parse(text("started")?)?,
                process,
            },
        })
    }
}

fn precondition(value: &Value) -> Option<Precondition> {
    let number = |key: &str| small(value.get(key)?.as_u64()?);
    Some(Precondition {
        fingerprint: Digest::parse(value.get("fingerprint")?.as_str()?)?,
        phase: PhaseId::new(value.get("phase")?.as_str()?).ok()?,
        entered: number("entered")?,
        done: number("done")?,
        last: match value.get("last")? {
            Value::Null => None,
            last => Some((last.get(0)?.as_u64()?, Digest::parse(last.get(1)?.as_str()?)?)),
        },
    })
}

fn small(number: u64) -> Option<u32> {
    u32::try_from(number).ok()
}

pub(super) fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).map(|text| format!("{text}\n")).unwrap_or_default()
}
