//! What may stand at one place of a file or of the state: the values that guards tell apart, and those that a schema names.

use crate::workflow::guard::{Logic, Test};
use crate::workflow::{Artifact, Format, Guard, RESERVED_KEYS, Workflow};
use serde_json::{Map, Value, json};

/// How deep a schema is looked into.
const DEEPEST: usize = 3;
/// How deep a value is that has only what is required.
const MOST_NESTED: usize = 10;
/// The most values of one schema.
const MOST: usize = 300;
/// The most values of one member.
const MOST_OF_ONE: usize = 40;

/// A text that no guard compares with.
const OTHER_TEXT: &str = "another text";

/// A value that may stand at one place, as an object that holds nothing else.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant(pub Value);

/// The values that may stand in the data of an artifact: what its facts and the rules ask, and what its schema names.
/// `example` is what it holds otherwise.
#[must_use]
pub fn data_variants(workflow: &Workflow, artifact: &str, example: &Value) -> Vec<Variant> {
    let Some(artifact) = workflow
        .artifacts
        .iter()
        .find(|one| one.name.as_str() == artifact)
    else {
        return Vec::new();
    };
    let own = artifact.facts.iter().map(|(_, guard)| guard);
    let mut found = asked(own, &["data"]);
    let all = all_guards(workflow);
    found.extend(asked(all.into_iter(), &[artifact.name.as_str(), "data"]));
    let mut words = words(workflow);
    for (_, guard) in &artifact.facts {
        words.add(guard);
    }
    if let Some(schema) = artifact.schema.as_ref().and_then(|schema| schema.value()) {
        found.extend(of_schema(schema, example, &words));
    }
    // What a file says that it judged.
    for judged in &artifact.judges {
        let name = judged.as_str();
        found.push(Variant(json!({"of": {name: format!("@{name}")}})));
    }
    let mut texts: Vec<&str> = all_guards(workflow)
        .iter()
        .map(|guard| guard.text())
        .collect();
    texts.extend(artifact.facts.iter().map(|(_, guard)| guard.text()));
    let is_judged = |name: &str| {
        let ways = [format!("data.of.{name}"), format!("'{name}' in data.of")];
        ways.iter()
            .any(|way| texts.iter().any(|text| text.contains(way)))
    };
    let judged: Map<String, Value> = workflow
        .artifacts
        .iter()
        .filter(|one| is_judged(one.name.as_str()))
        .map(|one| (one.name.to_string(), Value::from(format!("@{}", one.name))))
        .collect();
    if !judged.is_empty() {
        found.push(Variant(json!({"of": judged})));
    }
    distinct(found)
}

/// The values that may stand in the state that the workflow owns, beside what there is now.
#[must_use]
pub fn state_variants(workflow: &Workflow, now: &Value) -> Vec<Variant> {
    let all = all_guards(workflow);
    let mut found = asked(all.into_iter(), &["state"]);
    let words = words(workflow);
    if let Some(schema) = workflow
        .state
        .schema
        .as_ref()
        .and_then(|schema| schema.value())
    {
        let named: Vec<Variant> = of_schema(schema, now, &words);
        found.extend(named.into_iter().filter(is_own));
    }
    distinct(found)
}

/// Whether a value is one that the workflow owns and not `orch`.
fn is_own(variant: &Variant) -> bool {
    let keys = variant.0.as_object().map(|members| members.keys());
    let mut keys = keys.into_iter().flatten();
    keys.all(|key| !RESERVED_KEYS.contains(&key.as_str()) && key != "status")
}

fn distinct(found: Vec<Variant>) -> Vec<Variant> {
    let mut kept: Vec<Variant> = Vec::new();
    for variant in found {
        if !kept.contains(&variant) {
            kept.push(variant);
        }
    }
    kept
}

