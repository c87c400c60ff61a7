//! Small documents with one fault each, and sound ones. `«` marks the place of a fault.

use super::{TypeMemo, check_types};
use crate::workflow::{Document, System, check, compile};
use orch_base::{Diagnostic, Place};

const PLAN: &str = r##"{
  "type": "object",
  "required": ["status", "n", "score", "title", "maybe", "items", "level", "id", "grade"],
  "additionalProperties": false,
  "properties": {
    "status": {"enum": ["draft", "final"]},
    "n": {"type": "integer"},
    "score": {"type": "number", "minimum": 0, "maximum": 10},
    "title": {"type": "string", "minLength": 1},
    "maybe": {"type": ["string", "null"]},
    "owner": {"type": "string"},
    "limit": {"type": "integer", "minimum": 1},
    "id": {"type": "string", "pattern": "^T-[0-9]+$"},
    "level": {"const": 2},
    "grade": {"enum": [1, 2, 3]},
    "either": {"type": ["string", "integer"]},
    "items": {"type": "array", "items": {"$ref": "#/$defs/item"}},
    "tags": {"type": "array", "items": {"enum": ["ui", "api"]}, "minItems": 1},
    "meta": {"type": "object", "properties": {"by": {"type": "string"}}, "additionalProperties": false},
    "scores": {"type": "array", "items": {"type": "integer"}}
  },
  "$defs": {"item": {"type": "object", "required": ["id"], "properties": {
    "id": {"type": "string"}, "severity": {"enum": ["minor", "blocking"]}, "done": {"type": "boolean"}}}}
}"##;

/// Alternatives, conditions and members that nobody declared: of these, nothing is said.
const OPEN: &str = r#"{
  "type": "object",
  "properties": {"ok": {"type": "boolean"}, "all": {"type": "object", "required": ["ok"], "properties": {"ok": {"type": "boolean"}}},
    "why": {"type": "string"}, "kind": {"enum": ["a", "b"]}, "whole": {"type": "integer"}},
  "anyOf": [{"required": ["ok"]}, {"required": ["all"]}],
  "if": {"properties": {"kind": {"const": "a"}}}, "then": {"required": ["why"]},
  "required": ["kind", "whole"]
}"#;

const STATE: &str = r#"{"type": "object", "required": ["round"], "properties": {
  "round": {"type": "integer", "minimum": 0}, "mode": {"enum": ["fast", "full"]}, "last": {"type": "object"}}}"#;

/// A document of which a rule has this guard, and a definition this text.
fn document(define: &str, guard: &str) -> Document {
    let text = format!(
        r#"# A small workflow

```toml orch
[state]
schema = "state"
defaults = {{ round = 0 }}

[define]
sharp = """{define}"""

[artifact.plan]
path = "plan.json"
schema = "plan"

[artifact.plan.facts]
blocking = "data.items.filter(i, has(i.severity) && i.severity == 'blocking').size()"
settled = "data.status == 'final' && data.n > 0"

[artifact.open]
path = "open.json"
schema = "open"

[artifact.bare]
path = "bare.json"

[artifact.table]
path = "table.csv"

[artifact.junit]
path = "out/*.xml"
format = "junit"

[artifact.pages]
path = "pages/*.md"

[artifact.coverage]
path = "out/coverage.xml"
format = "cobertura"

[artifact.lint]
path = "out/lint.sarif"
format = "sarif"

[artifact.notes]
path = "notes.md"

[artifact.code]
path = "code.patch"
tree = ["src/**"]

[phase.begin]
produces = ["plan", "open", "bare", "table", "junit", "pages", "coverage", "lint", "notes", "code"]

[phase.work]

[phase.end]
terminal = true

[action.build]

[[rule]]
id = "go"
from = "begin"
when = """{guard}"""
to = "work"
because = "it is time"

[[rule]]
id = "build"
from = "work"
when = "run.errors < 3"
run = "build"
because = "it is to be built"

[[rule]]
id = "finish"
from = "work"
to = "end"
because = "it is finished"
```
"#
    );
    Document::new("w", "w.md", text)
}

