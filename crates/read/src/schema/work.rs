//! How much work a schema makes, before any is done: a part that is named twice by each of thirty parts is applied to one
//! value a billion times.

use super::cycle::SchemaNames;
use super::keywords::subschemas;
use crate::span::span;
use orch_base::pointer::child;
use orch_base::{Code, Diagnostic, Place};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};

/// The most parts of a schema that are applied to one value.
const MOST_AT_ONCE: u64 = 10_000;
/// The most applications to a document beyond the first of each part to each value, with which all mistakes are told.
const MOST_TOLD: u64 = 1 << 17;
/// The same, with which it is said whether the document is valid.
const MOST_TRIED: u64 = 1 << 23;

/// What may be done with a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effort {
    /// All mistakes can be told.
    Tell,
    /// It can be said whether it is valid.
    Try,
    /// It would take too long.
    TooMuch,
}

/// What the parts of a schema are applied to.
#[derive(Default)]
struct WorkNode {
    /// The parts that are applied to the same value.
    same: Vec<usize>,
    /// Those applied to a member, by its name.
    members: HashMap<String, usize>,
    /// Those that may be applied to any member.
    others: Vec<usize>,
    /// Those applied to the items of a list, by their places.
    prefix: Vec<usize>,
    /// Those applied to all items.
    items: Vec<usize>,
    /// Its place in an order in which each part comes after those that apply it to the same value.
    rank: usize,
}

/// The parts of a schema.
pub(super) struct SchemaWork {
    nodes: Vec<WorkNode>,
    /// The nodes by their ranks.
    order: Vec<usize>,
    /// Whether a document may be so deep that the work grows with each level.
    grows: bool,
}

impl SchemaWork {
    /// The work of a schema without cycles. Returns the findings about parts that take too much of it.
    pub(super) fn of(path: &str, text: &str, schema: &Value) -> Result<Self, Vec<Diagnostic>> {
        let parts = subschemas(schema);
        let names = SchemaNames::new(&parts);
        let index: HashMap<&str, usize> = parts
            .iter()
            .enumerate()
            .map(|(nth, (pointer, _))| (pointer.as_str(), nth))
            .collect();
        let mut nodes: Vec<WorkNode> = Vec::new();
        for (pointer, part) in &parts {
            nodes.push(node(pointer, part, &index, &names));
        }
        let mut work = Self {
            order: order(&nodes),
            nodes,
            grows: false,
        };
        for (rank, nth) in work.order.iter().enumerate() {
            work.nodes[*nth].rank = rank;
        }
        let costs = work.costs();
        let first = (0..parts.len()).find(|nth| costs[*nth] > MOST_AT_ONCE);
        if let Some(first) = first {
            let pointer = &parts[first].0;
            let (start, length) = span(text, pointer).unwrap_or_default();
            let message = format!(
                "the schema applies more than {MOST_AT_ONCE} parts to one value, because parts name others more than once"
            );
            let place = Place::at(path, text, start, length.min(1));
            let hint = "name each part once, or leave out the parts that say the same";
            return Err(vec![
                Diagnostic::error(Code::SchemaInvalid, message)
                    .at(place)
                    .hint(hint),
            ]);
        }
        work.grows = (0..parts.len()).any(|nth| {
            let applied = work.applied(&[(nth, 1)]);
            applied.iter().any(|(_, times)| *times > 1)
        });
        Ok(work)
    }

    /// How many parts each part applies to its value, itself among them.
    fn costs(&self) -> Vec<u64> {
        let mut costs = vec![1_u64; self.nodes.len()];
        for nth in self.order.iter().rev() {
            let below = self.nodes[*nth].same.iter().map(|part| costs[*part]);
            costs[*nth] = below.fold(1, u64::saturating_add);
        }
        costs
    }

    /// All parts that are applied to a value to which these are, and how often.
    fn applied(&self, first: &[(usize, u64)]) -> Vec<(usize, u64)> {
        let mut open: BTreeMap<usize, u64> = BTreeMap::new();
        for (nth, times) in first {
            let known = open.entry(self.nodes[*nth].rank).or_default();
            *known = known.saturating_add(*times);
        }
        let mut applied = Vec::new();
        while let Some((rank, times)) = open.pop_first() {
            let nth = self.order[rank];
            applied.push((nth, times));
            for part in &self.nodes[nth].same {
                let known = open.entry(self.nodes[*part].rank).or_default();
                *known = known.saturating_add(times);
            }
        }
        applied
    }

    /// What may be done with a document.
    pub(super) fn effort(&self, data: &Value) -> Effort {
        if !self.grows {
            return Effort::Tell;
        }
        let mut left = MOST_TRIED;
        if !self.spend(data, &[(0, 1)], &mut left) {
            Effort::TooMuch
        } else if MOST_TRIED - left > MOST_TOLD {
            Effort::Try
        } else {
            Effort::Tell
        }
    }

    /// Takes the repeated applications to a value, and to all in it, from `left`. Returns whether it suffices.
    fn spend(&self, value: &Value, first: &[(usize, u64)], left: &mut u64) -> bool {
        let applied = self.applied(first);
        let repeated = applied.iter().map(|(_, times)| times - 1);
        let repeated = repeated.fold(0, u64::saturating_add);
        let Some(rest) = left.checked_sub(repeated) else {
            return false;
        };
        *left = rest;
        match value {
            Value::Object(members) => members.iter().all(|(name, member)| {
                let below = self.below(&applied, |node| {
                    node.members.get(name).into_iter().chain(&node.others)
                });
                below.is_empty() || self.spend(member, &below, left)
            }),
            Value::Array(items) => items.iter().enumerate().all(|(place, item)| {
                let below = self.below(&applied, |node| {
                    node.prefix.get(place).into_iter().chain(&node.items)
                });
                below.is_empty() || self.spend(item, &below, left)
            }),
            _ => true,
        }
    }

