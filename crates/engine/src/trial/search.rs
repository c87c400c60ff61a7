//! Looks for a task in which a rule decides, two rules hold together, or nothing says what is next.
//!
//! It begins with a task in the phase whose files are all there, and changes one thing after another: first what leaves the
//! fewest parts of the wanted guards false. What is found was decided by the rules themselves, so it is right; what is not
//! found may be there all the same, because the search is given up after some steps.

use super::TrialWorkflow;
use super::moves::moves;
use super::moves::smaller;
use super::wanted::{WantedCase, filled, read_roots, word};
use orch_base::{ArtifactName, PhaseId, RuleId};
use orch_core::decide;
use orch_core::decide::{Derived, Truth, Verdict, each_rule};
use orch_core::trial::{ExpectedWords, TrialVerdict, judge, test_text};
use orch_core::workflow::{Outcome, TestSetup};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// After how many tasks that were looked at the search is given up.
const MOST_LOOKS: usize = 900;

/// A task in which what was wanted is so.
#[derive(Debug, Clone)]
pub struct CaseFound {
    /// What is given.
    pub setup: TestSetup,
    /// What the rules say.
    pub verdict: TrialVerdict,
}

impl CaseFound {
    /// The case as a test of its document.
    #[must_use]
    pub fn test_text(&self, name: &str) -> String {
        let verdict = &self.verdict;
        let expect = ExpectedWords {
            rule: verdict.rule().map(|rule| rule.as_str()),
            phase: verdict.phase().map(PhaseId::as_str),
            who: Some(verdict.who().as_str()),
            outcome: None,
        };
        test_text(name, &self.setup, &expect)
    }
}

/// How far a task is from what is wanted.
struct Distance {
    /// Nothing, if it is so.
    far: usize,
    /// What the rules say, if it is so.
    verdict: Option<TrialVerdict>,
    /// The rules that stand in the way.
    before: Vec<String>,
}

