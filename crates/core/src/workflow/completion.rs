//! When the files of an artifact are complete: `complete`.

use super::compile::Compiler;
use super::raw::Text;
use super::{Format, is_pattern};
use orch_base::{Code, Diagnostic, Period, RepoPath};

/// How long the reports of a directory have to be quiet, unless the workflow says when they are complete.
const QUIET: Period = Period::from_seconds(3);

/// When several files that one program writes are complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Completion {
    /// Once none of them has changed for this long.
    Quiet(Period),
    /// Once the file with this path below the task's directory is there.
    Marker(String),
}

impl Compiler<'_> {
    /// When the files of an artifact are complete. By default the reports of a directory have to be quiet.
    pub(super) fn completion(
        &mut self,
        text: Option<&Text>,
        format: Format,
        paths: &[String],
    ) -> Option<Completion> {
        let is_glob = paths.iter().any(|path| is_pattern(path));
        let Some(text) = text else {
            if format.is_report() && is_glob {
                return Some(Completion::Quiet(QUIET));
            }
            return None;
        };
        let found = match text.value.strip_prefix("quiet ") {
            Some(period) => Period::parse(period.trim()).map(Completion::Quiet),
            None => RepoPath::new(&text.value)
                .ok()
                .filter(|path| !is_pattern(path.as_str()))
                .map(|path| Completion::Marker(path.to_string())),
        };
        if found.is_none() || !is_glob {
            let message = match is_glob {
                true => format!(
                    "`complete` is neither a quiet time nor a path: `{}`",
                    text.value
                ),
                false => "`complete` is for a `path` with a wildcard, which several files match"
                    .to_owned(),
            };
            let hint =
                "write `quiet 3s`, or the path of a file that marks the end, such as `eval/done`";
            self.problem(
                &text.span,
                Diagnostic::error(Code::WorkflowValue, message).hint(hint),
            );
            return None;
        }
        found
    }
}
