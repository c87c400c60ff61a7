//! From a configuration's conditions to CEL, with what JavaScript makes of absent values and of types.
//!
//! CEL knows no truth but `true` and no absent member, so the type of each field decides what is
//! written. What JavaScript would quietly get wrong (a list as a condition, a text compared with a
//! number) is refused.

use super::expression::{Comparison, Expression, Kind, Literal, parse};
use super::fault::Refused;
use super::field::{Field, Type};
use super::skill::{KEPT, SkillAction};
use crate::base::nearest;
use std::cell::Cell;
use std::ops::Range;

/// The phases of every workflow made here, which is what a configuration calls its status.
pub(super) const STATUSES: [&str; 5] = ["pending", "running", "completed", "failed", "user_exit"];

/// The field that counts accepted actions, where a condition asks for it.
pub(super) const COUNTER: &str = "iteration_count";

/// What conditions may name.
pub(super) struct Names<'a> {
    pub fields: &'a [Field],
    pub actions: &'a [SkillAction],
    /// Whether some condition asks how many actions were accepted.
    pub counts: Cell<bool>,
}

/// A condition in CEL.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Translated {
    /// The expression; empty if only the status was asked for.
    pub cel: String,
    /// The status that it asks for.
    pub status: Option<String>,
    /// Whether it asks for a field of the state, which actions change.
    pub reads_state: bool,
}

/// The paths that some part of an expression compares with null.
pub(super) fn nullable(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if let Ok(expression) = parse(text) {
        collect_nullable(&expression, &mut found);
    }
    found
}

fn collect_nullable(expression: &Expression, found: &mut Vec<String>) {
    match &expression.kind {
        Kind::Not(inner) => collect_nullable(inner, found),
        Kind::All(parts) | Kind::Any(parts) => {
            parts.iter().for_each(|part| collect_nullable(part, found));
        }
        Kind::Compare(_, left, right) => {
            for (one, other) in [(left, right), (right, left)] {
                if let (Kind::Path(path), Kind::Literal(Literal::Null)) = (&one.kind, &other.kind) {
                    found.extend(own(path).first().cloned());
                }
            }
        }
        _ => {}
    }
}