fn system() -> System {
    System::empty()
        .with("schemas/plan.schema.json", PLAN)
        .with("schemas/open.schema.json", OPEN)
        .with("schemas/state.schema.json", STATE)
}

/// All findings about a document.
fn findings(document: &Document) -> Vec<Diagnostic> {
    let (workflow, mut problems) = compile(document, &system());
    let workflow = workflow.iter();
    problems.extend(
        workflow.flat_map(|workflow| check_types(document, workflow, &mut TypeMemo::default())),
    );
    problems
}

/// The place of the mark in a document, and the document without it.
fn unmarked(marked: &Document) -> (Document, Place) {
    let at = marked.text.find('«').expect("a mark");
    let plain = Document::new("w", "w.md", marked.text.replace('«', ""));
    let place = plain.place(at, 1);
    (plain, place)
}

/// What is found instead, if it is not just this finding at the mark.
fn unlike(marked: &Document, expected: (&str, &str)) -> Option<String> {
    let (plain, place) = unmarked(marked);
    let found = findings(&plain);
    let [only] = found.as_slice() else {
        return Some(format!("not one finding, but {found:#?}"));
    };
    let at = only.place.clone().expect("a place");
    let hint = only.hint.as_ref().map(ToString::to_string);
    let hint = hint.unwrap_or_default();
    let is_right = (at.line, at.column) == (place.line, place.column)
        && only.code.as_str() == expected.0
        && hint.contains(expected.1);
    (!is_right).then(|| format!("{only}; {hint}"))
}