    /// The parts that those of a value apply to a value in it, and how often.
    fn below<'w, P: Iterator<Item = &'w usize>>(
        &'w self,
        applied: &[(usize, u64)],
        parts_of: impl Fn(&'w WorkNode) -> P,
    ) -> Vec<(usize, u64)> {
        let mut below = Vec::new();
        for (nth, times) in applied {
            below.extend(parts_of(&self.nodes[*nth]).map(|part| (*part, *times)));
        }
        below
    }
}

fn node(
    pointer: &str,
    part: &Value,
    index: &HashMap<&str, usize>,
    names: &SchemaNames<'_>,
) -> WorkNode {
    let mut node = WorkNode::default();
    let at = |pointer: &str| index.get(pointer).copied();
    for (key, value) in part.as_object().into_iter().flatten() {
        let below = child(pointer, key);
        let members = value.as_object().into_iter().flat_map(Map::keys);
        let members = members.filter_map(|name| Some((name, at(&child(&below, name))?)));
        let places = value.as_array().into_iter().flatten().enumerate();
        let places = places.filter_map(|(place, _)| at(&format!("{below}/{place}")));
        match key.as_str() {
            "allOf" | "anyOf" | "oneOf" => node.same.extend(places),
            "not" | "if" | "then" | "else" => node.same.extend(at(&below)),
            "dependentSchemas" => node.same.extend(members.map(|(_, part)| part)),
            "$ref" | "$dynamicRef" => {
                let reference = value.as_str().unwrap_or_default();
                let target = names.target(reference, pointer);
                node.same.extend(target.and_then(|target| at(&target)));
            }
            "properties" => node
                .members
                .extend(members.map(|(name, part)| (name.clone(), part))),
            "patternProperties" => node.others.extend(members.map(|(_, part)| part)),
            "additionalProperties" | "unevaluatedProperties" => node.others.extend(at(&below)),
            "prefixItems" => node.prefix.extend(places),
            "items" | "contains" | "unevaluatedItems" => node.items.extend(at(&below)),
            _ => {}
        }
    }
    node
}

/// The nodes, each before those that it applies to the same value. There is no circle among them.
fn order(nodes: &[WorkNode]) -> Vec<usize> {
    let mut order = Vec::new();
    let mut is_done = vec![false; nodes.len()];
    for start in 0..nodes.len() {
        let mut way = vec![(start, 0)];
        while let Some((nth, taken)) = way.last_mut() {
            let nth = *nth;
            if is_done[nth] {
                way.pop();
                continue;
            }
            match nodes[nth].same.get(*taken) {
                Some(next) => {
                    *taken += 1;
                    way.push((*next, 0));
                }
                None => {
                    is_done[nth] = true;
                    order.push(nth);
                    way.pop();
                }
            }
        }
    }
    order.reverse();
    order
}

#[cfg(test)]
mod tests {
    use super::super::Schema;
    use super::*;
    use serde_json::json;

    /// Thirty parts of which each names the next one twice.
    fn doubling(keyword: &str, levels: usize, last: Value) -> Value {
        let mut parts = Map::new();
        for level in 0..levels {
            let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
            parts.insert(format!("d{level}"), json!({keyword: [next, next]}));
        }
        parts.insert(format!("d{levels}"), last);
        json!({"$ref": "#/$defs/d0", "$defs": parts})
    }

    #[test]
    fn a_schema_that_doubles_is_refused_before_it_is_used() {
        for keyword in ["allOf", "anyOf", "oneOf"] {
            let schema = doubling(keyword, 30, json!({"type": "object"})).to_string();
            let problems = Schema::compile("s.json", &schema).err().expect("refused");
            assert_eq!(problems.len(), 1);
            assert_eq!(problems[0].code, Code::SchemaInvalid, "{problems:?}");
            assert!(problems[0].place.is_some());
            let few = doubling(keyword, 8, json!({"type": "object"})).to_string();
            assert!(Schema::compile("s.json", &few).is_ok(), "{keyword}");
        }
    }

    #[test]
    fn work_that_grows_with_the_depth_of_a_document_is_limited() {
        let tree = json!({"type": "object", "properties": {"n": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}});
        let Ok(schema) = Schema::compile("s.json", &tree.to_string()) else {
            panic!("a schema");
        };
        let nested =
            |levels: usize, last: Value| (0..levels).fold(last, |inner, _| json!({ "n": inner }));
        for (levels, told) in [(3, true), (18, true), (60, false)] {
            let good = schema.validate(&nested(levels, json!({})));
            assert_eq!(good.is_empty(), told, "{levels}: {good:?}");
            let bad = schema.validate(&nested(levels, json!(1)));
            assert!(!bad.is_empty() && bad.len() <= 20, "{levels}: {bad:?}");
        }
    }

    /// A long list of plain values is no work that grows.
    #[test]
    fn plain_schemas_are_not_measured() {
        let plain = json!({"items": {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}});
        let Ok(work) = SchemaWork::of("s.json", "", &plain) else {
            panic!("little work");
        };
        assert!(!work.grows);
        assert_eq!(work.effort(&json!([{"a": null}])), Effort::Tell);
    }
}
