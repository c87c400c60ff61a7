//! The documents that ship, on everything that their schemas allow: no guard and no named fact may fail.

use crate::harness::project;
use crate::setting::number;
use orch_base::{ArtifactName, Digest, RepoPath};
use orch_core::workflow::guard::{Lookup, Scope, follow};
use orch_core::workflow::{
    Artifact, Document, Format, Guard, SchemaText, System, Workflow, compile,
};
use orch_read::{Schema, read};
use proptest::strategy::{Strategy, ValueTree};
use proptest::string::string_regex;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex, OnceLock};

const DIGEST: &str = "1c0a7d1b3d4f5e6a7b8c9d0e1f2a3b4c5d6e7f80";
/// Texts that mean something to a rule, and texts that mean nothing to anybody.
const TEXTS: [&str; 16] = [
    "",
    " ",
    "x",
    "blocking",
    "Warning",
    "approved",
    "needs_changes",
    "defer",
    "accepted",
    "planning",
    "src/*",
    "failed",
    "2026-11-21T05:20:00Z",
    DIGEST,
    "\u{1F980}\n\"'",
    "TODO",
];

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("fits") % sides.max(1)
    }

    fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len())]
    }
}

/// Makes values that a schema describes. Those that it refuses all the same are for others to drop.
struct Generator<'s> {
    root: &'s Value,
    dice: Dice,
    texts: TestRunner,
}

impl Generator<'_> {
    /// The schema with its references and its `allOf` in place.
    fn whole(&self, schema: &Value) -> Value {
        let mut whole = schema.clone();
        let parts = schema
            .get("allOf")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let target = schema
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|target| self.root.pointer(&target[1..]));
        if let Some(members) = whole.as_object_mut() {
            members.remove("$ref");
            members.remove("allOf");
        }
        for part in target.into_iter().chain(&parts) {
            merge(&mut whole, &self.whole(part));
        }
        whole
    }

    fn value(&mut self, schema: &Value, depth: usize) -> Value {
        let mut schema = self.whole(schema);
        for forms in ["anyOf", "oneOf"] {
            let taken = schema
                .as_object_mut()
                .and_then(|members| members.remove(forms));
            if let Some(Value::Array(forms)) = taken {
                let form = self.dice.pick(&forms).clone();
                let form = self.whole(&form);
                merge(&mut schema, &form);
            }
        }
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return self.dice.pick(values).clone();
        }
        let kind = match schema.get("type") {
            Some(Value::String(kind)) => kind.clone(),
            Some(Value::Array(kinds)) => self
                .dice
                .pick(kinds)
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            _ if schema.get("properties").is_some() => "object".to_owned(),
            _ => return self.odd(),
        };
        let least = |key: &str| schema.get(key).and_then(Value::as_u64).unwrap_or_default();
        match kind.as_str() {
            "object" => self.object(&schema, depth),
            "array" => {
                let items = schema.get("items").cloned().unwrap_or_default();
                let count = if depth > 5 { 0 } else { self.dice.below(3) };
                let count = count.max(usize::try_from(least("minItems")).expect("fits"));
                (0..count).map(|_| self.value(&items, depth + 1)).collect()
            }
            "string" => self.text(&schema),
            "integer" => json!(least("minimum") + *self.dice.pick(&[0, 1, 3])),
            "number" => self
                .dice
                .pick(&[json!(0), json!(1), json!(0.5), json!(7.25)])
                .clone(),
            "boolean" => Value::from(self.dice.below(2) == 0),
            _ => Value::Null,
        }
    }

    fn object(&mut self, schema: &Value, depth: usize) -> Value {
        let none = Map::new();
        let properties = schema
            .get("properties")
            .and_then(Value::as_object)
            .unwrap_or(&none);
        let required = schema
            .get("required")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let mut members = Map::new();
        for (key, of) in properties {
            if required.contains(&Value::from(key.as_str()))
                || (depth < 5 && self.dice.below(3) > 0)
            {
                members.insert(key.clone(), self.value(of, depth + 1));
            }
        }
        match schema.get("additionalProperties") {
            Some(Value::Bool(false)) => {}
            Some(of) => {
                let key = (*self.dice.pick(&["plan", "patch", "other"])).to_owned();
                let value = if depth > 6 {
                    Value::Null
                } else {
                    self.value(of, depth + 1)
                };
                members.entry(key).or_insert(value);
            }
            None if self.dice.below(4) == 0 => {
                let value = self.odd();
                members.insert("other".to_owned(), value);
            }
            None => {}
        }
        Value::Object(members)
    }

    fn text(&mut self, schema: &Value) -> Value {
        if schema.get("format").is_some() {
            return Value::from("2026-11-21T05:20:00Z");
        }
        let pattern = schema
            .get("pattern")
            .and_then(Value::as_str)
            .filter(|pattern| *pattern != "\\S");
        if let Some(pattern) = pattern {
            let pattern = pattern.trim_start_matches('^').trim_end_matches('$');
            let texts = string_regex(pattern).expect("a pattern");
            return Value::from(texts.new_tree(&mut self.texts).expect("a text").current());
        }
        let text = *self.dice.pick(&TEXTS);
        let is_short = text.trim().is_empty()
            && (schema.get("minLength").is_some() || schema.get("pattern").is_some());
        Value::from(if is_short { "x" } else { text })
    }

    fn odd(&mut self) -> Value {
        let values = odd_values();
        self.dice.pick(&values).clone()
    }
}

