//! What may be changed of a task that is looked for, and what of one that was found may not matter.

use super::TrialWorkflow;
use super::wanted::{WantedCase, filled, read_roots, read_verifications, word};
use orch_core::trial::{data_variants, markdown_variants, overlay, state_variants, text_variants};
use orch_core::workflow::{
    AFTER, Artifact, CHILDREN, Format, GivenCode, GivenContent, GivenFile, GivenRun, GivenTask,
    LAPSED, Rule, TestSetup, VERIFIED, Workflow,
};
use serde_json::{Map, Value};

/// Every task that differs in one thing from this one, as far as the wanted rules and those `before` them read it.
pub(super) fn moves(
    trial: &TrialWorkflow<'_>,
    wanted: WantedCase<'_>,
    before: &[String],
    setup: &TestSetup,
) -> Vec<TestSetup> {
    let workflow = trial.workflow;
    let mut rules: Vec<&Rule> = wanted.rules();
    rules.extend(
        workflow
            .rules
            .iter()
            .filter(|rule| before.iter().any(|id| *id == rule.id.as_str())),
    );
    let roots = read_roots(workflow, &rules);
    let reads = |name: &str| roots.iter().any(|root| root == name);
    let mut found = Vec::new();
    for artifact in &workflow.artifacts {
        let is_output = workflow
            .phase(wanted.phase())
            .is_some_and(|phase| phase.produces.contains(&artifact.name));
        if reads(artifact.name.as_str()) || is_output {
            of_artifact(trial, artifact, setup, &mut found);
        }
    }
    if reads("state") {
        of_state(workflow, setup, &mut found);
        found.retain(|setup| trial.files.refused_state(setup).is_empty());
    }
    let is_acting = rules.iter().any(|rule| !rule.outcome.actions().is_empty());
    if reads("run") || reads("action") || is_acting {
        of_run(workflow, setup, &mut found);
    }
    if reads("attempt") {
        found.push(TestSetup {
            attempt: Some(workflow.attempts),
            ..setup.clone()
        });
    }
    if reads(CHILDREN) {
        for children in task_sets() {
            found.push(TestSetup {
                children,
                ..setup.clone()
            });
        }
    }
    if reads(AFTER) {
        for after in task_sets() {
            found.push(TestSetup {
                after,
                ..setup.clone()
            });
        }
    }
    if reads(LAPSED) {
        for deadline in workflow.deadlines_of(wanted.phase()) {
            found.push(TestSetup {
                lapsed: vec![word(&deadline.name)],
                ..setup.clone()
            });
        }
    }
    if reads(VERIFIED) {
        of_verified(workflow, &rules, setup, &mut found);
    }
    let asks = workflow
        .phase(wanted.phase())
        .and_then(|phase| phase.approvals.as_ref());
    if let Some(asked) = asks {
        let count = asked.count.max(asked.teams.len()).max(1);
        let people = (1..=count).map(|nth| word(&format!("person-{nth}")));
        found.push(TestSetup {
            approved: people.collect(),
            ..setup.clone()
        });
        found.push(TestSetup {
            rejected: vec![word("person-1")],
            ..setup.clone()
        });
    }
    found
}

fn of_artifact(
    trial: &TrialWorkflow<'_>,
    artifact: &Artifact,
    setup: &TestSetup,
    found: &mut Vec<TestSetup>,
) {
    let name = artifact.name.as_str();
    let now = content_of(&setup.files, name);
    let mut contents = contents(trial, artifact, now);
    contents.retain(|content| trial.files.accepts(artifact, content));
    for content in &contents {
        if Some(content) != now {
            let files = with(&setup.files, name, Some(content.clone()));
            found.push(TestSetup {
                files,
                ..setup.clone()
            });
        }
    }
    let without = with(&setup.files, name, None);
    found.push(TestSetup {
        files: without,
        ..setup.clone()
    });
    // More files like it.
    let mut files = setup.files.clone();
    for _ in 0..2 {
        let (Some(content), Some(path)) = (now, trial.files.another_path(artifact, &files)) else {
            break;
        };
        let alike = trial.files.by_path(artifact, content);
        files = with(&files, &path, Some(alike));
        found.push(TestSetup {
            files: files.clone(),
            ..setup.clone()
        });
    }
    // What was there before, so that the present content has changed.
    let mut earlier = vec![Some(GivenContent::Absent), Some(GivenContent::Filled), None];
    earlier.extend(contents.iter().take(3).cloned().map(Some));
    for content in earlier {
        if content.as_ref() != now {
            let before = with(&setup.before, name, content);
            found.push(TestSetup {
                before,
                ..setup.clone()
            });
        }
    }
    let toggled = |names: &[orch_core::Spanned<String>]| {
        let mut names = names.to_vec();
        if names.iter().any(|known| known.value == name) {
            names.retain(|known| known.value != name);
        } else {
            names.push(word(name));
        }
        names
    };
    if trial.workflow.producers(&artifact.name).next().is_some() {
        found.push(TestSetup {
            used_up: toggled(&setup.used_up),
            ..setup.clone()
        });
        found.push(TestSetup {
            waived: toggled(&setup.waived),
            ..setup.clone()
        });
    }
    if artifact.tree.is_some() {
        for is_own in [true, false] {
            let files = vec!["src/lib.rs".to_owned()];
            let code = Some(GivenCode { files, is_own });
            found.push(TestSetup {
                code,
                ..setup.clone()
            });
        }
        found.push(TestSetup {
            code: None,
            ..setup.clone()
        });
    }
}

