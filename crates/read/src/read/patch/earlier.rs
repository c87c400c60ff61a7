//! What a unified diff touches, as it was read when events of the second version were recorded. They are judged by it,
//! so it stays as it is.

use crate::read::ReadResult;
use orch_base::{Code, Diagnostic, Hint, Place, RepoPath};
use serde_json::json;
use std::collections::HashSet;

/// The command that prints a diff.
const PRINT_DIFF: [&str; 2] = ["git", "diff"];

/// Reads a diff as git or `diff -u` writes it (see git-diff(1), "Generating patch text").
pub(in crate::read) fn read(path: &RepoPath, text: &str) -> ReadResult {
    let is_cut = !text.ends_with('\n');
    let mut reader = EarlierReader {
        lines: text.lines().collect(),
        is_cut,
        ..EarlierReader::default()
    };
    if let Err(EarlierCut { line, message }) = reader.read() {
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
struct EarlierCut {
    line: usize,
    message: String,
}

/// The lines of a diff, and what the lines before `at` hold.
#[derive(Default)]
struct EarlierReader<'t> {
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

impl EarlierReader<'_> {
    fn read(&mut self) -> Result<(), EarlierCut> {
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
    fn file_header(&mut self) -> Result<(), EarlierCut> {
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
    fn hunk(&mut self, range: &str) -> Result<(), EarlierCut> {
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
                return Err(EarlierCut {
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
    fn nothing_more(&mut self, header: usize) -> Result<(), EarlierCut> {
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
    fn binary(&mut self) -> Result<(), EarlierCut> {
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
    fn header(&mut self, line: &str) -> Result<(), EarlierCut> {
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

    fn no_change_is_missing(&mut self) -> Result<(), EarlierCut> {
        match self.announced.take() {
            Some(line) => Err(EarlierCut {
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
    fn cut(&self, message: &str) -> EarlierCut {
        EarlierCut {
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
    use crate::read::read_by;
    use orch_base::RepoPath;
    use orch_core::decide::RecordVersion;
    use orch_core::workflow::Format;
    use serde_json::json;

    /// Steps of the second version rest on what was read then, right or wrong.
    #[test]
    fn an_event_is_judged_by_what_was_read_when_it_was_recorded() {
        let path = RepoPath::new("p.patch").expect("valid");
        let text = b"diff --git i/a.c w/a.c\nindex 1..2 100644\n--- i/a.c\n+++ w/a.c\n@@ -1 +1 @@\n-a\n+b\n";
        let latin = b"--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-caf\xe9\n+b\n";
        for (version, files, is_latin_read) in [
            (RecordVersion::Second, json!(["i/a.c", "w/a.c"]), false),
            (RecordVersion::Third, json!(["a.c"]), true),
        ] {
            let data = read_by(version, Format::Patch, &path, text).data;
            assert_eq!(data.expect("a patch")["files"], files, "{version:?}");
            let latin = read_by(version, Format::Patch, &path, latin);
            assert_eq!(latin.data.is_some(), is_latin_read, "{version:?}");
        }
    }
}