/// Adds what another schema says.
fn merge(into: &mut Value, other: &Value) {
    match (into, other) {
        (Value::Object(into), Value::Object(other)) => {
            for (key, value) in other {
                match into.get_mut(key) {
                    Some(known) if key != "x-orch-message" && key != "description" => {
                        merge(known, value)
                    }
                    Some(_) => {}
                    None => _ = into.insert(key.clone(), value.clone()),
                }
            }
        }
        (Value::Array(into), Value::Array(other)) => into.extend(other.iter().cloned()),
        _ => {}
    }
}

/// One value of each type, and some that a reviewer might write.
fn odd_values() -> Vec<Value> {
    let mut values = vec![
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(3),
        json!(-1.5),
        json!([]),
        json!({}),
        json!([null]),
        json!(["x", 3]),
        json!([{}]),
        json!([[]]),
        json!({"1": {"severity": "blocking"}}),
        json!([{"severity": "blocking"}]),
        json!([{"severity": null}]),
        json!([{"severity": 3}]),
        json!({"path": 3}),
        json!([{"path": "a"}]),
    ];
    values.extend(TEXTS.map(Value::from));
    values
}

/// The value with one of its parts taken away or replaced.
fn variant(value: &Value, dice: &mut Dice) -> Value {
    let mut pointers = Vec::new();
    collect(value, "", &mut pointers);
    let mut other = value.clone();
    if pointers.is_empty() {
        return other;
    }
    let pointer = dice.pick(&pointers);
    let odd = odd_values();
    if dice.below(odd.len()) == 0
        && let Some((above, key)) = pointer.rsplit_once('/')
        && let Some(Value::Object(members)) = other.pointer_mut(above)
    {
        members.remove(key);
    } else if let Some(part) = other.pointer_mut(pointer) {
        part.clone_from(dice.pick(&odd));
    }
    other
}

fn collect(value: &Value, at: &str, pointers: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| (key.clone(), value))
            .collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(at, value)| (at.to_string(), value))
            .collect(),
        _ => Vec::new(),
    };
    for (key, child) in children {
        let pointer = format!("{at}/{key}");
        collect(child, &pointer, pointers);
        pointers.push(pointer);
    }
}

/// How many values of a schema are tried, and how many that it accepts are kept.
const TRIED: usize = 1_000;
const KEPT: usize = 300;

/// Many values that a schema accepts, made once for each schema.
fn accepted(schema: &SchemaText) -> Arc<Vec<Value>> {
    type Known = Mutex<BTreeMap<Digest, Arc<OnceLock<Arc<Vec<Value>>>>>>;
    static KNOWN: Known = Mutex::new(BTreeMap::new());
    let known = Arc::clone(
        KNOWN
            .lock()
            .expect("nobody panicked")
            .entry(schema.digest)
            .or_default(),
    );
    Arc::clone(known.get_or_init(|| Arc::new(make_accepted(schema))))
}

