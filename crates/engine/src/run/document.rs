//! The JSON documents `run.json` and `control.json`, and their conversion to and from the types of a run.

use super::record::{RunStanding, RunState, Turn, WorkState};
use orch_base::{ActionName, Digest, Period, PhaseId, RuleId, Timestamp};
use orch_core::decide::{
    ControlRequest, Ending, FailureCause, Job, LimitWait, Mode, Precondition, Usage, Work, WorkKind,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version that is written, and the only one that can be read.
const VERSION: u64 = 1;

/// The part that is read first, to reject other versions.
#[derive(Deserialize)]
struct Versioned {
    version: Option<u64>,
}

/// The contents of `run.json`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunDocument {
    version: u64,
    run: String,
    pid: u32,
    mode: String,
    started: Timestamp,
    updated: Timestamp,
    max_turns: u32,
    command: Vec<String>,
    turns: u32,
    cost: f64,
    milliseconds: u64,
    failures: BTreeMap<String, u32>,
    causes: BTreeMap<String, FailureCause>,
    seen: Vec<(String, Digest)>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    conversations: BTreeMap<String, f64>,
    #[serde(default, skip_serializing_if = "is_zero")]
    unpriced: u32,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    said: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit: Option<LimitDocument>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unfenced: Option<String>,
    // `null` means that there is none; a missing key is an error.
    #[serde(deserialize_with = "Option::deserialize")]
    work: Option<WorkDocument>,
    #[serde(deserialize_with = "Option::deserialize")]
    ended: Option<EndDocument>,
}