/// Texts for a format that has no schema: what readers of Markdown, reports and patches tell apart.
#[must_use]
pub fn text_variants(format: Format, example: Option<&str>) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(example) = example {
        found.push(example.to_owned());
    }
    match format {
        Format::Markdown => {
            let with_boxes = example.filter(|text| text.contains("- [ ]"));
            if let Some(text) = with_boxes {
                found.push(text.replace("- [ ]", "- [x]"));
                found.push(text.replacen("- [ ]", "- [x]", 1));
                found.push(text.replace("- [ ] ", "- "));
            }
            let base = example.unwrap_or("# Title\n\nA text.\n").trim_end();
            found.push(format!("{base}\n"));
            found.push(format!("{base}\n\nTODO\n"));
            found.push(format!("{base}\n\n- TODO\n"));
            found.push(format!("{base}\n\n[NEEDS CLARIFICATION: which one?]\n"));
            found.push(format!("{base}\n\n[FEATURE NAME]\n"));
            if with_boxes.is_none() {
                found.push(format!("{base}\n\n- [ ] one\n- [ ] two\n"));
                found.push(format!("{base}\n\n- [x] one\n"));
            }
        }
        Format::Junit => {
            for inner in ["", "<failure message=\"no\"/>", "<skipped/>"] {
                found.push(format!(
                    "<testsuite name=\"s\"><testcase name=\"t\">{inner}</testcase></testsuite>\n"
                ));
            }
        }
        Format::Patch => {
            found.push("--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1 +1 @@\n-old\n+new\n".to_owned());
            found.push("nothing\n".to_owned());
        }
        Format::Cobertura => {
            for covered in ["1", "0"] {
                found.push(format!(
                    "<coverage line-rate=\"{covered}\" branch-rate=\"0\" lines-covered=\"{covered}\" lines-valid=\"1\" \
                     version=\"1\" timestamp=\"0\"><packages><package name=\"p\"><classes><class name=\"c\" filename=\"a.rs\">\
                     <lines><line number=\"1\" hits=\"{covered}\"/></lines></class></classes></package></packages></coverage>\n"
                ));
            }
        }
        Format::Lcov => {
            for hits in [1, 0] {
                found.push(format!(
                    "TN:\nSF:a.rs\nDA:1,{hits}\nLF:1\nLH:{hits}\nend_of_record\n"
                ));
            }
        }
        Format::Sarif => {
            for level in ["", "warning", "error"] {
                let results = if level.is_empty() {
                    String::new()
                } else {
                    format!(
                        "{{\"ruleId\": \"r\", \"level\": \"{level}\", \"message\": {{\"text\": \"no\"}}}}"
                    )
                };
                found.push(format!(
                    "{{\"version\": \"2.1.0\", \"runs\": [{{\"tool\": {{\"driver\": {{\"name\": \"t\"}}}}, \"results\": [{results}]}}]}}\n"
                ));
            }
        }
        Format::Csv => found.push("name,value\na,1\n".to_owned()),
        Format::Text | Format::Json | Format::Jsonl | Format::Yaml | Format::Toml => {
            if example.is_none() && format == Format::Text {
                found.push("a text\n".to_owned());
            }
        }
    }
    found
}

/// The example of a Markdown artifact with other values in its front matter, of which guards speak, and with each of its
/// sections empty; with open boxes and with checked ones.
#[must_use]
pub fn markdown_variants(workflow: &Workflow, artifact: &Artifact, example: &str) -> Vec<String> {
    let mut words = words(workflow);
    for (_, guard) in &artifact.facts {
        words.add(guard);
    }
    let is_plain = |text: &&String| !text.is_empty() && !text.contains(['^', '/']);
    let texts = words.texts.iter().filter(is_plain).map(String::as_str);
    let mut values = vec![OTHER_TEXT, ""];
    for text in texts {
        if !values.contains(&text) {
            values.push(text);
        }
    }
    let mut found = Vec::new();
    for text in [example.to_owned(), example.replace("- [ ]", "- [x]")] {
        for key in front_matter_keys(&text).filter(|key| words.mentions(key)) {
            for value in &values {
                found.push(with_front_matter(&text, key, value));
            }
        }
        found.extend(without_sections(&text));
    }
    found
}

/// The keys of the front matter of a text, without those of lists and tables in it.
fn front_matter_keys(text: &str) -> impl Iterator<Item = &str> {
    let mut lines = text.lines();
    let begins = lines.next() == Some("---");
    let head = lines.take_while(|line| *line != "---");
    let keys = head.filter_map(|line| line.split_once(':').map(|(key, _)| key));
    keys.filter(move |key| begins && !key.starts_with([' ', '-', '#']))
}

