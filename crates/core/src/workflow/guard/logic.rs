//! The logic of a guard: what it asks of single values, and how it joins the answers.

use super::functions::symbol;
use super::typing::{MacroKind, WrittenMacro};
use super::walk::{chain, children, spelled, unmetered};
use super::{Guard, ParsedPart};
use cel::IdedExpr;
use cel::common::ast::{CallExpr, ComprehensionExpr, Expr, LiteralValue, operators};

/// How a guard joins questions.
#[derive(Debug, Clone, PartialEq)]
pub enum Logic {
    /// A constant.
    Known(bool),
    /// A question about one value.
    Asks(ValueQuestion),
    /// A named expression, whose value is true or false if it is a definition.
    Named(String),
    /// The opposite.
    Not(Box<Self>),
    /// All of them.
    All(Vec<Self>),
    /// At least one of them.
    Any(Vec<Self>),
    /// The second if the first is true, or else the third.
    If(Box<[Self; 3]>),
    /// Whether two values are equal.
    Same(Box<SameValues>),
}

/// Whether two values are equal.
#[derive(Debug, Clone, PartialEq)]
pub struct SameValues {
    /// When each of them is true, if they are true or false.
    pub truths: [Logic; 2],
    /// What is asked if they are anything else.
    pub question: ValueQuestion,
}

/// A question about one value.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueQuestion {
    /// The value, as an expression: `plan.final`, `patch.data.files.size()`.
    pub subject: String,
    /// The path of the value, if the expression is no more than that; not of whether there is one.
    pub path: Option<Vec<String>>,
    /// What is asked.
    pub test: Test,
}

/// What is asked of a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// Whether it is true.
    IsTrue,
    /// Whether it is this text.
    IsText(String),
    /// Whether it is less than, the same as or more than a number, of which one or two hold.
    Number {
        /// The number.
        than: f64,
        /// Whether a smaller value passes.
        less: bool,
        /// Whether this very value passes.
        same: bool,
        /// Whether a greater value passes.
        more: bool,
    },
    /// How it is to another value: the subject names both, as `left <=> right`.
    Order {
        /// Whether it passes if the left one is less.
        less: bool,
        /// Whether it passes if they are equal.
        same: bool,
        /// Whether it passes if the left one is greater.
        more: bool,
    },
}

/// Stands between two values that are compared with each other.
pub const COMPARED: &str = " <=> ";

impl Guard {
    /// The logic of its parts, all of which must hold.
    #[must_use]
    pub fn logic(&self) -> Logic {
        let parts = self.parsed().parts.iter();
        Logic::All(parts.map(ParsedPart::logic).collect())
    }
}

impl Guard {
    /// The logic of asking something about its value; `None` if it joins parts, of which none is the value.
    #[must_use]
    pub fn tested(&self, test: &Test) -> Option<Logic> {
        match self.parsed().parts.as_slice() {
            [only] => Some(tested(&only.expression, test)),
            _ if *test == Test::IsTrue => Some(self.logic()),
            _ => None,
        }
    }
}

impl ParsedPart {
    fn logic(&self) -> Logic {
        logic(&self.expression)
    }
}

fn logic(expression: &IdedExpr) -> Logic {
    tested(expression, &Test::IsTrue)
}

/// The logic of asking something about the value of an expression.
fn tested(expression: &IdedExpr, test: &Test) -> Logic {
    let expression = unmetered(expression);
    if let Expr::Call(call) = &expression.expr
        && let (operators::CONDITIONAL, [of, then, other]) =
            (call.func_name.as_str(), call.args.as_slice())
    {
        return Logic::If(Box::new([
            logic(of),
            tested(then, test),
            tested(other, test),
        ]));
    }
    match (test, &expression.expr) {
        (Test::IsTrue, _) => truth(expression),
        (_, Expr::Literal(literal)) => match test.passes(literal) {
            Some(passes) => Logic::Known(passes),
            None => asks(expression, test.clone()),
        },
        _ => asks(expression, test.clone()),
    }
}

/// The logic of an expression that yields true or false.
fn truth(expression: &IdedExpr) -> Logic {
    match &expression.expr {
        Expr::Literal(LiteralValue::Boolean(known)) => Logic::Known(*known.inner()),
        Expr::Ident(name) => Logic::Named(name.clone()),
        Expr::Call(call) => joined(call).unwrap_or_else(|| asks(expression, Test::IsTrue)),
        _ => asks(expression, Test::IsTrue),
    }
}

