//! Looks for values of variables with which all of some formulas hold.

use super::formula::{Formula, Values, Variable};
use std::rc::Rc;

/// After how many steps the search is given up.
const MOST_STEPS: u32 = 20_000;

/// What came of a search.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CaseSearch {
    /// The values that each variable may have; one of each will do.
    Case(Vec<Values>),
    /// There are none.
    None,
    /// It was given up.
    Unknown,
}

/// Whether a formula holds with what is known of the variables.
#[derive(Clone, Copy)]
enum FormulaTruth {
    Yes,
    No,
    /// It depends on more.
    Open(OpenChoice),
}

/// What decides about a formula next.
#[derive(Clone, Copy)]
struct OpenChoice {
    /// A variable that has some of these values, and others.
    variable: usize,
    values: Values,
    /// How many such choices the formula has; a formula with one has to have these values.
    choices: u32,
}

/// Looks for values of all variables with which all formulas hold.
pub(super) fn search(formulas: &[Rc<Formula>], variables: &[Variable]) -> CaseSearch {
    let mut steps = 0;
    let all = variables
        .iter()
        .map(|variable| variable.domain.all())
        .collect();
    step(formulas, all, &mut steps)
}

fn step(formulas: &[Rc<Formula>], known: Vec<Values>, steps: &mut u32) -> CaseSearch {
    *steps += 1;
    if *steps > MOST_STEPS {
        return CaseSearch::Unknown;
    }
    let OpenChoice {
        variable, values, ..
    } = match all(formulas, &known) {
        FormulaTruth::Yes => return CaseSearch::Case(known),
        FormulaTruth::No => return CaseSearch::None,
        FormulaTruth::Open(choice) => choice,
    };
    let mut is_unknown = false;
    for values in [known[variable] & values, known[variable] & !values] {
        let mut narrower = known.clone();
        narrower[variable] = values;
        match step(formulas, narrower, steps) {
            CaseSearch::Case(case) => return CaseSearch::Case(case),
            CaseSearch::None => {}
            CaseSearch::Unknown => is_unknown = true,
        }
    }
    if is_unknown {
        CaseSearch::Unknown
    } else {
        CaseSearch::None
    }
}

/// The formula with the fewest choices is the next: what it has to have follows, and what contradicts shows early.
fn all(formulas: &[Rc<Formula>], known: &[Values]) -> FormulaTruth {
    let mut next: Option<OpenChoice> = None;
    for formula in formulas {
        match truth(formula, known) {
            FormulaTruth::Yes => {}
            FormulaTruth::No => return FormulaTruth::No,
            FormulaTruth::Open(choice) => {
                if next.is_none_or(|next| choice.choices < next.choices) {
                    next = Some(choice);
                }
            }
        }
    }
    next.map_or(FormulaTruth::Yes, FormulaTruth::Open)
}

fn any(formulas: &[Rc<Formula>], known: &[Values]) -> FormulaTruth {
    let mut next: Option<OpenChoice> = None;
    for formula in formulas {
        match truth(formula, known) {
            FormulaTruth::Yes => return FormulaTruth::Yes,
            FormulaTruth::No => {}
            FormulaTruth::Open(choice) => {
                let others = next.map_or(0, |next| next.choices);
                let first = next.unwrap_or(choice);
                next = Some(OpenChoice {
                    choices: others + choice.choices,
                    ..first
                });
            }
        }
    }
    next.map_or(FormulaTruth::No, FormulaTruth::Open)
}

fn truth(formula: &Formula, known: &[Values]) -> FormulaTruth {
    match formula {
        Formula::Known(true) => FormulaTruth::Yes,
        Formula::Known(false) => FormulaTruth::No,
        Formula::Is { variable, values } => match known[*variable] & values {
            0 => FormulaTruth::No,
            left if left == known[*variable] => FormulaTruth::Yes,
            _ => FormulaTruth::Open(OpenChoice {
                variable: *variable,
                values: *values,
                choices: 1,
            }),
        },
        Formula::All(of) => all(of, known),
        Formula::Any(of) => any(of, known),
    }
}
