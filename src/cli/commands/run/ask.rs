//! Prompts a person at the terminal for what the rules wait for.

use crate::cli::Ui;
use orch_base::Reason;
use orch_core::decide::QuestionField;
use orch_engine::drive::{self, Asked, Standstill};
use orch_engine::survey::Sight;

/// Prompts for answers, and again for each one that does not fit; `None` if there is no question, or if the person ends
/// the run.
pub(super) fn ask(
    sight: &Sight,
    fits: &dyn Fn(&[Asked]) -> Result<(), Reason>,
    ui: &Ui,
) -> Option<Vec<Asked>> {
    match drive::standstill(sight)? {
        Standstill::Pick(actions) => {
            ui.problem(&sight.decision.reason);
            for (at, action) in actions.iter().enumerate() {
                let workflow = sight.workflow();
                let title = workflow
                    .action(action)
                    .and_then(|action| action.title.as_deref());
                ui.problem(&format!(
                    "  {}. {action}  {}",
                    at + 1,
                    title.unwrap_or_default()
                ));
            }
            let typed = ui.ask("which one? (leave empty to end the run) ")?;
            let numbered = typed
                .parse::<usize>()
                .ok()
                .and_then(|at| actions.get(at.checked_sub(1)?));
            let value = numbered.map_or(typed, ToString::to_string);
            (!value.is_empty()).then(|| {
                vec![Asked {
                    key: "action".to_owned(),
                    value,
                }]
            })
        }
        Standstill::Question(question) => {
            ui.problem(&question.title);
            let mut answers = Vec::new();
            for field in &question.fields {
                put(field, &mut answers, fits, ui)?;
            }
            (!answers.is_empty()).then_some(answers)
        }
    }
}

/// Prompts for one field until the answer fits or is left empty; `None` at the end of input.
fn put(
    field: &QuestionField,
    answers: &mut Vec<Asked>,
    fits: &dyn Fn(&[Asked]) -> Result<(), Reason>,
    ui: &Ui,
) -> Option<()> {
    for option in field.options.iter().flatten() {
        ui.problem(&format!("  - {option}"));
    }
    loop {
        let value = ui.ask(&format!("{} = ", field.key()))?;
        if value.is_empty() {
            return Some(());
        }
        answers.push(Asked {
            key: field.pointer.clone(),
            value,
        });
        match fits(answers) {
            Ok(()) => return Some(()),
            Err(why) => ui.problem(&why.to_string()),
        }
        answers.pop();
    }
}