/// The logic of a call that joins or compares; `None` if it is neither.
fn joined(call: &CallExpr) -> Option<Logic> {
    let args = call.args.as_slice();
    Some(match (call.func_name.as_str(), args) {
        (operators::LOGICAL_NOT, [of]) => Logic::Not(Box::new(logic(of))),
        (operators::LOGICAL_AND, _) => Logic::All(args.iter().map(logic).collect()),
        (operators::LOGICAL_OR, _) => Logic::Any(args.iter().map(logic).collect()),
        (operators::IN, [of, list]) => one_of(of, unmetered(list))?,
        (name, [left, right]) => compared(name, unmetered(left), unmetered(right))?,
        _ => return None,
    })
}

/// Whether a value is one of some texts; `None` if the list is not one of texts.
fn one_of(of: &IdedExpr, list: &IdedExpr) -> Option<Logic> {
    let Expr::List(list) = &list.expr else {
        return None;
    };
    let texts = list.elements.iter().map(|text| match &text.expr {
        Expr::Literal(LiteralValue::String(text)) => {
            Some(tested(of, &Test::IsText(text.inner().to_owned())))
        }
        _ => None,
    });
    texts.collect::<Option<Vec<_>>>().map(Logic::Any)
}

/// A comparison of a value with a literal; `None` if it is none.
fn compared(name: &str, left: &IdedExpr, right: &IdedExpr) -> Option<Logic> {
    let (subject, literal, is_swapped) = match (&left.expr, &right.expr) {
        (_, Expr::Literal(literal)) => (left, literal, false),
        (Expr::Literal(literal), _) => (right, literal, true),
        _ => return related(name, left, right),
    };
    let (less, same, more) = passing(name)?;
    let is_equality = less == more;
    let test = match literal {
        LiteralValue::Boolean(known) if is_equality => {
            let logic = logic(subject);
            return Some(if *known.inner() == same {
                logic
            } else {
                Logic::Not(Box::new(logic))
            });
        }
        LiteralValue::String(text) if is_equality => Test::IsText(text.inner().to_owned()),
        LiteralValue::Int(number) => number_test(*number.inner() as f64, less, same, more),
        LiteralValue::UInt(number) => number_test(*number.inner() as f64, less, same, more),
        LiteralValue::Double(number) => number_test(*number.inner(), less, same, more),
        _ => return equal(name, left, right),
    };
    let test = match test {
        Test::Number {
            than,
            less,
            same,
            more,
        } if is_swapped => number_test(than, more, same, less),
        test => test,
    };
    let is_other_text = matches!(test, Test::IsText(_)) && !same;
    let logic = tested(subject, &test);
    Some(if is_other_text {
        Logic::Not(Box::new(logic))
    } else {
        logic
    })
}

/// Whether a comparison holds for less, for the same and for more; `None` if it is none.
fn passing(name: &str) -> Option<(bool, bool, bool)> {
    Some(match name {
        operators::EQUALS => (false, true, false),
        operators::NOT_EQUALS => (true, false, true),
        operators::LESS => (true, false, false),
        operators::LESS_EQUALS => (true, true, false),
        operators::GREATER => (false, false, true),
        operators::GREATER_EQUALS => (false, true, true),
        _ => return None,
    })
}

/// A comparison of two values of which neither is a literal, in the order of their spelling.
fn related(name: &str, left: &IdedExpr, right: &IdedExpr) -> Option<Logic> {
    let (less, same, more) = passing(name)?;
    let sides = [spell(left), spell(right)];
    let is_swapped = sides[0] > sides[1];
    let (less, more) = if is_swapped {
        (more, less)
    } else {
        (less, more)
    };
    let [first, second] = if is_swapped { [1, 0] } else { [0, 1] };
    let question = |less, same, more| ValueQuestion {
        subject: format!("{}{COMPARED}{}", sides[first], sides[second]),
        path: None,
        test: Test::Order { less, same, more },
    };
    if less != more {
        return Some(Logic::Asks(question(less, same, more)));
    }
    let equal = Logic::Same(Box::new(SameValues {
        truths: [logic(left), logic(right)],
        question: question(false, true, false),
    }));
    Some(if same {
        equal
    } else {
        Logic::Not(Box::new(equal))
    })
}