/// Generated values and the examples of a schema, and these with one part replaced.
fn make_accepted(schema: &SchemaText) -> Vec<Value> {
    let compiled = Schema::compile(&schema.name, &schema.text).expect("it ships");
    let root = schema.value().expect("JSON");
    let mut generator = Generator {
        root,
        dice: Dice(7),
        texts: TestRunner::deterministic(),
    };
    let examples = root
        .get("examples")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let mut kept = examples.clone();
    for nth in 0..TRIED {
        let value = match (nth % 4, examples.as_slice()) {
            (0, _) | (_, []) => generator.value(root, 0),
            (1, examples) => variant(&examples[nth % examples.len()], &mut generator.dice),
            _ => {
                let base = generator.dice.below(kept.len());
                variant(&kept[base], &mut generator.dice)
            }
        };
        if kept.len() < KEPT && compiled.validate(&value).is_empty() {
            kept.push(value);
        }
    }
    assert!(
        kept.len() > 100,
        "{}: only {} values",
        schema.name,
        kept.len()
    );
    kept
}

/// Documents in Markdown: every front matter, sections and boxes that rules ask for, and none of them.
fn markdown() -> Vec<String> {
    let statuses = [
        "To Do",
        "Done",
        "done",
        "In Progress",
        "",
        "~",
        "[]",
        "[To Do]",
        "{}",
        "{a: b}",
        "1",
        "1.5",
        "true",
        "2026-01-01",
        "''",
        "\"\"",
        ".nan",
        "- Done",
    ];
    let mut fronts: Vec<String> = statuses
        .iter()
        .map(|status| format!("---\nstatus: {status}\n---\n"))
        .collect();
    for front in [
        "",
        "---\n---\n",
        "---\ntitle: x\n---\n",
        "---\nstatus:\n  - Done\n---\n",
        "---\n- a\n---\n",
        "---\nx\n---\n",
    ] {
        fronts.push(front.to_owned());
    }
    let bodies = [
        "x\n",
        "## Description\n\nWhat.\n\n## Acceptance Criteria\n\n- [ ] one\n- [x] two\n",
        "## Description\n\n## Acceptance Criteria\n\n## Definition of Done\n\n- [x] a\n",
        "# Feature: [NAME]\n\nTODO: this. [NEEDS CLARIFICATION: that]\n",
        "## ADDED Requirements\n\n### Requirement: R\n\nIt SHALL.\n\n#### Scenario: S\n\n- it does\n",
        "## REMOVED Requirements\n\n- R\n",
        "- [ ] 1.1 a\n- [x] 1.2 b\n- [-] 1.3 c\n",
    ];
    fronts
        .iter()
        .flat_map(|front| bodies.iter().map(move |body| format!("{front}{body}")))
        .collect()
}

