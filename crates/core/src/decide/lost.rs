//! Tests that passed at the base and are gone: which of them count as lost, and how a person confirms that one is.
//!
//! The result of a verification names all of them. One does not count as lost if the plan names it, that is, if its name is
//! one of the texts that `names` of the workflow yields, or if a person has confirmed it. A confirmation holds until a later
//! run sees the test again.

use super::evaluation::{SeenTask, choice};
use super::order::{current, given, refused, with_why};
use super::verified::{TaskVerifications, counted, listed};
use super::{Choice, Facts, Kind, State, Transition, WHY};
use crate::workflow::{Owner, Workflow};
use orch_base::{Code, Error, VerificationName};
use std::collections::BTreeMap;

/// Names of tests, by the verification that they belong to.
pub type LostTests = BTreeMap<VerificationName, Vec<String>>;

impl TaskVerifications<'_> {
    /// All tests that are lost.
    fn all_lost(&self) -> LostTests {
        let mut all = LostTests::new();
        for name in self.evaluation.facts.verified.keys() {
            let lost = self.gone(name).lost;
            if !name.is_protected() && !lost.is_empty() {
                all.insert(name.clone(), lost.into_iter().cloned().collect());
            }
        }
        all
    }

    /// The command by which a person confirms that a test is gone on purpose; `None` if none is lost.
    pub(super) fn confirming_lost(&self) -> Option<Choice> {
        let lost = self.all_lost();
        let tests: Vec<&String> = lost.values().flatten().collect();
        let first = tests.first()?;
        let task = self.evaluation.facts.task.as_str();
        let argv = ["orch", "confirm", task, "--lost", first, "--reason", WHY];
        let effect = match tests.len() {
            1 => "confirm that the test is gone on purpose".to_owned(),
            many => {
                format!("confirm that the test is gone on purpose, one of {many} that are lost")
            }
        };
        Some(choice("confirm", argv, Owner::Human, effect))
    }
}

/// The lost tests of a task that have this name; if none has, those that match it, where `*` stands for any text. Returns an
/// error if there are none.
pub fn lost_tests(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    text: &str,
) -> Result<LostTests, Error> {
    let state = &*state.under_own_names(workflow);
    let phase = current(workflow, state)?;
    let task = SeenTask::of(workflow, state, facts, phase);
    let evaluation = task.evaluation();
    let all = evaluation.verifications().all_lost();
    let has_name = all.values().flatten().any(|test| test == text);
    let mut found = LostTests::new();
    for (name, tests) in &all {
        let is_meant = |test: &&String| match has_name {
            true => *test == text,
            false => is_matched(text, test),
        };
        let meant: Vec<String> = tests.iter().filter(is_meant).cloned().collect();
        if !meant.is_empty() {
            found.insert(name.clone(), meant);
        }
    }
    if found.is_empty() {
        let known: Vec<String> = all.into_values().flatten().collect();
        return Err(none_lost(text, &known));
    }
    Ok(found)
}

fn none_lost(text: &str, known: &[String]) -> Error {
    let hint = if known.is_empty() {
        "every test that passed at the base ran, or is accounted for".to_owned()
    } else {
        format!("lost are: {}", listed(known))
    };
    refused(Code::NotLost, format!("no lost test is `{text}`"), hint)
}

/// Whether a name matches a text in which `*` stands for any text.
fn is_matched(text: &str, name: &str) -> bool {
    let mut parts = text.split('*');
    let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    true
}

/// Confirms that tests are gone on purpose. Returns an error if one of them is not lost.
pub fn confirm_lost(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    tests: &LostTests,
    reason: &str,
) -> Result<Transition, Error> {
    let state = &*state.under_own_names(workflow);
    let phase = current(workflow, state)?;
    let task = SeenTask::of(workflow, state, facts, phase);
    let evaluation = task.evaluation();
    let verifications = evaluation.verifications();
    let all = verifications.all_lost();
    for (name, tests) in tests {
        let lost = all.get(name).map(Vec::as_slice).unwrap_or_default();
        if let Some(other) = tests.iter().find(|test| !lost.contains(test)) {
            return Err(none_lost(other, lost));
        }
    }
    let reason = with_why(confirmed_in_words(tests), Some(given(reason)?))?;
    let here = phase.id.clone();
    let transition = Transition::new(Some(here.clone()), here, Kind::Confirm, &reason);
    let evidence = tests
        .keys()
        .filter_map(|name| verifications.evidence_of(name));
    Ok(Transition {
        evidence: evidence.collect(),
        lost: tests.clone(),
        ..transition
    })
}

/// What a confirmation says before the reason of the person.
pub(super) fn confirmed_in_words(tests: &LostTests) -> String {
    let names: Vec<String> = tests.values().flatten().cloned().collect();
    let verb = if names.len() == 1 { "is" } else { "are" };
    format!(
        "{} {verb} gone on purpose: {}",
        counted(names.len()),
        listed(&names)
    )
}

/// Adds tests to those that are confirmed.
pub(super) fn add_confirmed(known: &mut LostTests, tests: &LostTests) {
    for (name, tests) in tests {
        let known = known.entry(name.clone()).or_default();
        known.extend(tests.iter().cloned());
        known.sort();
        known.dedup();
    }
}

/// Keeps the confirmed tests of which this is true.
pub(super) fn keep_confirmed(
    known: &mut LostTests,
    stays: impl Fn(&VerificationName, &String) -> bool,
) {
    for (name, tests) in known.iter_mut() {
        tests.retain(|test| stays(name, test));
    }
    known.retain(|_, tests| !tests.is_empty());
}

/// Whether a test is confirmed.
pub(super) fn is_confirmed(known: &LostTests, name: &VerificationName, test: &String) -> bool {
    known.get(name).is_some_and(|tests| tests.contains(test))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (text, name, expected) in [
            ("a::b", "a::b", true),
            ("a::b", "a::bc", false),
            ("a::*", "a::b::c/d", true),
            ("*", "", true),
            ("*[x]*", "test[x]::a", true),
            ("*[x]", "test[x]::a", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c", false),
            ("a*a", "a", false),
        ] {
            assert_eq!(is_matched(text, name), expected, "{text} {name}");
        }
    }
}