/// The guard, the code of the finding, and part of the hint.
const FAULTY: &[(&str, &str, &str)] = &[
    // Names and members.
    (
        "plan.ready && «plam.data.n > 1",
        "guard-unknown-name",
        "did you mean `plan`",
    ),
    (
        "plan.ready && plan.«setled",
        "guard-unknown-name",
        "did you mean `settled`",
    ),
    (
        "plan.ready && plan.data.«statsu == 'final'",
        "guard-field",
        "did you mean `status`",
    ),
    (
        "plan.ready && has(plan.data.meta) && has(plan.data.meta.«auhtor)",
        "guard-field",
        "it has `by`",
    ),
    (
        "plan.ready && plan.data.items.exists(i, i.«idd == 'x')",
        "guard-field",
        "did you mean `id`",
    ),
    ("plan.ready && «'x' in plan.data", "guard-field", "`n`"),
    (
        "open.ready && open.data.«wole > 1",
        "guard-field",
        "did you mean `whole`",
    ),
    ("state.«ruond > 1", "guard-field", "did you mean `round`"),
    (
        "coverage.ready && coverage.data.lines.«precent > 80.0",
        "guard-field",
        "did you mean `percent`",
    ),
    (
        "coverage.ready && «coverage.data.lines.percent < 0",
        "guard-constant",
        "0",
    ),
    (
        "lint.ready && lint.data.«error == 0",
        "guard-field",
        "did you mean `errors`",
    ),
    (
        "lint.ready && lint.data.listed.exists(l, l.level == «'fatal')",
        "guard-constant",
        "`error`",
    ),
    (
        "junit.ready && junit.count == 1 && junit.data.«failed_test.size() > 1",
        "guard-field",
        "did you mean `failed_tests`",
    ),
    (
        "pages.ready && «pages.data.words > 3",
        "guard-may-fail",
        "pages.data != null",
    ),
    (
        "notes.ready && «notes.data.sections['Why'].words > 3",
        "guard-may-fail",
        "test it first with `in`",
    ),
    (
        "notes.ready && «notes.data.fields.Status == 'done'",
        "guard-may-fail",
        "has(notes.data.fields.Status)",
    ),
    (
        "lint.ready && «lint.data.rules['E501'] == 0",
        "guard-may-fail",
        "test it first with `in`",
    ),
    (
        "notes.ready && notes.data.boxes.«opened == 0",
        "guard-field",
        "did you mean `open`",
    ),
    (
        "children.exists(c, c.«finished)",
        "guard-field",
        "it has `done`",
    ),
    (
        "verified.tests.fresh && verified.tests.base.«pased",
        "guard-unknown-name",
        "did you mean `passed`",
    ),
    // Types.
    (
        "plan.ready && «plan.data.n == '3'",
        "guard-type",
        "`plan.data.n` is a number",
    ),
    (
        "plan.ready && «plan.data.title > 3",
        "guard-type",
        "write `int(plan.data.title)`",
    ),
    (
        "table.ready && table.data.exists(row, «row.points > 3)",
        "guard-type",
        "write `int(row.points)`",
    ),
    (
        "plan.ready && «plan.data.n",
        "guard-type",
        "compare the value",
    ),
    (
        "plan.ready && «plan.data.items",
        "guard-type",
        "`size(…) > 0`",
    ),
    ("«children", "guard-type", "`size(children) > 0`"),
    (
        "plan.ready && plan.data.items.«length > 1",
        "guard-type",
        "write `size(plan.data.items)`",
    ),
    (
        "plan.ready && has(plan.data.tags) && plan.data.tags.«contains('ui')",
        "guard-type",
        "write `'ui' in plan.data.tags`",
    ),
    (
        "plan.ready && «plan.data.n in ['1', '2']",
        "guard-type",
        "one type",
    ),
    (
        "plan.ready && «plan.data.n.exists(i, i > 1)",
        "guard-type",
        "call it on a list",
    ),
    (
        "plan.ready && «plan.data.title + 1 == 'x1'",
        "guard-type",
        "`string()`",
    ),
    (
        "attempt == 2 && «task > 3",
        "guard-type",
        "write `int(task)`",
    ),
    // What may be missing or null.
    (
        "plan.ready && «plan.data.owner == 'me'",
        "guard-may-fail",
        "has(plan.data.owner) && …",
    ),
    (
        "plan.ready && (has(plan.data.owner) || «plan.data.owner == 'me')",
        "guard-may-fail",
        "has(plan.data.owner)",
    ),
    (
        "plan.ready && «plan.data.meta.by == 'me'",
        "guard-may-fail",
        "has(plan.data.meta)",
    ),
    (
        "plan.ready && has(«plan.data.meta.by)",
        "guard-may-fail",
        "has(plan.data.meta)",
    ),
    (
        "plan.ready && size(«plan.data.maybe) > 3",
        "guard-may-fail",
        "plan.data.maybe != null && …",
    ),
    (
        "plan.ready && plan.data.items.all(i, «i.done)",
        "guard-may-fail",
        "has(i.done)",
    ),
    (
        "plan.ready && «plan.data.items[0].id == 'x'",
        "guard-may-fail",
        "size(plan.data.items) >= 1",
    ),
    (
        "plan.ready && has(plan.data.scores) && «plan.data.scores.max() > 3",
        "guard-may-fail",
        "size(plan.data.scores) > 0",
    ),
    (
        "plan.ready && «10 / plan.data.n > 3",
        "guard-may-fail",
        "plan.data.n > 0 && …",
    ),
    (
        "plan.ready && has(plan.data.either) && «plan.data.either > 3",
        "guard-may-fail",
        "type(plan.data.either)",
    ),
    (
        "junit.ready && junit.count == 1 && «junit.data.time < 3.0",
        "guard-may-fail",
        "junit.data.time != null",
    ),
    ("«state.mode == 'fast'", "guard-may-fail", "has(state.mode)"),
    ("«plan.data.n > 1", "guard-unasked", "plan.ready && …"),
    (
        "plan.present && «plan.settled",
        "guard-unasked",
        "plan.ready",
    ),
    (
        "plan.ready || «plan.data.n > 1",
        "guard-unasked",
        "plan.ready",
    ),
    ("«sharp", "guard-constant", "did you mean `'final'`"),
    // Constants and patterns.
    (
        "plan.ready && plan.data.status == «'finl'",
        "guard-constant",
        "did you mean `'final'`",
    ),
    (
        "plan.ready && plan.data.status in ['final', «'done']",
        "guard-constant",
        "it is one of `draft`, `final`",
    ),
    (
        "plan.ready && has(plan.data.tags) && «'gui' in plan.data.tags",
        "guard-constant",
        "did you mean `'ui'`",
    ),
    (
        "plan.ready && plan.data.items.exists(i, has(i.severity) && i.severity == «'blocker')",
        "guard-constant",
        "`blocking`",
    ),
    (
        "phase == «'nope'",
        "guard-constant",
        "it is one of `begin`, `end`, `work`",
    ),
    ("run.mode == «'batch'", "guard-constant", "it is one of"),
    (
        "plan.ready && plan.data.id == «'42'",
        "guard-constant",
        "^T-[0-9]+$",
    ),
    (
        "plan.ready && plan.data.grade == «4",
        "guard-constant",
        "it is one of `1`, `2`, `3`",
    ),
    (
        "plan.ready && «plan.data.score > 10",
        "guard-constant",
        "between 0 and 10",
    ),
    (
        "plan.ready && plan.data.title == «''",
        "guard-constant",
        "limits its length",
    ),
    (
        "plan.ready && plan.data.title.lowerAscii() == «'Done'",
        "guard-constant",
        "write `'done'`",
    ),
    (
        "plan.ready && plan.data.title.matches(«'done$ ')",
        "guard-constant",
        "end",
    ),
    (
        "plan.ready && plan.data.status.matches(«'^(ready|done)$')",
        "guard-constant",
        "`draft`, `final`",
    ),
    (
        "plan.ready && plan.data.status.startsWith(«'Fin')",
        "guard-constant",
        "`draft`, `final`",
    ),
    (
        "plan.ready && plan.data.title.«matches('(')",
        "guard-pattern",
        "docs.rs/regex",
    ),
    (
        "has(state.waived) && «'plann' in state.waived",
        "guard-field",
        "did you mean `plan`",
    ),
    // What other languages write.
    ("plan.ready «and plan.settled", "guard-syntax", "`&&`"),
    ("plan.ready «or open.ready", "guard-syntax", "`||`"),
    ("«not plan.ready", "guard-syntax", "`!`"),
    ("plan.ready && plan.data.n «= 3", "guard-syntax", "`==`"),
    (
        "plan.ready && has(plan.data.tags) && «plan.data.tags == 'ui'",
        "guard-type",
        "write `'ui' in plan.data.tags`",
    ),
    (
        "plan.ready && plan.data.items.exists(i, has(i.done) && «i.done == 'true')",
        "guard-type",
        "write it alone",
    ),
    (
        "table.ready && table.data.exists(row, «row.points == 3)",
        "guard-type",
        "write `int(row.points)`",
    ),
    ("plan.ready && plan.data.n «<> 3", "guard-syntax", "`!=`"),
    ("plan.ready == «True", "guard-unknown-name", "`true`"),
    ("plan.ready && «now() > 3", "guard-function", "no clock"),
    (
        "plan.ready && «len(plan.data.items) > 3",
        "guard-function",
        "size(x)",
    ),
];

