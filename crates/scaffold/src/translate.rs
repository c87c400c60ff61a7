//! Translates the conditions of a configuration to CEL, preserving JavaScript's treatment of absent values
//! and types.
//!
//! CEL has no truthiness and no absent members, so the translation depends on the type of each field. What
//! JavaScript would silently get wrong (a list as a condition, a string compared with a number) is rejected.

use super::expression::{Comparison, Expression, ExpressionKind, Literal, parse};
use super::fault::SkillRefused;
use super::field::{Field, Type};
use super::piece::{Binds, Cel, Operand, quoted};
use super::skill::{KEPT, SkillAction};
use orch_base::nearest;
use std::cell::Cell;
use std::ops::Range;

/// The phases of every generated workflow, which configurations call statuses.
pub(super) const STATUSES: [&str; 5] = ["pending", "running", "completed", "failed", "user_exit"];

/// The field that counts accepted actions, if a condition reads it.
pub(super) const COUNTER: &str = "iteration_count";

/// The names that conditions may use.
pub(super) struct FieldNames<'a> {
    pub fields: &'a [Field],
    pub actions: &'a [SkillAction],
    /// Whether a condition reads the number of accepted actions.
    pub counts: Cell<bool>,
}

/// A condition in CEL.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Translated {
    /// The expression; empty if the condition only tests the status.
    pub cel: String,
    /// The status that the condition tests for.
    pub status: Option<String>,
    /// Whether the condition reads a field of the state that actions change.
    pub reads_state: bool,
    /// Whether the condition reads only how often something was done or failed.
    pub is_limit: bool,
}

/// The paths that an expression compares with null.
pub(super) fn nullable(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if let Ok(expression) = parse(text) {
        collect_nullable(&expression, &mut found);
    }
    found
}

fn collect_nullable(expression: &Expression, found: &mut Vec<String>) {
    match &expression.kind {
        ExpressionKind::Not(inner) => collect_nullable(inner, found),
        ExpressionKind::All(parts) | ExpressionKind::Any(parts) => {
            parts.iter().for_each(|part| collect_nullable(part, found));
        }
        ExpressionKind::Compare(_, left, right) => {
            for (one, other) in [(left, right), (right, left)] {
                if let (ExpressionKind::Path(path), ExpressionKind::Literal(Literal::Null)) =
                    (&one.kind, &other.kind)
                {
                    found.extend(own(path).first().cloned());
                }
            }
        }
        _ => {}
    }
}

/// Translates one condition. Returns [`SkillRefused`] with a position if it has no faithful translation.
pub(super) fn translate(text: &str, names: &FieldNames<'_>) -> Result<Translated, SkillRefused> {
    let expression = parse(text)?;
    let mut translator = Translator {
        names,
        reads_state: false,
        reads_counts: false,
        reads_deeds: false,
    };
    let parts = match expression.kind {
        ExpressionKind::All(parts) => parts,
        _ => vec![expression],
    };
    let mut status = None;
    let mut rest = Vec::new();
    for part in parts {
        match status_of(&part) {
            Some(name) if status.is_none() => {
                translator.known_status(name, &part.span)?;
                status = Some(name.to_owned());
            }
            _ => rest.push(translator.condition(&part)?),
        }
    }
    let cel = Cel::all(rest).map(|all| all.text).unwrap_or_default();
    let Translator {
        reads_state,
        reads_counts,
        reads_deeds,
        ..
    } = translator;
    Ok(Translated {
        cel,
        status,
        reads_state,
        is_limit: reads_counts && !reads_state && !reads_deeds,
    })
}

/// The status in a part of the form `status === 'running'`.
fn status_of(part: &Expression) -> Option<&str> {
    let ExpressionKind::Compare(Comparison::Equal, left, right) = &part.kind else {
        return None;
    };
    match (&left.kind, &right.kind) {
        (ExpressionKind::Path(path), ExpressionKind::Literal(Literal::Text(text)))
        | (ExpressionKind::Literal(Literal::Text(text)), ExpressionKind::Path(path))
            if own(path) == ["status"] =>
        {
            Some(text)
        }
        _ => None,
    }
}

/// A path without an optional leading `state.`.
fn own(path: &[String]) -> &[String] {
    match path {
        [first, rest @ ..] if first == "state" && !rest.is_empty() => rest,
        _ => path,
    }
}

struct Translator<'a> {
    names: &'a FieldNames<'a>,
    reads_state: bool,
    reads_counts: bool,
    reads_deeds: bool,
}

