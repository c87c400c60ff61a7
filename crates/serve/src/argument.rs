//! The arguments of a call: what they may be, and how they are written on the command line.

use serde_json::{Map, Value, json};

/// An argument of a call.
#[derive(Debug, Clone)]
pub struct Argument {
    /// Its name in the call.
    pub name: String,
    /// What it means, for the client.
    pub about: String,
    /// How it is written.
    pub form: ArgumentForm,
    /// Whether each call has it.
    pub is_required: bool,
}

/// How an argument is written on the command line, which also says what it may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArgumentForm {
    /// A text that stands by itself.
    Word,
    /// An option with a text.
    Text(String),
    /// An option with a text, as often as there are texts.
    Texts(String),
    /// An option with one of these texts, as often as there are texts.
    SomeOf(String, Vec<String>),
    /// An option with a duration, such as `30s`.
    Duration(String),
    /// An option with a number from 1.
    Number(String),
    /// An option with one of these texts.
    OneOf(String, Vec<String>),
    /// An option that is there or not.
    Flag(String),
    /// An object: `KEY=VALUE` for each of its members.
    Pairs,
}

/// The words of a command line: `fixed`, then the options, then the words that stand by themselves. Returns what is
/// wrong if `given` is not what `arguments` accept; `called` names the call there.
pub fn command_line<'a>(
    called: &str,
    fixed: &[&str],
    arguments: impl Iterator<Item = &'a Argument> + Clone,
    given: &Map<String, Value>,
) -> Result<Vec<String>, String> {
    let known = |name: &str| arguments.clone().any(|argument| argument.name == name);
    if let Some(name) = given.keys().find(|name| !known(name)) {
        let names: Vec<&str> = arguments.map(|argument| argument.name.as_str()).collect();
        let has = if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(", ")
        };
        return Err(format!("`{called}` has no argument `{name}`; it has {has}"));
    }
    let mut options: Vec<String> = fixed.iter().map(|word| (*word).to_owned()).collect();
    let mut words = Vec::new();
    for argument in arguments {
        match given.get(&argument.name).filter(|value| !value.is_null()) {
            Some(value) => argument.write(value, &mut options, &mut words)?,
            None if argument.is_required => {
                return Err(format!("the argument `{}` is missing", argument.name));
            }
            None => {}
        }
    }
    // What follows `--` is never an option, whatever it begins with.
    options.push("--".to_owned());
    options.extend(words);
    Ok(options)
}

impl Argument {
    /// The JSON schema of an object with these arguments and no others; `schema` is that of the values of one.
    pub fn object(arguments: &[Self], schema: impl Fn(&Self) -> Value) -> Map<String, Value> {
        let properties: Map<String, Value> = arguments
            .iter()
            .map(|argument| (argument.name.clone(), schema(argument)))
            .collect();
        let required: Vec<&str> = arguments
            .iter()
            .filter(|argument| argument.is_required)
            .map(|argument| argument.name.as_str())
            .collect();
        let mut object = Map::new();
        object.insert("type".to_owned(), json!("object"));
        object.insert("properties".to_owned(), Value::Object(properties));
        if !required.is_empty() {
            object.insert("required".to_owned(), json!(required));
        }
        object.insert("additionalProperties".to_owned(), json!(false));
        object
    }

    /// The JSON schema of its values.
    pub fn schema(&self) -> Value {
        match &self.form {
            ArgumentForm::Word | ArgumentForm::Text(_) => {
                json!({"type": "string", "description": self.about})
            }
            ArgumentForm::Texts(_) => {
                json!({"type": "array", "items": {"type": "string"}, "description": self.about})
            }
            ArgumentForm::SomeOf(_, values) => {
                json!({"type": "array", "items": {"enum": values}, "description": self.about})
            }
            ArgumentForm::Duration(_) => {
                let pattern = "^([0-9]{1,4}h)?([0-9]{1,6}m)?([0-9]{1,8}s)?([0-9]{1,8}ms)?$";
                json!({"type": "string", "minLength": 2, "pattern": pattern, "description": self.about})
            }
            ArgumentForm::Number(_) => {
                json!({"type": "integer", "minimum": 1, "description": self.about})
            }
            ArgumentForm::OneOf(_, values) => json!({"enum": values, "description": self.about}),
            ArgumentForm::Flag(_) => json!({"type": "boolean", "description": self.about}),
            ArgumentForm::Pairs => {
                json!({"type": "object", "minProperties": 1, "description": self.about})
            }
        }
    }

