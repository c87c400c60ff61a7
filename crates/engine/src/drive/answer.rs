//! Questions to a person, and their answers.

use super::state_of;
use crate::apply::{Applied, Writer, first_applied};
use crate::survey::{Error, Sight, TaskRef};
use orch_base::{ActionName, Code, Hint, Reason};
use orch_core::decide::{self, Question, Settled, Step, Transition, Verdict, data_of, patch};
use orch_core::workflow::is_list;
use serde_json::{Map, Value};

/// What a person is asked.
pub enum Standstill<'a> {
    /// A question.
    Question(&'a Question),
    /// A choice between these actions.
    Pick(Vec<ActionName>),
}

/// One answer: a key and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The key: `action`, or a path into the state.
    pub key: String,
    /// The value as typed.
    pub value: String,
}

impl Asked {
    /// Parses `KEY=VALUE`. Returns an error if there is no `=` or no key.
    pub fn parse(text: &str) -> Result<Self, Reason> {
        match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => Ok(Self {
                key: key.trim().to_owned(),
                value: value.to_owned(),
            }),
            _ => Err(format!("`{text}` is not KEY=VALUE").into()),
        }
    }
}

/// What a person is asked about a task now; `None` if there is no question.
pub fn standstill(sight: &Sight) -> Option<Standstill<'_>> {
    if let Verdict::Choose(actions) = &sight.decision.verdict {
        return Some(Standstill::Pick(actions.clone()));
    }
    sight.decision.question.as_ref().map(Standstill::Question)
}

/// Records a person's answer, if the task is still at the revision that the answer rests on. Returns an error if it is
/// at another one, if nothing is asked, or if the question or the state schema rejects the answer.
pub fn answer(
    writer: &Writer<'_>,
    task: &TaskRef,
    (answers, expected): (&[Asked], Option<u64>),
    dry_run: bool,
) -> Result<Applied, Error> {
    let sight = writer.workspace.look(task)?;
    sight.require_tracked()?;
    require_revision(&sight, expected)?;
    if standstill(&sight).is_none() {
        let message = format!(
            "there is no question about `{}` now: {}",
            task.id, sight.decision.reason
        );
        let hint = Hint::run(&["orch", "suggest", task.id.as_str()]);
        return Err(Error::new(Code::NothingAsked, message).with_hint(hint));
    }
    let outcomes = writer
        .advance()
        .apply(std::slice::from_ref(task), dry_run, &|sight| {
            require_revision(sight, expected)?;
            own_step(writer, sight, |sight| answered(writer, sight, answers))
        })?;
    first_applied(outcomes)
}

/// Returns an error if the state cannot be read, or has another revision than the one that is expected.
fn require_revision(sight: &Sight, expected: Option<u64>) -> Result<(), Error> {
    let rev = state_of(sight)?.rev;
    let id = &sight.task.id;
    match expected.filter(|expected| *expected != rev) {
        None => Ok(()),
        Some(expected) => {
            let message = format!("`{id}` has changed: it is at revision {rev}, not {expected}");
            let hint = Hint::run(&["orch", "suggest", "--json", id.as_str()]);
            Err(Error::new(Code::TaskChanged, message).with_hint(hint))
        }
    }
}

/// Adds items to the end of a list in the state, as an answer to the question that is asked: to the list as it is when
/// the step is recorded. `key` is a path into the state. Returns an error if nothing is asked, there is no such list,
/// or the question or the state schema rejects the new one.
pub fn extend_list(
    writer: &Writer<'_>,
    task: &TaskRef,
    (key, items): (&str, &[Value]),
    reason: &str,
    dry_run: bool,
) -> Result<Applied, Error> {
    let pointer = format!("/{}", key.replace('.', "/"));
    let extended = |sight: &Sight| {
        let state = sight.state().ok_or("the state cannot be read")?;
        let workflow = sight.workflow();
        let data = Value::Object(data_of(workflow, state));
        let list = data.pointer(&pointer).and_then(Value::as_array);
        let mut list = list
            .cloned()
            .ok_or_else(|| format!("there is no list `{key}`"))?;
        list.extend_from_slice(items);
        let updates = patch(&Map::from_iter([(key.to_owned(), Value::Array(list))]))?;
        decide::answer(workflow, state, &sight.observed.facts, &updates, reason)
    };
    let outcomes = writer
        .advance()
        .apply(std::slice::from_ref(task), dry_run, &|sight| {
            sight.require_tracked()?;
            own_step(writer, sight, extended)
        })?;
    first_applied(outcomes)
}