fn texts(format: Format) -> Vec<String> {
    let texts: &[&str] = match format {
        Format::Markdown => return markdown(),
        Format::Junit => &[
            "<testsuite tests='1'><testcase name='a'/></testsuite>",
            "<testsuites/>",
            "<testsuites><testsuite tests='2' failures='1'><testcase name='a'/><testcase name='b'><failure/></testcase></testsuite></testsuites>",
            "<testsuite tests='1' skipped='1'><testcase name='a'><skipped/></testcase></testsuite>",
        ],
        Format::Patch => &[
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
            "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n",
            "no patch\n",
        ],
        Format::Json => &["{}", "[]", "3", "null", "\"x\"", "{\"files\": 3}"],
        Format::Yaml => &[
            "schema: spec-driven\n",
            "{schema: quick, skip_specs: true}\n",
            "{schema: quick, skip_specs: false}\n",
            "artifacts: [{id: tasks, generates: a.md}]\n",
            "{artifacts: [], apply: {tracks: b.md}}\n",
            "{artifacts: [], apply: {tracks: ~}}\n",
            "{statuses: [A, B], default_status: A}\n",
            "{statuses: [], default_status: ~}\n",
            "statuses: [A]\n",
        ],
        _ => &["x\n", "a\nb\n"],
    };
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// What may be read of an artifact: every value that is valid.
fn readable(artifact: &Artifact) -> Arc<Vec<Value>> {
    if let (Format::Json, Some(schema)) = (artifact.format, &artifact.schema) {
        return accepted(schema);
    }
    let path = RepoPath::new("file").expect("valid");
    let read = |text: &String| read(artifact.format, &path, text.as_bytes()).data;
    let mut values: Vec<Value> = texts(artifact.format).iter().filter_map(read).collect();
    if artifact.tree.is_some() {
        for tasks in [json!([]), json!(["t-1"]), json!(["other", "t-1"])] {
            values.push(json!({"commits": [{"id": DIGEST, "subject": "x", "tasks": tasks}], "files": ["a"], "confirmed": false}));
        }
        values.push(json!({"commits": [], "files": [], "confirmed": true}));
    }
    if let Some(schema) = &artifact.schema {
        let compiled = Schema::compile(&schema.name, &schema.text).expect("it ships");
        values.retain(|value| compiled.validate(value).is_empty());
    }
    assert!(!values.is_empty(), "{}", artifact.name);
    Arc::new(values)
}

/// Whether an artifact may have several files.
fn is_set(artifact: &Artifact) -> bool {
    artifact.is_glob()
}

/// What is observed of one artifact.
#[derive(Clone, Default)]
struct Seen {
    files: Vec<Value>,
    flags: [bool; 3],
    /// Whether no file counts, and whether there may be several.
    is_spent: bool,
    is_set: bool,
}

impl Seen {
    fn given(&self) -> Value {
        let [valid, fresh, changed] = self.flags;
        let present = !self.files.is_empty();
        let valid = present && valid;
        let file = |data: &Value| json!({"path": "file", "valid": valid, "data": if valid { data } else { &Value::Null }, "because": "x"});
        let files: Vec<Value> = self.files.iter().map(file).collect();
        let (all, not_counted) = if self.is_spent {
            (vec![], files)
        } else {
            (files, vec![])
        };
        json!({
            "present": present, "valid": valid, "fresh": present && fresh, "ready": valid && fresh && !self.is_spent,
            "changed": changed,
            "digest": if present { json!(DIGEST) } else { Value::Null },
            "path": if present { json!("file") } else { Value::Null },
            "count": all.len(), "all": all, "not_counted": not_counted, "problems": [],
            "data": match self.files.as_slice() {
                [only] if valid && !(self.is_spent && self.is_set) => only.clone(),
                _ => Value::Null,
            },
        })
    }
}

/// What the guards of a workflow see, as `orch` shows it to them.
struct TestScope<'w> {
    workflow: &'w Workflow,
    values: Map<String, Value>,
}

impl TestScope<'_> {
    fn fact(&self, artifact: &Artifact, name: &str) -> Option<Result<Value, String>> {
        let (_, guard) = artifact.facts.iter().find(|(fact, _)| fact == name)?;
        Some(
            guard
                .value(&Plain(&self.values[artifact.name.as_str()]))
                .map_err(|reason| reason.as_str().to_owned()),
        )
    }
}

fn computed(value: Result<Value, String>, path: &[String], depth: usize) -> Lookup<'static> {
    match value {
        Err(reason) => Lookup::Failed(reason),
        Ok(value) => match follow(&value, path, depth) {
            Lookup::Found(found) => Lookup::Found(Cow::Owned(found.into_owned())),
            Lookup::Missing { depth } => Lookup::Missing { depth },
            Lookup::Ends { depth, value } => Lookup::Ends {
                depth,
                value: Cow::Owned(value.into_owned()),
            },
            Lookup::Failed(reason) => Lookup::Failed(reason),
        },
    }
}

impl Scope for TestScope<'_> {
    fn look_up(&self, path: &[String]) -> Lookup<'_> {
        if let Some(given) = self.values.get(&path[0]) {
            if let [root, member, ..] = path
                && given.get(member).is_none()
                && given.get("valid") == Some(&Value::Bool(true))
                && let Ok(name) = ArtifactName::new(root.clone())
                && let Some(artifact) = self.workflow.artifact(&name)
                && let Some(fact) = self.fact(artifact, member)
            {
                return computed(fact, path, 2);
            }
            return follow(given, path, 1);
        }
        match self
            .workflow
            .defines
            .iter()
            .find(|(name, _)| *name == path[0])
        {
            Some((_, define)) => computed(
                define
                    .value(self)
                    .map_err(|reason| reason.as_str().to_owned()),
                path,
                1,
            ),
            None => Lookup::Missing { depth: 0 },
        }
    }
}