    /// The value that a text means, as in the query of a URL. A text that means none stays a text, which is refused
    /// where the words are written.
    pub fn value_of(&self, text: &str) -> Value {
        match (&self.form, text) {
            (ArgumentForm::Flag(_), "true" | "") => true.into(),
            (ArgumentForm::Flag(_), "false") => false.into(),
            (ArgumentForm::Number(_), _) => text
                .parse::<u32>()
                .map_or_else(|_| text.into(), Value::from),
            _ => text.into(),
        }
    }

    /// Writes a value to the options or to the words of a command line.
    fn write(
        &self,
        value: &Value,
        options: &mut Vec<String>,
        words: &mut Vec<String>,
    ) -> Result<(), String> {
        let wrong = |what: &str| Err(format!("the argument `{}` is not {what}", self.name));
        match (&self.form, value) {
            (_, Value::String(text)) if text.contains('\0') => {
                return wrong("a string without NUL");
            }
            (ArgumentForm::Word, Value::String(text)) if !text.is_empty() => {
                words.push(text.clone())
            }
            (
                ArgumentForm::Text(option)
                | ArgumentForm::Texts(option)
                | ArgumentForm::Duration(option),
                Value::String(text),
            ) if !text.trim().is_empty() => options.push(format!("{option}={text}")),
            (ArgumentForm::Word | ArgumentForm::Text(_), _) => return wrong("a string"),
            (ArgumentForm::Duration(_), _) => return wrong("a duration"),
            (
                ArgumentForm::OneOf(option, values) | ArgumentForm::SomeOf(option, values),
                Value::String(text),
            ) if values.contains(text) => {
                options.push(format!("{option}={text}"));
            }
            (ArgumentForm::Texts(_) | ArgumentForm::SomeOf(..), Value::Array(texts))
                if texts.iter().all(Value::is_string) =>
            {
                texts
                    .iter()
                    .try_for_each(|text| self.write(text, options, words))?;
            }
            (ArgumentForm::Texts(_), _) => return wrong("a list of strings"),
            (ArgumentForm::OneOf(_, values) | ArgumentForm::SomeOf(_, values), _) => {
                return wrong(&format!("one of {}", values.join(", ")));
            }
            (ArgumentForm::Number(option), value) => match whole(value) {
                Some(number) => options.push(format!("{option}={number}")),
                None => return wrong("a number from 1"),
            },
            (ArgumentForm::Flag(option), Value::Bool(is_set)) => {
                options.extend(is_set.then(|| option.clone()))
            }
            (ArgumentForm::Flag(_), _) => return wrong("true or false"),
            (ArgumentForm::Pairs, Value::Object(members)) if !members.is_empty() => {
                if let Some(key) = members
                    .keys()
                    .find(|key| key.is_empty() || key.contains('='))
                {
                    return Err(format!("`{key}` is not a key of an answer"));
                }
                // A text is written as JSON, so that the text `3` stays a text.
                words.extend(members.iter().map(|(key, value)| format!("{key}={value}")));
            }
            (ArgumentForm::Pairs, _) => return wrong("an object with at least one member"),
        }
        Ok(())
    }
}

