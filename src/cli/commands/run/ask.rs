//! Prompts a person at the terminal for what the rules wait for.

use crate::cli::Ui;
use crate::drive::{self, Asked, Standstill};
use crate::survey::Sight;

/// Prompts for answers; `None` if there is no question, or if the person ends the run.
pub(super) fn ask(judged: &Sight, ui: &Ui) -> Option<Vec<Asked>> {
    match drive::standstill(judged)? {
        Standstill::Pick(actions) => {
            ui.problem(&judged.decision.reason);
            for (at, action) in actions.iter().enumerate() {
                let workflow = judged.workflow();
                let title = workflow.action(action).and_then(|action| action.title.as_deref());
                ui.problem(&format!("  {}. {action}  {}", at + 1, title.unwrap_or_default()));
            }
            let typed = ui.ask("which one? (leave empty to end the run) ")?;
            let numbered = typed.parse::<usize>().ok().and_then(|at| actions.get(at.checked_sub(1)?));
            let value = numbered.map_or(typed, ToString::to_string);
            (!value.is_empty()).then(|| vec![Asked { key: "action".to_owned(), value }])
        }
        Standstill::Question(ask, offers) => {
            ui.problem(&ask.title);
            let mut answers = Vec::new();
            for pointer in &ask.writes {
                let options =
                    offers.iter().find(|(at, _)| at == pointer).and_then(|(_, list)| list.as_array());
                for option in options.into_iter().flatten() {
                    ui.problem(&format!("  - {option}"));
                }
                let key = pointer.trim_start_matches('/').replace('/', ".");
                let value = ui.ask(&format!("{key} = "))?;
                if !value.is_empty() {
                    answers.push(Asked { key: pointer.clone(), value });
                }
            }
            (!answers.is_empty()).then_some(answers)
        }
    }
}