/// A step that the caller orders. If it is refused, the error has the exit code for "no".
pub(super) fn own_step(
    writer: &Writer<'_>,
    sight: &Sight,
    make: impl Fn(&Sight) -> Result<Transition, Reason>,
) -> Result<Settled, Error> {
    let refuse = |message: Reason| {
        let hint = Hint::run(&["orch", "suggest", sight.task.id.as_str()]);
        Error::new(Code::Refused, message.as_str()).with_hint(hint)
    };
    let workflow = sight.workflow();
    let state = state_of(sight)?;
    let transition = make(sight).map_err(refuse)?;
    let next = decide::apply(
        workflow,
        state,
        &sight.observed.facts,
        &transition,
        &writer.stamp(),
    );
    match writer.records().refused_data(workflow, &next) {
        Some(why) => Err(refuse(why.into())),
        None => Ok(writer.workspace.reader.settled(
            sight,
            vec![Step {
                transition,
                state: next,
            }],
        )),
    }
}

/// The transition that an answer makes. The value of a list is JSON, or its items separated by commas. Any other
/// value is parsed as JSON if possible, and is a string otherwise.
pub(super) fn answered(
    writer: &Writer<'_>,
    sight: &Sight,
    answers: &[Asked],
) -> Result<Transition, Reason> {
    let workflow = sight.workflow();
    let state = sight.state().ok_or("the state cannot be read")?;
    let facts = &sight.observed.facts;
    let said: Vec<String> = answers
        .iter()
        .map(|answer| format!("{}={}", answer.key, answer.value))
        .collect();
    let reason = format!("answered: {}", said.join(", "));
    if let (Verdict::Choose(_), [answer]) = (&sight.decision.verdict, answers)
        && answer.key == "action"
    {
        let action = ActionName::new(answer.value.trim()).map_err(|error| error.to_string())?;
        return decide::pick(workflow, state, facts, &action, &reason);
    }
    let shape = |answer: &Asked| {
        let pointer = format!("/{}", answer.key.trim_start_matches('/').replace('.', "/"));
        workflow.state.field(&pointer)
    };
    let as_json = |answer: &Asked| {
        let value = serde_json::from_str::<Value>(&answer.value).ok();
        match shape(answer).is_some_and(is_list) {
            true => Some(
                value
                    .filter(Value::is_array)
                    .unwrap_or_else(|| items(&answer.value)),
            ),
            false => value,
        }
    };
    let updates = |texts: &[bool]| -> Map<String, Value> {
        let value = |(answer, text): (&Asked, &bool)| {
            let value = as_json(answer).filter(|value| !*text && !value.is_null());
            (
                answer.key.clone(),
                value.unwrap_or_else(|| Value::from(answer.value.as_str())),
            )
        };
        answers.iter().zip(texts).map(value).collect()
    };
    let attempt = |texts: &[bool]| {
        let step = decide::answer(workflow, state, facts, &patch(&updates(texts))?, &reason)?;
        let next = decide::State {
            extra: data_of(workflow, state),
            ..state.clone()
        };
        let next = decide::apply(workflow, &next, facts, &step, &writer.stamp());
        writer
            .records()
            .refused_data(workflow, &next)
            .map_or(Ok(step), |why| Err(Reason::from(why)))
    };
    let first = attempt(&vec![false; answers.len()]);
    // A value that parses as JSON may be meant as a string, such as a name made of digits.
    (0..answers.len())
        .filter(|at| as_json(&answers[*at]).is_some())
        .find_map(|at| {
            attempt(
                &(0..answers.len())
                    .map(|other| other == at)
                    .collect::<Vec<_>>(),
            )
            .ok()
        })
        .filter(|_| first.is_err())
        .map_or(first, Ok)
}

/// The items of a list that is written with commas; each is JSON if it is a number, and a string otherwise.
fn items(text: &str) -> Value {
    let item = |text: &str| match serde_json::from_str::<Value>(text) {
        Ok(number @ Value::Number(_)) => number,
        _ => Value::from(text),
    };
    text.split(',')
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .map(item)
        .collect()
}
