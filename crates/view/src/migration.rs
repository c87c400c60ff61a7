//! How tasks move to the present version of their workflow: `orch migrate`.

use super::layout::{paragraph, plain, styled};
use super::wire::Finding;
use super::{Paint, Style};
use serde::Serialize;

/// How tasks move, or would move.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MigrationList {
    /// Whether the moves were made.
    pub applied: bool,
    /// The moves, by the ids of the tasks.
    pub migrations: Vec<MigrationLine>,
    /// The tasks that cannot move.
    pub refused: Vec<Finding>,
    /// How many tasks need not move: they follow the present version, one that is the same machine, or are finished.
    pub unchanged: usize,
}

super::json::documents! { MigrationList = "migrations" }

/// How a task moves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MigrationLine {
    /// The id of the task.
    pub task: String,
    /// The phase in which it was, by the name of its record.
    pub from: String,
    /// The phase in which it goes on.
    pub to: String,
    /// The version that it followed, as `name@digest`.
    pub from_workflow: String,
    /// The version that it follows now.
    pub to_workflow: String,
    /// What of its record counts no more, in words.
    pub dropped: Vec<String>,
    /// The commit; null if the move was not made.
    pub commit: Option<String>,
}

impl MigrationList {
    /// The moves as text.
    #[must_use]
    pub fn text(&self, paint: Paint, width: usize) -> String {
        let mut out = String::new();
        for line in &self.migrations {
            let stays = line.from == line.to;
            let where_to = if stays {
                format!("stays in {}", line.to)
            } else {
                format!("{} -> {}", line.from, line.to)
            };
            let (task, _) = plain(&line.task);
            let commit = line.commit.as_deref().map(|commit| format!("  {commit}"));
            let (shown, style) = styled(where_to, if stays { Style::Dim } else { Style::Warn });
            let shown = paint.paint(style.unwrap_or(Style::Dim), &shown);
            out.push_str(&format!("{task}  {shown}{}\n", commit.unwrap_or_default()));
            let kept = if line.dropped.is_empty() {
                "keeps all that is recorded".to_owned()
            } else {
                format!(
                    "keeps what was used up; counts no more: {}",
                    line.dropped.join(", ")
                )
            };
            paragraph(&mut out, &kept, 4, 4, width);
        }
        out
    }
}