struct Plain<'v>(&'v Value);

impl Scope for Plain<'_> {
    fn look_up(&self, path: &[String]) -> Lookup<'_> {
        follow(self.0, path, 0)
    }
}

/// An expression of a workflow.
struct Expression<'w> {
    what: String,
    guard: &'w Guard,
    /// Whether it must be true or false.
    is_condition: bool,
    /// The guard of the rule without which it is not computed.
    only_if: Option<&'w Guard>,
}

/// The expressions that decide.
fn expressions(workflow: &Workflow) -> Vec<Expression<'_>> {
    let condition = |what: String, guard| Expression {
        what,
        guard,
        is_condition: true,
        only_if: None,
    };
    let mut found = Vec::new();
    for rule in &workflow.rules {
        found.push(condition(format!("rule {}", rule.id), &rule.when));
        found.extend(rule.set.iter().map(|(at, guard)| Expression {
            what: format!("rule {} sets {at}", rule.id),
            guard,
            is_condition: false,
            only_if: Some(&rule.when),
        }));
    }
    for action in &workflow.actions {
        found.push(condition(format!("action {}", action.name), &action.when));
        found.push(condition(
            format!("action {} ensures", action.name),
            &action.ensures,
        ));
    }
    for phase in &workflow.phases {
        found.extend(
            phase
                .substate
                .iter()
                .chain(&phase.remarks)
                .map(|guard| Expression {
                    what: format!("phase {}", phase.id),
                    guard,
                    is_condition: false,
                    only_if: None,
                }),
        );
    }
    found
}

/// Fails with the first faults, each expression once.
fn none(faults: &BTreeMap<String, String>) {
    let shown: Vec<String> = faults
        .iter()
        .take(40)
        .map(|(what, fault)| format!("{what}: {fault}"))
        .collect();
    assert!(
        faults.is_empty(),
        "{} expressions fail\n{}",
        faults.len(),
        shown.join("\n")
    );
}

/// The documents as they are in the repository; another test compares them with those in the program.
fn all_shipped() -> Vec<Workflow> {
    let root = project().join("system");
    let mut system = System::empty();
    for (path, _) in System::shipped().iter() {
        system.insert(
            path.to_owned(),
            fs::read_to_string(root.join(path)).expect(path),
        );
    }
    let names: Vec<String> = system
        .names("workflows", ".md")
        .map(str::to_owned)
        .collect();
    let compiled = names.iter().map(|name| {
        let document = Document::new(
            name.as_str(),
            format!("{name}.md"),
            system.workflow(name).expect("there"),
        );
        let (workflow, problems) = compile(&document, &system);
        workflow.unwrap_or_else(|| panic!("{problems:#?}"))
    });
    compiled.collect()
}

#[test]
fn every_fact_of_a_shipped_artifact_has_a_value_on_all_that_is_valid() {
    let mut faults = BTreeMap::new();
    for workflow in all_shipped() {
        for artifact in &workflow.artifacts {
            for value in readable(artifact).iter() {
                let is_set = is_set(artifact);
                let seen = Seen {
                    files: vec![value.clone()],
                    flags: [true; 3],
                    is_set,
                    ..Seen::default()
                };
                let given = seen.given();
                for (name, fact) in &artifact.facts {
                    if let Err(reason) = fact.value(&Plain(&given)) {
                        let what = format!("{} {}.{name}", workflow.name, artifact.name);
                        faults
                            .entry(what)
                            .or_insert_with(|| format!("{reason} on {value}"));
                    }
                }
            }
        }
    }
    none(&faults);
}

