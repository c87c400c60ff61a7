//! What a unified diff touches: its files, and the lines added and removed.

use super::ReadResult;
use orch_base::{Code, Diagnostic, Hint, Place, RepoPath};
use serde_json::json;
use std::collections::HashSet;

/// The command that prints a diff.
const PRINT_DIFF: [&str; 2] = ["git", "diff"];

/// Reads a diff as git or `diff -u` writes it (see git-diff(1), "Generating patch text").
pub(super) fn read(path: &RepoPath, text: &str) -> ReadResult {
    let is_cut = !text.ends_with('\n');
    let mut reader = PatchReader {
        lines: text.lines().collect(),
        is_cut,
        ..PatchReader::default()
    };
    if let Err(PatchCutAt { line, message }) = reader.read() {
        return refused_at(path, text, line, message);
    }
    if reader.files.is_empty() && reader.hunks == 0 {
        let message = "the file is not a diff: it has no file header and no hunk";
        return ReadResult::refused(
            Diagnostic::error(Code::NotAPatch, message)
                .at(Place::file(path))
                .hint(
                    Hint::from("write the file with: ")
                        .command(&PRINT_DIFF)
                        .text(" > FILE"),
                ),
        );
    }
    ReadResult::of(json!({
        "bytes": text.len(),
        "lines": reader.lines.len(),
        "files": reader.files,
        "added": reader.added,
        "removed": reader.removed,
    }))
}

/// The last header lines of the changes that need no content.
const WHOLE: [&str; 5] = [
    "new mode ",
    "rename to ",
    "copy to ",
    "new file mode ",
    "deleted file mode ",
];

/// The line at which a diff is cut off or garbled, counted from 1, and what is wrong.
struct PatchCutAt {
    line: usize,
    message: String,
}

/// The lines of a diff, and what the lines before `at` hold.
#[derive(Default)]
struct PatchReader<'t> {
    lines: Vec<&'t str>,
    /// Whether the last line has no line feed.
    is_cut: bool,
    at: usize,
    files: Vec<String>,
    /// The same files, to look one up.
    named: HashSet<String>,
    added: usize,
    removed: usize,
    hunks: usize,
    /// The line of a header `diff --git` or `index A..B`, as long as the change that it announces has not come.
    announced: Option<usize>,
}