/// Whether a value is one that no test is about, such as null; `None` if something else is asked.
fn equal(name: &str, left: &IdedExpr, right: &IdedExpr) -> Option<Logic> {
    let subject = format!("{} == {}", spell(left), spell(right));
    let question = Logic::Asks(ValueQuestion {
        subject,
        path: None,
        test: Test::IsTrue,
    });
    match name {
        operators::EQUALS => Some(question),
        operators::NOT_EQUALS => Some(Logic::Not(Box::new(question))),
        _ => None,
    }
}

impl Test {
    /// Whether a literal passes; `None` if the test is about another type.
    fn passes(&self, literal: &LiteralValue) -> Option<bool> {
        let number = match (self, literal) {
            (Self::IsText(text), LiteralValue::String(literal)) => {
                return Some(literal.inner() == text);
            }
            (_, LiteralValue::Int(number)) => *number.inner() as f64,
            (_, LiteralValue::UInt(number)) => *number.inner() as f64,
            (_, LiteralValue::Double(number)) => *number.inner(),
            _ => return None,
        };
        match self {
            Self::Number {
                than,
                less,
                same,
                more,
            } => Some(match number.total_cmp(than) {
                std::cmp::Ordering::Less => *less,
                std::cmp::Ordering::Equal => *same,
                std::cmp::Ordering::Greater => *more,
            }),
            _ => None,
        }
    }
}

fn number_test(than: f64, less: bool, same: bool, more: bool) -> Test {
    Test::Number {
        than,
        less,
        same,
        more,
    }
}

fn asks(expression: &IdedExpr, test: Test) -> Logic {
    let is_path = !matches!(&expression.expr, Expr::Select(select) if select.test);
    Logic::Asks(ValueQuestion {
        subject: spell(expression),
        path: chain(expression).filter(|_| is_path),
        test,
    })
}

/// An expression as CEL spells it, apart from brackets and spaces. Expressions that are spelled alike have the same value.
fn spell(expression: &IdedExpr) -> String {
    let expression = unmetered(expression);
    if let Expr::Select(select) = &expression.expr
        && select.test
    {
        return format!("has({}.{})", spell(&select.operand), select.field);
    }
    if let Some(path) = chain(expression) {
        return spelled(&path);
    }
    match &expression.expr {
        Expr::Literal(literal) => literal_text(literal),
        Expr::Ident(name) => name.clone(),
        Expr::Select(select) => format!("{}.{}", spell(&select.operand), select.field),
        Expr::Call(call) => spell_call(call),
        Expr::Comprehension(of) => spell_macro(of),
        Expr::List(list) => format!("[{}]", spell_all(&list.elements)),
        Expr::Map(_) | Expr::Struct(_) | Expr::Unspecified => {
            let members: Vec<String> = children(expression).into_iter().map(spell).collect();
            format!("{{{}}}", members.join(", "))
        }
    }
}

fn spell_all(all: &[IdedExpr]) -> String {
    let all: Vec<String> = all.iter().map(spell).collect();
    all.join(", ")
}

fn spell_call(call: &CallExpr) -> String {
    let name = call.func_name.as_str();
    match (call.target.as_deref(), call.args.as_slice()) {
        (Some(target), args) => format!("{}.{name}({})", spell(target), spell_all(args)),
        (None, [of, key]) if name == operators::INDEX => format!("{}[{}]", spell(of), spell(key)),
        (None, [left, right]) => match symbol(name) {
            Some(sign) => format!("{} {sign} {}", spell(left), spell(right)),
            None => format!("{name}({}, {})", spell(left), spell(right)),
        },
        (None, [of]) if name == operators::LOGICAL_NOT => format!("!({})", spell(of)),
        (None, [of]) if name == operators::NEGATE => format!("-({})", spell(of)),
        (None, [of, then, other]) if name == operators::CONDITIONAL => {
            format!("({} ? {} : {})", spell(of), spell(then), spell(other))
        }
        (None, args) => format!("{name}({})", spell_all(args)),
    }
}

/// A macro: `exists` and `all` as they are written, any other one with the steps that it takes.
fn spell_macro(of: &ComprehensionExpr) -> String {
    let written = WrittenMacro::of(of);
    let range = spell(
        written
            .as_ref()
            .map_or(&of.iter_range, |macro_| macro_.range),
    );
    let variable = &of.iter_var;
    let name = match written.as_ref().map(|macro_| macro_.kind) {
        Some(MacroKind::All) => Some("all"),
        Some(MacroKind::Exists) => Some("exists"),
        _ => None,
    };
    let condition = written.and_then(|macro_| macro_.condition);
    if let (Some(name), Some(condition)) = (name, condition) {
        return format!("{range}.{name}({variable}, {})", spell(condition));
    }
    let collected = spelled(std::slice::from_ref(&of.accu_var));
    let kept = spell(&of.loop_step).replace(&collected, "it");
    let result = spell(&of.result).replace(&collected, "it");
    format!("{range}.map({variable}, {kept}; {result})")
}

