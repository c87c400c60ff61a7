//! The types of the names in guards: what the formats, the schemas and the expressions of a workflow say of them.

use super::guard::{ITEM, Names, NoValue, Types, spelled};
use super::place::source_offset;
use super::{
    AFTER, APPROVALS, Artifact, CHILDREN, Document, Format, Guard, ImportValue, SchemaText,
    VERIFIED, Workflow, schema_field,
};
use orch_base::pointer::child;
use orch_base::{Code, Diagnostic, Hint, nearest};
use serde_json::Value;

const BOOL: Types = Types::BOOL;
const NUMBER: Types = Types::NUMBER;
const WHOLE: Types = Types::WHOLE;
const TEXT: Types = Types::TEXT;
const LIST: Types = Types::LIST;
const MAP: Types = Types::MAP;
const NULL: Types = Types::NULL;
const ANY: Types = Types::ANY;

/// The paths in `data` and their types. A segment `*` stands for every key of a map.
type Members = &'static [(&'static str, Types)];

/// What committed code has; see `survey::code`.
const TREE: Members = &[
    ("commits", LIST),
    ("files", LIST),
    ("files.[]", TEXT),
    ("confirmed", BOOL),
];

const MARKDOWN: Members = &[
    ("front_matter", MAP.or(NULL)),
    ("title", TEXT.or(NULL)),
    ("headings", LIST),
    ("headings.[]", MAP),
    ("headings.[].level", WHOLE),
    ("headings.[].text", TEXT),
    ("headings.[].line", WHOLE),
    ("headings.[].form", TEXT),
    ("boxes", MAP),
    ("boxes.total", WHOLE),
    ("boxes.done", WHOLE),
    ("boxes.open", WHOLE),
    ("boxes.signs", MAP),
    ("boxes.signs.*", WHOLE),
    ("boxes.items", LIST),
    ("boxes.items.[]", MAP),
    ("boxes.items.[].text", TEXT),
    ("boxes.items.[].done", BOOL),
    ("boxes.items.[].sign", TEXT),
    ("boxes.items.[].line", WHOLE),
    ("words", WHOLE),
    ("fields", MAP),
    ("fields.*", TEXT),
    ("named_lines", MAP),
    ("named_lines.*", TEXT),
    ("section_names", MAP),
    ("section_names.*", TEXT),
    ("placeholders", LIST),
    ("placeholders.[]", MAP),
    ("placeholders.[].kind", TEXT),
    ("placeholders.[].text", TEXT),
    ("placeholders.[].line", WHOLE),
    ("sections", MAP),
    ("sections.*", MAP),
    ("sections.*.level", WHOLE),
    ("sections.*.line", WHOLE),
    ("sections.*.form", TEXT),
    ("sections.*.text", TEXT),
    ("sections.*.lead", TEXT),
    ("sections.*.within", TEXT.or(NULL)),
    ("sections.*.subsections", LIST),
    ("sections.*.subsections.[]", TEXT),
    ("sections.*.words", WHOLE),
    ("sections.*.boxes", MAP),
    ("sections.*.boxes.total", WHOLE),
    ("sections.*.boxes.done", WHOLE),
    ("sections.*.boxes.open", WHOLE),
    ("sections.*.boxes.signs", MAP),
    ("sections.*.boxes.signs.*", WHOLE),
    ("sections.*.boxes.items", LIST),
    ("sections.*.boxes.items.[]", MAP),
    ("sections.*.boxes.items.[].text", TEXT),
    ("sections.*.boxes.items.[].done", BOOL),
    ("sections.*.boxes.items.[].sign", TEXT),
    ("sections.*.boxes.items.[].line", WHOLE),
    ("sections.*.fields", MAP),
    ("sections.*.fields.*", TEXT),
    ("sections.*.named_lines", MAP),
    ("sections.*.named_lines.*", TEXT),
];
const JUNIT: Members = &[
    ("tests", WHOLE),
    ("failures", WHOLE),
    ("errors", WHOLE),
    ("skipped", WHOLE),
    ("time", NUMBER.or(NULL)),
    ("suites", LIST),
    ("failed", LIST),
    ("failed.[]", TEXT),
    ("failed_tests", LIST),
    ("failed_tests.[]", MAP),
    ("failed_tests.[].name", TEXT),
    ("failed_tests.[].message", TEXT),
    ("failed_tests.[].file", TEXT),
    ("failed_tests.[].line", WHOLE),
];
const PLAIN: Members = &[("bytes", WHOLE), ("lines", LIST), ("lines.[]", TEXT)];
const PATCH: Members = &[
    ("files", LIST),
    ("files.[]", TEXT),
    ("added", WHOLE),
    ("removed", WHOLE),
    ("bytes", WHOLE),
    ("lines", WHOLE),
];

