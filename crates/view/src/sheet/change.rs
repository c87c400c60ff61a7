//! The change of the code that a task makes: by file, with what has changed since somebody last judged it marked.

use crate::diff::shown;
use crate::layout::{counted, one_line};
use crate::{Paint, Style};
use orch_base::command;
use serde::Serialize;

/// How many lines of the patch of a file are shown.
const MOST_LINES: usize = 400;
/// How many lines of all patches together are shown.
const MOST_ALL: usize = 3000;
/// What stands before a line that has changed since it was judged.
const MARK: &str = "▌";

/// The code of a task, in comparison with what was there when the task began.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TaskChange {
    /// The artifact that is the code.
    pub artifact: String,
    /// The commit with which it is compared; null for a patch, and if there was none.
    pub base: Option<String>,
    /// The commit that has it; null for a patch.
    pub head: Option<String>,
    /// The path of the patch; null if the code is committed.
    pub patch: Option<String>,
    /// The step that last rested on a verdict about the code; null if none did.
    pub judged: Option<JudgedStep>,
    /// Why it is not known which files are the task's or what changed since, so that more may be shown; null if it is.
    pub unknown: Option<String>,
    /// The files, by their paths.
    pub files: Vec<ChangedFile>,
    /// How many more files have changed.
    #[serde(rename = "omittedFiles")]
    pub omitted_files: usize,
    /// The command that shows all of it.
    pub command: Vec<String>,
}

/// The step that last rested on a verdict about some code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct JudgedStep {
    /// The verdict or report.
    pub artifact: String,
    /// When the step was recorded, in UTC.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    pub at: String,
    /// Its commit; null if that is unknown.
    pub commit: Option<String>,
}

/// A file that the code of a task changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChangedFile {
    /// The path of the file, relative to the root of the repository.
    pub path: String,
    /// How many lines are added.
    pub added: usize,
    /// How many lines are removed.
    pub removed: usize,
    /// Whether it has changed since it was judged.
    pub changed_since: bool,
    /// The lines that have changed since it was judged: the first and the last of each run of them, in the present file.
    pub lines_since: Vec<[usize; 2]>,
    /// The difference as `git diff` shows it, as far as it is not too long; null if the file is binary.
    pub patch: Option<String>,
    /// How many lines of the patch are left out.
    pub omitted: usize,
    /// What has changed where no line can show it; null if lines do.
    pub note: Option<String>,
}

impl ChangedFile {
    /// A file with this patch, cut if it is long; `None` stands for a binary file.
    #[must_use]
    pub fn new(path: &str, patch: Option<String>) -> Self {
        let mut file = Self {
            path: path.to_owned(),
            added: 0,
            removed: 0,
            changed_since: false,
            lines_since: Vec::new(),
            patch: None,
            omitted: 0,
            note: None,
        };
        let Some(patch) = patch else {
            return file;
        };
        let mut in_hunk = false;
        for line in patch.lines() {
            in_hunk |= line.starts_with("@@ ");
            match line.as_bytes().first() {
                Some(b'+') if in_hunk => file.added += 1,
                Some(b'-') if in_hunk => file.removed += 1,
                _ => {}
            }
        }
        file.patch = Some(patch);
        file.cut(MOST_LINES);
        file
    }

    /// Takes out the lines of the patch beyond `most`, and returns how many are left.
    fn cut(&mut self, most: usize) -> usize {
        let Some(patch) = &self.patch else {
            return 0;
        };
        let count = patch.lines().count();
        if count > most {
            let kept: String = patch.split_inclusive('\n').take(most).collect();
            self.patch = Some(kept);
            self.omitted += count - most;
        }
        count.min(most)
    }

    /// The lines of the patch, each with whether it has changed since it was judged.
    pub(crate) fn lines(&self) -> Vec<(&str, bool)> {
        let mut lines = Vec::new();
        let mut number = 0;
        let mut in_hunk = false;
        for line in self.patch.iter().flat_map(|patch| patch.lines()) {
            if let Some(start) = new_start(line) {
                (number, in_hunk) = (start, true);
                lines.push((line, false));
                continue;
            }
            let is_added = in_hunk && line.starts_with('+');
            let is_here = |[from, to]: &[usize; 2]| (*from..=*to).contains(&number);
            lines.push((line, is_added && self.lines_since.iter().any(is_here)));
            if in_hunk && !line.starts_with(['-', '\\']) {
                number += 1;
            }
        }
        lines
    }
}

/// The number of the first line of the new file in a hunk, if the line is the head of one.
fn new_start(line: &str) -> Option<usize> {
    let rest = line.strip_prefix("@@ -")?;
    let (_, new) = rest.split_once(" +")?;
    let end = new.find(|c: char| !c.is_ascii_digit())?;
    new[..end].parse().ok()
}