fn literal_text(literal: &LiteralValue) -> String {
    match literal {
        LiteralValue::Boolean(known) => known.inner().to_string(),
        LiteralValue::Int(number) => number.inner().to_string(),
        LiteralValue::UInt(number) => format!("{}u", number.inner()),
        LiteralValue::Double(number) => format!("{:?}", number.inner()),
        LiteralValue::String(text) => format!("'{}'", text.inner()),
        LiteralValue::Bytes(bytes) => format!("b{:?}", bytes.inner()),
        LiteralValue::Null => "null".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signs(less: bool, same: bool, more: bool) -> String {
        let signs = [(less, '<'), (same, '='), (more, '>')];
        let held = signs.iter().filter(|(held, _)| *held);
        held.map(|(_, sign)| sign).collect()
    }

    /// A logic in one line.
    fn line(logic: &Logic) -> String {
        let lines = |all: &[Logic]| all.iter().map(line).collect::<Vec<_>>().join(" ");
        match logic {
            Logic::Known(known) => known.to_string(),
            Logic::Named(name) => name.clone(),
            Logic::Asks(question) => match &question.test {
                Test::IsTrue => question.subject.clone(),
                Test::IsText(text) => format!("{} is '{text}'", question.subject),
                Test::Number {
                    than,
                    less,
                    same,
                    more,
                } => format!("{} {} {than}", question.subject, signs(*less, *same, *more)),
                Test::Order { less, same, more } => {
                    let signs = signs(*less, *same, *more);
                    question.subject.replace(COMPARED, &format!(" {signs} "))
                }
            },
            Logic::Not(of) => format!("(not {})", line(of)),
            Logic::All(all) => format!("(all {})", lines(all)),
            Logic::Any(any) => format!("(any {})", lines(any)),
            Logic::If(parts) => format!("(if {})", lines(&parts[..])),
            Logic::Same(same) => line(&Logic::Asks(same.question.clone())),
        }
    }

    #[test]
    fn a_guard_is_questions_and_how_they_are_joined() {
        for (text, expected) in [
            ("true", "(all true)"),
            ("settled && !plan.ready", "(all settled (not plan.ready))"),
            (
                "a.b == 'x' || a.b != 'y'",
                "(all (any a.b is 'x' (not a.b is 'y')))",
            ),
            (
                "a.n > 2 && 3 >= a.n && a.n != 1.5",
                "(all a.n > 2 a.n <= 3 a.n <> 1.5)",
            ),
            ("a.b == true && a.c != true", "(all a.b (not a.c))"),
            ("a.b ? a.c : !a.d", "(all (if a.b a.c (not a.d)))"),
            ("has(a.b) && a['b'] == 'x'", "(all has(a.b) a.b is 'x')"),
            (
                "a.l.exists(c, c.x == 'y') && a.l.all(c, c.z)",
                "(all a.l.exists(c, c.x == 'y') a.l.all(c, c.z))",
            ),
            (
                "a.l.filter(c, c.z).size() > 0",
                "(all a.l.map(c, (c.z ? it + [c] : it); it).size() > 0)",
            ),
            (
                "a.b in ['x', 'y'] && (a.c ? a.n : 3) > 2",
                "(all (any a.b is 'x' a.b is 'y') (if a.c a.n > 2 true))",
            ),
            (
                "a.b != null && a.b == null || a.b != a.c",
                "(all (any (all (not a.b == null) a.b == null) (not a.b = a.c)))",
            ),
            ("'x' in a.l && a.b == a.c", "(all 'x' in a.l a.b = a.c)"),
            (
                "a.n < b.n || b.n < a.n || b.n <= a.n || a.n != b.n",
                "(all (any (any a.n < b.n a.n > b.n) (any a.n => b.n (not a.n = b.n))))",
            ),
        ] {
            let guard = Guard::parse(text).expect(text);
            assert_eq!(line(&guard.logic()), expected, "{text}");
        }
    }
}
