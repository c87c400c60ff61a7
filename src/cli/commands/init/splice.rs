//! Adds a value to a JSON text with comments, and takes it out again.
//!
//! Everything else stays as it is, byte for byte: order, layout, comments, trailing commas. Taking a value out that
//! was just added restores the text. For that, what orch creates is told apart from what was there: in an object or
//! array that orch creates, white space follows the opening bracket; into an empty one that was there, orch writes
//! without any.

use super::clash::Clash;
use super::seal::{OpenedEntry, SealPlace, open, seal};
use jsonc_parser::ast::{Object, Value as Node};
use jsonc_parser::common::{Range, Ranged as _};
use jsonc_parser::tokens::Token;
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use serde::Serialize as _;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Map, Value, json};

/// A value and where it belongs: below these keys, or in the array that they lead to.
#[derive(Debug, Clone)]
pub struct JsonSpot {
    /// The keys from the root.
    pub keys: Vec<&'static str>,
    /// The value, without the seal.
    pub value: Value,
    /// Where its seal is.
    pub seal: SealPlace,
    /// If it is an element of an array: a text that an element for the same purpose contains, whoever wrote it.
    pub mark: Option<&'static str>,
    /// The member with which a new file begins, because its program asks for it.
    pub preface: Option<(&'static str, Value)>,
}

/// A text that orch creates, without its members.
const SKELETON: &str = "{\n}\n";

/// The text with the value, sealed; `None` as the text is a file that does not exist. A value of an earlier version is
/// replaced, and the same value without a seal is left as it is. Returns an error if the text is not valid, something
/// else is in place of the value, or it was changed.
pub fn added(text: Option<&str>, spot: &JsonSpot) -> Result<String, Clash> {
    let skeleton = spot.skeleton();
    let layout = JsonLayout::of(text.unwrap_or(&skeleton))?;
    let mut at = &layout.root;
    for depth in 0..spot.keys.len() {
        match layout.member(at, spot, depth)? {
            Some(node) => at = node,
            None => {
                let (key, value) = spot.nested(depth, text.is_none());
                return Ok(layout.with(at, Some(key), &value, text.is_none()));
            }
        }
    }
    let candidates = match spot.mark {
        None => vec![at],
        Some(mark) => {
            let elements = spot.elements(at)?;
            elements
                .iter()
                .filter(|element| mentions(&value_of(element), mark))
                .collect()
        }
    };
    let mut older = None;
    for node in candidates {
        let entry = open(&value_of(node));
        match entry.is_own {
            None | Some(true) if entry.value == spot.value => return Ok(layout.text.to_owned()),
            None => return Err(Clash::Taken(spot.path(usize::MAX))),
            Some(false) => return Err(Clash::Edited),
            Some(true) => older = Some((node, entry.is_first)),
        }
    }
    let is_first = older.is_some_and(|(_, is_first)| is_first);
    let sealed = seal(&spot.value, spot.seal, is_first);
    Ok(older.map_or_else(
        || layout.with(at, None, &sealed, false),
        |(node, _)| layout.replaced(node, &sealed),
    ))
}

/// The text without the value that orch wrote; `None` if nothing is left of a file that orch created. Returns an error
/// if the text is not valid, or the value was changed.
pub fn removed(text: &str, spot: &JsonSpot) -> Result<Option<String>, Clash> {
    let layout = JsonLayout::of(text)?;
    // Each container on the way, with the item of it that leads on.
    let mut way: Vec<(&Node<'_>, usize)> = Vec::new();
    let mut at = &layout.root;
    for (depth, key) in spot.keys.iter().enumerate() {
        let Some(node) = layout.member(at, spot, depth)? else {
            return Ok(Some(text.to_owned()));
        };
        let members = at
            .as_object()
            .map(|object| object.properties.iter())
            .into_iter()
            .flatten();
        let index = members
            .map(|member| member.name.as_str())
            .position(|name| name == *key);
        way.push((at, index.unwrap_or_default()));
        at = node;
    }
    let is_first = match spot.mark {
        None => {
            let entry = open(&value_of(at));
            match entry.is_own {
                Some(true) => entry.is_first,
                Some(false) => return Err(Clash::Edited),
                None => return Ok(Some(text.to_owned())),
            }
        }
        Some(mark) => {
            let elements = spot.elements(at)?.iter().map(value_of);
            let entries: Vec<OpenedEntry> = elements
                .map(|element| OpenedEntry {
                    is_own: open(&element).is_own.filter(|_| mentions(&element, mark)),
                    ..open(&element)
                })
                .collect();
            match entries.iter().position(|entry| entry.is_own == Some(true)) {
                Some(index) => {
                    way.push((at, index));
                    entries[index].is_first
                }
                None if entries.iter().any(|entry| entry.is_own == Some(false)) => {
                    return Err(Clash::Edited);
                }
                None => return Ok(Some(text.to_owned())),
            }
        }
    };
    // What orch created only to hold the value goes with it.
    while way.len() > 1
        && way
            .last()
            .is_some_and(|(container, _)| layout.is_created_for_one(container))
    {
        way.pop();
    }
    let Some((container, index)) = way.pop() else {
        return Ok(Some(text.to_owned()));
    };
    let is_all = way.is_empty() && (is_first || layout.is_created_for_one(container));
    let rest = layout.without(container, index);
    let is_bare = rest == SKELETON || (is_first && rest == spot.skeleton());
    Ok((!is_all || !is_bare).then_some(rest))
}

impl JsonSpot {
    /// A text that orch creates, without the value.
    fn skeleton(&self) -> String {
        match &self.preface {
            None => SKELETON.to_owned(),
            Some((key, value)) => format!("{{\n  \"{key}\": {value}\n}}\n"),
        }
    }

    /// The first keys and one more, as a path.
    fn path(&self, depth: usize) -> String {
        let count = self.keys.len().min(depth.saturating_add(1));
        self.keys[..count].join(".")
    }

    /// The member to add below the first `depth` keys: its key, and the value in the objects that are missing.
    /// `is_first` says whether orch creates the file with it.
    fn nested(&self, depth: usize, is_first: bool) -> (&'static str, Value) {
        let sealed = seal(&self.value, self.seal, is_first && self.preface.is_some());
        let innermost = if self.mark.is_some() {
            json!([sealed])
        } else {
            sealed
        };
        let wrap =
            |value, key: &&'static str| Value::Object(Map::from_iter([((*key).to_owned(), value)]));
        (
            self.keys[depth],
            self.keys[depth + 1..].iter().rev().fold(innermost, wrap),
        )
    }

    fn elements<'n, 't>(&self, node: &'n Node<'t>) -> Result<&'n [Node<'t>], Clash> {
        let array = node
            .as_array()
            .ok_or_else(|| Clash::NoList(self.path(usize::MAX)))?;
        Ok(&array.elements)
    }
}

/// The value without its layout.
fn value_of(node: &Node<'_>) -> Value {
    node.clone().into()
}

/// Whether a string anywhere in the value contains the mark.
fn mentions(value: &Value, mark: &str) -> bool {
    match value {
        Value::String(text) => text.contains(mark),
        Value::Array(values) => values.iter().any(|value| mentions(value, mark)),
        Value::Object(members) => members.values().any(|value| mentions(value, mark)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A text, its values with their places, and its commas.
struct JsonLayout<'t> {
    text: &'t str,
    root: Node<'t>,
    commas: Vec<usize>,
}

impl<'t> JsonLayout<'t> {
    fn of(text: &'t str) -> Result<Self, Clash> {
        let syntax = |message: String| Clash::Syntax {
            format: "JSON",
            message,
        };
        let collect = CollectOptions {
            comments: CommentCollectionStrategy::Off,
            tokens: true,
        };
        let options = ParseOptions {
            allow_comments: true,
            allow_trailing_commas: true,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let parsed =
            parse_to_ast(text, &collect, &options).map_err(|error| syntax(error.to_string()))?;
        let root = parsed
            .value
            .ok_or_else(|| syntax("it is empty".to_owned()))?;
        let commas = parsed
            .tokens
            .into_iter()
            .flatten()
            .filter(|token| token.token == Token::Comma);
        let commas = commas.map(|token| token.range.start).collect();
        Ok(Self { text, root, commas })
    }

    /// The value that the next key leads to in `node`, to which the first `depth` keys lead. Returns an error if that is
    /// no object, or has the key twice.
    fn member<'n>(
        &self,
        node: &'n Node<'t>,
        spot: &JsonSpot,
        depth: usize,
    ) -> Result<Option<&'n Node<'t>>, Clash> {
        let no_object = || {
            depth
                .checked_sub(1)
                .map_or(Clash::Root, |outer| Clash::Shape(spot.path(outer)))
        };
        let object: &Object<'_> = node.as_object().ok_or_else(no_object)?;
        let key = spot.keys[depth];
        let mut found = object
            .properties
            .iter()
            .filter(|member| member.name.as_str() == key);
        match (found.next(), found.next()) {
            (Some(only), None) => Ok(Some(&only.value)),
            (None, _) => Ok(None),
            (Some(_), Some(_)) => Err(Clash::Shape(spot.path(depth))),
        }
    }

    /// The first comma from `from` to `to`.
    fn comma(&self, from: usize, to: usize) -> Option<usize> {
        self.commas
            .iter()
            .copied()
            .find(|comma| (from..to).contains(comma))
    }

    /// The white space before an offset, up to the beginning of its line; `None` if something else is before it.
    fn indent(&self, offset: usize) -> Option<&'t str> {
        let line = self.text[..offset].rfind('\n')? + 1;
        let before = &self.text[line..offset];
        before.trim().is_empty().then_some(before)
    }

    /// The indentation of the line that contains an offset.
    fn line_indent(&self, offset: usize) -> &'t str {
        let line = self.text[..offset]
            .rfind('\n')
            .map_or(0, |newline| newline + 1);
        let rest = &self.text[line..];
        &rest[..rest.len() - rest.trim_start_matches([' ', '\t']).len()]
    }

    /// The text with another item at the end of an object or an array. If the text is `new`, it is the skeleton.
    fn with(&self, container: &Node<'_>, key: Option<&str>, value: &Value, new: bool) -> String {
        let (range, items) = items(container);
        let newline = if self.text.contains("\r\n") {
            "\r\n"
        } else {
            "\n"
        };
        let Some(last) = items.last() else {
            let at = range.start + 1;
            let item = if new {
                format!("{newline}  {}", pretty(key, value, "  ", "  ", newline))
            } else {
                compact(key, value)
            };
            return self.with_at(&[(at, &item)]);
        };
        let comma = self.comma(last.end, range.end);
        let comma_after = if comma.is_some() { "," } else { "" };
        let Some(indent) = items.iter().rev().find_map(|item| self.indent(item.start)) else {
            let item = compact(key, value);
            return match comma {
                Some(comma) => self.with_at(&[(comma + 1, &format!(" {item},"))]),
                None => self.with_at(&[(last.end, &format!(", {item}"))]),
            };
        };
        let outer = self.line_indent(range.start);
        let unit = indent
            .strip_prefix(outer)
            .filter(|unit| !unit.is_empty())
            .unwrap_or("  ");
        let item = format!(
            "{newline}{indent}{}{comma_after}",
            pretty(key, value, indent, unit, newline)
        );
        let end = self.after_comment(comma.map_or(last.end, |comma| comma + 1));
        match comma {
            Some(_) => self.with_at(&[(end, &item)]),
            None => self.with_at(&[(last.end, ","), (end, &item)]),
        }
    }

    /// The text with another value in place of one, over several lines if that one is.
    fn replaced(&self, node: &Node<'_>, value: &Value) -> String {
        let (range, items) = items(node);
        let newline = if self.text.contains("\r\n") {
            "\r\n"
        } else {
            "\n"
        };
        let outer = self.line_indent(range.start);
        let indent = items.iter().find_map(|item| self.indent(item.start));
        let new =
            match indent.map(|indent| indent.strip_prefix(outer).filter(|unit| !unit.is_empty())) {
                Some(unit) => pretty(None, value, outer, unit.unwrap_or("  "), newline),
                None => compact(None, value),
            };
        format!(
            "{}{new}{}",
            &self.text[..range.start],
            &self.text[range.end..]
        )
    }

    /// The end of the comment that follows on the same line, or else the offset.
    fn after_comment(&self, offset: usize) -> usize {
        let line = self.text[offset..].lines().next().unwrap_or_default();
        let comment = line.trim_start();
        let is_block = || {
            let rest = comment
                .strip_prefix("/*")
                .and_then(|rest| rest.split_once("*/"));
            rest.is_some_and(|(_, after)| after.trim().is_empty())
        };
        if comment.starts_with("//") || is_block() {
            offset + line.trim_end().len()
        } else {
            offset
        }
    }

    /// The text with these texts inserted, given in order.
    fn with_at(&self, inserted: &[(usize, &str)]) -> String {
        let mut out = String::with_capacity(self.text.len() + 256);
        let mut from = 0;
        for (at, text) in inserted {
            out.push_str(&self.text[from..*at]);
            out.push_str(text);
            from = *at;
        }
        out + &self.text[from..]
    }

    /// Whether an object or array has one item only, and orch created it for that.
    fn is_created_for_one(&self, container: &Node<'_>) -> bool {
        let (range, items) = items(container);
        let [item] = items.as_slice() else {
            return false;
        };
        // A comment is somebody's.
        let before = &self.text[range.start + 1..item.start];
        let after = &self.text[item.end..range.end - 1];
        let is_bare = |text: &str| text.chars().all(|c| c.is_whitespace() || c == ',');
        before.starts_with(char::is_whitespace) && is_bare(before) && is_bare(after)
    }

    /// The text without an item of an object or an array.
    fn without(&self, container: &Node<'_>, index: usize) -> String {
        let (range, items) = items(container);
        let item = items[index];
        let next = items.get(index + 1).map_or(range.end, |next| next.start);
        let own = self.comma(item.end, next);
        let start = self.before(item.start);
        let end = own.map_or(item.end, |comma| comma + 1);
        // The comma before the last item goes with it.
        let before = index
            .checked_sub(1)
            .filter(|_| own.is_none())
            .map(|before| items[before].end);
        match before.and_then(|before| self.comma(before, item.start)) {
            Some(comma) => {
                let kept = &self.text[comma + 1..start.max(comma + 1)];
                format!("{}{kept}{}", &self.text[..comma], &self.text[end..])
            }
            None => format!("{}{}", &self.text[..start], &self.text[end..]),
        }
    }

    /// The beginning of what belongs to an item: its line, if it begins one, or else a space before it.
    fn before(&self, offset: usize) -> usize {
        match self.indent(offset) {
            Some(indent) => {
                let newline = offset - indent.len() - 1;
                newline - usize::from(self.text[..newline].ends_with('\r'))
            }
            None => offset - usize::from(self.text[..offset].ends_with(' ')),
        }
    }
}

/// The place of an object or array, and those of its items. Nothing else is ever a container.
fn items(container: &Node<'_>) -> (Range, Vec<Range>) {
    let items = match container {
        Node::Object(object) => object
            .properties
            .iter()
            .map(|member| member.range)
            .collect(),
        Node::Array(array) => array
            .elements
            .iter()
            .map(|element| element.range())
            .collect(),
        _ => Vec::new(),
    };
    (container.range(), items)
}

/// An item over several lines.
fn pretty(key: Option<&str>, value: &Value, indent: &str, unit: &str, newline: &str) -> String {
    let mut bytes = Vec::new();
    let formatter = PrettyFormatter::with_indent(unit.as_bytes());
    // A value in memory can always be written to memory.
    let _ = value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter));
    let text = String::from_utf8_lossy(&bytes).replace('\n', &format!("{newline}{indent}"));
    key.map_or(text.clone(), |key| format!("{}: {text}", json!(key)))
}