#[test]
fn every_shipped_guard_is_true_or_false_on_all_that_is_valid() {
    let rounds = number("ORCH_SHIPPED_ROUNDS").unwrap_or(12);
    let mut faults = BTreeMap::new();
    for workflow in all_shipped() {
        let mut dice = Dice(11);
        let artifacts: Vec<(&Artifact, Arc<Vec<Value>>)> = workflow
            .artifacts
            .iter()
            .map(|artifact| (artifact, readable(artifact)))
            .collect();
        let states = workflow
            .state
            .schema
            .as_ref()
            .map_or_else(|| Arc::new(vec![json!({})]), accepted);
        let expressions = expressions(&workflow);
        for _ in 0..rounds {
            let mut values = Map::new();
            for (artifact, readable) in &artifacts {
                let is_set = is_set(artifact);
                let count = if is_set {
                    dice.below(4)
                } else {
                    dice.below(6).min(1)
                };
                let files = (0..count).map(|_| dice.pick(readable).clone()).collect();
                let flags = [dice.below(5) > 0, dice.below(3) > 0, dice.below(2) > 0];
                let is_spent = dice.below(4) == 0;
                let seen = Seen {
                    files,
                    flags,
                    is_spent,
                    is_set,
                };
                values.insert(artifact.name.to_string(), seen.given());
            }
            let flag = |dice: &mut Dice| dice.below(2) > 0;
            let names = |dice: &mut Dice| vec!["a"; dice.below(2)];
            let tests = json!({
                "defined": flag(&mut dice), "fresh": flag(&mut dice), "passed": flag(&mut dice),
                "known": names(&mut dice), "new": names(&mut dice),
            });
            values.insert("verified".to_owned(), json!({"tests": tests}));
            let parts: Vec<Value> = (0..dice.below(3))
                .map(|_| json!({"id": "p", "phase": "x", "done": flag(&mut dice), "failed": flag(&mut dice), "workflow": "w"}))
                .collect();
            values.insert("children".to_owned(), parts.into());
            let mut state = dice.pick(&states).clone();
            for (key, value) in &workflow.state.defaults {
                state
                    .as_object_mut()
                    .expect("a map")
                    .entry(key.clone())
                    .or_insert_with(|| value.clone());
            }
            if dice.below(2) == 0 {
                state["waived"] = json!({"plan_review": "why", "eval_report": "why"});
            }
            values.insert("state".to_owned(), state);
            values.insert(
                "phase".to_owned(),
                json!(dice.pick(&workflow.phases).id.as_str()),
            );
            values.insert("attempt".to_owned(), json!(1 + dice.below(6)));
            values.insert("task".to_owned(), json!("t-1"));
            let chosen = workflow
                .actions
                .iter()
                .map(|action| action.name.to_string())
                .chain([String::new()]);
            let chosen: Vec<String> = chosen.collect();
            values.insert(
                "run".to_owned(),
                json!({"mode": dice.pick(&["", "auto"]), "errors": dice.below(4), "max_errors": 3, "chosen": dice.pick(&chosen)}),
            );
            let tallies = workflow.actions.iter().map(|action| {
                (
                    action.name.to_string(),
                    json!({"done": dice.below(3), "skipped": dice.below(2) == 0}),
                )
            });
            values.insert("action".to_owned(), Value::Object(tallies.collect()));
            let scope = TestScope {
                workflow: &workflow,
                values,
            };
            for Expression {
                what,
                guard,
                is_condition,
                only_if,
            } in &expressions
            {
                if only_if.is_some_and(|guard| guard.value(&scope) != Ok(Value::Bool(true))) {
                    continue;
                }
                let fault = match guard.value(&scope) {
                    Ok(Value::Bool(_)) => continue,
                    Ok(_) if !is_condition => continue,
                    Ok(other) => format!("it yields {other}"),
                    Err(reason) => reason.to_string(),
                };
                faults
                    .entry(format!("{} {what}", workflow.name))
                    .or_insert(fault);
            }
        }
    }
    none(&faults);
}