#[derive(Serialize, Deserialize)]
struct LimitDocument {
    // Records on disks have this name for it.
    #[serde(rename = "worker")]
    job: String,
    until: Timestamp,
    why: String,
    times: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[derive(Serialize, Deserialize)]
struct EndDocument {
    ending: String,
    why: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WorkDocument {
    kind: String,
    name: String,
    rule: Option<RuleId>,
    attempt: u32,
    turn: u32,
    started: Timestamp,
    #[serde(with = "PreconditionDocument")]
    on: Precondition,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Precondition")]
struct PreconditionDocument {
    fingerprint: Digest,
    phase: PhaseId,
    entered: u32,
    done: u32,
    #[serde(deserialize_with = "Option::deserialize")]
    last: Option<(u64, Digest)>,
}

/// The contents of `control.json`.
#[derive(Serialize, Deserialize)]
pub(super) struct ControlDocument {
    /// The id of the run that it is for.
    run: String,
    request: String,
    pub by: String,
}

impl RunDocument {
    /// Converts a run to its document.
    pub(super) fn of(run: &RunState) -> Self {
        let usage = &run.usage;
        let ended = |(ending, why): (Ending, &str)| EndDocument {
            ending: ending.as_str().to_owned(),
            why: why.to_owned(),
        };
        Self {
            version: VERSION,
            run: run.id.clone(),
            pid: run.pid,
            mode: run.mode.as_str().to_owned(),
            started: run.started,
            updated: run.updated,
            max_turns: run.max_turns,
            command: run.command.clone(),
            unfenced: run.unfenced.clone(),
            turns: usage.turns,
            cost: usage.cost,
            milliseconds: usage.time.milliseconds(),
            failures: usage
                .failures
                .iter()
                .map(|(job, count)| (job.to_string(), *count))
                .collect(),
            causes: usage
                .causes
                .iter()
                .map(|(job, cause)| (job.to_string(), cause.clone()))
                .collect(),
            seen: usage
                .seen
                .iter()
                .map(|(job, digest)| (job.to_string(), *digest))
                .collect(),
            conversations: usage.conversations.clone(),
            unpriced: usage.unpriced,
            said: usage
                .said
                .iter()
                .map(|(job, said)| (job.to_string(), said.clone()))
                .collect(),
            limit: run.met.as_ref().map(|limit| LimitDocument {
                job: limit.job.to_string(),
                until: limit.until,
                why: limit.why.clone(),
                times: limit.times,
            }),
            work: run.unsettled().map(WorkDocument::of),
            ended: run.ended().map(ended),
        }
    }

    /// Parses the bytes of a record. Returns an error that says what is wrong with them.
    pub(super) fn read(bytes: &[u8]) -> Result<RunState, String> {
        let versioned: Versioned =
            serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        match versioned.version {
            Some(VERSION) => {}
            Some(_) => return Err("it was written by another version of orch".to_owned()),
            None => return Err("it is not the record of a run".to_owned()),
        }
        let document: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        document.state()
    }

    fn state(self) -> Result<RunState, String> {
        let job = |text: &str| Job::parse(text).ok_or_else(|| unknown("job", text));
        let failures = self
            .failures
            .iter()
            .map(|(text, count)| Ok((job(text)?, *count)));
        let causes = self
            .causes
            .iter()
            .map(|(text, cause)| Ok((job(text)?, cause.clone())));
        let seen = self
            .seen
            .iter()
            .map(|(text, digest)| Ok((job(text)?, *digest)));
        let said = self
            .said
            .iter()
            .map(|(text, said)| Ok((job(text)?, said.clone())));
        let limit = self.limit.map(|limit| -> Result<LimitWait, String> {
            Ok(LimitWait {
                job: job(&limit.job)?,
                until: limit.until,
                why: limit.why,
                times: limit.times,
            })
        });
        let usage = Usage {
            turns: self.turns,
            cost: self.cost,
            time: Period::from_milliseconds(self.milliseconds),
            failures: failures.collect::<Result<_, String>>()?,
            causes: causes.collect::<Result<_, String>>()?,
            seen: seen.collect::<Result<_, String>>()?,
            conversations: self.conversations,
            unpriced: self.unpriced,
            said: said.collect::<Result<_, String>>()?,
        };
        let standing = match (self.ended, self.work.map(WorkDocument::state).transpose()?) {
            (None, None) => RunStanding::Idle,
            (None, Some(work)) => RunStanding::Working(work),
            (Some(EndDocument { ending, why }), kept) => {
                let ending = Ending::named(&ending).ok_or_else(|| unknown("ending", &ending))?;
                RunStanding::Ended { ending, why, kept }
            }
        };
        Ok(RunState {
            mode: Mode::named(&self.mode).ok_or_else(|| unknown("mode", &self.mode))?,
            id: self.run,
            pid: self.pid,
            started: self.started,
            updated: self.updated,
            usage,
            max_turns: self.max_turns,
            command: self.command,
            met: limit.transpose()?,
            unfenced: self.unfenced,
            standing,
        })
    }
}

impl WorkDocument {
    fn of(state: &WorkState) -> Self {
        let (kind, rule) = match &state.work.kind {
            WorkKind::Action { rule, .. } => ("action", Some(rule.clone())),
            WorkKind::Agent(_) => ("agent", None),
        };
        Self {
            kind: kind.to_owned(),
            name: state.work.name().to_owned(),
            rule,
            attempt: state.work.attempt,
            turn: state.turn.number,
            started: state.turn.started,
            on: state.work.precondition.clone(),
        }
    }

    fn state(self) -> Result<WorkState, String> {
        let kind = match (self.kind.as_str(), self.rule) {
            ("action", Some(rule)) => {
                let action = ActionName::new(&self.name).map_err(|error| error.to_string())?;
                WorkKind::Action { action, rule }
            }
            ("action", None) => return Err("the action has no rule".to_owned()),
            ("agent", _) => WorkKind::Agent(self.name),
            (kind, _) => return Err(unknown("kind of work", kind)),
        };
        Ok(WorkState {
            work: Work {
                kind,
                attempt: self.attempt,
                wait: Period::default(),
                again: None,
                precondition: self.on,
            },
            turn: Turn {
                number: self.turn,
                started: self.started,
            },
        })
    }
}

impl ControlDocument {
    /// The document of a request to a run and its sender.
    pub(super) fn of(run: &str, request: ControlRequest, by: &str) -> Self {
        Self {
            run: run.to_owned(),
            request: request.as_str().to_owned(),
            by: by.to_owned(),
        }
    }

    /// The request to this run. Returns an error that says what is wrong if it is for another run, or is unknown, or
    /// an interrupt, which only the keyboard can send.
    pub(super) fn request(&self, run: &str) -> Result<ControlRequest, String> {
        if self.run != run {
            return Err(format!("it is for another run, {:?}", self.run));
        }
        ControlRequest::named(&self.request)
            .filter(|request| *request != ControlRequest::Interrupt)
            .ok_or_else(|| unknown("request", &self.request))
    }
}

fn unknown(what: &str, text: &str) -> String {
    format!("unknown {what} {text:?}")
}
