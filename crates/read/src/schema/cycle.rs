//! Schemas that only refer to themselves, so that they never say what a value must be.

use super::keywords::{inner, subschemas};
use crate::span::span;
use orch_base::pointer::is_at_or_below;
use orch_base::{Code, Diagnostic, Place};
use percent_encoding::percent_decode_str;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// A finding for every reference that leads back to its origin without descending into the value.
pub(super) fn cycles(path: &str, text: &str, schema: &Value) -> Vec<Diagnostic> {
    let nodes = subschemas(schema);
    let steps = steps(&nodes);
    let mut found = Vec::new();
    let mut done: HashSet<&str> = HashSet::new();
    for (start, _) in &nodes {
        // Depth first; `way` holds the path to here and the number of steps already taken from each place.
        let mut way: Vec<(&str, usize)> = if done.contains(start.as_str()) {
            vec![]
        } else {
            vec![(start, 0)]
        };
        let mut on_way: HashSet<&str> = way.iter().map(|(place, _)| *place).collect();
        while let Some((here, taken)) = way.last_mut() {
            let here: &str = here;
            let Some(step) = steps.get(here).and_then(|steps| steps.get(*taken)) else {
                way.pop();
                on_way.remove(here);
                done.insert(here);
                continue;
            };
            *taken += 1;
            let target = step.target.as_str();
            if on_way.contains(target) {
                let (offset, length) = span(text, &step.from).unwrap_or_default();
                let place = Place {
                    pointer: Some(step.from.clone()),
                    ..Place::at(path, text, offset, length)
                };
                found.push(finding(target, &way).at(place));
            } else if !done.contains(target) {
                on_way.insert(target);
                way.push((target, 0));
            }
        }
    }
    found
}

/// A step from one schema to another that validates the same value.
struct CycleStep {
    /// Where the step begins: the pointer of a `$ref` value, or of the nested schema.
    from: String,
    target: String,
}

/// How many places of a long cycle are shown.
const MAX_SHOWN: usize = 6;

fn finding(target: &str, way: &[(&str, usize)]) -> Diagnostic {
    let turn: Vec<&str> = way
        .iter()
        .map(|(place, _)| *place)
        .skip_while(|place| *place != target)
        .collect();
    let mut shown: Vec<String> = turn
        .iter()
        .take(MAX_SHOWN)
        .map(|place| format!("`#{place}`"))
        .collect();
    if turn.len() > MAX_SHOWN {
        shown.push("…".to_owned());
    }
    let message = format!(
        "the schema only refers to itself: {} → `#{target}`",
        shown.join(" → ")
    );
    Diagnostic::error(Code::SchemaCycle, message)
        .hint("say what the value must be, or remove the reference")
}

fn text<'v>(schema: &'v Value, key: &str) -> Option<&'v str> {
    schema.get(key)?.as_str()
}

/// For each schema, the schemas that validate the same value.
fn steps<'n>(nodes: &'n [(String, &Value)]) -> HashMap<&'n str, Vec<CycleStep>> {
    let names = SchemaNames::new(nodes);
    let mut steps = HashMap::new();
    for (pointer, schema) in nodes {
        let within = inner(schema, pointer).into_iter();
        let mut of_schema: Vec<CycleStep> = within
            .filter(|inner| inner.same_value)
            .map(|inner| CycleStep {
                from: inner.pointer.clone(),
                target: inner.pointer,
            })
            .collect();
        for key in ["$ref", "$dynamicRef"] {
            let reference = text(schema, key);
            if let Some(target) = reference.and_then(|reference| names.target(reference, pointer)) {
                of_schema.push(CycleStep {
                    from: format!("{pointer}/{key}"),
                    target,
                });
            }
        }
        steps.insert(pointer.as_str(), of_schema);
    }
    steps
}

/// The targets of references: embedded documents by `$id`, and places in them by anchor.
pub(super) struct SchemaNames<'n> {
    /// The pointer and the `$id` of each embedded document; the whole document comes first.
    documents: Vec<(&'n str, &'n str)>,
    /// The pointer of each anchor, by the pointer of its document and its name.
    anchors: HashMap<(&'n str, &'n str), &'n str>,
}

impl<'n> SchemaNames<'n> {
    pub(super) fn new(nodes: &'n [(String, &Value)]) -> Self {
        let mut names = Self {
            documents: Vec::new(),
            anchors: HashMap::new(),
        };
        for (pointer, schema) in nodes {
            let id = text(schema, "$id").map(|id| id.trim_end_matches('#'));
            if id.is_some() || pointer.is_empty() {
                names.documents.push((pointer, id.unwrap_or_default()));
            }
        }
        for (pointer, schema) in nodes {
            for key in ["$anchor", "$dynamicAnchor"] {
                if let Some(anchor) = text(schema, key) {
                    names
                        .anchors
                        .insert((names.document_of(pointer), anchor), pointer);
                }
            }
        }
        names
    }