impl PatchReader<'_> {
    fn read(&mut self) -> Result<(), PatchCutAt> {
        while let Some(&line) = self.lines.get(self.at) {
            self.at += 1;
            if let Some(range) = line.strip_prefix("@@ ") {
                self.hunk(range)?;
            } else if self.is_file_header() {
                self.name(&line["--- ".len()..]);
                self.file_header()?;
            } else if line == "GIT binary patch" {
                self.announced = None;
                self.binary()?;
            } else {
                self.header(line)?;
            }
        }
        self.no_change_is_missing()
    }

    /// Whether the last line and the next are `--- A` and `+++ B`, or a cut-off header starts here.
    fn is_file_header(&self) -> bool {
        let next = self.lines.get(self.at);
        self.lines[self.at - 1].starts_with("--- ")
            && next.is_none_or(|next| next.starts_with("+++ ") || next.starts_with("@@ "))
    }

    /// Reads `+++ B`, which a hunk must follow.
    fn file_header(&mut self) -> Result<(), PatchCutAt> {
        self.announced = None;
        let Some(name) = self
            .lines
            .get(self.at)
            .and_then(|line| line.strip_prefix("+++ "))
        else {
            return Err(self.cut("no `+++` line follows the `---` line"));
        };
        self.at += 1;
        self.name(name);
        match self.lines.get(self.at) {
            Some(line) if line.starts_with("@@") => Ok(()),
            _ => Err(self.cut("no hunk follows the header of the file")),
        }
    }

    /// Reads the lines that the hunk header `@@ RANGE` announces.
    fn hunk(&mut self, range: &str) -> Result<(), PatchCutAt> {
        let header = self.at;
        let Some(mut left) = hunk_lengths(range) else {
            return Err(self.cut("the header of the hunk is not `@@ -a,b +c,d @@`"));
        };
        self.hunks += 1;
        while left != (0, 0) {
            let line = self.lines.get(self.at);
            let (old, new) = match line.map(|line| line.as_bytes().first()) {
                Some(Some(b'+')) => (0, 1),
                Some(Some(b'-')) => (1, 0),
                Some(Some(b'\\')) => (0, 0),
                // Some editors strip the space of an empty context line.
                Some(Some(b' ') | None) => (1, 1),
                _ => (u64::MAX, 0),
            };
            if old > left.0 || new > left.1 {
                let message = format!(
                    "the hunk on line {header} lacks lines that its header announces: {} old and {} new are missing here",
                    left.0, left.1
                );
                return Err(PatchCutAt {
                    line: self.lines.len().min(self.at + 1),
                    message,
                });
            }
            self.at += 1;
            left = (left.0 - old, left.1 - new);
            // `git apply` refuses it as well: the rest of the line could be missing.
            if self.is_cut && self.at == self.lines.len() {
                return Err(self.cut("the last line does not end with a line feed"));
            }
            self.added += usize::from(new > old);
            self.removed += usize::from(old > new);
        }
        self.nothing_more(header)
    }

    /// Checks that the lines after a hunk do not belong to it.
    fn nothing_more(&mut self, header: usize) -> Result<(), PatchCutAt> {
        while self
            .lines
            .get(self.at)
            .is_some_and(|line| line.is_empty() || line.starts_with('\\'))
        {
            self.at += 1;
        }
        let Some(&line) = self.lines.get(self.at) else {
            return Ok(());
        };
        self.at += 1;
        // `git format-patch` ends a diff with the signature `-- `.
        let is_more =
            line.starts_with(['+', '-', ' ']) && line.trim_end() != "--" && !self.is_file_header();
        if is_more {
            return Err(self.cut(&format!(
                "the hunk on line {header} has more lines than its header announces"
            )));
        }
        self.at -= 1;
        Ok(())
    }

    /// Whether the line begins a block of binary data.
    fn is_at_block(&self) -> bool {
        let line = self.lines.get(self.at);
        line.is_some_and(|line| line.starts_with("literal ") || line.starts_with("delta "))
    }

    /// Reads the data of a binary file: one or two blocks, each of which ends with an empty line.
    fn binary(&mut self) -> Result<(), PatchCutAt> {
        if !self.is_at_block() {
            return Err(self.cut("the binary patch contains no data"));
        }
        while self.is_at_block() {
            self.at += 1;
            let start = self.at;
            while self
                .lines
                .get(self.at)
                .is_some_and(|line| is_binary_data(line))
            {
                self.at += 1;
            }
            let ends = self.lines.get(self.at).is_some_and(|line| line.is_empty());
            if self.at == start || !ends {
                return Err(self.cut("the data of the binary patch is truncated"));
            }
            self.at += 1;
        }
        Ok(())
    }

    /// Reads any line outside hunks and binary data.
    fn header(&mut self, line: &str) -> Result<(), PatchCutAt> {
        if line.starts_with("diff --git ") {
            self.no_change_is_missing()?;
            self.announced = Some(self.at);
        } else if WHOLE.iter().any(|end| line.starts_with(end)) {
            self.announced = None;
        } else if line.starts_with("index ") && line.contains("..") {
            // The content of an empty file that was added or removed does not change.
            let before = self
                .at
                .checked_sub(2)
                .and_then(|before| self.lines.get(before));
            let is_new = before.is_some_and(|line| {
                line.starts_with("new file ") || line.starts_with("deleted file ")
            });
            self.announced = if is_new { None } else { Some(self.at) };
        } else if line.starts_with("Binary files ") {
            self.announced = None;
        }
        if let Some(name) = moved(line) {
            self.add(name);
        }
        Ok(())
    }

    fn no_change_is_missing(&mut self) -> Result<(), PatchCutAt> {
        match self.announced.take() {
            Some(line) => Err(PatchCutAt {
                line,
                message: "the change that this header announces does not follow".to_owned(),
            }),
            None => Ok(()),
        }
    }

    fn name(&mut self, side: &str) {
        if let Some(name) = file_of(side) {
            self.add(name);
        }
    }

    fn add(&mut self, name: String) {
        if self.named.insert(name.clone()) {
            self.files.push(name);
        }
    }

    /// What is wrong with the line read last.
    fn cut(&self, message: &str) -> PatchCutAt {
        PatchCutAt {
            line: self.at,
            message: message.to_owned(),
        }
    }
}