/// What a review comes to: refused or accepted by the rules, or by its schema at the first place that it names.
fn read_as(workflow: &Workflow, artifact: &str, verdict: &str, review: &Value) -> String {
    let name = ArtifactName::new(artifact).expect("valid");
    let schema = workflow
        .artifact(&name)
        .and_then(|one| one.schema.as_ref())
        .expect("a schema");
    let problems = Schema::compile(&schema.name, &schema.text)
        .expect("it ships")
        .validate(review);
    if let Some(problem) = problems.first() {
        return format!("invalid {}", problem.pointer);
    }
    let mut values = Map::new();
    for artifact in &workflow.artifacts {
        values.insert(artifact.name.to_string(), Seen::default().given());
    }
    values.insert(
        artifact.to_owned(),
        Seen {
            files: vec![review.clone()],
            flags: [true; 3],
            ..Seen::default()
        }
        .given(),
    );
    let scope = TestScope { workflow, values };
    let holds = |word: &str| {
        let name = format!("{verdict}_{word}");
        let define = workflow
            .defines
            .iter()
            .find(|(known, _)| *known == name)
            .expect("a definition");
        define.1.value(&scope) == Ok(Value::Bool(true))
    };
    match (holds("accepted"), holds("refused")) {
        (true, false) => "accepted".to_owned(),
        (false, true) => "refused".to_owned(),
        both => format!("{both:?}"),
    }
}

#[test]
fn a_review_that_blocks_anywhere_is_never_accepted() {
    let blocking = json!({"severity": "blocking"});
    let cases = [
        (json!({"ok": true}), "accepted"),
        (
            json!({"ok": true, "issues": [{"severity": "Note"}, {}], "risks": [{"severity": "high"}]}),
            "accepted",
        ),
        (
            json!({"ok": true, "verdict": "Passed", "status": "completed", "decision": "ok"}),
            "accepted",
        ),
        (
            json!({"ok": true, "reviewers": [{"ok": false, "verdict": "deferred"}]}),
            "accepted",
        ),
        (
            json!({"ok": true, "details": {"checks": [{"ok": true, "severity": "low"}]}}),
            "accepted",
        ),
        (json!({"ok": true, "issues": [blocking]}), "refused"),
        (
            json!({"ok": true, "reviewers": [{"ok": true, "issues": ["a text"]}]}),
            "accepted",
        ),
        (
            json!({"ok": true, "reviewers": [{"ok": true, "issues": ["BLOCKING: x"]}]}),
            "invalid /reviewers/0/issues/0",
        ),
        (
            json!({"ok": true, "issues": [{"blocking": true, "severity": "note"}]}),
            "refused",
        ),
        (
            json!({"ok": true, "aggregate": {"issues": [blocking]}}),
            "refused",
        ),
        (
            json!({"ok": true, "aggregate": {"verdict": "no"}}),
            "refused",
        ),
        (
            json!({"ok": true, "reviewers": [{"ok": true, "issues": [blocking]}]}),
            "refused",
        ),
        (
            json!({"ok": true, "reviewers": [{"ok": true, "blocking_issues": ["x"]}]}),
            "refused",
        ),
        (json!({"ok": true, "verdict": "do not merge"}), "refused"),
        (json!({"ok": true, "status": "Blocked"}), "refused"),
        (
            json!({"ok": true, "issues": {"1": blocking}}),
            "invalid /issues",
        ),
        (json!({"ok": true, "issues": "none"}), "invalid /issues"),
        (json!({"ok": true, "issues": null}), "invalid /issues"),
        (
            json!({"ok": true, "issues": ["blocking"]}),
            "invalid /issues/0",
        ),
        (
            json!({"ok": true, "issues": [{"severity": 3}]}),
            "invalid /issues/0/severity",
        ),
        (
            json!({"ok": true, "issues": [{"severity": null}]}),
            "invalid /issues/0/severity",
        ),
        (
            json!({"ok": true, "issues": [{"severity": ["blocking"]}]}),
            "invalid /issues/0/severity",
        ),
        (
            json!({"ok": true, "issues": [{"blocking": "yes"}]}),
            "invalid /issues/0/blocking",
        ),
        (
            json!({"ok": true, "issues": [{"severity": "note", "parts": [blocking]}]}),
            "invalid /issues/0/parts/0/severity",
        ),
        (
            json!({"ok": true, "verdict": ["rejected"]}),
            "invalid /verdict",
        ),
        (json!({"ok": true, "status": {"x": 1}}), "invalid /status"),
        (
            json!({"ok": true, "aggregate": {"issues": {"1": blocking}}}),
            "invalid /aggregate/issues",
        ),
        (
            json!({"ok": true, "aggregate": {"verdict": []}}),
            "invalid /aggregate/verdict",
        ),
        (json!({"ok": true, "aggregate": []}), "invalid /aggregate"),
        (
            json!({"ok": true, "reviewers": [{"ok": true, "issues": {"1": blocking}}]}),
            "invalid /reviewers/0/issues",
        ),
        (
            json!({"ok": true, "reviewers": {"ann": {"ok": false}}}),
            "invalid /reviewers",
        ),
        (
            json!({"ok": true, "details": {"issues": {"1": [blocking]}}}),
            "invalid /details/issues/1/0/severity",
        ),
        (
            json!({"ok": true, "summary": {"blocking_issues": ["x"]}}),
            "invalid /summary/blocking_issues",
        ),
        (
            json!({"ok": true, "rounds": [{"ok": false}]}),
            "invalid /rounds/0/ok",
        ),
        (
            json!({"ok": true, "severity": "blocking"}),
            "invalid /severity",
        ),
        (
            json!({"ok": true, "summary": "TODO: a summary"}),
            "invalid /summary",
        ),
        (json!({"ok": "TODO: true or false"}), "invalid "),
    ];
    let all = all_shipped();
    let lifecycle = all
        .iter()
        .find(|one| one.name.as_str() == "global-state-machine")
        .expect("it ships");
    for (review, expected) in cases {
        for (artifact, verdict) in [("plan_review", "plan"), ("code_review", "code")] {
            let found = read_as(lifecycle, artifact, verdict, &review);
            // Only a code review has risks.
            let is_of_code = review.get("risks").is_some();
            if !is_of_code || artifact == "code_review" {
                assert!(found.starts_with(expected), "{artifact} {review}: {found}");
            }
        }
    }
}

