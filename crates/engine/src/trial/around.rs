//! What happens around a played task: commits with code, verifications that run, and other tasks.

use super::Play;
use super::offers::{ChoiceSource, PlayChoice};
use super::wanted::{read_roots, read_verifications, word};
use orch_base::{TaskId, VerificationName};
use orch_core::decide::{Detail, Relations};
use orch_core::trial::trial_result;
use orch_core::workflow::{AFTER, CHILDREN, GivenCode, GivenTask, Phase, TestSetup};

/// What a verification may give, by the word of a test, and how a play says it.
const RESULTS: [(&str, &str); 3] = [
    ("passed", "passes"),
    ("failed", "fails: a test that passed before"),
    ("known", "fails as it did before the task"),
];
/// The most other tasks of each kind.
const MOST_OTHERS: usize = 3;

impl<'a> Play<'_, 'a> {
    /// A commit with code, where the phase makes code, its rules read it, or a verification of it judges it.
    pub(super) fn code(&self, phase: &Phase, found: &mut Vec<ChoiceSource<'a>>) {
        let workflow = self.trial.workflow;
        let rules: Vec<_> = workflow.rules_from(&phase.id).collect();
        let read = read_roots(workflow, &rules);
        let mut trees = workflow.artifacts.iter().filter(|one| one.tree.is_some());
        let is_about = trees.any(|artifact| {
            let name = &artifact.name;
            phase.produces.contains(name) || read.iter().any(|root| *root == name.as_str())
        });
        if !is_about && phase.verifies.is_empty() {
            return;
        }
        let code = self.given.code.as_ref();
        let mut files = code.map_or_else(Vec::new, |code| code.files.clone());
        files.push(format!("src/part-{}.rs", files.len() + 1));
        for (is_own, of) in [(true, "that names the task"), (false, "of somebody else")] {
            let code = GivenCode {
                files: files.clone(),
                is_own,
            };
            let given = TestSetup {
                code: Some(code),
                ..self.given.clone()
            };
            let label = format!("code changes, by a commit {of}");
            found.push(PlayChoice::given(label, given).into());
        }
    }

    /// What the verifications may give that the phase asks for or its rules read.
    pub(super) fn verifications(&self, phase: &Phase, found: &mut Vec<ChoiceSource<'a>>) {
        let workflow = self.trial.workflow;
        let rules: Vec<_> = workflow.rules_from(&phase.id).collect();
        let read = read_verifications(workflow, &rules);
        for (name, _) in &self.given.verified {
            let Ok(name) = VerificationName::new(&name.value) else {
                continue;
            };
            if !phase.verifies.contains(&name) && !read.iter().any(|known| *known == name.as_str())
            {
                continue;
            }
            for (became, words) in RESULTS {
                let result = trial_result(workflow, &self.state, &self.facts, &name, became);
                let Some(result) = result else { continue };
                let is_same = self.state.run.verified.get(&name).is_some_and(|known| {
                    known.code == result.verification.code
                        && known.result == result.verification.result.digest
                });
                if is_same {
                    continue;
                }
                let detail = Detail::Verify(result.after(&self.state));
                if let Some(step) = self.saying(detail, self.now()) {
                    let runs = PlayChoice {
                        label: format!("`{name}` runs and {words}"),
                        result: Some(result),
                        step: Some(step),
                        ..PlayChoice::default()
                    };
                    found.push(runs.into());
                }
            }
        }
    }

    /// Other tasks that appear or end, where the rules read those that are part of this one, or those that it waits for.
    pub(super) fn other_tasks(&self, found: &mut Vec<ChoiceSource<'a>>) {
        let workflow = self.trial.workflow;
        let rules: Vec<_> = workflow.rules.iter().collect();
        let read = read_roots(workflow, &rules);
        let reads = |name: &str| read.iter().any(|root| root == name);
        if reads(CHILDREN) {
            for (label, children) in sets(&self.given.children, "part", "becomes part of it") {
                let given = TestSetup {
                    children,
                    ..self.given.clone()
                };
                found.push(PlayChoice::given(label, given).into());
            }
        }
        if reads(AFTER) {
            for (label, after) in sets(&self.given.after, "before", "has to be done before") {
                let ids = after.iter();
                let relations = Relations {
                    after: ids
                        .filter_map(|task| TaskId::new(&task.id.value).ok())
                        .collect(),
                    ..self.state.relations.clone()
                };
                let given = TestSetup {
                    after,
                    ..self.given.clone()
                };
                if relations == self.state.relations {
                    found.push(PlayChoice::given(label, given).into());
                } else if let Some(step) = self.saying(Detail::Relate(relations), self.now()) {
                    let joins = PlayChoice {
                        given: Some(given),
                        ..PlayChoice::step(label, step)
                    };
                    found.push(joins.into());
                }
            }
        }
    }
}

/// These tasks with one more, or with one that has ended; each with what happens, in words.
fn sets(tasks: &[GivenTask], name: &str, joins: &str) -> Vec<(String, Vec<GivenTask>)> {
    let mut found = Vec::new();
    if tasks.len() < MOST_OTHERS {
        let id = format!("{name}-{}", tasks.len() + 1);
        let mut more = tasks.to_vec();
        more.push(GivenTask {
            id: word(&id),
            done: false,
            failed: false,
        });
        found.push((format!("a task `{id}` {joins}"), more));
    }
    for (nth, task) in tasks.iter().enumerate() {
        if task.done || task.failed {
            continue;
        }
        for (done, words) in [(true, "is done"), (false, "ends without success")] {
            let mut ended = tasks.to_vec();
            ended[nth].done = done;
            ended[nth].failed = !done;
            found.push((format!("`{}` {words}", task.id.value), ended));
        }
    }
    found
}