/// Whether this is a line of binary data: its first character says how many bytes it holds, the others hold them in
/// base 85, five characters for four bytes.
fn is_binary_data(line: &str) -> bool {
    let bytes = match line.as_bytes().first() {
        Some(first @ b'A'..=b'Z') => first - b'A' + 1,
        Some(first @ b'a'..=b'z') => first - b'a' + 27,
        _ => return false,
    };
    line.len() == 1 + usize::from(bytes).div_ceil(4) * 5
}

fn refused_at(path: &RepoPath, text: &str, line: usize, message: String) -> ReadResult {
    let line = u32::try_from(line).unwrap_or(u32::MAX);
    let place = Place::on_line(path.as_str(), text, line, Some(1));
    ReadResult::refused(
        Diagnostic::error(Code::PatchCut, message).at(place).hint(
            Hint::from("write the whole diff again, with: ")
                .command(&PRINT_DIFF)
                .text(" > FILE"),
        ),
    )
}

/// The file name in a header line that comes before `---` and `+++`, or without them.
fn moved(line: &str) -> Option<String> {
    for prefix in ["rename from ", "rename to ", "copy to "] {
        if let Some(name) = line.strip_prefix(prefix) {
            return Some(unquoted(name));
        }
    }
    // For a binary file or a mode change there is only this line.
    let (_, after) = line.strip_prefix("diff --git ")?.rsplit_once(" b/")?;
    Some(after.trim_end_matches('"').to_owned())
}

fn file_of(name: &str) -> Option<String> {
    let name = name.split('\t').next().unwrap_or(name).trim_end();
    let name = unquoted(name);
    if name == "/dev/null" {
        return None;
    }
    Some(
        name.strip_prefix("a/")
            .or_else(|| name.strip_prefix("b/"))
            .unwrap_or(&name)
            .to_owned(),
    )
}

