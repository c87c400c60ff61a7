//! Hints as JSON: a text, and beside it the arguments of the commands in it.

use orch_base::{Hint, RepoPath};
use serde::Serialize;
use serde_json::Value;

/// What to do about something, if anything is known to help. Its JSON is two members, `hint` and
/// `commands`, which stand beside those of what it belongs to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(into = "AdviceMembers")]
pub struct Advice(Option<Hint>);

/// The members of the JSON of an [`Advice`].
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct AdviceMembers {
    /// What to do about it.
    hint: Option<String>,
    /// The arguments of each command in the hint, in order. Paths count from the root of the repository. A word in
    /// capital letters, such as `WHY`, stands for something that is to be chosen.
    commands: Vec<Vec<String>>,
}

impl Advice {
    /// The hint.
    #[must_use]
    pub fn hint(&self) -> Option<&Hint> {
        self.0.as_ref()
    }

    fn members(&self) -> AdviceMembers {
        AdviceMembers {
            hint: self.0.as_ref().map(Hint::to_string),
            commands: self
                .0
                .iter()
                .flat_map(|hint| hint.commands().map(<[String]>::to_vec))
                .collect(),
        }
    }

    /// Adds the members of its JSON to an object.
    #[must_use]
    pub fn within(&self, mut object: Value) -> Value {
        if let (Value::Object(members), Ok(Value::Object(own))) =
            (&mut object, serde_json::to_value(self))
        {
            members.extend(own);
        }
        object
    }

    /// Makes the commands work for whoever types them in the directory `here`.
    pub fn type_at(&mut self, here: &RepoPath) {
        self.0 = self.0.as_ref().map(|hint| hint.at(here));
    }
}

#[cfg(test)]
impl schemars::JsonSchema for Advice {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        AdviceMembers::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        AdviceMembers::json_schema(generator)
    }
}

impl From<Option<Hint>> for Advice {
    fn from(hint: Option<Hint>) -> Self {
        Self(hint)
    }
}

impl From<Option<&Hint>> for Advice {
    fn from(hint: Option<&Hint>) -> Self {
        Self(hint.cloned())
    }
}

impl From<Advice> for AdviceMembers {
    fn from(advice: Advice) -> Self {
        advice.members()
    }
}