/// Translates one condition.
pub(super) fn translate(text: &str, names: &Names<'_>) -> Result<Translated, Refused> {
    let expression = parse(text)?;
    let mut translator = Translator { names, reads_state: false };
    let parts = match expression.kind {
        Kind::All(parts) => parts,
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
    Ok(Translated { cel, status, reads_state: translator.reads_state })
}

/// The status that a part asks for: `status === 'running'`.
fn status_of(part: &Expression) -> Option<&str> {
    let Kind::Compare(Comparison::Equal, left, right) = &part.kind else { return None };
    match (&left.kind, &right.kind) {
        (Kind::Path(path), Kind::Literal(Literal::Text(text)))
        | (Kind::Literal(Literal::Text(text)), Kind::Path(path))
            if own(path) == ["status"] =>
        {
            Some(text)
        }
        _ => None,
    }
}

/// A path without the `state.` that some write before it.
fn own(path: &[String]) -> &[String] {
    match path {
        [first, rest @ ..] if first == "state" && !rest.is_empty() => rest,
        _ => path,
    }
}

/// A piece of CEL and how close it binds.
#[derive(Debug, Clone)]
struct Cel {
    text: String,
    binds: Binds,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binds {
    Or,
    And,
    Compare,
    Close,
}

impl Cel {
    fn new(text: impl Into<String>, binds: Binds) -> Self {
        Self { text: text.into(), binds }
    }

    fn within(&self, least: Binds) -> String {
        if self.binds < least { format!("({})", self.text) } else { self.text.clone() }
    }

    fn all(parts: Vec<Self>) -> Option<Self> {
        match parts.as_slice() {
            [] => None,
            [only] => Some(only.clone()),
            _ => {
                let texts: Vec<String> = parts.iter().map(|part| part.within(Binds::And)).collect();
                Some(Self::new(texts.join(" && "), Binds::And))
            }
        }
    }

    fn not(self) -> Self {
        Self::new(format!("!{}", self.within(Binds::Close)), Binds::Close)
    }
}

/// A value: its CEL, what must be asked before it can be read, and what it is.
struct Operand {
    text: String,
    needs: Vec<String>,
    kind: Type,
    is_null: bool,
    span: Range<usize>,
}

impl Operand {
    /// The condition, once what it reads is known to be there.
    fn guarded(&self, condition: Cel) -> Cel {
        let needs = self.needs.iter().map(|need| Cel::new(need.clone(), Binds::Close));
        let parts: Vec<Cel> = needs.chain([condition.clone()]).collect();
        Cel::all(parts).unwrap_or(condition)
    }
}

struct Translator<'a> {
    names: &'a Names<'a>,
    reads_state: bool,
}

impl Translator<'_> {
    fn condition(&mut self, expression: &Expression) -> Result<Cel, Refused> {
        match &expression.kind {
            Kind::All(parts) => self.joined(parts, " && ", Binds::And),
            Kind::Any(parts) => self.joined(parts, " || ", Binds::Or),
            Kind::Not(inner) => Ok(self.condition(inner)?.not()),
            Kind::Compare(sign, left, right) => self.comparison(*sign, left, right, &expression.span),
            Kind::Includes(path, item) => self.includes(path, item, &expression.span),
            Kind::Literal(Literal::Bool(value)) => Ok(Cel::new(value.to_string(), Binds::Close)),
            Kind::Literal(_) => Err(Refused::new(expression.span.clone(), "a value alone is no condition")
                .hint("compare something with it")),
            Kind::Path(_) | Kind::Length(_) => {
                let operand = self.operand(expression)?;
                self.truth(&operand)
            }
        }
    }

    fn joined(&mut self, parts: &[Expression], sign: &str, binds: Binds) -> Result<Cel, Refused> {
        let mut texts = Vec::new();
        for part in parts {
            // An `&&` inside an `||` gets its brackets, so that nobody has to know which binds closer.
            let closer = if binds == Binds::Or { Binds::Compare } else { binds };
            texts.push(self.condition(part)?.within(closer));
        }
        Ok(Cel::new(texts.join(sign), binds))
    }

    /// What JavaScript takes for true.
    fn truth(&self, operand: &Operand) -> Result<Cel, Refused> {
        let text = &operand.text;
        let compared = |with: &str| Cel::new(format!("{text} != {with}"), Binds::Compare);
        let condition = match &operand.kind {
            Type::Bool => Cel::new(text.clone(), Binds::Close),
            Type::Number | Type::Integer => compared("0"),
            Type::Text | Type::OneOf(_) => compared("''"),
            Type::List if operand.needs.is_empty() => {
                return Err(Refused::new(operand.span.clone(), "a list is always true, even an empty one")
                    .hint("write `.length > 0`"));
            }
            Type::List | Type::Map => {
                let needs = operand.needs.iter().map(|need| Cel::new(need.clone(), Binds::Close));
                return Ok(Cel::all(needs.collect()).unwrap_or_else(|| Cel::new("true", Binds::Close)));
            }
            Type::Any => {
                let parts = ["null", "false", "0", "''"].map(compared);
                return Ok(operand.guarded(Cel::all(parts.to_vec()).unwrap_or_else(|| compared("null"))));
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
    ) -> Result<Cel, Refused> {
        let (left, right) = (self.operand(left)?, self.operand(right)?);
        let is_equality = matches!(sign, Comparison::Equal | Comparison::NotEqual);
        if left.is_null || right.is_null {
            return null_comparison(sign, &left, &right, span);
        }
        self.comparable(&left, &right, is_equality, span)?;
        let (positive, is_negated) = match sign {
            // What is absent equals nothing, and so differs from everything.
            Comparison::NotEqual if !left.needs.is_empty() || !right.needs.is_empty() => {
                (Comparison::Equal, true)
            }
            sign => (sign, false),
        };
        let compared = Cel::new(format!("{} {} {}", left.text, positive.sign(), right.text), Binds::Compare);
        let guarded = left.guarded(right.guarded(compared));
        Ok(if is_negated { guarded.not() } else { guarded })
    }

    fn comparable(
        &self,
        left: &Operand,
        right: &Operand,
        is_equality: bool,
        span: &Range<usize>,
    ) -> Result<(), Refused> {
        let refuse = |message: String| Err(Refused::new(span.clone(), message));
        let (one, other) = (family(&left.kind), family(&right.kind));
        if let (Some(one), Some(other)) = (one, other)
            && one != other
        {
            return refuse(format!("{one} is compared with {other}"));
        }
        let ordered = |family| matches!(family, None | Some("a number" | "a text"));
        let has_order = ordered(one) && ordered(other);
        if !is_equality && !has_order {
            return refuse(format!("{} has no order", one.or(other).unwrap_or("this")));
        }
        if is_equality && [one, other].iter().any(|family| matches!(family, Some("a list" | "a map"))) {
            return refuse("lists and maps are never the same to JavaScript".to_owned());
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

    fn includes(&mut self, path: &[String], item: &Expression, span: &Range<usize>) -> Result<Cel, Refused> {
        if own(path) == ["completed_actions"] {
            let Kind::Literal(Literal::Text(id)) = &item.kind else {
                return Err(Refused::new(item.span.clone(), "the id of an action should stand here"));
            };
            let name = self.action(id, &item.span)?;
            return Ok(Cel::new(format!("action.{name}.done > 0"), Binds::Compare));
        }
        let list = self.path(path, span)?;
        let item = self.operand(item)?;
        let condition = match &list.kind {
            Type::List | Type::Any => Cel::new(format!("{} in {}", item.text, list.text), Binds::Compare),
            Type::Text if matches!(family(&item.kind), Some("a text") | None) => {
                Cel::new(format!("{}.contains({})", list.text, item.text), Binds::Close)
            }
            _ => return Err(Refused::new(span.clone(), "only a list or a text includes something")),
        };
        Ok(list.guarded(item.guarded(condition)))
    }

    fn action(&self, id: &str, span: &Range<usize>) -> Result<String, Refused> {
        let wanted = super::skill::machine_name(id);
        match self.names.actions.iter().find(|action| action.name == wanted) {
            Some(action) => Ok(action.name.clone()),
            None => {
                let known = self.names.actions.iter().map(|action| action.id.as_str());
                Err(unknown(span, "action", id, known, ""))
            }
        }
    }

    fn operand(&mut self, expression: &Expression) -> Result<Operand, Refused> {
        let span = expression.span.clone();
        let plain = |text: String, kind| Operand { text, needs: Vec::new(), kind, is_null: false, span };
        Ok(match &expression.kind {
            Kind::Literal(Literal::Null) => Operand { is_null: true, ..plain("null".to_owned(), Type::Any) },
            Kind::Literal(Literal::Bool(value)) => plain(value.to_string(), Type::Bool),
            Kind::Literal(Literal::Integer(value)) => plain(value.to_string(), Type::Integer),
            Kind::Literal(Literal::Decimal(value)) => plain(format!("{value:?}"), Type::Number),
            Kind::Literal(Literal::Text(text)) => plain(quoted(text), Type::OneOf(vec![text.clone()])),
            Kind::Path(path) => self.path(path, &expression.span)?,
            Kind::Length(path) => self.length(path, &expression.span)?,
            _ => {
                return Err(Refused::new(expression.span.clone(), "a path or a literal should stand here")
                    .hint("a condition needs no `=== true`; write it alone, or with `!`"));
            }
        })
    }

    fn length(&mut self, path: &[String], span: &Range<usize>) -> Result<Operand, Refused> {
        match own(path) {
            [only] if only == "completed_actions" => return Ok(self.counter(span)),
            [only] if only == "errors" => return Ok(run_member("errors", span)),
            _ => {}
        }
        let inner = self.path(path, span)?;
        if !matches!(inner.kind, Type::List | Type::Text | Type::OneOf(_) | Type::Any) {
            return Err(Refused::new(span.clone(), "only a list or a text has a length"));
        }
        Ok(Operand { text: format!("size({})", inner.text), kind: Type::Integer, ..inner })
    }

    fn counter(&self, span: &Range<usize>) -> Operand {
        self.names.counts.set(true);
        let text = format!("state.{COUNTER}");
        Operand { text, needs: Vec::new(), kind: Type::Integer, is_null: false, span: span.clone() }
    }

    fn path(&mut self, path: &[String], span: &Range<usize>) -> Result<Operand, Refused> {
        let declared = |name: &str| self.names.fields.iter().find(|field| field.name == name);
        let path = if path.first().is_some_and(|first| declared(first).is_some()) { path } else { own(path) };
        let [first, below @ ..] = path else {
            return Err(Refused::new(span.clone(), "the path is empty"));
        };
        let Some(field) = declared(first) else { return self.kept(first, below, span) };
        self.reads_state = true;
        let mut text = format!("state.{first}");
        let mut needs = Vec::new();
        if field.optional {
            needs.push(format!("has({text})"));
        }
        if below.is_empty() {
            return Ok(Operand { text, needs, kind: field.kind.clone(), is_null: false, span: span.clone() });
        }
        if !matches!(field.kind, Type::Map | Type::Any) {
            let message = format!("`{first}` is no map, so it has no `{}`", below.join("."));
            return Err(Refused::new(span.clone(), message));
        }
        for member in below {
            if !super::skill::is_name(member) {
                return Err(Refused::new(span.clone(), format!("`{member}` cannot be named in a condition")));
            }
            text = format!("{text}.{member}");
            needs.push(format!("has({text})"));
        }
        Ok(Operand { text, needs, kind: Type::Any, is_null: false, span: span.clone() })
    }

    /// What `orch` keeps by itself.
    fn kept(&mut self, first: &str, below: &[String], span: &Range<usize>) -> Result<Operand, Refused> {
        match (first, below) {
            ("status", []) => {
                let kind = Type::OneOf(STATUSES.map(str::to_owned).to_vec());
                let text = "state.status".to_owned();
                Ok(Operand { text, needs: Vec::new(), kind, is_null: false, span: span.clone() })
            }
            ("error_count", []) => Ok(run_member("errors", span)),
            ("max_errors", []) => Ok(run_member("max_errors", span)),
            ("iteration_count", []) => Ok(self.counter(span)),
            ("completed_actions" | "errors", _) => {
                let message = format!("of `{first}` only `.length` and `.includes(x)` can be asked");
                Err(Refused::new(span.clone(), message))
            }
            ("current_action" | "updated_at", _) => {
                let message = format!("`{first}` says nothing while the next action is chosen");
                Err(Refused::new(span.clone(), message).hint("ask what the state holds instead"))
            }
            _ => {
                let fields = self.names.fields.iter().map(|field| field.name.as_str());
                let kept = KEPT.into_iter().filter(|name| !["current_action", "updated_at"].contains(name));
                Err(unknown(span, "field", first, fields.chain(kept), ""))
            }
        }
    }

    fn known_status(&self, name: &str, span: &Range<usize>) -> Result<(), Refused> {
        if STATUSES.contains(&name) {
            return Ok(());
        }
        Err(unknown(span, "status", name, STATUSES.into_iter(), ""))
    }
}

fn run_member(member: &str, span: &Range<usize>) -> Operand {
    let text = format!("run.{member}");
    Operand { text, needs: Vec::new(), kind: Type::Integer, is_null: false, span: span.clone() }
}

/// `x === null` asks whether it is absent: a merge of null takes a key out of the state.
fn null_comparison(
    sign: Comparison,
    left: &Operand,
    right: &Operand,
    span: &Range<usize>,
) -> Result<Cel, Refused> {
    let operand = if left.is_null { right } else { left };
    let needs = operand.needs.iter().map(|need| Cel::new(need.clone(), Binds::Close));
    let present = Cel::all(needs.collect());
    match (sign, present) {
        (Comparison::Equal, Some(present)) => Ok(present.not()),
        (Comparison::NotEqual, Some(present)) => Ok(present),
        (Comparison::Equal | Comparison::NotEqual, None) => {
            Err(Refused::new(span.clone(), "this is never null"))
        }
        _ => Err(Refused::new(span.clone(), "null has no order")),
    }
}

/// What kinds of values can be compared at all; `None` if only the state itself tells.
fn family(kind: &Type) -> Option<&'static str> {
    Some(match kind {
        Type::Bool => "true or false",
        Type::Number | Type::Integer => "a number",
        Type::Text | Type::OneOf(_) => "a text",
        Type::List => "a list",
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
) -> Refused {
    let known: Vec<&str> = known.collect();
    let hint = match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known are: {}", known.join(", ")),
    };
    let message = if instead.is_empty() {
        format!("there is no {what} `{name}`")
    } else {
        format!("{instead} `{name}`")
    };
    Refused::new(span.clone(), message).hint(hint)
}

/// A text as a literal of CEL.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("'");
    for letter in text.chars() {
        match letter {
            '\\' => quoted.push_str("\\\\"),
            '\'' => quoted.push_str("\\'"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            control if control.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(control))),
            plain => quoted.push(plain),
        }
    }
    quoted.push('\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::super::field;
    use super::super::skill::machine_name;
    use super::*;
    use crate::workflow::guard::{Lookup, Scope, follow};
    use crate::workflow::{Guard, RESERVED_KEYS};
    use serde_json::{Value, json};

    fn fields() -> Vec<Field> {
        let types = [
            ("flag", "boolean"),
            ("score", "number"),
            ("note", "string"),
            ("level", "low|medium|high"),
            ("items", "string[]"),
            ("maybe", "string | null"),
            ("results", "object"),
            ("thing", "Thing"),
            ("state_of_it", "boolean"),
        ];
        let fields = types.map(|(name, text)| {
            let (kind, optional) = field::read(text);
            assert!(!RESERVED_KEYS.contains(&name));
            Field { name: name.to_owned(), kind, optional, description: String::new() }
        });
        fields.to_vec()
    }

    fn action(id: &str) -> SkillAction {
        SkillAction {
            pointer: String::new(),
            id: id.to_owned(),
            name: machine_name(id),
            title: id.to_owned(),
            description: String::new(),
            preconditions: Vec::new(),
            effects: Vec::new(),
            priority: 0,
        }
    }

    fn translated(text: &str) -> Result<Translated, Refused> {
        let (fields, actions) = (fields(), [action("action-init"), action("action-token-count")]);
        translate(text, &Names { fields: &fields, actions: &actions, counts: Cell::new(false) })
    }

    #[test]
    fn conditions_become_cel_by_the_types_of_what_they_read() {
        for (text, cel) in [
            ("flag", "state.flag"),
            ("!flag", "!state.flag"),
            ("state.flag", "state.flag"),
            ("score", "state.score != 0"),
            ("note", "state.note != ''"),
            ("results", "has(state.results)"),
            ("maybe", "has(state.maybe) && state.maybe != ''"),
            ("!maybe", "!(has(state.maybe) && state.maybe != '')"),
            ("maybe === null", "!has(state.maybe)"),
            ("null !== maybe", "has(state.maybe)"),
            ("maybe !== 'x'", "!(has(state.maybe) && state.maybe == 'x')"),
            ("note !== 'x'", "state.note != 'x'"),
            (
                "score >= 0.5 && flag || note === 'it\\'s'",
                "(state.score >= 0.5 && state.flag) || state.note == 'it\\'s'",
            ),
            ("(flag || score > -1) && note", "(state.flag || state.score > -1) && state.note != ''"),
            ("items.length > 0", "size(state.items) > 0"),
            ("!items.length", "!(size(state.items) != 0)"),
            ("items.includes('a')", "'a' in state.items"),
            ("note.includes('a')", "state.note.contains('a')"),
            (
                "results.a.b === 1",
                "has(state.results) && has(state.results.a) && has(state.results.a.b) && state.results.a.b == 1",
            ),
            ("completed_actions.includes('action-init')", "action.init.done > 0"),
            ("!completed_actions.includes('action-token_count')", "!(action.token_count.done > 0)"),
            ("completed_actions.length < 3", "state.iteration_count < 3"),
            ("error_count >= 3", "run.errors >= 3"),
            ("errors.length === 0", "run.errors == 0"),
            ("status !== 'failed'", "state.status != 'failed'"),
            ("true", "true"),
        ] {
            let found = translated(text).expect(text);
            assert_eq!((found.cel.as_str(), found.status), (cel, None), "{text}");
            assert!(Guard::parse(cel).is_ok(), "{cel}");
        }
    }

    #[test]
    fn the_status_says_in_which_phase_an_action_runs() {
        let found = translated("status === 'running' && flag").expect("translates");
        assert_eq!((found.status.as_deref(), found.cel.as_str()), (Some("running"), "state.flag"));
        let found = translated("'pending' === state.status").expect("translates");
        assert_eq!((found.status.as_deref(), found.cel.as_str()), (Some("pending"), ""));
    }

    #[test]
    fn what_javascript_would_get_wrong_in_silence_is_refused() {
        for (text, span, message) in [
            ("items", 0..5, "a list is always true, even an empty one"),
            ("note > 3", 0..8, "a text is compared with a number"),
            ("flag === 'true'", 0..15, "true or false is compared with a text"),
            ("items === 'a'", 0..13, "a list is compared with a text"),
            ("flag < true", 0..11, "true or false has no order"),
            ("flag && level === 'hihg'", 18..24, "`level` is never `hihg`"),
            ("status === 'done'", 0..17, "there is no status `done`"),
            ("gone", 0..4, "there is no field `gone`"),
            ("flag && scoer > 1", 8..13, "there is no field `scoer`"),
            ("note.a", 0..6, "`note` is no map, so it has no `a`"),
            ("score.length", 0..12, "only a list or a text has a length"),
            ("note === null", 0..13, "this is never null"),
            ("maybe < null", 0..12, "null has no order"),
            ("completed_actions.includes('action-gone')", 27..40, "there is no action `action-gone`"),
            (
                "completed_actions.length.x",
                0..26,
                "of `completed_actions` only `.length` and `.includes(x)` can be asked",
            ),
            (
                "current_action === 'x'",
                0..14,
                "`current_action` says nothing while the next action is chosen",
            ),
            ("'x'", 0..3, "a value alone is no condition"),
            ("(flag && flag) === true", 0..14, "a path or a literal should stand here"),
            ("flag.includes('x')", 0..18, "only a list or a text includes something"),
        ] {
            let refused = translated(text).expect_err(text);
            assert_eq!((refused.message.as_str(), refused.span), (message, span), "{text}");
        }
    }

    struct Json(Value);

    impl Scope for Json {
        fn look_up(&self, path: &[String]) -> Lookup<'_> {
            follow(&self.0, path, 0)
        }
    }

    #[test]
    fn they_hold_where_javascript_says_so() {
        let bare =
            json!({"flag": false, "score": 0, "note": "", "level": "low", "items": [], "state_of_it": false});
        let full = json!({"flag": true, "score": 1, "note": "ab", "level": "high", "items": ["a"], "maybe": "",
            "results": {"a": {"b": 1.0}}, "thing": 7, "state_of_it": true});
        for (text, in_bare, in_full) in [
            ("flag && state_of_it", false, true),
            ("score === 1", false, true),
            ("score >= 0.5", false, true),
            ("note", false, true),
            ("items.length >= 1 && items.includes('a')", false, true),
            ("maybe === null", true, false),
            ("maybe", false, false),
            ("!maybe", true, true),
            ("maybe !== 'x'", true, true),
            ("results.a.b === 1", false, true),
            ("results.a.c === 1", false, false),
            ("results.a.c !== 1", true, true),
            ("thing", false, true),
            ("thing === 'seven'", false, false),
            ("!thing || flag", true, true),
            ("level === 'low' || level === 'high' && flag", true, true),
            ("note.includes('b')", false, true),
        ] {
            let guard = Guard::parse(&translated(text).expect(text).cel).expect(text);
            for (state, expected) in [(&bare, in_bare), (&full, in_full)] {
                let held = guard.holds(&Json(json!({ "state": state }))).result;
                assert_eq!(held, Ok(expected), "{text}: {} of {state}", guard.text());
            }
        }
    }
}