impl Translator<'_> {
    fn condition(&mut self, expression: &Expression) -> Result<Cel, SkillRefused> {
        match &expression.kind {
            ExpressionKind::All(parts) => self.joined(parts, " && ", Binds::And),
            ExpressionKind::Any(parts) => self.joined(parts, " || ", Binds::Or),
            ExpressionKind::Not(inner) => Ok(self.condition(inner)?.not()),
            ExpressionKind::Compare(sign, left, right) => {
                self.comparison(*sign, left, right, &expression.span)
            }
            ExpressionKind::Includes(path, item) => self.includes(path, item, &expression.span),
            ExpressionKind::Literal(Literal::Bool(value)) => {
                Ok(Cel::new(value.to_string(), Binds::Close))
            }
            ExpressionKind::Literal(_) => Err(SkillRefused::new(
                expression.span.clone(),
                "a value alone is not a condition",
            )
            .hint("compare something with it")),
            ExpressionKind::Path(_) | ExpressionKind::Length(_) => {
                let operand = self.operand(expression)?;
                self.truth(&operand)
            }
        }
    }

    fn joined(
        &mut self,
        parts: &[Expression],
        sign: &str,
        binds: Binds,
    ) -> Result<Cel, SkillRefused> {
        let mut texts = Vec::new();
        for part in parts {
            // An `&&` inside an `||` gets brackets, so that readers need not know the precedence.
            let closer = if binds == Binds::Or {
                Binds::Compare
            } else {
                binds
            };
            texts.push(self.condition(part)?.within(closer));
        }
        Ok(Cel::new(texts.join(sign), binds))
    }

    /// The JavaScript truth value of an operand.
    fn truth(&self, operand: &Operand) -> Result<Cel, SkillRefused> {
        let text = &operand.text;
        let condition = match &operand.kind {
            Type::Bool => Cel::new(text.clone(), Binds::Close),
            Type::Number | Type::Integer => differs(text, "0"),
            Type::Text | Type::OneOf(_) => differs(text, "''"),
            Type::List(_) if operand.needs.is_empty() => {
                return Err(SkillRefused::new(
                    operand.span.clone(),
                    "a list is always true, even an empty one",
                )
                .hint("write `.length > 0`"));
            }
            Type::List(_) | Type::Map => {
                return Ok(operand
                    .present()
                    .unwrap_or_else(|| Cel::new("true", Binds::Close)));
            }
            Type::Any => {
                let parts = ["null", "false", "0", "''"].map(|value| differs(text, value));
                let all = Cel::all(parts.to_vec());
                return Ok(operand.guarded(all.unwrap_or_else(|| differs(text, "null"))));
            }
        };
        Ok(operand.guarded(condition))
    }

    fn comparison(
        &mut self,
        sign: Comparison,
        left: &Expression,
        right: &Expression,
        span: &Range<usize>,
    ) -> Result<Cel, SkillRefused> {
        let left = self.operand(left)?;
        let right = self.operand(right)?;
        let is_equality = matches!(sign, Comparison::Equal | Comparison::NotEqual);
        if left.is_null || right.is_null {
            return null_comparison(sign, &left, &right, span);
        }
        self.comparable(&left, &right, is_equality, span)?;
        if is_equality && !left.needs.is_empty() && !right.needs.is_empty() {
            let same = left.same_as(&right);
            return Ok(if sign == Comparison::NotEqual {
                same.not()
            } else {
                same
            });
        }
        let (positive, is_negated) = match sign {
            // An absent value equals nothing, so it differs from everything.
            Comparison::NotEqual if !left.needs.is_empty() || !right.needs.is_empty() => {
                (Comparison::Equal, true)
            }
            sign => (sign, false),
        };
        let compared = Cel::new(
            format!("{} {} {}", left.text, positive.sign(), right.text),
            Binds::Compare,
        );
        let guarded = left.guarded(right.guarded(compared));
        Ok(if is_negated { guarded.not() } else { guarded })
    }

    fn comparable(
        &self,
        left: &Operand,
        right: &Operand,
        is_equality: bool,
        span: &Range<usize>,
    ) -> Result<(), SkillRefused> {
        let one = family(&left.kind);
        let other = family(&right.kind);
        if let (Some(one), Some(other)) = (one, other)
            && one != other
        {
            let message = format!("{one} is compared with {other}");
            return Err(SkillRefused::new(span.clone(), message));
        }
        for family in [one, other].into_iter().flatten() {
            let message = match family {
                "a list" | "a map" if is_equality => {
                    "lists and maps are never equal in JavaScript".to_owned()
                }
                "a number" | "a string" => continue,
                _ if is_equality => continue,
                _ => format!("{family} has no order"),
            };
            return Err(SkillRefused::new(span.clone(), message));
        }
        for (fixed, given) in [(left, right), (right, left)] {
            if let (Type::OneOf(texts), Type::OneOf(value)) = (&fixed.kind, &given.kind)
                && let [value] = value.as_slice()
                && given.text.starts_with('\'')
                && !texts.contains(value)
            {
                return Err(unknown(
                    &given.span,
                    "value",
                    value,
                    texts.iter().map(String::as_str),
                    &format!("`{}` is never", fixed.text.trim_start_matches("state.")),
                ));
            }
        }
        Ok(())
    }

    fn includes(
        &mut self,
        path: &[String],
        item: &Expression,
        span: &Range<usize>,
    ) -> Result<Cel, SkillRefused> {
        if own(path) == ["completed_actions"] {
            let ExpressionKind::Literal(Literal::Text(id)) = &item.kind else {
                return Err(SkillRefused::new(
                    item.span.clone(),
                    "expected the id of an action",
                ));
            };
            let name = self.action(id, &item.span)?;
            self.reads_deeds = true;
            return Ok(Cel::new(format!("action.{name}.done > 0"), Binds::Compare));
        }
        let list = self.path(path, span)?;
        let at = item.span.clone();
        let item = self.operand(item)?;
        let condition = match &list.kind {
            Type::Text if item.is_null => {
                return Err(SkillRefused::new(at, "a string never includes null"));
            }
            Type::List(_) | Type::Any => {
                Cel::new(format!("{} in {}", item.text, list.text), Binds::Compare)
            }
            Type::Text if matches!(family(&item.kind), Some("a string") | None) => Cel::new(
                format!("{}.contains({})", list.text, item.text),
                Binds::Close,
            ),
            _ => {
                return Err(SkillRefused::new(
                    span.clone(),
                    "only a list or a string has `.includes(x)`",
                ));
            }
        };
        Ok(list.guarded(item.guarded(condition)))
    }

    fn action(&self, id: &str, span: &Range<usize>) -> Result<String, SkillRefused> {
        let wanted = super::skill::machine_name(id);
        match self
            .names
            .actions
            .iter()
            .find(|action| action.name == wanted)
        {
            Some(action) => Ok(action.name.clone()),
            None => {
                let known = self.names.actions.iter().map(|action| action.id.as_str());
                Err(unknown(span, "action", id, known, ""))
            }
        }
    }

    fn operand(&mut self, expression: &Expression) -> Result<Operand, SkillRefused> {
        let mut is_null = false;
        let (text, kind) = match &expression.kind {
            ExpressionKind::Literal(Literal::Null) => {
                is_null = true;
                ("null".to_owned(), Type::Any)
            }
            ExpressionKind::Literal(Literal::Bool(value)) => (value.to_string(), Type::Bool),
            ExpressionKind::Literal(Literal::Integer(value)) => (value.to_string(), Type::Integer),
            ExpressionKind::Literal(Literal::Decimal(value)) => {
                (format!("{value:?}"), Type::Number)
            }
            ExpressionKind::Literal(Literal::Text(text)) => {
                (quoted(text), Type::OneOf(vec![text.clone()]))
            }
            ExpressionKind::Path(path) => return self.path(path, &expression.span),
            ExpressionKind::Length(path) => return self.length(path, &expression.span),
            _ => {
                return Err(SkillRefused::new(
                    expression.span.clone(),
                    "expected a path or a literal",
                )
                .hint("do not compare a condition with `true`; write it alone, or with `!`"));
            }
        };
        Ok(Operand {
            text,
            needs: Vec::new(),
            kind,
            is_null,
            span: expression.span.clone(),
        })
    }

    fn length(&mut self, path: &[String], span: &Range<usize>) -> Result<Operand, SkillRefused> {
        match own(path) {
            [only] if only == "completed_actions" => return Ok(self.counter(span)),
            [only] if only == "errors" => return Ok(self.run_member("errors", span)),
            _ => {}
        }
        let inner = self.path(path, span)?;
        if !matches!(
            inner.kind,
            Type::List(_) | Type::Text | Type::OneOf(_) | Type::Any
        ) {
            return Err(SkillRefused::new(
                span.clone(),
                "only a list or a string has a length",
            ));
        }
        Ok(Operand {
            text: format!("size({})", inner.text),
            kind: Type::Integer,
            ..inner
        })
    }

    fn counter(&mut self, span: &Range<usize>) -> Operand {
        self.names.counts.set(true);
        self.reads_counts = true;
        let text = format!("state.{COUNTER}");
        Operand {
            text,
            needs: Vec::new(),
            kind: Type::Integer,
            is_null: false,
            span: span.clone(),
        }
    }

    fn path(&mut self, path: &[String], span: &Range<usize>) -> Result<Operand, SkillRefused> {
        let fields = &self.names.fields;
        let is_declared = path
            .first()
            .is_some_and(|first| fields.iter().any(|field| field.name == *first));
        let path = if is_declared { path } else { own(path) };
        let [first, below @ ..] = path else {
            return Err(SkillRefused::new(span.clone(), "the path is empty"));
        };
        let Some(field) = fields.iter().find(|field| field.name == *first) else {
            return self.kept(first, below, span);
        };
        self.reads_state = true;
        let mut text = format!("state.{first}");
        let mut needs = Vec::new();
        if field.optional {
            needs.push(format!("has({text})"));
        }
        if below.is_empty() {
            return Ok(Operand {
                text,
                needs,
                kind: field.kind.clone(),
                is_null: false,
                span: span.clone(),
            });
        }
        if !matches!(field.kind, Type::Map | Type::Any) {
            let message = format!("`{first}` is not a map, so it has no `{}`", below.join("."));
            return Err(SkillRefused::new(span.clone(), message));
        }
        for member in below {
            if !super::skill::is_name(member) {
                return Err(SkillRefused::new(
                    span.clone(),
                    format!("`{member}` cannot be used in a condition"),
                ));
            }
            text = format!("{text}.{member}");
            needs.push(format!("has({text})"));
        }
        Ok(Operand {
            text,
            needs,
            kind: Type::Any,
            is_null: false,
            span: span.clone(),
        })
    }

    /// The translation of a name that `orch` manages itself.
    fn kept(
        &mut self,
        first: &str,
        below: &[String],
        span: &Range<usize>,
    ) -> Result<Operand, SkillRefused> {
        match (first, below) {
            ("status", []) => {
                let kind = Type::OneOf(STATUSES.map(str::to_owned).to_vec());
                let text = "state.status".to_owned();
                Ok(Operand {
                    text,
                    needs: Vec::new(),
                    kind,
                    is_null: false,
                    span: span.clone(),
                })
            }
            ("error_count", []) => Ok(self.run_member("errors", span)),
            ("max_errors", []) => Ok(self.run_member("max_errors", span)),
            ("iteration_count", []) => Ok(self.counter(span)),
            ("completed_actions" | "errors", _) => {
                let message =
                    format!("only `.length` and `.includes(x)` of `{first}` are supported");
                Err(SkillRefused::new(span.clone(), message))
            }
            ("current_action" | "updated_at", _) => {
                let message = format!("`{first}` has no value while the next action is chosen");
                Err(SkillRefused::new(span.clone(), message)
                    .hint("test a field of the state instead"))
            }
            _ => {
                let fields = self.names.fields.iter().map(|field| field.name.as_str());
                let kept = KEPT
                    .into_iter()
                    .filter(|name| !["current_action", "updated_at"].contains(name));
                Err(unknown(span, "field", first, fields.chain(kept), ""))
            }
        }
    }

    fn run_member(&mut self, member: &str, span: &Range<usize>) -> Operand {
        self.reads_counts = true;
        let text = format!("run.{member}");
        Operand {
            text,
            needs: Vec::new(),
            kind: Type::Integer,
            is_null: false,
            span: span.clone(),
        }
    }

    fn known_status(&self, name: &str, span: &Range<usize>) -> Result<(), SkillRefused> {
        if STATUSES.contains(&name) {
            return Ok(());
        }
        Err(unknown(span, "status", name, STATUSES.into_iter(), ""))
    }
}

