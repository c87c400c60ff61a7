//! Why an expression has no value: which part of it fails, in the words of CEL, and where the value lies that does not
//! fit.
//!
//! The evaluator reports neither. So where it has failed, this goes down to the innermost part that fails, and into the
//! item of a macro at which it does.

use super::functions::spoken_name;
use super::functions::symbol;
use super::types::Types;
use super::value::to_json;
use super::walk::{IN_ORDER, chain, children, is_metered, spelled};
use cel::common::ast::{CallExpr, ComprehensionExpr, Expr, SelectExpr, operators};
use cel::{Context, ExecutionError, IdedExpr, Value};

/// How many characters of a value are shown.
const LONGEST: usize = 60;

/// Why an expression has no value.
pub(super) struct GuardFault {
    /// What is wrong, in one sentence without a final full stop.
    pub message: String,
    /// The path of the value that does not fit, from a name that the expression reads. Items of lists have their index.
    pub path: Option<Vec<String>>,
}

/// A name that a macro binds, and the path of the item that it stands for.
type Bound = (String, Option<Vec<String>>);

/// Explains why an expression failed with `error`.
pub(super) fn fault(
    expression: &IdedExpr,
    context: &Context<'_, '_>,
    error: &ExecutionError,
) -> GuardFault {
    let found = FaultFinder { bound: Vec::new() }.find(expression, context);
    found.unwrap_or_else(|| GuardFault {
        message: words(error),
        path: None,
    })
}

fn fails(expression: &IdedExpr, context: &Context<'_, '_>) -> bool {
    Value::resolve(expression, context).is_err()
}

struct FaultFinder {
    bound: Vec<Bound>,
}

impl FaultFinder {
    /// The fault of an expression that fails; `None` if none of its parts does alone.
    fn find(&mut self, expression: &IdedExpr, context: &Context<'_, '_>) -> Option<GuardFault> {
        match &expression.expr {
            Expr::Comprehension(inner) => self.in_macro(inner, context),
            Expr::Call(call) if call.func_name == operators::CONDITIONAL => {
                self.in_choice(call, context)
            }
            Expr::Call(call) => self
                .in_parts(expression, context)
                .or_else(|| self.of_call(call, expression, context)),
            Expr::Select(select) => self
                .in_parts(expression, context)
                .or_else(|| self.of_member(select, context)),
            Expr::Ident(name) => Some(GuardFault {
                message: format!("`{name}` is unknown here"),
                path: None,
            }),
            _ => self.in_parts(expression, context),
        }
    }

    fn in_parts(&mut self, expression: &IdedExpr, context: &Context<'_, '_>) -> Option<GuardFault> {
        let failing = children(expression)
            .into_iter()
            .find(|part| fails(part, context))?;
        self.find(failing, context)
    }

    /// Of `c ? a : b`, only the branch that is taken may fail.
    fn in_choice(&mut self, call: &CallExpr, context: &Context<'_, '_>) -> Option<GuardFault> {
        let [condition, yes, no] = call.args.as_slice() else {
            return None;
        };
        match Value::resolve(condition, context) {
            Err(_) => self.find(condition, context),
            Ok(Value::Bool(true)) => self.find(yes, context),
            Ok(Value::Bool(false)) => self.find(no, context),
            Ok(other) => {
                let message = format!(
                    "the condition of `?:` is {}, not true or false",
                    types_of(&other)
                );
                Some(self.about(message, condition, &other))
            }
        }
    }

    fn in_macro(
        &mut self,
        inner: &ComprehensionExpr,
        context: &Context<'_, '_>,
    ) -> Option<GuardFault> {
        let Ok(range) = Value::resolve(&inner.iter_range, context) else {
            return self.find(&inner.iter_range, context);
        };
        let Value::List(items) = &range else {
            let message = format!(
                "a macro iterates over a list or a map, not over {}",
                types_of(&range)
            );
            return Some(self.about(message, &inner.iter_range, &range));
        };
        let path = self.path(&inner.iter_range);
        let start = Value::resolve(&inner.accu_init, context).ok()?;
        for (index, item) in items.iter().enumerate() {
            let mut scope = context.new_inner_scope();
            scope.add_variable_from_value(&inner.accu_var, start.clone());
            scope.add_variable_from_value(&inner.iter_var, item.clone());
            if fails(&inner.loop_step, &scope) {
                let path = path
                    .clone()
                    .map(|path| [path, vec![index.to_string()]].concat());
                self.bound.push((inner.iter_var.clone(), path));
                let found = self.find(&inner.loop_step, &scope);
                self.bound.pop();
                return found;
            }
        }
        None
    }