/// What may stand in a file of an artifact beside or instead of what does now, also what its schema refuses.
pub(super) fn contents(
    trial: &TrialWorkflow<'_>,
    artifact: &Artifact,
    now: Option<&GivenContent>,
) -> Vec<GivenContent> {
    let below = match now {
        Some(GivenContent::Data(below)) => below.to_string(),
        _ => String::new(),
    };
    let key = (artifact.name.clone(), below);
    if let Some(known) = trial.contents.borrow().get(&key) {
        return known.clone();
    }
    let found = new_contents(trial, artifact, now);
    trial.contents.borrow_mut().insert(key, found.clone());
    found
}

fn new_contents(
    trial: &TrialWorkflow<'_>,
    artifact: &Artifact,
    now: Option<&GivenContent>,
) -> Vec<GivenContent> {
    let mut found = vec![GivenContent::Filled];
    match artifact.format {
        Format::Json | Format::Yaml | Format::Toml => {
            let example = trial.files.value(artifact);
            let name = artifact.name.as_str();
            for variant in data_variants(trial.workflow, name, &example) {
                let alone = GivenContent::Data(variant.0.clone());
                if let Some(GivenContent::Data(below)) = now {
                    let mut both = below.clone();
                    overlay(&mut both, &variant.0);
                    let both = GivenContent::Data(both);
                    if both != alone {
                        found.push(both);
                    }
                }
                found.push(alone);
            }
        }
        format => {
            let mut texts = text_variants(format, artifact.example.as_deref());
            if let (Format::Markdown, Some(example)) = (format, &artifact.example) {
                texts.extend(markdown_variants(trial.workflow, artifact, example));
            }
            found.extend(texts.into_iter().skip(1).map(GivenContent::Text));
        }
    }
    found.push(GivenContent::Text("broken".to_owned()));
    found
}

fn of_state(workflow: &Workflow, setup: &TestSetup, found: &mut Vec<TestSetup>) {
    let mut now = Value::Object(workflow.state.defaults.clone());
    overlay(&mut now, &Value::Object(setup.state.clone()));
    for variant in state_variants(workflow, &now) {
        let mut state = Value::Object(setup.state.clone());
        overlay(&mut state, &variant.0);
        if let Value::Object(state) = state {
            found.push(TestSetup {
                state,
                ..setup.clone()
            });
        }
    }
    for key in setup.state.keys() {
        let mut state: Map<String, Value> = setup.state.clone();
        state.remove(key);
        found.push(TestSetup {
            state,
            ..setup.clone()
        });
    }
}

fn of_run(workflow: &Workflow, setup: &TestSetup, found: &mut Vec<TestSetup>) {
    let run = &setup.run;
    let mut runs = Vec::new();
    for mode in ["auto", "interactive"] {
        runs.push(GivenRun {
            mode: Some(word(mode)),
            ..run.clone()
        });
    }
    for errors in [0, 1, workflow.limits.errors] {
        runs.push(GivenRun {
            errors,
            ..run.clone()
        });
    }
    runs.push(GivenRun {
        chosen: None,
        ..run.clone()
    });
    for action in &workflow.actions {
        let name = action.name.as_str();
        runs.push(GivenRun {
            chosen: Some(word(name)),
            ..run.clone()
        });
        let mut done = run.done.clone();
        done.retain(|(known, _)| known.value != name);
        done.push((word(name), 1));
        runs.push(GivenRun {
            done,
            ..run.clone()
        });
        let mut skipped = run.skipped.clone();
        skipped.retain(|known| known.value != name);
        if skipped.len() == run.skipped.len() {
            skipped.push(word(name));
        }
        runs.push(GivenRun {
            skipped,
            ..run.clone()
        });
    }
    // Everything that can be picked is given up.
    let skipped = workflow
        .actions
        .iter()
        .map(|action| word(action.name.as_str()));
    runs.push(GivenRun {
        skipped: skipped.collect(),
        ..run.clone()
    });
    for run in runs {
        found.push(TestSetup {
            run,
            ..setup.clone()
        });
    }
}

fn of_verified(
    workflow: &Workflow,
    rules: &[&Rule],
    setup: &TestSetup,
    found: &mut Vec<TestSetup>,
) {
    for name in read_verifications(workflow, rules) {
        let mut others = setup.verified.clone();
        others.retain(|(known, _)| known.value != name);
        found.push(TestSetup {
            verified: others.clone(),
            ..setup.clone()
        });
        for became in ["passed", "failed", "known", "missing"] {
            let mut verified = others.clone();
            verified.push((word(&name), word(became)));
            found.push(TestSetup {
                verified,
                ..setup.clone()
            });
        }
    }
}

