//! Why a try failed, as far as the record keeps it.

use serde::{Deserialize, Serialize};

/// Why a try failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureCause {
    /// The reason, as part of a sentence: `it exited with code 3`.
    pub why: String,
    /// What the executor was, and what it left.
    #[serde(flatten)]
    pub trace: ExecutorTrace,
}

/// The executor of a try: which program it was, how it ended, and what it printed last. Everything is absent
/// if the executor left no trace, for example because its run was killed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ExecutorTrace {
    /// The program, without its arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executor: Option<String>,
    /// The exit code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// The time limit that it exceeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_limit: Option<String>,
    /// For a try: `false` if its result says that no further try can succeed. For an action that was given up: also
    /// `false` if that was the last error that the workflow allows, otherwise `true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recoverable: Option<bool>,
    /// The last lines that it printed, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output: Vec<String>,
}

/// How many of the last lines are kept, and how many characters of each.
const KEPT: (usize, usize) = (3, 200);

impl ExecutorTrace {
    /// Notes a line of output, without white space at its ends. An empty line does not count.
    pub fn hear(&mut self, line: &str) {
        let line: String = line.trim().chars().take(KEPT.1).collect();
        if !line.is_empty() {
            self.output.push(line);
            self.output
                .drain(..self.output.len().saturating_sub(KEPT.0));
        }
    }

    /// Whether the executor itself says that no further try can succeed.
    #[must_use]
    pub fn is_final(&self) -> bool {
        self.recoverable == Some(false)
    }
}

impl FailureCause {
    /// The reason, followed by the last line that the executor printed.
    #[must_use]
    pub fn words(&self) -> String {
        match self.trace.output.last() {
            Some(line) if !self.why.contains(line) => format!("{}: {line}", self.why),
            _ => self.why.clone(),
        }
    }
}