/// A name without the quotes and octal escapes that git adds to unusual names.
fn unquoted(name: &str) -> String {
    let Some(inner) = name
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
    else {
        return name.to_owned();
    };
    let mut bytes = Vec::new();
    let mut rest = inner.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(first @ b'0'..=b'3') => {
                let digits = [
                    first,
                    rest.next().unwrap_or(b'0'),
                    rest.next().unwrap_or(b'0'),
                ];
                bytes.push(digits.iter().fold(0_u8, |value, digit| {
                    value.wrapping_mul(8).wrapping_add(digit - b'0')
                }));
            }
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The line counts of `-1,2 +3,4 @@ …`; a missing count is 1.
fn hunk_lengths(range: &str) -> Option<(u64, u64)> {
    let mut sides = range.split(' ');
    let removed = hunk_length(sides.next()?.strip_prefix('-')?)?;
    let added = hunk_length(sides.next()?.strip_prefix('+')?)?;
    Some((removed, added))
}

/// The line count of one side of a hunk.
fn hunk_length(side: &str) -> Option<u64> {
    match side.split_once(',') {
        Some((_, count)) => count.parse().ok(),
        None => Some(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/src/a.rs b/src/a.rs\nindex 1..2 100644\n--- a/src/a.rs\n+++ b/src/a.rs\n\
        @@ -1,2 +1,3 @@\n one\n--- old\n+++ new\n+more\ndiff --git a/gone b/gone\ndeleted file mode 100644\n\
        --- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\ndiff --git \"a/\\303\\244\" \"b/\\303\\244\"\n\
        rename from old name\nrename to new name\n";

    #[test]
    fn reads_files_and_counts() {
        let data = read(&RepoPath::new("p").expect("valid"), DIFF)
            .data
            .expect("a diff");
        assert_eq!(
            data["files"],
            json!(["src/a.rs", "gone", "old name", "new name"])
        );
        assert_eq!((&data["added"], &data["removed"]), (&json!(2), &json!(2)));
    }

    /// A diff cut in the middle of a hunk is not a diff, and the finding names the line.
    #[test]
    fn a_hunk_holds_as_many_lines_as_its_header_announces() {
        let head = "--- a/f\n+++ b/f\n";
        let cases = [
            ("@@ -1,2 +1,3 @@\n one\n-two\n+2\n", Some(6)),
            ("@@ -1,2 +1,2 @@\n", Some(3)),
            (
                "@@ -1,2 +1,2 @@\n one\n-two\ndiff --git a/g b/g\n+2\n",
                Some(6),
            ),
            ("@@ -1 +1 @@\n-a\n-b\n+c\n", Some(5)),
            ("@@ -1,x +1 @@\n-a\n+c\n", Some(3)),
            (
                "@@ -1,2 +1,2 @@\n one\n-two\n\\ No newline at end of file\n+2\n\\ No newline at end of file\n",
                None,
            ),
            ("@@ -1,3 +1,3 @@\n one\n\n-two\n+2\n", None),
            ("@@ -0,0 +1 @@ fn f\n+a\n@@ -5 +6,0 @@\n-b\n", None),
            ("", Some(2)),
            ("diff --git a/g b/g\n", Some(2)),
            ("@@ -1 +1 @@\n-a\n+b\n+extra\n", Some(6)),
            (
                "@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n extra\n",
                Some(7),
            ),
            ("@@ -1 +1 @@\n-a\n+b\n-- \n2.50.0\n\n", None),
            (
                "@@ -1 +1 @@\n-a\n+b\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n",
                None,
            ),
            ("@@ -1 +1 @@\n-a\n+b\n--- a/g\n", Some(6)),
            ("@@ -1 +1 @@\n-a\n+b", Some(5)),
            ("@@ -1 +1 @@\n-a\n+b\n-- \n2.50.0", None),
            ("@@ -1 +1 @@\n-a\n+b\n--- a/g\n+++ b/g\n", Some(7)),
        ];
        for (hunk, line) in cases {
            let verdict = read(
                &RepoPath::new("p").expect("valid"),
                &format!("{head}{hunk}"),
            );
            let found = verdict.problems.first();
            assert_eq!(
                found.and_then(|found| found.place.as_ref()?.line),
                line,
                "{hunk}"
            );
            assert!(
                found.is_none_or(|found| found.code == Code::PatchCut),
                "{hunk}"
            );
            assert_eq!(verdict.data.is_some(), line.is_none(), "{hunk}");
        }
    }

    /// A file header that announces a change is followed by the change, as text or as binary data.
    #[test]
    fn a_cut_patch_is_no_patch() {
        let head = "diff --git a/f b/f\n";
        let cases = [
            ("index 1..2 100644\n", Some(2)),
            ("", Some(1)),
            ("old mode 100644\n", Some(1)),
            ("old mode 100644\nnew mode 100755\n", None),
            ("similarity index 90%\nrename from f\n", Some(1)),
            ("similarity index 100%\nrename from f\nrename to g\n", None),
            (
                "index 1..2 100644\ndiff --git a/g b/g\nold mode 100644\nnew mode 100755\n",
                Some(2),
            ),
            ("index 1..2 100644\nGIT binary patch\n", Some(3)),
            ("index 1..2 100644\nGIT binary patch\nliteral 3\n", Some(4)),
            (
                "index 1..2 100644\nGIT binary patch\nliteral 3\nLcmYdfNag|n0$2dg\n",
                Some(5),
            ),
            (
                "index 1..2 100644\nGIT binary patch\nliteral 3\nLcmYdfNag|n0$2d\n\n",
                Some(4),
            ),
            (
                "index 1..2 100644\nGIT binary patch\nliteral 3\nLcmYdfNag|n0$2dg\n\nliteral 0\nHcmV?d00001\n\n",
                None,
            ),
            ("index 1..2 100644\nBinary files a/f and b/f differ\n", None),
            ("new file mode 100644\nindex 0000000..e69de29\n", None),
            ("old mode 100644\nnew mode 100755\n", None),
            ("similarity index 100%\nrename from f\nrename to g\n", None),
        ];
        for (rest, line) in cases {
            let verdict = read(
                &RepoPath::new("p").expect("valid"),
                &format!("{head}{rest}"),
            );
            let found = verdict.problems.first();
            assert_eq!(
                found.and_then(|found| found.place.as_ref()?.line),
                line,
                "{rest}"
            );
            assert!(
                found.is_none_or(|found| found.code == Code::PatchCut),
                "{rest}"
            );
            assert_eq!(verdict.data.is_some(), line.is_none(), "{rest}");
        }
    }

    #[test]
    fn prose_is_no_patch() {
        let verdict = read(
            &RepoPath::new("p").expect("valid"),
            "I changed everything.\n",
        );
        assert_eq!(verdict.problems[0].code, Code::NotAPatch);
    }
}