impl TrialWorkflow<'_> {
    /// A task in which this is so; `None` if none was found.
    #[must_use]
    pub fn find(&self, wanted: WantedCase<'_>) -> Option<CaseFound> {
        let mut seen = BTreeSet::new();
        let mut open: BTreeMap<usize, VecDeque<(TestSetup, Vec<String>)>> = BTreeMap::new();
        let mut looks = 0;
        for start in self.starts(wanted) {
            let distance = self.distance(wanted, &start);
            if let Some(verdict) = distance.verdict {
                return Some(self.least(wanted, start, verdict));
            }
            seen.insert(text_of(&start));
            let queue = open.entry(distance.far).or_default();
            queue.push_back((start, distance.before));
        }
        while let Some((setup, before)) = next(&mut open) {
            for changed in moves(self, wanted, &before, &setup) {
                if !seen.insert(text_of(&changed)) {
                    continue;
                }
                looks += 1;
                if looks > MOST_LOOKS {
                    return None;
                }
                let distance = self.distance(wanted, &changed);
                if let Some(verdict) = distance.verdict {
                    return Some(self.least(wanted, changed, verdict));
                }
                let queue = open.entry(distance.far).or_default();
                queue.push_back((changed, distance.before));
            }
        }
        None
    }

    /// Where the search begins: everything that the phase needs is there, with or without what it produces.
    fn starts(&self, wanted: WantedCase<'_>) -> Vec<TestSetup> {
        let workflow = self.workflow;
        let Some(phase) = workflow.phase(wanted.phase()) else {
            return Vec::new();
        };
        let on = wanted.rules().first().and_then(|rule| rule.on);
        let named = |files: Vec<&str>| TestSetup {
            phase: Some(word(phase.id.as_str())),
            files: files.into_iter().map(filled).collect(),
            on,
            ..TestSetup::default()
        };
        let mut needs: Vec<&str> = phase.needs.iter().map(|name| name.as_str()).collect();
        // Nothing leads to a phase that lacks what it needs.
        let is_complete = !matches!(wanted, WantedCase::Lacks { .. });
        for rule in wanted.rules().into_iter().filter(|_| is_complete) {
            let target = match &rule.outcome {
                Outcome::To(to) => workflow.phase(to),
                _ => None,
            };
            for need in target.iter().flat_map(|target| &target.needs) {
                let is_made = phase.produces.contains(need);
                if !is_made && !needs.contains(&need.as_str()) {
                    needs.push(need.as_str());
                }
            }
        }
        let mut all = needs.clone();
        let read = read_roots(workflow, &wanted.rules());
        for artifact in &workflow.artifacts {
            let name = artifact.name.as_str();
            let is_made = phase.produces.contains(&artifact.name);
            if !all.contains(&name) && (is_made || read.iter().any(|root| root == name)) {
                all.push(name);
            }
        }
        vec![named(all), named(needs)]
    }

    fn distance(&self, wanted: WantedCase<'_>, setup: &TestSetup) -> Distance {
        let workflow = self.workflow;
        let placed = self.placed(setup);
        let tried = each_rule(workflow, &placed.recorded(), &placed.facts);
        let mut far = 0;
        for rule in wanted.rules() {
            far += match tried.iter().find(|tried| tried.rule == rule.id) {
                Some(tried) if tried.result == Truth::True => 0,
                Some(tried) => 1 + tried.parts.iter().map(weight).sum::<usize>(),
                None => 1000,
            };
        }
        let on = wanted.rules().first().and_then(|rule| rule.on);
        let last = wanted.rules().first().map(|rule| &rule.id);
        let is_like = |id: &RuleId| {
            let mut rules = workflow.rules.iter();
            rules.any(|rule| rule.id == *id && rule.on == on)
        };
        let mut before = Vec::new();
        if !matches!(wanted, WantedCase::Both { .. }) {
            for other in tried.iter().take_while(|other| Some(&other.rule) != last) {
                if is_like(&other.rule) && other.result != Truth::False {
                    before.push(other.rule.to_string());
                }
            }
        }
        far += 2 * before.len();
        let mut verdict = None;
        if far == 0 {
            let judged = judge(workflow, &placed, setup.on);
            far = match wanted {
                WantedCase::Both { .. } | WantedCase::Stands { .. } => 0,
                WantedCase::Lacks { .. } => {
                    let verdict = &judged.decision.verdict;
                    usize::from(!matches!(verdict, Verdict::Inconsistent { .. }))
                }
                WantedCase::Decides { rule, .. } => {
                    let is_it = judged.rule() == Some(&rule.id) && is_decided(&judged);
                    usize::from(!is_it)
                }
                WantedCase::Nothing { phase } => self.open_outputs(phase, &judged),
            };
            verdict = Some(judged).filter(|_| far == 0);
        }
        Distance {
            far,
            verdict,
            before,
        }
    }

    /// How many outputs of a phase are not ready.
    fn open_outputs(&self, phase: &PhaseId, verdict: &TrialVerdict) -> usize {
        let phase = self.workflow.phase(phase);
        let outputs = phase.into_iter().flat_map(|phase| {
            let outputs = phase.produces.iter();
            outputs.filter(|name| !phase.optional.contains(name))
        });
        let is_open = |name: &&ArtifactName| {
            let derived = verdict.decision.artifact(name);
            !derived.is_some_and(Derived::ready)
        };
        outputs.filter(is_open).count()
    }

    /// The same case without what does not matter.
    fn least(&self, wanted: WantedCase<'_>, setup: TestSetup, verdict: TrialVerdict) -> CaseFound {
        let mut found = CaseFound { setup, verdict };
        loop {
            let mut is_less = false;
            for less in smaller(&found.setup) {
                if !self.files.refused_state(&less).is_empty() {
                    continue;
                }
                let Some(verdict) = self.distance(wanted, &less).verdict else {
                    continue;
                };
                let is_same = verdict.rule() == found.verdict.rule()
                    && verdict.phase() == found.verdict.phase();
                if is_same {
                    found = CaseFound {
                        setup: less,
                        verdict,
                    };
                    is_less = true;
                    break;
                }
            }
            if !is_less {
                return found;
            }
        }
    }
}

/// Whether a rule decided, and what it says can be done.
pub(super) fn is_decided(verdict: &TrialVerdict) -> bool {
    let refused = matches!(
        verdict.decision.verdict,
        Verdict::Error { .. } | Verdict::Inconsistent { .. } | Verdict::Livelock { .. }
    );
    verdict.signalled.is_some() || !refused
}

fn weight(part: &decide::GuardPart) -> usize {
    match part.result {
        Truth::True => 0,
        Truth::Error(_) => 2,
        Truth::False | Truth::NotTried => 1,
    }
}

/// The nearest of those that were not changed yet.
fn next(
    open: &mut BTreeMap<usize, VecDeque<(TestSetup, Vec<String>)>>,
) -> Option<(TestSetup, Vec<String>)> {
    let mut queue = open.first_entry()?;
    let first = queue.get_mut().pop_front();
    if queue.get().is_empty() {
        queue.remove();
    }
    first
}

fn text_of(setup: &TestSetup) -> String {
    test_text("", setup, &ExpectedWords::default())
}