/// What the format alone says of `data`: its type, and its members; `None` if the file decides.
fn members(format: Format) -> Option<(Types, Members)> {
    Some(match format {
        Format::Json | Format::Yaml | Format::Toml => return None,
        Format::Jsonl => (LIST, &[("[]", ANY)]),
        Format::Csv => (LIST, &[("[]", MAP)]),
        Format::Markdown => (MAP, MARKDOWN),
        Format::Junit => (MAP, JUNIT),
        Format::Text => (MAP, PLAIN),
        Format::Patch => (MAP, PATCH),
    })
}

/// Warnings about all guards and other expressions of a workflow that use values in ways that do not fit.
pub(super) fn check_types(document: &Document, workflow: &Workflow) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    let mut known = GuardNames {
        workflow,
        facts: Vec::new(),
        defines: Vec::new(),
    };
    for artifact in &workflow.artifacts {
        let names = FactNames {
            known: &known,
            artifact,
        };
        let types = artifact
            .facts
            .iter()
            .map(|(_, fact)| checked(document, fact, &names, &mut findings));
        let types = types.collect();
        known.facts.push(types);
    }
    for (_, define) in &workflow.defines {
        let types = checked(document, define, &known, &mut findings);
        known.defines.push(types);
    }
    findings.extend(doubled(document, workflow, &known.defines));
    for guard in conditions(workflow) {
        let types = checked(document, guard, &known, &mut findings);
        if guard.types().meets(BOOL) && !types.meets(BOOL) {
            let message = format!("the guard yields {types}, not true or false");
            let hint = "compare the value, for example with `== 0`";
            findings.push(finding(document, guard, 0, message, Some(hint.to_owned())));
        }
    }
    for guard in values(workflow) {
        checked(document, guard, &known, &mut findings);
    }
    if let Some(guard) = &workflow.names {
        let types = checked(document, guard, &known, &mut findings);
        if guard.types().meets(LIST) && !types.meets(LIST) {
            let message = format!("`names` yields {types}, not a list of paths");
            let hint = "name a list of texts, for example `plan.paths`";
            findings.push(finding(document, guard, 0, message, Some(hint.to_owned())));
        }
    }
    if let Some(import) = &workflow.state.import {
        let computed = import.data.iter().filter_map(|(_, value)| match value {
            ImportValue::Computed(guard) => Some(guard),
            ImportValue::Copy(_) => None,
        });
        for guard in import
            .defines
            .iter()
            .map(|(_, guard)| guard)
            .chain(computed)
        {
            checked(document, guard, &OriginalNames, &mut findings);
        }
    }
    findings
}

/// How often a definition may contain the value of another one.
const MOST_CONTAINED: u64 = 10_000;

/// The first definition that grows without end: it contains another one twice, which contains another one twice, and so on.
fn doubled(document: &Document, workflow: &Workflow, types: &[Types]) -> Option<Diagnostic> {
    let small = BOOL.or(NUMBER).or(NULL);
    let mut sizes: Vec<u64> = Vec::new();
    for (nth, (name, define)) in workflow.defines.iter().enumerate() {
        let mut size = 0_u64;
        for (earlier, (other, _)) in workflow.defines[..nth].iter().enumerate() {
            let contained = define.mentions(other).saturating_mul(sizes[earlier]);
            size = size.saturating_add(contained);
        }
        if types[nth].is_within(small) {
            size = 1;
        }
        if size > MOST_CONTAINED {
            let message = format!(
                "`{name}` may contain the values of earlier definitions {size} times, and then has no value"
            );
            let hint = "name each definition once: what an expression makes is limited".to_owned();
            return Some(finding(document, define, 0, message, Some(hint)));
        }
        sizes.push(size.max(1));
    }
    None
}