    fn of_member(&self, select: &SelectExpr, context: &Context<'_, '_>) -> Option<GuardFault> {
        let of = Value::resolve(&select.operand, context).ok()?;
        let name = &select.field;
        if matches!(of, Value::Map(_)) {
            let path = self.path(&select.operand);
            return Some(GuardFault {
                message: format!("there is no key `{name}`"),
                path,
            });
        }
        let message = format!("there is no `{name}` in {}", types_of(&of));
        Some(self.about(message, &select.operand, &of))
    }

    fn of_call(
        &self,
        call: &CallExpr,
        expression: &IdedExpr,
        context: &Context<'_, '_>,
    ) -> Option<GuardFault> {
        let error = Value::resolve(expression, context).err()?;
        let operands: Vec<&IdedExpr> = call
            .target
            .as_deref()
            .into_iter()
            .chain(&call.args)
            .collect();
        let values: Vec<Value> = operands
            .iter()
            .map(|operand| Value::resolve(operand, context))
            .collect::<Result<_, _>>()
            .ok()?;
        let is_type = matches!(
            error,
            ExecutionError::NoSuchOverload(_)
                | ExecutionError::UnexpectedType { .. }
                | ExecutionError::ValuesNotComparable(..)
                | ExecutionError::UnsupportedBinaryOperator(..)
                | ExecutionError::UnsupportedTargetType { .. }
                | ExecutionError::NotSupportedAsMethod { .. }
                | ExecutionError::UnsupportedKeyType(_)
                | ExecutionError::UnsupportedIndex(..)
        );
        let name = spoken_name(&call.func_name);
        let message = if is_type {
            let kinds: Vec<String> = values
                .iter()
                .map(|value| types_of(value).to_string())
                .collect();
            format!(
                "`{}` does not work with {}",
                symbol(name).unwrap_or(name),
                kinds.join(" and ")
            )
        } else {
            words(&error)
        };
        // What the document itself says is not what does not fit.
        let read = operands
            .iter()
            .zip(&values)
            .find(|(operand, _)| self.path(operand).is_some());
        match read {
            Some((operand, value)) => Some(self.about(message, operand, value)),
            None => Some(GuardFault {
                message,
                path: None,
            }),
        }
    }

    fn about(&self, message: String, expression: &IdedExpr, value: &Value) -> GuardFault {
        let Some(path) = self.path(expression) else {
            return GuardFault {
                message,
                path: None,
            };
        };
        let Some(shown) = chain(unwrapped(expression)).zip(to_json(value)) else {
            return GuardFault {
                message,
                path: Some(path),
            };
        };
        let (name, value) = shown;
        let text = value.to_string();
        let text = match text.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        };
        GuardFault {
            message: format!("{message}: `{}` is {text}", spelled(&name)),
            path: Some(path),
        }
    }

    /// The path of what an expression reads; `None` if it computes something.
    fn path(&self, expression: &IdedExpr) -> Option<Vec<String>> {
        let read = chain(unwrapped(expression))?;
        let (root, rest) = read.split_first()?;
        match self.bound.iter().rev().find(|(name, _)| name == root) {
            Some((_, path)) => Some([path.as_deref()?, rest].concat()),
            None => Some(read),
        }
    }
}

/// What an expression that only charges for another one stands for.
fn unwrapped(expression: &IdedExpr) -> &IdedExpr {
    match &expression.expr {
        Expr::Call(call) if call.func_name == IN_ORDER || is_metered(call) => {
            call.args.first().unwrap_or(expression)
        }
        _ => expression,
    }
}