/// A text with another value of a key of its front matter.
fn with_front_matter(text: &str, key: &str, value: &str) -> String {
    let mut is_done = false;
    let mut changed = String::new();
    for line in text.lines() {
        let is_it = !is_done && line.split_once(':').is_some_and(|(name, _)| name == key);
        if is_it {
            is_done = true;
            changed.push_str(&format!("{key}: {value}\n"));
        } else {
            changed.push_str(line);
            changed.push('\n');
        }
    }
    changed
}

/// A text without what stands in one of its sections of the second level, for each of them.
fn without_sections(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let is_heading = |line: &&&str| line.starts_with("## ");
    let mut found = Vec::new();
    for (at, _) in lines
        .iter()
        .enumerate()
        .filter(|(_, line)| is_heading(line))
    {
        let after = lines[at + 1..].iter();
        let length = after.take_while(|line| !line.starts_with("## ")).count();
        let mut kept = lines[..=at].to_vec();
        kept.push("");
        kept.extend(&lines[at + 1 + length..]);
        found.push(kept.join("\n") + "\n");
    }
    found
}

/// The guards of all rules, actions and named expressions.
fn all_guards(workflow: &Workflow) -> Vec<&Guard> {
    let rules = workflow.rules.iter().map(|rule| &rule.when);
    let actions = workflow.actions.iter().map(|action| &action.when);
    let defines = workflow.defines.iter().map(|(_, guard)| guard);
    rules.chain(actions).chain(defines).collect()
}

/// The words that guards are made of: names, and the texts and numbers that they compare with.
#[derive(Default)]
struct GuardWords {
    names: Vec<String>,
    texts: Vec<String>,
    numbers: Vec<f64>,
}

fn words(workflow: &Workflow) -> GuardWords {
    let mut words = GuardWords::default();
    for guard in all_guards(workflow) {
        words.add(guard);
    }
    words
}

impl GuardWords {
    fn add(&mut self, guard: &Guard) {
        let text = guard.text();
        for (nth, part) in text.split('\'').enumerate() {
            if nth % 2 == 1 {
                self.texts.push(part.to_owned());
                continue;
            }
            let names = part.split(|char: char| !(char.is_alphanumeric() || char == '_'));
            for name in names.filter(|name| !name.is_empty()) {
                match name.parse::<f64>() {
                    Ok(number) => self.numbers.push(number),
                    Err(_) => self.names.push(name.to_owned()),
                }
            }
        }
    }

    /// Whether guards say this name, or this text.
    fn mentions(&self, word: &str) -> bool {
        self.names
            .iter()
            .chain(&self.texts)
            .any(|known| known == word)
    }
}

/// The values that guards ask about below a root.
fn asked<'g>(guards: impl Iterator<Item = &'g Guard>, root: &[&str]) -> Vec<Variant> {
    let mut found = Vec::new();
    for guard in guards {
        of_logic(&guard.logic(), root, &mut found);
    }
    found
}

fn of_logic(logic: &Logic, root: &[&str], found: &mut Vec<Variant>) {
    match logic {
        Logic::Known(_) | Logic::Named(_) => {}
        Logic::Not(of) => of_logic(of, root, found),
        Logic::All(all) | Logic::Any(all) => {
            all.iter().for_each(|one| of_logic(one, root, found));
        }
        Logic::If(parts) => parts.iter().for_each(|one| of_logic(one, root, found)),
        Logic::Same(same) => {
            same.truths
                .iter()
                .for_each(|one| of_logic(one, root, found));
        }
        Logic::Asks(question) => {
            let path = question.path.as_deref().unwrap_or_default();
            let is_below =
                path.len() > root.len() && path.iter().zip(root).all(|(one, other)| one == other);
            if !is_below {
                return;
            }
            for value in answers(&question.test) {
                found.push(Variant(nested(&path[root.len()..], value)));
            }
        }
    }
}

/// Values of which one passes a test, and another one fails it.
fn answers(test: &Test) -> Vec<Value> {
    match test {
        Test::IsTrue => vec![json!(true), json!(false)],
        Test::IsText(text) => vec![json!(text), json!(OTHER_TEXT)],
        Test::Number { than, .. } => near(*than),
        // The subject names two values, and has no path.
        Test::Order { .. } => Vec::new(),
    }
}