/// The types of an expression. Adds what does not fit to `findings`.
fn checked(
    document: &Document,
    guard: &Guard,
    names: &dyn Names,
    findings: &mut Vec<Diagnostic>,
) -> Types {
    let (types, faults) = guard.typed(names);
    let faults = faults.into_iter();
    findings.extend(
        faults.map(|fault| finding(document, guard, fault.offset, fault.message, fault.hint)),
    );
    types
}

fn finding(
    document: &Document,
    guard: &Guard,
    offset: usize,
    message: String,
    hint: Option<String>,
) -> Diagnostic {
    let span = guard.span();
    let start = span.start + source_offset(&document.text[span], guard.source(), offset);
    let warning = Diagnostic::warning(Code::GuardType, message).at(document.place(start, 1));
    Diagnostic {
        hint: hint.map(Hint::from),
        ..warning
    }
}

/// The expressions that must yield true or false.
fn conditions(workflow: &Workflow) -> impl Iterator<Item = &Guard> {
    let actions = workflow
        .actions
        .iter()
        .flat_map(|action| [&action.when, &action.ensures]);
    workflow.rules.iter().map(|rule| &rule.when).chain(actions)
}

/// The other expressions, apart from facts and definitions.
fn values(workflow: &Workflow) -> impl Iterator<Item = &Guard> {
    let asks = workflow
        .asks
        .iter()
        .flat_map(|ask| ask.options.iter().chain(&ask.default).chain(&ask.set));
    let rules = workflow.rules.iter().flat_map(|rule| &rule.set);
    let shown = workflow
        .phases
        .iter()
        .flat_map(|phase| phase.substate.iter().chain(&phase.remarks));
    let naming = workflow
        .artifacts
        .iter()
        .filter_map(|artifact| artifact.named_by.as_ref());
    asks.chain(rules)
        .chain(&workflow.state.rebuild)
        .map(|(_, guard)| guard)
        .chain(shown)
        .chain(naming)
}

/// What a schema says of the value at a path.
fn types_by_schema(schema: Option<&SchemaText>, path: &[&str]) -> Types {
    schema
        .and_then(SchemaText::value)
        .map_or(ANY, |schema| described(schema, path))
}

/// What is known of the names in guards. Definitions and facts that are not typed yet may be anything.
struct GuardNames<'a> {
    workflow: &'a Workflow,
    /// The types of the facts of each artifact.
    facts: Vec<Vec<Types>>,
    defines: Vec<Types>,
}

impl Names for GuardNames<'_> {
    fn types(&self, path: &[String]) -> Result<Types, NoValue> {
        let words: Vec<&str> = path.iter().map(String::as_str).collect();
        Ok(match words.as_slice() {
            ["attempt"] => WHOLE,
            ["phase" | "task"] => TEXT,
            ["run", "mode" | "chosen"] => TEXT,
            ["run", "errors" | "max_errors"] => WHOLE,
            ["action", _, "done"] => WHOLE,
            ["action", _, "skipped"] => BOOL,
            [AFTER | CHILDREN] if !self.is_own(words[0]) => LIST,
            [AFTER | CHILDREN, rest @ ..] if !self.is_own(words[0]) => {
                return other_task_types(rest);
            }
            [VERIFIED, _, rest @ ..] if !self.is_own(VERIFIED) => verified_types(rest),
            [APPROVALS, _, "count" | "needed"] if self.sees_approvals() => WHOLE,
            [APPROVALS, _, _] if self.sees_approvals() => LIST,
            ["state", rest @ ..] => types_by_schema(self.workflow.state.schema.as_ref(), rest),
            [root, rest @ ..] => {
                let artifacts = &self.workflow.artifacts;
                if let Some(index) = artifacts
                    .iter()
                    .position(|artifact| artifact.name.as_str() == *root)
                {
                    return self.artifact(index, rest);
                }
                let define = self
                    .workflow
                    .defines
                    .iter()
                    .position(|(name, _)| name == root);
                define
                    .filter(|_| rest.is_empty())
                    .and_then(|at| self.defines.get(at))
                    .copied()
                    .unwrap_or(ANY)
            }
            [] => ANY,
        })
    }
}

