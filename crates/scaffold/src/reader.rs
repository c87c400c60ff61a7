//! Reads the members of a configuration by their kind and reports those that are of another, or that have no effect.

use super::fault::SkillFault;
use super::skill::Condition;
use orch_base::pointer::child;
use orch_base::{Code, nearest};
use serde_json::{Map, Value};

/// The keys that limit the tools of an agent.
pub(super) const TOOLS: [&str; 3] = ["tools", "allowed_tools", "mcp_tools"];

/// The faults of a configuration, collected while it is read. Every method takes an object, its JSON pointer and a key.
#[derive(Default)]
pub(super) struct SkillReader {
    pub faults: Vec<SkillFault>,
}

impl SkillReader {
    pub(super) fn error(&mut self, pointer: &str, code: Code, message: impl Into<String>) {
        self.faults.push(SkillFault::error(pointer, code, message));
    }

    /// Warns of keys that have no effect.
    pub(super) fn dropped(
        &mut self,
        object: &Map<String, Value>,
        pointer: &str,
        keys: &[&str],
        hint: &str,
    ) {
        for key in keys
            .iter()
            .filter(|key| object.get(**key).is_some_and(|value| !value.is_null()))
        {
            let message = format!("`{key}` has no effect in the generated workflow");
            let fault = SkillFault::warning(child(pointer, key), Code::SkillDropped, message);
            self.faults.push(fault.hint(hint));
        }
    }

    /// Reports the unknown keys: one that resembles a known key is a misspelling whose value would be lost, any
    /// other has no effect.
    pub(super) fn keys(&mut self, object: &Map<String, Value>, pointer: &str, known: &[&str]) {
        for key in object.keys() {
            let name = key.as_str();
            if known.contains(&name) || TOOLS.contains(&name) || name == "$schema" {
                continue;
            }
            match nearest(key, known.iter().copied()).filter(|near| !object.contains_key(*near)) {
                Some(near) => {
                    let fault = SkillFault::error(
                        child(pointer, key),
                        Code::SkillKey,
                        format!("unknown key `{key}`"),
                    );
                    self.faults
                        .push(fault.hint(format!("did you mean `{near}`?")));
                }
                None => self.dropped(
                    object,
                    pointer,
                    &[key],
                    &format!("the keys here are: {}", known.join(", ")),
                ),
            }
        }
    }

    pub(super) fn wrong(&mut self, pointer: String, what: &str) {
        self.faults.push(SkillFault::error(
            pointer,
            Code::SkillValue,
            format!("the value should be {what}"),
        ));
    }

    pub(super) fn missing(&mut self, pointer: &str, key: &str) {
        self.error(pointer, Code::SkillValue, format!("`{key}` is missing"));
    }

    pub(super) fn text(
        &mut self,
        object: &Map<String, Value>,
        pointer: &str,
        key: &str,
        needed: bool,
    ) -> String {
        match object.get(key) {
            Some(Value::String(text)) if !text.trim().is_empty() || !needed => {
                text.trim().to_owned()
            }
            Some(Value::String(_)) => {
                self.error(
                    &child(pointer, key),
                    Code::SkillValue,
                    format!("`{key}` is empty"),
                );
                String::new()
            }
            None | Some(Value::Null) => {
                if needed {
                    self.missing(pointer, key);
                }
                String::new()
            }
            Some(_) => {
                self.wrong(child(pointer, key), "a string");
                String::new()
            }
        }
    }

    pub(super) fn number(&mut self, object: &Map<String, Value>, pointer: &str, key: &str) -> i64 {
        match object.get(key) {
            None | Some(Value::Null) => 0,
            Some(value) => value.as_i64().unwrap_or_else(|| {
                self.wrong(child(pointer, key), "a whole number");
                0
            }),
        }
    }

    pub(super) fn object<'v>(
        &mut self,
        object: &'v Map<String, Value>,
        pointer: &str,
        key: &str,
    ) -> Option<&'v Map<String, Value>> {
        match object.get(key) {
            Some(Value::Object(inner)) => Some(inner),
            Some(_) => {
                self.wrong(child(pointer, key), "an object");
                None
            }
            None => {
                self.missing(pointer, key);
                None
            }
        }
    }

    pub(super) fn list<'v>(
        &mut self,
        object: &'v Map<String, Value>,
        pointer: &str,
        key: &str,
    ) -> Option<&'v Vec<Value>> {
        match object.get(key) {
            Some(Value::Array(items)) => Some(items),
            None | Some(Value::Null) => None,
            Some(_) => {
                self.wrong(child(pointer, key), "a list");
                None
            }
        }
    }

    pub(super) fn items<'v>(
        &mut self,
        object: &'v Map<String, Value>,
        pointer: &str,
        key: &str,
        needed: bool,
    ) -> Vec<(String, &'v Map<String, Value>)> {
        if needed && object.get(key).is_none_or(Value::is_null) {
            self.missing(pointer, key);
        }
        let mut found = Vec::new();
        for (index, item) in self
            .list(object, pointer, key)
            .into_iter()
            .flatten()
            .enumerate()
        {
            let at = format!("{}/{index}", child(pointer, key));
            match item.as_object() {
                Some(item) => found.push((at, item)),
                None => self.wrong(at, "an object"),
            }
        }
        found
    }

    pub(super) fn conditions(
        &mut self,
        object: &Map<String, Value>,
        pointer: &str,
        key: &str,
    ) -> Vec<Condition> {
        let mut found = Vec::new();
        for (index, item) in self
            .list(object, pointer, key)
            .into_iter()
            .flatten()
            .enumerate()
        {
            let pointer = format!("{}/{index}", child(pointer, key));
            match item.as_str() {
                Some(text) => found.push(Condition {
                    pointer,
                    text: text.to_owned(),
                }),
                None => self.wrong(pointer, "a string"),
            }
        }
        found
    }

    pub(super) fn texts(
        &mut self,
        object: &Map<String, Value>,
        pointer: &str,
        key: &str,
    ) -> Vec<String> {
        self.conditions(object, pointer, key)
            .into_iter()
            .map(|found| found.text)
            .collect()
    }
}