/// `x === null` tests for absence, because merging null removes a key from the state.
fn null_comparison(
    sign: Comparison,
    left: &Operand,
    right: &Operand,
    span: &Range<usize>,
) -> Result<Cel, SkillRefused> {
    let operand = if left.is_null { right } else { left };
    match (sign, operand.present()) {
        (Comparison::Equal, Some(present)) => Ok(present.not()),
        (Comparison::NotEqual, Some(present)) => Ok(present),
        (Comparison::Equal | Comparison::NotEqual, None) => {
            Err(SkillRefused::new(span.clone(), "the value is never null"))
        }
        _ => Err(SkillRefused::new(span.clone(), "null has no order")),
    }
}

/// The types that can be compared with each other; `None` if only the state can tell.
fn family(kind: &Type) -> Option<&'static str> {
    Some(match kind {
        Type::Bool => "true or false",
        Type::Number | Type::Integer => "a number",
        Type::Text | Type::OneOf(_) => "a string",
        Type::List(_) => "a list",
        Type::Map => "a map",
        Type::Any => return None,
    })
}

fn unknown<'n>(
    span: &Range<usize>,
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'n str>,
    instead: &str,
) -> SkillRefused {
    let known: Vec<&str> = known.collect();
    let hint = match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the known names are: {}", known.join(", ")),
    };
    let message = if instead.is_empty() {
        format!("there is no {what} `{name}`")
    } else {
        format!("{instead} `{name}`")
    };
    SkillRefused::new(span.clone(), message).hint(hint)
}

fn differs(text: &str, value: &str) -> Cel {
    Cel::new(format!("{text} != {value}"), Binds::Compare)
}

#[cfg(test)]
mod tests;