/// An item on one line. In each object and array there is white space after the opening bracket.
fn compact(key: Option<&str>, value: &Value) -> String {
    let text = match value {
        Value::Object(members) if !members.is_empty() => {
            let members: Vec<String> = members
                .iter()
                .map(|(key, value)| compact(Some(key), value))
                .collect();
            format!("{{ {} }}", members.join(", "))
        }
        Value::Array(values) if !values.is_empty() => {
            let values: Vec<String> = values.iter().map(|value| compact(None, value)).collect();
            format!("[ {} ]", values.join(", "))
        }
        other => other.to_string(),
    };
    key.map_or(text.clone(), |key| format!("{}: {text}", json!(key)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn server() -> JsonSpot {
        let value = json!({"command": "orch", "args": ["mcp"]});
        JsonSpot {
            keys: vec!["mcpServers", "orch"],
            value,
            seal: SealPlace::Comment,
            mark: None,
            preface: None,
        }
    }

    /// A text in which the value of that spot is sealed.
    fn sealed(text: &str) -> String {
        let value = seal(&server().value, server().seal, false);
        text.replace("\"orch\",", &format!("{},", value["command"]))
    }

    fn hook() -> JsonSpot {
        let value = json!({"hooks": [{"type": "command", "command": "orch hook agent stop"}]});
        let keys = vec!["hooks", "Stop"];
        let mark = Some("orch hook agent ");
        JsonSpot {
            keys,
            value,
            seal: SealPlace::Comment,
            mark,
            preface: None,
        }
    }

    #[test]
    fn a_file_that_orch_creates_may_begin_with_another_member_and_is_removed_with_it() {
        for spot in [server(), hook()] {
            let spot = JsonSpot {
                preface: Some(("version", json!(1))),
                ..spot
            };
            let new = added(None, &spot).expect("added");
            let begins = "{\n  \"version\": 1,\n  \"";
            assert!(new.starts_with(begins), "{new}");
            assert_eq!(added(Some(&new), &spot), Ok(new.clone()));
            assert_eq!(removed(&new, &spot), Ok(None));
            let older = JsonSpot {
                value: json!({"command": "orch hook agent "}),
                ..spot.clone()
            };
            let older = added(None, &older).expect("added");
            let renewed = added(Some(&older), &spot).expect("added");
            assert_eq!(removed(&renewed, &spot), Ok(None), "{renewed}");
            // The same file, and its one member, are somebody's.
            let own = "{\n  \"version\": 1\n}\n";
            let with = added(Some(own), &spot).expect("added");
            assert_eq!(removed(&with, &spot), Ok(Some(own.to_owned())), "{with}");
            let more = new.replacen("1,", "2,", 1);
            assert_eq!(
                removed(&more, &spot),
                Ok(Some("{\n  \"version\": 2\n}\n".to_owned()))
            );
        }
    }

    /// Adds the value, checks that it is there and a second time changes nothing, and takes it out again.
    #[track_caller]
    fn there_and_back(text: &str, spot: &JsonSpot) -> String {
        let with = added(Some(text), spot).unwrap_or_else(|clash| panic!("{clash}: {text}"));
        assert_ne!(with, text);
        let mut at = &value_of(&JsonLayout::of(&with).expect("still valid").root);
        for key in &spot.keys {
            at = &at[*key];
        }
        let holds = if spot.mark.is_some() {
            at.as_array()
                .is_some_and(|elements| elements.contains(&seal(&spot.value, spot.seal, false)))
        } else {
            *at == seal(&spot.value, spot.seal, false)
        };
        assert!(holds, "{with}");
        assert_eq!(
            added(Some(&with), spot).as_deref(),
            Ok(with.as_str()),
            "a second time changes nothing"
        );
        assert_eq!(
            removed(&with, spot).expect("removed").as_deref(),
            Some(text),
            "{with}"
        );
        with
    }

    #[test]
    fn a_value_is_added_in_the_layout_of_the_file_and_removed_to_the_byte() {
        for (text, with) in [
            (
                "{}",
                r#"{"mcpServers": { "orch": { "command": "orch", "args": [ "mcp" ] } }}"#,
            ),
            (
                "{\n}\n",
                "{\"mcpServers\": { \"orch\": { \"command\": \"orch\", \"args\": [ \"mcp\" ] } }\n}\n",
            ),
            (
                r#"{"a":1}"#,
                r#"{"a":1, "mcpServers": { "orch": { "command": "orch", "args": [ "mcp" ] } }}"#,
            ),
            (
                "{ \"mcpServers\": {} }",
                r#"{ "mcpServers": {"orch": { "command": "orch", "args": [ "mcp" ] }} }"#,
            ),
            (
                "{\n\t\"a\": 1 // one\n\t// end\n}",
                "{\n\t\"a\": 1, // one\n\t\"mcpServers\": {\n\t\t\"orch\": {\n\t\t\t\"command\": \"orch\",\n\
                 \t\t\t\"args\": [\n\t\t\t\t\"mcp\"\n\t\t\t]\n\t\t}\n\t}\n\t// end\n}",
            ),
            (
                "{\r\n  \"mcpServers\": {\r\n    \"b\": {}, /* b */\r\n  },\r\n}\r\n",
                "{\r\n  \"mcpServers\": {\r\n    \"b\": {}, /* b */\r\n    \"orch\": {\r\n      \"command\": \
                 \"orch\",\r\n      \"args\": [\r\n        \"mcp\"\r\n      ]\r\n    },\r\n  },\r\n}\r\n",
            ),
        ] {
            assert_eq!(there_and_back(text, &server()), sealed(with));
        }
        for text in [
            "{\"hooks\": {\"Stop\": []}}",
            "{\"hooks\": {\"Stop\": [ ]}, \"a\": [1,],}",
            "{\n  \"hooks\": {\n    \"Stop\": [\n      {}\n    ]\n  }\n}",
            "// top\n{ \"hooks\": {} } // end",
            "{\n  \"a\": {\"b\": 1},\n\n  /* x\n  y */\n}\n",
            "{\"a\": 1,\n \"b\": 2}",
            "{\n  \"a\": 1\n, \"b\": \"// no comment\"\n}",
        ] {
            there_and_back(text, &hook());
            there_and_back(text, &server());
        }
    }

    #[test]
    fn several_values_in_a_file_that_orch_created_leave_no_file() {
        let one = added(None, &server()).expect("added");
        let two = added(Some(&one), &hook()).expect("added");
        let rest = removed(&two, &server())
            .expect("removed")
            .expect("the hook is left");
        assert_eq!(removed(&rest, &hook()), Ok(None));
        assert_eq!(removed(&one, &server()), Ok(None));
        let commented = one.replace("\"orch\": {", "// \"db\": {},\n    \"orch\": {");
        let rest = removed(&commented, &server())
            .expect("removed")
            .expect("a comment is left");
        assert!(rest.contains("// \"db\": {},"), "{rest}");
        let kept = "{ \"mcpServers\": {\n  } }";
        assert_eq!(there_and_back(kept, &server()).lines().count(), 2);
    }

    #[test]
    fn what_was_changed_or_is_not_there_is_left_alone() {
        let with = added(None, &server())
            .expect("added")
            .replace("mcp\"", "mcp2\"");
        assert_eq!(added(Some(&with), &server()), Err(Clash::Edited));
        assert_eq!(removed(&with, &server()), Err(Clash::Edited));
        let with = added(None, &hook())
            .expect("added")
            .replace("agent stop", "agent stop --times 9");
        assert_eq!(added(Some(&with), &hook()), Err(Clash::Edited));
        assert_eq!(removed(&with, &hook()), Err(Clash::Edited));
        assert_eq!(
            removed("{\"a\": 1}", &hook())
                .as_ref()
                .map(Option::as_deref),
            Ok(Some("{\"a\": 1}"))
        );
        for (text, clash) in [
            (
                "{\"mcpServers\": []}",
                Clash::Shape("mcpServers".to_owned()),
            ),
            (
                "{\"mcpServers\": null}",
                Clash::Shape("mcpServers".to_owned()),
            ),
            (
                "{\"mcpServers\": {}, \"mcpServers\": {}}",
                Clash::Shape("mcpServers".to_owned()),
            ),
            ("[]", Clash::Root),
        ] {
            assert_eq!(added(Some(text), &server()), Err(clash.clone()), "{text}");
            assert_eq!(removed(text, &server()), Err(clash), "{text}");
        }
        for text in ["", "{", "{'a': 1}", "{a: 1}", "{\"a\" 1}", "{} {}"] {
            assert!(
                matches!(added(Some(text), &server()), Err(Clash::Syntax { .. })),
                "{text}"
            );
        }
    }

    #[test]
    fn what_a_person_wrote_is_kept_even_if_it_is_the_same() {
        for (text, spot) in [
            (
                "{\"mcpServers\": {\"orch\": {\"args\": [\"mcp\"], \"command\": \"orch\"}}}",
                server(),
            ),
            (
                "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"orch hook agent stop\"}]}]}}",
                hook(),
            ),
        ] {
            assert_eq!(
                added(Some(text), &spot).as_deref(),
                Ok(text),
                "there is nothing to add"
            );
            assert_eq!(
                removed(text, &spot).as_ref().map(Option::as_deref),
                Ok(Some(text))
            );
            let other = text
                .replace("orch\"}", "orch -v\"}")
                .replace("agent stop", "agent stop --times 9");
            assert!(
                matches!(added(Some(&other), &spot), Err(Clash::Taken(_))),
                "{other}"
            );
            assert_eq!(
                removed(&other, &spot).as_ref().map(Option::as_deref),
                Ok(Some(other.as_str()))
            );
        }
    }

    #[test]
    fn what_an_earlier_version_wrote_is_replaced_and_removed() {
        for (text, mut spot) in [
            ("{\n  \"a\": 1\n}\n", server()),
            ("{\"hooks\": {\"Stop\": [{}]}}", hook()),
            (
                "{\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{}\n\t\t]\n\t}\n}",
                hook(),
            ),
        ] {
            let earlier = added(Some(text), &spot).expect("added");
            spot.value["timeout"] = 9.into();
            assert_eq!(
                removed(&earlier, &spot).expect("removed").as_deref(),
                Some(text)
            );
            let now = added(Some(&earlier), &spot).expect("replaced");
            assert_eq!(
                now,
                added(Some(text), &spot).expect("added"),
                "as if the earlier version had never been"
            );
            assert_eq!(
                removed(&now, &spot).expect("removed").as_deref(),
                Some(text)
            );
        }
    }

    /// A JSON text with comments in one of many layouts.
    fn document() -> impl Strategy<Value = String> {
        let gap = prop::sample::select(vec![
            "",
            " ",
            "\n",
            "\n  ",
            "\n\t",
            " // c\n",
            " /* c */ ",
            "\r\n  ",
        ]);
        let leaf = prop::sample::select(vec!["1", "\"x\"", "null", "[]", "{}", "{ }", "[1, 2]"]);
        let leaf = leaf.prop_map(str::to_owned);
        let value = leaf.prop_recursive(3, 12, 4, move |inner| {
            let member = (
                prop::sample::select(vec!["a", "b", "hooks", "mcpServers"]),
                inner.clone(),
            );
            let members = prop::collection::vec((gap.clone(), member, gap.clone()), 0..4);
            let array = prop::collection::vec((gap.clone(), inner, gap.clone()), 0..3);
            let join = |items: Vec<String>, trailing: bool, gap: &str, brackets: (&str, &str)| {
                let comma = if trailing && !items.is_empty() {
                    ","
                } else {
                    ""
                };
                format!(
                    "{}{}{comma}{gap}{}",
                    brackets.0,
                    items.join(","),
                    brackets.1
                )
            };
            let object =
                (members, any::<bool>(), gap.clone()).prop_map(move |(members, trailing, gap)| {
                    let items = members.into_iter().map(|(before, (key, value), after)| {
                        format!("{before}\"{key}\": {value}{after}")
                    });
                    join(items.collect(), trailing, gap, ("{", "}"))
                });
            let array =
                (array, any::<bool>(), gap.clone()).prop_map(move |(values, trailing, gap)| {
                    let items = values
                        .into_iter()
                        .map(|(before, value, after)| format!("{before}{value}{after}"));
                    join(items.collect(), trailing, gap, ("[", "]"))
                });
            prop_oneof![object.clone(), object, array]
        });
        value.prop_filter("an object", |text| text.starts_with('{'))
    }

    proptest! {
        #[test]
        fn what_was_added_is_removed_from_every_text(text in document()) {
            for spot in [server(), hook()] {
                if let Ok(with) = added(Some(&text), &spot) {
                    let back = removed(&with, &spot).expect("removed");
                    prop_assert_eq!(back.as_deref(), Some(text.as_str()), "{}", with);
                }
            }
        }
    }
}
