//! `orch diff`: what has changed in an artifact since it was judged.

use super::layout::{one_line, visible};
use super::{Paint, Repository, StepView, Style};
use serde::Serialize;

/// How an artifact differs from what the last step that rests on it has judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ArtifactDiff {
    /// The repository that was read.
    pub repository: Repository,
    /// The id of the task.
    pub task: String,
    /// The name of the artifact in the workflow.
    pub artifact: String,
    /// The last step that rests on the artifact; null if none does.
    pub judged: Option<StepView>,
    /// Its files, by their paths.
    pub files: Vec<FileDiff>,
}

/// How a file differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FileDiff {
    /// The path of the file, relative to the root of the repository.
    pub path: String,
    /// The blob id that was judged; null if there was no file.
    pub before: Option<String>,
    /// The blob id that is there; null if there is no file.
    pub after: Option<String>,
    /// The difference as `git diff` shows it, empty if there is none; null if the file is binary, or if this clone does
    /// not have what was judged.
    pub patch: Option<String>,
}

super::json::documents! { ArtifactDiff = "diff" }

impl ArtifactDiff {
    /// The differences as text: the step, and a patch for each file that differs.
    #[must_use]
    pub fn text(&self, paint: Paint) -> String {
        let artifact = one_line(&self.artifact);
        let mut out = match &self.judged {
            None => format!("no step rests on {artifact} yet\n"),
            Some(step) => {
                let from = step.from.as_deref().unwrap_or("new");
                let commit: String = step
                    .commit
                    .iter()
                    .flat_map(|id| id.chars().take(10))
                    .collect();
                let rest = [step.at.as_deref().unwrap_or_default(), &commit].join(" ");
                format!(
                    "{artifact} since {} -> {}, {}\n",
                    one_line(from),
                    one_line(&step.to),
                    rest.trim()
                )
            }
        };
        let mut is_same = true;
        for file in self.files.iter().filter(|file| file.before != file.after) {
            is_same = false;
            match &file.patch {
                Some(patch) => patch
                    .lines()
                    .for_each(|line| out.push_str(&shown(line, paint))),
                None => out.push_str(&format!(
                    "{} differs, but cannot be shown\n",
                    one_line(&file.path)
                )),
            }
        }
        if is_same {
            out.push_str("no difference\n");
        }
        out
    }
}

/// A line of a patch. What would control the terminal is not printed.
pub(super) fn shown(line: &str, paint: Paint) -> String {
    let text: String = line
        .chars()
        .map(|c| if c == '\t' { c } else { visible(c) })
        .collect();
    let style = match line.as_bytes().first() {
        _ if line.starts_with("+++") || line.starts_with("---") => Some(Style::Strong),
        Some(b'+') => Some(Style::Good),
        Some(b'-') => Some(Style::Bad),
        Some(b'@') => Some(Style::Dim),
        _ => None,
    };
    let text = style.map_or_else(|| text.clone(), |style| paint.paint(style, &text));
    format!("{text}\n")
}