/// A number and its neighbours, whole ones as such.
fn near(number: f64) -> Vec<Value> {
    let values = [number, number - 1.0, number + 1.0];
    values.into_iter().map(whole).collect()
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a whole number of a document is small"
)]
fn whole(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < 1e15 {
        json!(number as i64)
    } else {
        json!(number)
    }
}

/// A value below the members of a path.
fn nested(path: &[String], value: Value) -> Value {
    path.iter().rev().fold(value, |value, key| {
        let mut members = Map::new();
        members.insert(key.clone(), value);
        Value::Object(members)
    })
}

/// A step from an object to one of its members.
struct SchemaStep {
    key: String,
    /// What the member holds otherwise, if it is new.
    beside: Value,
}

/// A value below these steps.
fn below(path: &[SchemaStep], value: Value) -> Value {
    let mut whole = value;
    for (at, step) in path.iter().enumerate().rev() {
        let above = at.checked_sub(1).map(|at| &path[at].beside);
        let mut members = match above {
            Some(Value::Object(members)) => members.clone(),
            _ => Map::new(),
        };
        let member = members.entry(step.key.clone()).or_insert(Value::Null);
        super::overlay(member, &whole);
        whole = Value::Object(members);
    }
    whole
}

/// The values that a schema names at one place, where guards speak of it.
fn of_schema(schema: &Value, example: &Value, words: &GuardWords) -> Vec<Variant> {
    let mut looking = SchemaValues {
        root: schema,
        words,
        found: Vec::new(),
    };
    looking.members(schema, example, &mut Vec::new());
    looking.found
}

struct SchemaValues<'a> {
    root: &'a Value,
    words: &'a GuardWords,
    found: Vec<Variant>,
}

impl<'a> SchemaValues<'a> {
    fn members(&mut self, schema: &'a Value, example: &Value, path: &mut Vec<SchemaStep>) {
        for part in self.parts(schema) {
            let Some(properties) = part.get("properties").and_then(Value::as_object) else {
                continue;
            };
            for (key, property) in properties {
                if self.found.len() > MOST || !self.words.mentions(key) {
                    continue;
                }
                let there = example.get(key).unwrap_or(&Value::Null);
                path.push(SchemaStep {
                    key: key.clone(),
                    beside: Value::Null,
                });
                for value in self.values(property, there, path.len()) {
                    self.found.push(Variant(below(path, value)));
                }
                if path.len() < DEEPEST {
                    // Where the whole object is new, it has what it must have.
                    let least = self.least(property, MOST_NESTED);
                    let is_new = there.is_null() && least.is_object();
                    if let Some(step) = path.last_mut().filter(|_| is_new) {
                        step.beside = least.clone();
                    }
                    self.members(property, if is_new { &least } else { there }, path);
                }
                path.pop();
            }
        }
    }

    /// Values that this part of the schema may have.
    fn values(&self, schema: &'a Value, example: &Value, depth: usize) -> Vec<Value> {
        let mut found = Vec::new();
        for part in self.parts(schema) {
            if let Some(choices) = part.get("enum").and_then(Value::as_array) {
                found.extend(choices.iter().cloned());
                continue;
            }
            if let Some(only) = part.get("const") {
                found.push(only.clone());
                continue;
            }
            let types = match part.get("type") {
                Some(Value::String(one)) => vec![one.as_str()],
                Some(Value::Array(some)) => some.iter().filter_map(Value::as_str).collect(),
                _ => Vec::new(),
            };
            for of_type in types {
                match of_type {
                    "boolean" => found.extend([json!(true), json!(false)]),
                    "integer" | "number" => {
                        found.extend(self.words.numbers.iter().flat_map(|number| near(*number)));
                        found.extend([json!(0), json!(1)]);
                    }
                    "string" => found.extend(self.words.texts.iter().map(|text| json!(text))),
                    "array" => {
                        found.push(json!([]));
                        found.extend(self.lists(part, example, depth));
                    }
                    "object" if depth < DEEPEST => {
                        found.extend(self.objects(part, example, depth));
                    }
                    _ => {}
                }
            }
        }
        found.retain(|value| value != example);
        found.truncate(MOST_OF_ONE);
        found
    }