/// The numbers of the lines that a patch adds, in the new file.
#[must_use]
pub fn marked_lines(patch: &str) -> Vec<usize> {
    let mut numbers = Vec::new();
    let mut number = 0;
    let mut in_hunk = false;
    for line in patch.lines() {
        if let Some(start) = new_start(line) {
            (number, in_hunk) = (start, true);
        } else if in_hunk && line.starts_with('+') {
            numbers.push(number);
            number += 1;
        } else if in_hunk && !line.starts_with(['-', '\\']) {
            number += 1;
        }
    }
    numbers
}

/// Numbers in order, as runs of those that follow each other.
#[must_use]
pub fn line_ranges(numbers: &[usize]) -> Vec<[usize; 2]> {
    let mut ranges: Vec<[usize; 2]> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some([_, last]) if *last + 1 == *number => *last = *number,
            _ => ranges.push([*number, *number]),
        }
    }
    ranges
}

impl TaskChange {
    /// Cuts the patches so that all together are not too long.
    #[must_use]
    pub fn within_limits(mut self) -> Self {
        let mut left = MOST_ALL;
        for file in &mut self.files {
            left -= file.cut(left);
        }
        self
    }

    /// How many files, and how many lines are added and removed.
    pub(crate) fn counts(&self) -> String {
        let added: usize = self.files.iter().map(|file| file.added).sum();
        let removed: usize = self.files.iter().map(|file| file.removed).sum();
        let files = counted(self.files.len() + self.omitted_files, "file");
        let shown = match self.omitted_files {
            0 => String::new(),
            _ => format!(" in the first {}", self.files.len()),
        };
        format!("{files}, +{added} -{removed}{shown}")
    }

    /// How many lines of patches are left out.
    pub(crate) fn omitted(&self) -> usize {
        self.files.iter().map(|file| file.omitted).sum()
    }

    /// The command that shows all of it.
    pub(crate) fn whole(&self) -> String {
        command(&self.command)
    }

    /// The table of the files.
    pub(super) fn table(&self, out: &mut String, paint: Paint) {
        let width = self.files.iter().map(|file| file.path.chars().count());
        let width = width.max().unwrap_or_default().min(60);
        for file in &self.files {
            let path = one_line(&file.path);
            let counts = match (&file.note, &file.patch) {
                (Some(note), _) => paint.paint(Style::Warn, note),
                (None, None) => "binary".to_owned(),
                (None, Some(_)) => {
                    let added = paint.paint(Style::Good, &format!("+{}", file.added));
                    let removed = paint.paint(Style::Bad, &format!("-{}", file.removed));
                    format!("{added} {removed}")
                }
            };
            let since = match file.changed_since {
                true => paint.paint(Style::Warn, &format!("  {MARK} changed since")),
                false => String::new(),
            };
            out.push_str(&format!("  {path:width$}  {counts}{since}\n"));
        }
        if self.omitted_files > 0 {
            let more = format!("… {} not shown", counted(self.omitted_files, "more file"));
            out.push_str(&format!("  {}\n", paint.paint(Style::Warn, &more)));
        }
    }

    /// The patches, with a mark before each line that has changed since it was judged.
    pub(super) fn patches(&self, out: &mut String, paint: Paint) {
        let is_marked = self.files.iter().any(|file| file.changed_since);
        for file in self.files.iter().filter(|file| file.patch.is_some()) {
            out.push('\n');
            for (line, is_new) in file.lines() {
                if is_marked {
                    let mark = match is_new {
                        true => paint.paint(Style::Warn, MARK),
                        false => " ".to_owned(),
                    };
                    out.push_str(&mark);
                }
                out.push_str(&shown(line, paint));
            }
            if file.omitted > 0 {
                let left = counted(file.omitted, "more line");
                let more = format!("… {left} of {}", one_line(&file.path));
                out.push_str(&format!("{}\n", paint.paint(Style::Warn, &more)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2b\n three\n@@ -9 +10,2 @@\n nine\n+ten\n\\ No newline at end of file\n";

    #[test]
    fn lines_are_counted_and_those_of_later_are_marked() {
        let mut file = ChangedFile::new("f", Some(PATCH.to_owned()));
        assert_eq!((file.added, file.removed, file.omitted), (3, 1, 0));
        assert_eq!(marked_lines(PATCH), [2, 3, 11]);
        assert_eq!(line_ranges(&[2, 3, 11]), [[2, 3], [11, 11]]);
        file.lines_since = vec![[3, 3], [11, 20]];
        let marked = file.lines();
        let marked: Vec<&str> = marked
            .iter()
            .filter(|(_, is_new)| *is_new)
            .map(|(line, _)| *line)
            .collect();
        assert_eq!(marked, ["+2b", "+ten"]);
    }

    #[test]
    fn a_long_patch_is_cut_and_says_by_how_much() {
        let long = format!("@@ -0,0 +1,500 @@\n{}", "+x\n".repeat(500));
        let file = ChangedFile::new("f", Some(long));
        assert_eq!((file.added, file.omitted), (500, 101));
        assert_eq!(ChangedFile::new("b", None).added, 0);
    }
}