/// The types below a list of other tasks in a guard.
fn other_task_types(path: &[&str]) -> Result<Types, NoValue> {
    const MEMBERS: [&str; 5] = ["id", "phase", "done", "failed", "workflow"];
    match path {
        [ITEM] => Ok(MAP),
        [ITEM, "done" | "failed"] => Ok(BOOL),
        [ITEM, "id" | "phase" | "workflow"] => Ok(TEXT),
        [ITEM, other, ..] => Err(NoValue {
            message: format!("another task has no `{other}` here"),
            hint: match nearest(other, MEMBERS) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("it has {}", MEMBERS.join(", ")),
            },
        }),
        _ => Ok(ANY),
    }
}

/// The types below a verification in a guard.
fn verified_types(path: &[&str]) -> Types {
    match path {
        [] | ["base"] | ["failed", ITEM] => MAP,
        ["base", rest @ ..] => verified_types(rest),
        ["defined" | "present" | "passed" | "fresh"] => BOOL,
        ["exit"] => WHOLE.or(NULL),
        ["tests" | "failures"] => WHOLE,
        ["failed" | "new" | "known" | "lost" | "flaky"] => LIST,
        ["failed", ITEM, "line"] => WHOLE.or(NULL),
        ["failed", ITEM, "message" | "file"] => TEXT.or(NULL),
        ["failed", ITEM, "name"] | ["new" | "known" | "lost" | "flaky", ITEM] => TEXT,
        _ => ANY,
    }
}

impl GuardNames<'_> {
    /// Whether `approvals` is what people said, and no name of the workflow's own.
    fn sees_approvals(&self) -> bool {
        self.workflow.asks_for_approvals() && !self.is_own(APPROVALS)
    }

    /// Whether the workflow has a name of its own that is also one of `orch`.
    fn is_own(&self, name: &str) -> bool {
        self.workflow.has_own(name)
    }

    fn artifact(&self, index: usize, path: &[&str]) -> Result<Types, NoValue> {
        let artifact = &self.workflow.artifacts[index];
        Ok(match path {
            ["present" | "valid" | "fresh" | "ready" | "changed"] => BOOL,
            ["digest" | "path"] => TEXT.or(NULL),
            ["count"] => WHOLE,
            ["all" | "problems" | "not_counted"] => LIST,
            ["not_counted", ITEM] => MAP,
            ["not_counted", ITEM, "path" | "because"] => TEXT,
            ["all", ITEM] => MAP,
            ["all", ITEM, "path"] => TEXT,
            ["all", ITEM, "valid" | "fresh" | "ready"] => BOOL,
            ["all", ITEM, "author"] => TEXT.or(NULL),
            ["all", ITEM, "data", rest @ ..] => return self.data(index, rest),
            ["data", rest @ ..] => return self.data(index, rest),
            [fact] => {
                let at = artifact.facts.iter().position(|(name, _)| name == fact);
                at.and_then(|at| self.facts.get(index)?.get(at))
                    .copied()
                    .unwrap_or(ANY)
            }
            _ => ANY,
        })
    }

    /// The types of a value in the data of an artifact.
    fn data(&self, index: usize, path: &[&str]) -> Result<Types, NoValue> {
        let artifact = &self.workflow.artifacts[index];
        let by_schema = types_by_schema(artifact.schema.as_ref(), path);
        let of_format = members(artifact.format).filter(|_| artifact.pattern_count() > 0);
        let Some((root, of_format)) = of_format else {
            return Ok(by_schema);
        };
        if path.is_empty() {
            return Ok(root.or(NULL));
        }
        let of_tree = if artifact.tree.is_some() { TREE } else { &[] };
        let known: Vec<&(&str, Types)> = of_format.iter().chain(of_tree).collect();
        if let Some((_, types)) = known
            .iter()
            .find(|(known, _)| stands_above(known, path) == Some(0))
        {
            return Ok(*types);
        }
        // What lies below a member that is described no further.
        let open = known.iter().any(|(known, types)| {
            stands_above(known, path).is_some()
                && (*types == LIST || types.meets(MAP) && is_open(known, of_format))
        });
        if open || path.contains(&ITEM) {
            return Ok(by_schema);
        }
        // The first segment that is not known, below those that are.
        let depth = (1..path.len()).rev().find(|depth| {
            known
                .iter()
                .any(|(known, _)| stands_above(known, &path[..*depth]) == Some(0))
        });
        let above = &path[..depth.unwrap_or_default()];
        let member = path[depth.unwrap_or_default()];
        let mut siblings = Vec::new();
        for (known, _) in known {
            let (of, member) = known.rsplit_once('.').unwrap_or(("", known));
            let is_sibling = if of.is_empty() {
                above.is_empty()
            } else {
                stands_above(of, above) == Some(0)
            };
            if is_sibling {
                siblings.push(member);
            }
        }
        Err(missing(artifact, above, member, siblings.into_iter()))
    }
}

