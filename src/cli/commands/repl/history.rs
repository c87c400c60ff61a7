//! The lines that were typed in a repository: one JSON string per line, in the directory of `orch` inside the git
//! directory. Several prompts may append to it.

use orch_git::LogFile;
use std::fs;
use std::path::Path;

/// The name of the file.
pub(super) const FILE: &str = "history";
/// How many lines are read at the start.
pub(super) const MOST: usize = 1000;

/// The history of a repository.
pub(super) struct TypedHistory {
    file: LogFile,
    last: Option<String>,
}

impl TypedHistory {
    /// Opens the history, and returns it with its last lines. `None` if it cannot be read or written: then only this
    /// prompt remembers its lines.
    pub(super) fn open(path: &Path) -> Option<(Self, Vec<String>)> {
        // Only a regular file is opened, so that reading it ends.
        let file = LogFile::open(path).ok()?;
        let text = fs::read(path).ok()?;
        let lines: Vec<String> = parsed(&String::from_utf8_lossy(&text));
        Some((
            Self {
                file,
                last: lines.last().cloned(),
            },
            lines,
        ))
    }

    /// Appends a line, unless it repeats the one before.
    pub(super) fn append(&mut self, line: &str) {
        if line.trim().is_empty() || self.last.as_deref() == Some(line) {
            return;
        }
        // A line that cannot be kept is still executed.
        let _ = self
            .file
            .append(format!("{}\n", serde_json::Value::from(line)).as_bytes());
        self.last = Some(line.to_owned());
    }
}

/// The last lines of the file. What is no JSON string, such as the rest of a line that was cut, is passed over.
fn parsed(text: &str) -> Vec<String> {
    let lines: Vec<String> = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    lines[lines.len().saturating_sub(MOST)..].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_several_prompts_are_kept_in_order_and_broken_ones_passed_over() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("orch").join(FILE);
        let (mut one, lines) = TypedHistory::open(&path).expect("opened");
        assert_eq!(lines, [""; 0]);
        let (mut other, _) = TypedHistory::open(&path).expect("opened");
        one.append("/next --override \"two\nlines\"");
        one.append("/next --override \"two\nlines\"");
        one.append("  ");
        fs::write(
            &path,
            format!("{}\"cut", fs::read_to_string(&path).expect("read")),
        )
        .expect("written");
        other.append("/status");
        other.append("/log");
        let (_, lines) = TypedHistory::open(&path).expect("opened");
        assert_eq!(lines, ["/next --override \"two\nlines\"", "/log"]);
    }

    #[test]
    fn a_long_history_is_read_from_its_end() {
        let text: String = (0..MOST + 5)
            .map(|number| format!("\"/next {number}\"\n"))
            .collect();
        let lines = parsed(&text);
        assert_eq!((lines.len(), lines[0].as_str()), (MOST, "/next 5"));
    }
}