/// The type of a value, as messages about types name it.
fn types_of(value: &Value) -> Types {
    match value {
        Value::Null => Types::NULL,
        Value::Bool(_) => Types::BOOL,
        Value::Int(_) | Value::UInt(_) | Value::Float(_) => Types::NUMBER,
        Value::String(_) => Types::TEXT,
        Value::Bytes(_) => Types::BYTES,
        Value::List(_) => Types::LIST,
        Value::Map(_) => Types::MAP,
        _ => Types::TYPE,
    }
}

/// The evaluator's error in plain words.
fn words(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("there is no key `{key}`"),
        ExecutionError::UndeclaredReference(name) => format!("`{name}` is unknown here"),
        ExecutionError::DivisionByZero(_) | ExecutionError::RemainderByZero(_) => {
            "it divides by zero".to_owned()
        }
        ExecutionError::Overflow(..) => "the number is too large".to_owned(),
        ExecutionError::IndexOutOfBounds(index) => match to_json(index) {
            Some(index) => format!("the list has no item {index}"),
            None => "the list has no such item".to_owned(),
        },
        ExecutionError::FunctionError { function, message } => format!("`{function}`: {message}"),
        ExecutionError::InternalError(message) => message.clone(),
        ExecutionError::NoSuchOverload(_)
        | ExecutionError::UnexpectedType { .. }
        | ExecutionError::ValuesNotComparable(..)
        | ExecutionError::UnsupportedBinaryOperator(..) => {
            "its values have incompatible types".to_owned()
        }
        _ => "the expression has no value".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Guard, Lookup, Scope, follow};
    use serde_json::{Value, json};

    /// A scope whose values lie in a file.
    struct InFile(Value);

    impl Scope for InFile {
        fn look_up(&self, path: &[String]) -> Lookup<'_> {
            follow(&self.0, path, 0)
        }

        fn place_of(&self, path: &[String]) -> Option<String> {
            Some(format!("a.json at /{}", path[1..].join("/")))
        }
    }

    #[test]
    fn the_value_that_does_not_fit_is_named_with_its_place() {
        let scope = json!({"data": {
            "issues": [{"severity": "note"}, {"severity": 3}, {}], "text": "x", "none": null, "n": 0, "list": [],
            "map": {"a": {"n": "x"}},
        }});
        for (text, expected) in [
            (
                "data.issues.exists(i, i.severity.matches('x'))",
                "`matches` does not work with a number and text: `i.severity` is 3, in a.json at /issues/1/severity",
            ),
            (
                "data.issues.all(i, i.severity != 7)",
                "there is no key `severity`, in a.json at /issues/2",
            ),
            (
                "data.text.filter(t, true).size() == 0",
                "a macro iterates over a list or a map, not over text: `data.text` is \"x\", in a.json at /text",
            ),
            (
                "data.none.gone == 1",
                "there is no `gone` in null: `data.none` is null, in a.json at /none",
            ),
            (
                "data.n > data.text",
                "`>` does not work with a number and text: `data.n` is 0, in a.json at /n",
            ),
            (
                "1 / data.n == 1",
                "it divides by zero: `data.n` is 0, in a.json at /n",
            ),
            (
                "data.list[0] == 1",
                "the list has no item 0: `data.list` is [], in a.json at /list",
            ),
            (
                "data.text || false",
                "`||` does not work with text and true or false: `data.text` is \"x\", in a.json at /text",
            ),
            (
                "(data.n == 0 ? data.text : data.n) > 1",
                "`>` does not work with text and a number",
            ),
            (
                "data.map.exists(k, data.map[k].n > 1)",
                "`>` does not work with text and a number",
            ),
            (
                "(data.text ? 1 : 2) == 1",
                "the condition of `?:` is text, not true or false: `data.text` is \"x\", in a.json at /text",
            ),
        ] {
            let guard = Guard::parse(text).expect(text);
            let reason = guard.value(&InFile(scope.clone())).expect_err(text);
            assert_eq!(reason.as_str(), expected, "{text}");
        }
    }
}