    /// Lists of one item.
    fn lists(&self, schema: &'a Value, example: &Value, depth: usize) -> Vec<Value> {
        let Some(items) = schema.get("items").filter(|_| depth < DEEPEST) else {
            return Vec::new();
        };
        let first = example.get(0).cloned().unwrap_or(Value::Null);
        let mut found: Vec<Value> = Vec::new();
        let described = self.parts(items).into_iter();
        let objects = described.filter(|part| part.get("properties").is_some());
        for part in objects {
            for object in self.objects(part, &first, depth) {
                found.push(json!([object]));
            }
        }
        if found.is_empty() {
            found.extend(
                self.values(items, &first, depth + 1)
                    .into_iter()
                    .take(4)
                    .map(|value| json!([value])),
            );
            found.push(json!(["a text"]));
        }
        found
    }

    /// Objects with what is required, and with one more member that guards speak of.
    fn objects(&self, schema: &'a Value, example: &Value, depth: usize) -> Vec<Value> {
        let least = self.least(schema, MOST_NESTED);
        let mut bases = vec![least];
        if example.is_object() && !bases.contains(example) {
            bases.push(example.clone());
        }
        let mut found = bases.clone();
        let properties = schema.get("properties").and_then(Value::as_object);
        for (key, property) in properties.into_iter().flatten() {
            if !self.words.mentions(key) {
                continue;
            }
            for value in self
                .values(property, &Value::Null, depth + 1)
                .into_iter()
                .take(12)
            {
                for base in &bases {
                    let mut object = base.clone();
                    object[key.as_str()] = value.clone();
                    found.push(object);
                }
            }
        }
        found
    }

    /// The least value of a schema: what it requires, and nothing else.
    fn least(&self, schema: &'a Value, deep: usize) -> Value {
        for part in self.parts(schema) {
            if let Some(first) = part.get("enum").and_then(|choices| choices.get(0)) {
                return first.clone();
            }
            if let Some(only) = part.get("const") {
                return only.clone();
            }
            let required = part.get("required").and_then(Value::as_array);
            let of_type = match part.get("type") {
                Some(Value::Array(some)) => some.first().and_then(Value::as_str),
                one => one.and_then(Value::as_str),
            };
            match of_type {
                Some("object") | None if part.get("properties").is_some() => {
                    let mut members = Map::new();
                    let names = required.into_iter().flatten().filter_map(Value::as_str);
                    for name in names.filter(|_| deep > 0) {
                        let property = part.get("properties").and_then(|all| all.get(name));
                        let value = property.map(|property| self.least(property, deep - 1));
                        members.insert(name.to_owned(), value.unwrap_or(json!("a text")));
                    }
                    return Value::Object(members);
                }
                Some("object") => return json!({}),
                Some("array") => {
                    let is_empty = part.get("minItems").and_then(Value::as_u64).unwrap_or(0) == 0;
                    let item = part.get("items").filter(|_| !is_empty && deep > 0);
                    return match item {
                        Some(item) => json!([self.least(item, deep - 1)]),
                        None => json!([]),
                    };
                }
                Some("boolean") => return json!(true),
                Some("integer" | "number") => return json!(1),
                Some("null") => return Value::Null,
                Some(_) => {
                    let word = |key: &str| part.get(key).and_then(Value::as_str);
                    return match (word("format"), word("pattern")) {
                        (Some("date-time"), _) => json!("2026-01-01T00:00:00Z"),
                        (Some("date"), _) => json!("2026-01-01"),
                        (_, Some(pattern)) => json!(text_of_pattern(pattern)),
                        _ => json!("a text"),
                    };
                }
                None => {}
            }
        }
        json!("a text")
    }

    /// A schema with what it refers to and the forms among which it chooses.
    fn parts(&self, schema: &'a Value) -> Vec<&'a Value> {
        let mut found = Vec::new();
        add_parts(self.root, schema, DEEPEST, &mut found);
        found
    }
}

fn add_parts<'s>(root: &'s Value, schema: &'s Value, deep: usize, found: &mut Vec<&'s Value>) {
    let Some(here) = resolved(root, schema) else {
        return;
    };
    found.push(here);
    for key in ["allOf", "anyOf", "oneOf"] {
        let forms = here.get(key).and_then(Value::as_array);
        for form in forms.into_iter().flatten().filter(|_| deep > 0) {
            add_parts(root, form, deep - 1, found);
        }
    }
}