    /// The pointer of the innermost embedded document that contains a place.
    fn document_of(&self, pointer: &str) -> &'n str {
        let starts = self.documents.iter().map(|(start, _)| *start);
        let starts = starts.filter(|start| is_at_or_below(pointer, start));
        starts.max_by_key(|start| start.len()).unwrap_or_default()
    }

    /// The place that a reference at `pointer` means; `None` if it is in another document.
    pub(super) fn target(&self, reference: &str, pointer: &str) -> Option<String> {
        let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let document = if document.is_empty() {
            self.document_of(pointer)
        } else {
            // An `$id` may be given in full or relative to its directory.
            let mut documents = self.documents.iter();
            let named = documents.find(|(_, id)| {
                let directory = id.strip_suffix(document);
                directory.is_some_and(|above| above.is_empty() || above.ends_with('/'))
            });
            named?.0
        };
        let fragment = percent_decode_str(fragment).decode_utf8_lossy();
        if fragment.is_empty() || fragment.starts_with('/') {
            return Some(format!("{document}{fragment}"));
        }
        self.anchors
            .get(&(document, &*fragment))
            .map(|place| (*place).to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each schema with the position of its cycles and the places that they visit.
    #[test]
    fn a_schema_that_only_refers_to_itself_is_reported() {
        for (text, expected) in [
            (r##"{"$ref": "#"}"##, &["1:10 `#` → `#`"][..]),
            (
                r##"{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}"##,
                &["1:75 `#/$defs/a` → `#/$defs/b` → `#/$defs/a`"],
            ),
            (
                r##"{"$defs": {"a": {"$ref": "#/$defs/a"}, "b": {"$ref": "#/$defs/b"}}}"##,
                &[
                    "1:26 `#/$defs/a` → `#/$defs/a`",
                    "1:54 `#/$defs/b` → `#/$defs/b`",
                ],
            ),
            (
                r##"{"type": "object", "anyOf": [{"type": "string"}, {"$ref": "#"}]}"##,
                &["1:59 `#` → `#/anyOf/1` → `#`"],
            ),
            (r##"{"not": {"$ref": "#"}}"##, &["1:18 `#` → `#/not` → `#`"]),
            (
                r##"{"dependentSchemas": {"a": {"$ref": "#"}}}"##,
                &["1:37 `#` → `#/dependentSchemas/a` → `#`"],
            ),
            (r##"{"$anchor": "n", "$ref": "#n"}"##, &["1:26 `#` → `#`"]),
            (
                r##"{"$dynamicAnchor": "n", "$dynamicRef": "#n"}"##,
                &["1:40 `#` → `#`"],
            ),
            (
                r##"{"$id": "https://x.test/s.json", "$ref": "https://x.test/s.json"}"##,
                &["1:42 `#` → `#`"],
            ),
            (
                r##"{"$id": "https://x.test/s.json", "$ref": "s.json#"}"##,
                &["1:42 `#` → `#`"],
            ),
            (
                r##"{"$ref": "#/$defs/a%20~1b", "$defs": {"a /b": {"$ref": "#"}}}"##,
                &["1:56 `#` → `#/$defs/a ~1b` → `#`"],
            ),
            (
                r##"{"$defs": {"a": {"$id": "https://x.test/a", "properties": {"b": {"$ref": "#"}}}}}"##,
                &[],
            ),
            (
                r##"{"$ref": "#/$defs/a", "$defs": {"a": {"$id": "https://x.test/a", "$ref": "#"}}}"##,
                &["1:74 `#/$defs/a` → `#/$defs/a`"],
            ),
            (
                r##"{"properties": {"child": {"$ref": "#"}}, "items": {"$ref": "#"}}"##,
                &[],
            ),
            (
                r##"{"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}], "$defs": {"a": {}}}"##,
                &[],
            ),
            (
                r##"{"properties": {"$ref": {"type": "string"}}, "const": {"$ref": "#"}}"##,
                &[],
            ),
            (r##"{"$ref": "#/nowhere"}"##, &[]),
            (r##"true"##, &[]),
        ] {
            let schema: Value = serde_json::from_str(text).expect("JSON");
            let found: Vec<String> = cycles("s.json", text, &schema)
                .into_iter()
                .map(|one| {
                    assert_eq!(one.code, Code::SchemaCycle);
                    let place = one.place.expect("a place");
                    let way = one.message.split_once(": ").expect("a way").1.to_owned();
                    format!(
                        "{}:{} {way}",
                        place.line.expect("a line"),
                        place.column.expect("a column")
                    )
                })
                .collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn a_long_chain_is_no_cycle_and_no_stack() {
        let links = 5_000;
        let link =
            |index: usize, next: usize| format!("\"d{index}\": {{\"$ref\": \"#/$defs/d{next}\"}}");
        let chain = |last: usize| {
            let links: Vec<String> = (0..links)
                .map(|index| link(index, index + 1))
                .chain([link(links, last)])
                .collect();
            format!("{{\"$defs\": {{{}}}}}", links.join(", "))
        };
        let found = |text: &str| cycles("s", text, &serde_json::from_str(text).expect("JSON"));
        assert_eq!(found(&chain(links + 1)), []);
        let [round] = &found(&chain(0))[..] else {
            panic!("not one cycle")
        };
        assert!(
            round.message.ends_with("`#/$defs/d5` → … → `#/$defs/d0`"),
            "{round}"
        );
    }
}