#[test]
fn a_status_of_backlog_is_a_word_or_missing_or_no_status() {
    let all = all_shipped();
    let backlog = all
        .iter()
        .find(|one| one.name.as_str() == "backlog")
        .expect("it ships");
    let (item, schema) = (
        &backlog.artifacts[0],
        backlog.artifacts[0].schema.as_ref().expect("a schema"),
    );
    let compiled = Schema::compile(&schema.name, &schema.text).expect("it ships");
    let path = RepoPath::new("x.md").expect("valid");
    for (status, expected) in [
        ("To Do", "waits"),
        ("Done", "done"),
        ("Review", "begun"),
        ("3", "begun"),
        ("", "missing"),
        ("~", "missing"),
        ("''", "missing"),
        ("[Done]", "invalid /front_matter/status"),
        ("{a: b}", "invalid /front_matter/status"),
    ] {
        let text = format!("---\nid: x\nstatus: {status}\n---\n\nText.\n");
        let data = read(Format::Markdown, &path, text.as_bytes())
            .data
            .expect(status);
        let found = match compiled.validate(&data).first() {
            Some(problem) => format!("invalid {}", problem.pointer),
            None => {
                let seen = Seen {
                    files: vec![data],
                    flags: [true; 3],
                    is_set: true,
                    ..Seen::default()
                };
                let settings = ("settings".to_owned(), Seen::default().given());
                let values = Map::from_iter([(item.name.to_string(), seen.given()), settings]);
                let scope = TestScope {
                    workflow: backlog,
                    values,
                };
                let fact = |name: &str| {
                    let define = backlog
                        .defines
                        .iter()
                        .find(|(known, _)| known == name)
                        .expect("a definition");
                    define.1.value(&scope) == Ok(Value::Bool(true))
                };
                let word = match (fact("is_tracked"), fact("waits"), fact("is_done")) {
                    (false, false, false) => "missing",
                    (true, true, false) => "waits",
                    (true, false, true) => "done",
                    (true, false, false) => "begun",
                    _ => "odd",
                };
                word.to_owned()
            }
        };
        assert_eq!(found, expected, "{status:?}");
    }
}