/// A number from 1, however JSON writes it: 3 and 3.0 are the same.
fn whole(value: &Value) -> Option<u32> {
    let number = value
        .as_f64()
        .filter(|number| number.fract() == 0.0 && *number >= 1.0)?;
    // What has no fraction and is in this range is kept exactly.
    format!("{number:.0}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_query_is_a_value_and_a_value_is_words() {
        let argument = |form| Argument {
            name: "x".to_owned(),
            about: String::new(),
            form,
            is_required: false,
        };
        for (form, text, expected) in [
            (ArgumentForm::Flag("--f".to_owned()), "true", Ok("--f --")),
            (ArgumentForm::Flag("--f".to_owned()), "", Ok("--f --")),
            (ArgumentForm::Flag("--f".to_owned()), "false", Ok("--")),
            (
                ArgumentForm::Flag("--f".to_owned()),
                "yes",
                Err("the argument `x` is not true or false"),
            ),
            (ArgumentForm::Number("--n".to_owned()), "3", Ok("--n=3 --")),
            (
                ArgumentForm::Number("--n".to_owned()),
                "0",
                Err("the argument `x` is not a number from 1"),
            ),
            (
                ArgumentForm::Number("--n".to_owned()),
                "-1",
                Err("the argument `x` is not a number from 1"),
            ),
            (ArgumentForm::Texts("--t".to_owned()), "a", Ok("--t=a --")),
            (
                ArgumentForm::SomeOf("--t".to_owned(), ["a", "b"].map(str::to_owned).to_vec()),
                "b",
                Ok("--t=b --"),
            ),
            (
                ArgumentForm::SomeOf("--t".to_owned(), ["a", "b"].map(str::to_owned).to_vec()),
                "c",
                Err("the argument `x` is not one of a, b"),
            ),
            (
                ArgumentForm::Duration("--d".to_owned()),
                "3s",
                Ok("--d=3s --"),
            ),
            (
                ArgumentForm::Duration("--d".to_owned()),
                "",
                Err("the argument `x` is not a duration"),
            ),
            (
                ArgumentForm::Duration("--d".to_owned()),
                "0s",
                Ok("--d=0s --"),
            ),
            (
                ArgumentForm::Text("--t".to_owned()),
                "",
                Err("the argument `x` is not a string"),
            ),
            (
                ArgumentForm::Text("--t".to_owned()),
                " \n",
                Err("the argument `x` is not a string"),
            ),
            (ArgumentForm::Word, "--all", Ok("-- --all")),
            (
                ArgumentForm::Word,
                "a\0b",
                Err("the argument `x` is not a string without NUL"),
            ),
        ] {
            let argument = argument(form.clone());
            let given = Map::from_iter([("x".to_owned(), argument.value_of(text))]);
            let words = command_line("call", &[], std::iter::once(&argument), &given);
            let words = words.map(|words| words.join(" "));
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(words, expected, "{form:?} {text:?}");
        }
        for (value, expected) in [
            (json!(3.0), Some("--n=3")),
            (json!(4_294_967_295_u32), Some("--n=4294967295")),
            (json!(4_294_967_296_u64), None),
            (json!(3.5), None),
            (json!(0.0), None),
            (json!(1e300), None),
            (json!("3"), None),
        ] {
            let number = argument(ArgumentForm::Number("--n".to_owned()));
            let given = Map::from_iter([("x".to_owned(), value.clone())]);
            let words = command_line("call", &[], std::iter::once(&number), &given).ok();
            assert_eq!(
                words.as_ref().map(|words| words[0].as_str()),
                expected,
                "{value}"
            );
        }
        let texts = argument(ArgumentForm::Texts("--t".to_owned()));
        let given = Map::from_iter([("x".to_owned(), json!(["a", "b"]))]);
        let words =
            command_line("call", &["status"], std::iter::once(&texts), &given).expect("words");
        assert_eq!(words, ["status", "--t=a", "--t=b", "--"]);
        let unknown = command_line("call", &[], std::iter::empty(), &given).expect_err("refused");
        assert_eq!(unknown, "`call` has no argument `x`; it has none");
    }
}