/// A schema, or what it refers to.
fn resolved<'s>(root: &'s Value, schema: &'s Value) -> Option<&'s Value> {
    let mut here = schema;
    for _ in 0..16 {
        let Some(target) = here.get("$ref").and_then(Value::as_str) else {
            return Some(here);
        };
        here = root.pointer(target.strip_prefix('#')?)?;
    }
    None
}

/// What a schema requires and nothing else, for an artifact whose schema has no example.
#[must_use]
pub fn least_value(schema: &Value) -> Value {
    let words = GuardWords::default();
    let looking = SchemaValues {
        root: schema,
        words: &words,
        found: Vec::new(),
    };
    looking.least(schema, MOST_NESTED)
}

/// A text that a regular expression of a schema matches, if the expression is a plain one: characters, classes and how often
/// they occur.
fn text_of_pattern(pattern: &str) -> String {
    let inner = pattern.trim_start_matches('^').trim_end_matches('$');
    let mut text = String::new();
    let mut chars = inner.chars().peekable();
    while let Some(char) = chars.next() {
        let one = match char {
            '\\' => match chars.next() {
                Some('d') => '1',
                Some('S' | 'w') | None => 'a',
                Some('s') => ' ',
                Some(other) => other,
            },
            '[' => {
                let class: String = chars.by_ref().take_while(|inner| *inner != ']').collect();
                class
                    .chars()
                    .next()
                    .filter(|first| *first != '^')
                    .unwrap_or('a')
            }
            '.' => 'a',
            '(' | ')' => continue,
            other => other,
        };
        let least = match chars.peek() {
            Some('{') => {
                let count: String = chars
                    .by_ref()
                    .skip(1)
                    .take_while(|inner| *inner != '}')
                    .collect();
                let least = count.split(',').next().and_then(|least| least.parse().ok());
                least.unwrap_or(1)
            }
            Some('+') => {
                chars.next();
                1
            }
            Some('*' | '?') => {
                chars.next();
                0
            }
            _ => 1,
        };
        text.extend(std::iter::repeat_n(one, least));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_match_plain_patterns() {
        for (pattern, text) in [
            ("^task-[A-Za-z0-9-]{1,40}$", "task-A"),
            ("^H[0-9]+$", "H0"),
            ("\\S", "a"),
            ("^[0-9a-f]{3}$", "000"),
            ("^a?b*c.$", "ca"),
        ] {
            assert_eq!(text_of_pattern(pattern), text, "{pattern}");
        }
    }

    #[test]
    fn front_matter_and_sections_are_changed_one_at_a_time() {
        let text =
            "---\nid: t\nstatus: To Do\nlabels:\n  - a\n---\n## One\n\nstatus: no\n\n## Two\n\nb\n";
        let keys: Vec<&str> = front_matter_keys(text).collect();
        assert_eq!(keys, ["id", "status", "labels"]);
        assert_eq!(front_matter_keys("status: a\n---\n").count(), 0);
        assert_eq!(
            with_front_matter(text, "status", "Done"),
            text.replacen("To Do", "Done", 1)
        );
        assert_eq!(
            without_sections(text),
            [text.replace("\nstatus: no\n", ""), text.replace("b\n", "")]
        );
    }

    #[test]
    fn the_least_value_has_what_is_required_and_nothing_else() {
        let schema = json!({"type": "object", "required": ["a", "b", "c"], "properties": {
            "a": {"enum": ["x", "y"]}, "b": {"$ref": "#/$defs/b"}, "c": {"type": "array", "items": {"type": "string"}},
            "d": {"type": "string"}}, "$defs": {"b": {"type": "object", "required": ["n"], "properties": {
            "n": {"type": "array", "minItems": 1, "items": {"type": "string", "pattern": "^H[0-9]+$"}}}}}});
        assert_eq!(
            least_value(&schema),
            json!({"a": "x", "b": {"n": ["H0"]}, "c": []})
        );
    }
}