/// No task, and one or two that stand like this.
fn task_sets() -> Vec<Vec<GivenTask>> {
    let one = |id: &str, done: bool, failed: bool| GivenTask {
        id: word(id),
        done,
        failed,
    };
    vec![
        Vec::new(),
        vec![one("a", false, false)],
        vec![one("a", true, false)],
        vec![one("a", false, true)],
        vec![one("a", true, false), one("b", false, false)],
    ]
}

fn content_of<'f>(files: &'f [GivenFile], name: &str) -> Option<&'f GivenContent> {
    let file = files.iter().find(|file| file.of.value == name)?;
    Some(&file.content)
}

/// The files with another content of an artifact, or without it.
pub(super) fn with(
    files: &[GivenFile],
    name: &str,
    content: Option<GivenContent>,
) -> Vec<GivenFile> {
    let mut files = files.to_vec();
    match (files.iter().position(|file| file.of.value == name), content) {
        (Some(at), Some(content)) => files[at].content = content,
        (Some(at), None) => {
            files.remove(at);
        }
        (None, Some(content)) => files.push(GivenFile {
            content,
            ..filled(name)
        }),
        (None, None) => {}
    }
    files
}

/// Every task in which one thing less is given.
pub(super) fn smaller(setup: &TestSetup) -> Vec<TestSetup> {
    let mut found = Vec::new();
    for files in fewer_files(&setup.before) {
        found.push(TestSetup {
            before: files,
            ..setup.clone()
        });
    }
    for files in fewer_files(&setup.files) {
        found.push(TestSetup {
            files,
            ..setup.clone()
        });
    }
    for used_up in fewer(&setup.used_up) {
        found.push(TestSetup {
            used_up,
            ..setup.clone()
        });
    }
    for lapsed in fewer(&setup.lapsed) {
        found.push(TestSetup {
            lapsed,
            ..setup.clone()
        });
    }
    for waived in fewer(&setup.waived) {
        found.push(TestSetup {
            waived,
            ..setup.clone()
        });
    }
    for verified in fewer(&setup.verified) {
        found.push(TestSetup {
            verified,
            ..setup.clone()
        });
    }
    for children in fewer(&setup.children) {
        found.push(TestSetup {
            children,
            ..setup.clone()
        });
    }
    for after in fewer(&setup.after) {
        found.push(TestSetup {
            after,
            ..setup.clone()
        });
    }
    for state in fewer_members(&setup.state) {
        found.push(TestSetup {
            state,
            ..setup.clone()
        });
    }
    if setup.code.is_some() {
        found.push(TestSetup {
            code: None,
            ..setup.clone()
        });
    }
    let run = &setup.run;
    let mut runs = Vec::new();
    if run.mode.is_some() {
        runs.push(GivenRun {
            mode: None,
            ..run.clone()
        });
    }
    if run.chosen.is_some() {
        runs.push(GivenRun {
            chosen: None,
            ..run.clone()
        });
    }
    if run.errors > 0 {
        runs.push(GivenRun {
            errors: 0,
            ..run.clone()
        });
    }
    for done in fewer(&run.done) {
        runs.push(GivenRun {
            done,
            ..run.clone()
        });
    }
    for skipped in fewer(&run.skipped) {
        runs.push(GivenRun {
            skipped,
            ..run.clone()
        });
    }
    for run in runs {
        found.push(TestSetup {
            run,
            ..setup.clone()
        });
    }
    found
}

/// The list without each of its items.
fn fewer<T: Clone>(items: &[T]) -> Vec<Vec<T>> {
    let mut found = Vec::new();
    for at in 0..items.len() {
        let mut less = items.to_vec();
        less.remove(at);
        found.push(less);
    }
    found
}

/// The files without each of them, and with each as its schema shows it or with a member less.
fn fewer_files(files: &[GivenFile]) -> Vec<Vec<GivenFile>> {
    let mut found = fewer(files);
    for (at, file) in files.iter().enumerate() {
        let mut contents = Vec::new();
        match &file.content {
            GivenContent::Filled | GivenContent::Absent => continue,
            GivenContent::Text(text) => {
                contents.push(GivenContent::Filled);
                let parts: Vec<&str> = text.trim_end().split("\n\n").collect();
                for less in fewer(&parts).into_iter().filter(|less| !less.is_empty()) {
                    contents.push(GivenContent::Text(format!("{}\n", less.join("\n\n"))));
                }
            }
            GivenContent::Data(value) => {
                contents.push(GivenContent::Filled);
                if let Value::Object(members) = value {
                    let less = fewer_members(members).into_iter().map(Value::Object);
                    contents.extend(less.map(GivenContent::Data));
                }
            }
        }
        for content in contents {
            let mut less = files.to_vec();
            less[at].content = content;
            found.push(less);
        }
    }
    found
}

fn fewer_members(members: &Map<String, Value>) -> Vec<Map<String, Value>> {
    let mut found = Vec::new();
    for key in members.keys() {
        let mut less = members.clone();
        less.remove(key);
        if !less.is_empty() || members.len() == 1 {
            found.push(less);
        }
    }
    found
}