/// Sound guards: nothing is said about them.
const SOUND: &[&str] = &[
    "plan.ready && plan.settled && plan.blocking == 0",
    "plan.ready && plan.data.n > 1 && plan.data.status != 'draft' && plan.data.score >= 9.5 && plan.data.level == 2",
    "plan.ready && has(plan.data.owner) && plan.data.owner == 'me'",
    "plan.ready && (!has(plan.data.owner) || plan.data.owner.startsWith('m'))",
    "plan.ready && (has(plan.data.owner) ? plan.data.owner != '' : true)",
    "plan.ready && has(plan.data.meta) && has(plan.data.meta.by) && plan.data.meta.by == 'me'",
    "plan.ready && ('owner' in plan.data && plan.data['owner'] == 'me')",
    "plan.data.n > 1 && plan.ready",
    "!plan.ready || plan.data.n > 1",
    "plan.valid ? plan.data.n > 1 : !open.present",
    "plan.data != null && plan.data.n > 1",
    "plan.ready && plan.data.maybe != null && size(plan.data.maybe) > 3",
    "plan.ready && (plan.data.maybe == null || plan.data.maybe.matches('^[a-z]+$'))",
    "plan.ready && plan.data.items.all(i, !has(i.done) || i.done) && plan.data.items.exists(i, has(i.severity) && i.severity in ['minor'])",
    "plan.ready && plan.data.items.filter(i, has(i.done)).all(i, i.done) && size(plan.data.items) > 0 && plan.data.items[0].id == 'x'",
    "plan.ready && has(plan.data.scores) && size(plan.data.scores) > 0 && plan.data.scores.max() > 3 && plan.data.scores.sum() > 3",
    "plan.ready && plan.data.n > 0 && 10 / plan.data.n > 3 && plan.data.n % 2 == 0 && (!has(plan.data.limit) || 9 / plan.data.limit > 2)",
    "plan.ready && has(plan.data.either) && type(plan.data.either) == type(1) && plan.data.either > 3",
    "plan.ready && has(plan.data.either) && (plan.data.either == 'x' || plan.data.either == 3)",
    "open.ready && (has(open.data.ok) ? open.data.ok : open.data.all.ok) && (open.data.kind != 'a' || open.data.why != '')",
    "open.ready && has(open.data.anything) && open.data.anything.deep[3] > 2 && open.data.kind == 'b'",
    "bare.ready && bare.data.whatever > 3 && bare.data.list.exists(i, i.x == 'y') && bare.data.a.b.c.matches('x')",
    "table.ready && table.data.all(row, row.points != '' && int(row.points) > 3) && size(table.data) > 2",
    "coverage.ready && coverage.data.lines.percent >= 80 && coverage.data.files.all(f, coverage.data.files[f].lines.percent >= 50.5)",
    "lint.ready && lint.data.scans > 0 && lint.data.errors == 0 && !('E501' in lint.data.rules)",
    "lint.ready && lint.data.listed.exists(l, has(l.file) && l.file.endsWith('.rs'))",
    "pages.ready && pages.count == 1 && pages.data.words > 3 || pages.present && pages.all.all(p, p.valid && p.data.words > 3)",
    "junit.ready && junit.all.all(r, r.data.tests > 0 && r.data.failures + r.data.errors == 0 && (r.data.time == null || r.data.time < 3.0))",
    "notes.ready && 'Why' in notes.data.sections && notes.data.sections['Why'].words > 3 && '~' in notes.data.boxes.signs && notes.data.boxes.signs['~'] == 1",
    "notes.ready && (notes.data.title == null || notes.data.title.contains('x')) && notes.data.headings.exists(h, h.form == 'atx' && h.level == 2)",
    "code.ready && code.data.files.exists(f, f.startsWith('src/')) && code.data.commits.exists(c, task in c.tasks)",
    "state.round < 3 && (!has(state.mode) || state.mode == 'full') && has(state.last) && state.last.x == 2 && state.rev > 0",
    "(phase == 'begin' || phase in ['work', 'end']) && attempt > 1 && run.mode != 'auto' && action.build.done == 0",
    "has(state.waived) && 'plan' in state.waived && plan.path != null && plan.path.matches('json$')",
    "children.all(c, c.done || c.phase == 'elsewhere') && size(after) == 0 && verified.tests.new.size() == 0",
    "plan.all.exists(f, f.valid && f.data.n > 1) && plan.count == 1",
    "plan.ready && plan.data.title.lowerAscii() == 'done' && plan.data.title.matches('^(a|b)?c$') && plan.data.id == 'T-42'",
    "plan.ready && [plan.data.status, plan.data.title].exists(x, x == 'anything') && [1, 2].all(n, n < plan.data.n)",
    "plan.ready && ['owner', 'title'].exists(k, k in plan.data && plan.data[k] == 'x')",
    "plan.ready && has(plan.data.tags) && 'ui' in plan.data.tags && plan.data.tags[0] != 'api'",
    "plan.ready && double(plan.data.n) / 2.0 > 0.5 && plan.data.n * 3 - 1 > 2 && plan.data.score > 3",
    "plan.changed && plan.digest != null && (open.present ? open.valid : true) && bare.all.map(f, f.path).exists(p, p == 'x')",
];