/// How many segments of a path follow a known path above it; `None` if that is not above it.
fn stands_above(known: &str, path: &[&str]) -> Option<usize> {
    let mut rest = path.iter();
    for segment in known.split('.') {
        if !rest
            .next()
            .is_some_and(|name| *name == segment || segment == "*" && *name != ITEM)
        {
            return None;
        }
    }
    Some(rest.len())
}

/// Whether the members of a map are not listed.
fn is_open(map: &str, members: Members) -> bool {
    !members.iter().any(|(member, _)| {
        member
            .strip_prefix(map)
            .is_some_and(|rest| rest.starts_with('.'))
    })
}

/// Why the data of an artifact never has a member.
fn missing(
    artifact: &Artifact,
    above: &[&str],
    member: &str,
    known: impl Iterator<Item = &'static str>,
) -> NoValue {
    let known: Vec<&str> = known.filter(|name| *name != ITEM).collect();
    let path = artifact.paths.first().map_or("", String::as_str);
    let extension = path
        .rsplit_once('/')
        .map_or(path, |(_, name)| name)
        .rsplit_once('.')
        .map(|(_, last)| last);
    let name = &artifact.name;
    let format = artifact.format;
    if format == Format::Text && Format::of_extension(extension.unwrap_or_default()).is_none() {
        let read = match extension {
            Some(extension) => format!("files with the extension `.{extension}`"),
            None => format!("`{path}`"),
        };
        let message = format!("`{name}` has no `{member}`: {read} are read as text");
        let hint = format!(
            "set `format` of `{name}` to one of {}; text has {}",
            Format::ALL.map(Format::as_str).join(", "),
            known.join(" and ")
        );
        return NoValue { message, hint };
    }
    let hint = match nearest(member, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "its data is a list".to_owned(),
        None => format!("its data has {}", known.join(", ")),
    };
    let of = match above {
        [] => format!("the data of `{name}`"),
        _ => format!(
            "`{}` in the data of `{name}`",
            spelled(&above.iter().map(ToString::to_string).collect::<Vec<_>>())
        ),
    };
    NoValue {
        message: format!("{of}, which is {}, has no `{member}`", format.as_str()),
        hint,
    }
}

/// What the expressions of `[state.import]` see: a file of which nothing is known.
struct OriginalNames;

impl Names for OriginalNames {
    fn types(&self, _path: &[String]) -> Result<Types, NoValue> {
        Ok(ANY)
    }
}

/// What the named facts of an artifact see: its own data and files.
struct FactNames<'a> {
    known: &'a GuardNames<'a>,
    artifact: &'a Artifact,
}

impl Names for FactNames<'_> {
    fn types(&self, path: &[String]) -> Result<Types, NoValue> {
        let mut full = vec![self.artifact.name.to_string()];
        full.extend_from_slice(path);
        self.known.types(&full)
    }
}

/// The types of a value, as far as a schema says.
fn described(schema: &Value, path: &[&str]) -> Types {
    let pointer = path
        .iter()
        .fold(String::new(), |pointer, segment| child(&pointer, segment));
    schema_field(schema, &pointer).map_or(ANY, types_of)
}