#[test]
fn each_fault_is_found_alone_and_where_it_stands() {
    let mut wrong = Vec::new();
    for (guard, code, hint) in FAULTY {
        let define = if guard.contains("sharp") {
            "plan.ready && plan.data.status == «'finl'"
        } else {
            "plan.ready"
        };
        let guard = if guard.contains("sharp") {
            "sharp"
        } else {
            guard
        };
        let found = unlike(&document(define, guard), (code, hint));
        wrong.extend(found.map(|found| format!("{guard}\n  {found}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn nothing_is_said_about_what_is_sound() {
    for guard in SOUND {
        let document = document("plan.ready && plan.data.n > 3", guard);
        assert_eq!(findings(&document), [], "{guard}");
    }
}

/// A condition before the use of a named expression tells what this needs, or nothing does.
#[test]
fn what_a_definition_needs_is_asked_where_it_is_used() {
    let define = "plan.data.owner == 'me' && plan.data.n > 1";
    for guard in [
        "plan.ready && has(plan.data.owner) && sharp",
        "!plan.ready || !has(plan.data.owner) || sharp",
        "plan.valid && 'owner' in plan.data ? sharp : false",
    ] {
        assert_eq!(findings(&document(define, guard)), [], "{guard}");
    }
    for (guard, code, line) in [
        ("plan.ready && sharp", "guard-may-fail", 9),
        ("sharp", "guard-unasked", 64),
    ] {
        let found = findings(&document(define, guard));
        let is_there = |finding: &Diagnostic| {
            let place = finding.place.as_ref();
            finding.code.as_str() == code && place.and_then(|place| place.line) == Some(line)
        };
        assert!(found.iter().any(is_there), "{guard}: {found:?}");
    }
    // A definition that is true tells what it says.
    let define = "plan.ready && has(plan.data.owner)";
    assert_eq!(
        findings(&document(define, "sharp && plan.data.owner == 'me'")),
        []
    );
}

#[test]
fn the_documents_that_ship_have_no_finding() {
    let system = System::shipped();
    for name in system.names("workflows", ".md") {
        let document = Document::new(name, name, system.workflow(name).unwrap_or_default());
        let (workflow, problems) = compile(&document, &system);
        assert_eq!(problems, [], "{name}");
        assert_eq!(check(&document, &workflow.expect(name)), [], "{name}");
    }
}

/// Each finding about numbers has the place of what is computed, and the right form as its hint.
#[test]
fn a_share_of_whole_numbers_is_placed_and_has_a_right_form() {
    let define = "double(junit.data.failures / junit.data.tests)";
    let guard = "junit.ready && junit.count == 1 && junit.data.tests > 0 && sharp < 0.1 && junit.data.failures / junit.data.tests < 0.1";
    let found: Vec<String> = findings(&document(define, guard))
        .into_iter()
        .map(|finding| {
            let place = finding.place.expect("a place").to_string();
            format!("{place} {}", finding.hint.unwrap_or_default())
        })
        .collect();
    let right = "write `double(junit.data.failures) / double(junit.data.tests)`";
    assert_eq!(
        found,
        [format!("w.md:9:19 {right}"), format!("w.md:64:85 {right}")]
    );
}

#[test]
fn numbers_are_computed_with_as_readers_expect() {
    for (guard, expected) in [
        (
            "plan.ready && (plan.data.n / plan.count < 0.1 && 0.8 <= state.other / plan.count)",
            &[
                "the division `plan.data.n / plan.count` of whole numbers leaves no fraction: 3 / 4 is 0, and 3.0 / 4.0 is 0.75",
                "the division `state.other / plan.count` of whole numbers leaves no fraction: 3 / 4 is 0, and 3.0 / 4.0 is 0.75",
            ][..],
        ),
        (
            "plan.ready && (double(size(plan.all) / plan.count) > 0.5 || plan.data.n / plan.count * 100 > 10)",
            &[
                "the division `size(plan.all) / plan.count` of whole numbers leaves no fraction: 3 / 4 is 0, and 3.0 / 4.0 is 0.75",
                "the division `plan.data.n / plan.count` of whole numbers leaves no fraction: 3 / 4 is 0, and 3.0 / 4.0 is 0.75",
            ],
        ),
        (
            "plan.ready && double(plan.data.n) / double(plan.count) < 0.1 && plan.data.n / 2 * 2 == plan.data.n && plan.data.n / plan.count > 1",
            &[],
        ),
        (
            "plan.ready && (plan.data.score + 1 > 2.5 || plan.data.score * 0.5 > 2 || plan.data.score > 2 || plan.data.score != 0.5)",
            &[
                "`plan.data.score` may be written with or without a fraction, and `+` does not work with a whole number and a fraction",
                "`plan.data.score` may be written with or without a fraction, and `*` does not work with a whole number and a fraction",
            ],
        ),
        (
            "plan.ready && plan.data.n + 0.5 > 1.0",
            &["`+` does not work with a whole number and a fraction"],
        ),
        (
            "plan.ready && plan.data.title.matches('^[a-z&&[^b]]$') && plan.data.title.matches('[0-9]')",
            &["`&&` in a class is an operation on sets here, and text in RE2"],
        ),
    ] {
        let found = findings(&document("plan.ready", guard));
        let found: Vec<String> = found.into_iter().map(|finding| finding.message).collect();
        assert_eq!(found, expected, "{guard}");
    }
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
    let found = check_types(&document, &workflow, &mut TypeMemo::default());
    let [only] = found.as_slice() else {
        panic!("not one finding: {found:?}");
    };
    assert!(only.message.starts_with("`d14` may contain"), "{only}");
    assert_eq!(only.place.as_ref().and_then(|place| place.line), Some(17));
}

/// Each definition names the one before four times: without care that takes 4^60 steps.
#[test]
fn definitions_that_double_cost_no_more_than_one() {
    let mut text =
        String::from("```toml orch\n[artifact.a]\npath = \"a.json\"\n[define]\nd0 = \"a.ready\"\n");
    for n in 1..60 {
        let before = n - 1;
        text.push_str(&format!(
            "d{n} = \"(d{before} || d{before}) && (d{before} || !d{before})\"\n"
        ));
    }
    text.push_str("[phase.one]\nproduces = [\"a\"]\n[phase.two]\nterminal = true\n");
    text.push_str("[[rule]]\nid = \"on\"\nfrom = \"one\"\nwhen = \"d59\"\nto = \"two\"\nbecause = \"so\"\n```\n");
    let document = Document::new("double", "double.md", text);
    let (workflow, problems) = compile(&document, &System::empty());
    let workflow = workflow.unwrap_or_else(|| panic!("{problems:#?}"));
    assert_eq!(
        check_types(&document, &workflow, &mut TypeMemo::default()),
        []
    );
}