/// The types that a part of a schema allows.
fn types_of(field: &Value) -> Types {
    match (field.get("type"), field.get("const"), field.get("enum")) {
        (Some(Value::Array(names)), ..) => any_of(names, type_named),
        (Some(name), ..) => type_named(name),
        (None, Some(value), _) => types_of_value(value),
        (None, None, Some(Value::Array(values))) => any_of(values, types_of_value),
        (None, None, _) => ANY,
    }
}

/// The types that one of these values allows.
fn any_of(values: &[Value], of: fn(&Value) -> Types) -> Types {
    values.iter().map(of).reduce(Types::or).unwrap_or(ANY)
}

fn type_named(name: &Value) -> Types {
    match name.as_str() {
        Some("boolean") => BOOL,
        Some("integer") => WHOLE,
        Some("number") => NUMBER,
        Some("string") => TEXT,
        Some("array") => LIST,
        Some("object") => MAP,
        Some("null") => NULL,
        _ => ANY,
    }
}

fn types_of_value(value: &Value) -> Types {
    match value {
        Value::Null => NULL,
        Value::Bool(_) => BOOL,
        Value::Number(number) if number.is_f64() => NUMBER,
        Value::Number(_) => WHOLE,
        Value::String(_) => TEXT,
        Value::Array(_) => LIST,
        Value::Object(_) => MAP,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::{System, compile};

    /// The findings about one guard, over an artifact with a schema and a state with one.
    fn findings(guard: &str) -> Vec<String> {
        let text = format!(
            r#"
```toml orch
[state]
schema = "state"
[artifact.plan]
path = "plan.json"
schema = "plan"
[phase.start]
produces = ["plan"]
[phase.done]
terminal = true
[[rule]]
id = "go"
from = "start"
when = "plan.ready && ({guard})"
to = "done"
because = "it is time"
```
"#
        );
        let plan = r##"{"properties": {"n": {"type": "integer"}, "kind": {"enum": ["a", "b"]}, "v": {"const": 1},
            "score": {"type": "number"}, "maybe": {"type": ["string", "null"]}, "all": {"items": {"$ref": "#/$defs/one"}, "type": "array"}},
            "$defs": {"one": {"type": "object", "properties": {"ok": {"type": "boolean"}}}}}"##;
        let system = System::empty().with("schemas/plan.schema.json", plan).with(
            "schemas/state.schema.json",
            r#"{"properties": {"rounds": {"type": "integer"}}}"#,
        );
        let document = Document::new("w".to_owned(), "w.md".to_owned(), text);
        let (workflow, problems) = compile(&document, &system);
        let workflow = workflow.unwrap_or_else(|| panic!("{problems:?}"));
        check_types(&document, &workflow)
            .into_iter()
            .map(|finding| finding.message)
            .collect()
    }

    /// Each finding about numbers has the place of what is computed, and the right form as its hint.
    #[test]
    fn a_share_of_whole_numbers_is_placed_and_has_a_right_form() {
        let text = r#"
```toml orch
[artifact.junit]
path = "junit.xml"
[define]
share = "junit.data.failures / junit.data.tests"
[phase.start]
produces = ["junit"]
[phase.done]
terminal = true
[[rule]]
id = "go"
from = "start"
when = "junit.ready && share < 0.1 && junit.data.failures / junit.data.tests < 0.1"
to = "done"
because = "it is time"
```
"#;
        let document = Document::new("w".to_owned(), "w.md".to_owned(), text.to_owned());
        let (workflow, problems) = compile(&document, &System::empty());
        let workflow = workflow.unwrap_or_else(|| panic!("{problems:?}"));
        let found: Vec<String> = check_types(&document, &workflow)
            .into_iter()
            .map(|finding| {
                let place = finding.place.expect("a place").to_string();
                format!("{place} {}", finding.hint.unwrap_or_default())
            })
            .collect();
        assert_eq!(
            found,
            [
                "w.md:14:24 in its definition, write `double(a) / double(b)` for `a / b`",
                "w.md:14:39 write `double(junit.data.failures) / double(junit.data.tests)`",
            ]
        );
    }

    #[test]
    fn a_definition_that_doubles_is_told() {
        let mut defines = "d0 = \"'x' + task\"\n".to_owned();
        for nth in 1..=24 {
            let before = nth - 1;
            defines.push_str(&format!("d{nth} = \"d{before} + d{before}\"\n"));
        }
        let text = format!(
            "```toml orch\n[define]\n{defines}[phase.start]\n[phase.done]\nterminal = true\n[[rule]]\nid = \"go\"\n\
             from = \"start\"\nwhen = \"size(d24) > 0\"\nto = \"done\"\nbecause = \"it is time\"\n```\n"
        );
        let document = Document::new("w".to_owned(), "w.md".to_owned(), text);
        let (workflow, problems) = compile(&document, &System::empty());
        let workflow = workflow.unwrap_or_else(|| panic!("{problems:?}"));
        let found = check_types(&document, &workflow);
        let [only] = found.as_slice() else {
            panic!("not one finding: {found:?}");
        };
        assert!(only.message.starts_with("`d14` may contain"), "{only}");
        assert_eq!(only.place.as_ref().and_then(|place| place.line), Some(17));
    }

    #[test]
    fn schemas_tell_the_types_of_data_and_state() {
        for (guard, expected) in [
            (
                "plan.data.n > 1 && plan.data.kind == 'a' && state.rounds < 3",
                &[][..],
            ),
            (
                "plan.data.maybe == null && plan.data.unknown == 1 && state.other == 'x'",
                &[],
            ),
            (
                "plan.data.all.exists(one, one.ok) && plan.data.all.all(one, has(one.why))",
                &[],
            ),
            ("plan.data.n == 'a'", &["a number is never equal to text"]),
            (
                "plan.data.kind == 1 || plan.data.v == 'a'",
                &[
                    "text is never equal to a number",
                    "a number is never equal to text",
                ],
            ),
            (
                "plan.data.all.exists(one, one.ok > 1)",
                &["`>` does not work with true or false and a number"],
            ),
            (
                "state.rounds.contains('a')",
                &["`contains` does not work with a number and text"],
            ),
            ("size(plan.data.maybe) > 0", &[]),
            (
                "plan.data.n / plan.count < 0.1 && 0.8 <= state.other / state.rounds",
                &[
                    "the division `plan.data.n / plan.count` of whole numbers leaves no fraction: 3 / 4 is 0, and 3.0 / 4.0 is 0.75",
                    "the division `state.other / state.rounds` of whole numbers leaves no fraction: 3 / 4 is 0, and 3.0 / 4.0 is 0.75",
                ],
            ),
            (
                "double(size(plan.all) / plan.count) > 0.5 || plan.data.n / plan.count * 100 > 10",
                &[
                    "the division `size(plan.all) / plan.count` of whole numbers leaves no fraction: 3 / 4 is 0, and 3.0 / 4.0 is 0.75",
                    "the division `plan.data.n / plan.count` of whole numbers leaves no fraction: 3 / 4 is 0, and 3.0 / 4.0 is 0.75",
                ],
            ),
            (
                "double(plan.data.n) / double(plan.count) < 0.1 && plan.data.n / 2 * 2 == plan.data.n && plan.data.n / plan.count > 1",
                &[],
            ),
            (
                "plan.data.score + 1 > 2.5 || plan.data.score * 0.5 > 2 || plan.data.score > 2 || plan.data.score != 0.5",
                &[
                    "`plan.data.score` may be written with or without a fraction, and `+` does not work with a whole number and a fraction",
                    "`plan.data.score` may be written with or without a fraction, and `*` does not work with a whole number and a fraction",
                ],
            ),
            (
                "plan.data.n + 0.5 > 1.0",
                &["`+` does not work with a whole number and a fraction"],
            ),
            (
                "plan.data.kind.matches('^[a-z&&[^b]]$') && plan.data.kind.matches('[0-9]')",
                &["`&&` in a class is an operation on sets here, and text in RE2"],
            ),
            ("plan.count in [1] && plan.path.matches('^a')", &[]),
        ] {
            assert_eq!(findings(guard), expected, "{guard}");
        }
    }
}
