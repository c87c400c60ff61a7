//! What a unified diff touches: its files, and the lines added and removed.
//!
//! It is read as `git apply` reads it. Where git needs to be told how many components of a name to strip, the names
//! themselves say it: the two sides of a change differ in their prefixes only.

pub(super) mod earlier;
mod names;

use super::{ReadResult, conflict, text};
use names::{Sides, header_name, hg_name, one_side, side, submodule, unquoted};
use orch_base::{Code, Diagnostic, Hint, Place, RepoPath};
use serde_json::json;
use std::collections::HashSet;

/// The command that prints a diff.
const PRINT_DIFF: [&str; 2] = ["git", "diff"];
/// The same, without colours.
const PRINT_PLAIN: [&str; 3] = ["git", "diff", "--no-color"];

/// Reads a diff as git, hg, svn or `diff -u` writes it (see git-diff(1), "Generating patch text"). Its lines may be in
/// any encoding: git writes those of a source as they are.
pub(super) fn read(path: &RepoPath, bytes: &[u8]) -> ReadResult {
    if let Err(problem) = text(path, bytes)
        && !matches!(problem.code, Code::NotUtf8 | Code::NulByte)
    {
        return ReadResult::refused(*problem);
    }
    let text = String::from_utf8_lossy(bytes);
    if let Some(problem) = conflict(path, &text) {
        return ReadResult::refused(problem);
    }
    let mut reader = PatchReader {
        lines: text.lines().collect(),
        is_cut: !text.ends_with('\n'),
        ..PatchReader::default()
    };
    if let Err(PatchCutAt { line, message }) = reader.read() {
        return refused_at(path, &text, line, message);
    }
    let is_coloured = reader.lines.iter().any(|line| is_coloured_header(line));
    if reader.files.is_empty() || is_coloured {
        let command: &[&str] = if is_coloured {
            &PRINT_PLAIN
        } else {
            &PRINT_DIFF
        };
        let message = "the file is not a diff: it has no file header";
        return ReadResult::refused(
            Diagnostic::error(Code::NotAPatch, message)
                .at(Place::file(path))
                .hint(
                    Hint::from("write the file with: ")
                        .command(command)
                        .text(" > FILE"),
                ),
        );
    }
    ReadResult::of(json!({
        "bytes": bytes.len(),
        "lines": reader.lines.len(),
        "files": reader.files,
        "added": reader.added,
        "removed": reader.removed,
    }))
}

/// The header lines of the changes that need no content.
const WHOLE: [&str; 8] = [
    "new mode ",
    "mode ",
    "rename to ",
    "copy to ",
    "new file mode ",
    "deleted file mode ",
    "remerge CONFLICT ",
    "Binary file",
];

/// What svn may write behind the name of a file.
const SAID_OF_IT: [&str; 2] = [" (added)", " (deleted)"];
/// The line under the name of a file in what svn writes.
const RULER: &str = "=====";

/// The line at which a diff is cut off or garbled, counted from 1, and what is wrong.
struct PatchCutAt {
    line: usize,
    message: String,
}

/// What stands before the content of a change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HeaderKind {
    /// `diff --git X Y`
    Git,
    /// `diff --cc NAME`, which is the change of a merge, or `diff -r REVISION NAME`, as hg writes it
    Named,
    /// `Index: NAME`, as svn writes it
    Index,
}

/// The header of a change whose content has not come yet.
struct PatchHeader {
    kind: HeaderKind,
    /// The file that it names; `None` if it names two.
    name: Option<String>,
    /// The names as they stand there.
    written: String,
    /// The line that announces content.
    awaits: Option<usize>,
}

impl PatchHeader {
    /// Whether the lines `--- OLD` and `+++ NEW` are of the file that the header names. `git apply` changes the file that
    /// they name.
    fn is_of(&self, old: &str, new: &str) -> bool {
        let sides = Sides::of(side(old), side(new));
        let written_old = before_tab(old);
        let written_new = before_tab(new);
        let pair = match self.kind {
            HeaderKind::Index => return true,
            HeaderKind::Named => return self.name.as_ref().is_some_and(|name| sides.are_of(name)),
            HeaderKind::Git if sides.is_added() => {
                let other = self.written.strip_suffix(written_new);
                let other = other.and_then(|other| other.strip_suffix(' '));
                other.map(|other| Sides::of(one_side(other), side(new)))
            }
            HeaderKind::Git if sides.is_removed() => {
                let other = self.written.strip_prefix(written_old);
                let other = other.and_then(|other| other.strip_prefix(' '));
                other.map(|other| Sides::of(side(old), one_side(other)))
            }
            HeaderKind::Git => return self.written == format!("{written_old} {written_new}"),
        };
        pair.is_some_and(|pair| pair.one() == self.name)
    }
}

/// The name in a line `--- NAME` as it is written, without a time.
fn before_tab(name: &str) -> &str {
    name.split('\t').next().unwrap_or(name)
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
    header: Option<PatchHeader>,
    /// Whether a file was named to which a hunk belongs.
    has_file: bool,
}

/// How many lines of a hunk are missing: of each old version, and of the new one.
struct HunkLines {
    old: Vec<u64>,
    new: u64,
}

impl HunkLines {
    fn is_complete(&self) -> bool {
        self.new == 0 && self.old.iter().all(|count| *count == 0)
    }

    /// Takes a line with these marks, and says whether it belongs to the hunk.
    fn take(&mut self, marks: &[u8]) -> bool {
        let is_gone = marks.contains(&b'-');
        let mark_of_a_line = if is_gone { b'-' } else { b' ' };
        let is_in = |nth: usize| marks.get(nth).unwrap_or(&b' ') == &mark_of_a_line;
        let mut counted = self.old.iter().enumerate();
        let is_too_much = counted.any(|(nth, left)| *left == 0 && is_in(nth));
        if is_too_much || (self.new == 0 && !is_gone) {
            return false;
        }
        for (nth, left) in self.old.iter_mut().enumerate() {
            *left -= u64::from(is_in(nth));
        }
        self.new -= u64::from(!is_gone);
        true
    }
}

impl<'t> PatchReader<'t> {
    fn read(&mut self) -> Result<(), PatchCutAt> {
        while let Some(&line) = self.lines.get(self.at) {
            self.at += 1;
            if is_hunk(line) {
                self.hunk(line)?;
            } else if let Some((old, new)) = self.sides(line) {
                self.file_header(old, new)?;
            } else if line == "GIT binary patch" {
                self.name_the_file();
                self.binary()?;
            } else if line.starts_with("Property changes on: ") {
                self.name_the_file();
                self.properties()?;
            } else {
                self.header_line(line)?;
            }
        }
        self.end_header()
    }

    fn next(&self) -> Option<&'t str> {
        self.lines.get(self.at).copied()
    }

    /// The names in the header `--- A`, `+++ B`, if this is its first line. In prose, no hunk follows it.
    fn sides(&self, line: &'t str) -> Option<(&'t str, Option<&'t str>)> {
        let old = line.strip_prefix("--- ")?;
        let Some(next) = self.next() else {
            return Some((old, None));
        };
        let is_announced = self.header.is_some();
        let Some(new) = next.strip_prefix("+++ ") else {
            let is_cut = is_hunk(next) || (is_announced && self.awaits_content());
            return is_cut.then_some((old, None));
        };
        let after = self.lines.get(self.at + 1);
        let is_header = is_announced
            || after.is_none_or(|after| after.starts_with("@@") || after.starts_with("diff "));
        is_header.then_some((old, Some(new)))
    }

    fn awaits_content(&self) -> bool {
        self.header
            .as_ref()
            .is_some_and(|header| header.awaits.is_some())
    }

    /// Reads the header of a file, which a hunk must follow.
    fn file_header(&mut self, old: &str, new: Option<&str>) -> Result<(), PatchCutAt> {
        let Some(new) = new else {
            return Err(self.cut("no `+++` line follows the `---` line"));
        };
        self.at += 1;
        let is_named = self
            .header
            .as_ref()
            .is_some_and(|header| header.kind != HeaderKind::Index && header.name.is_some());
        let is_of_header = is_named
            && self
                .header
                .as_ref()
                .is_some_and(|header| header.is_of(old, new));
        if is_named {
            self.name_the_file();
        }
        if !is_of_header {
            let is_git = self
                .header
                .take()
                .is_some_and(|header| header.kind == HeaderKind::Git);
            let sides = Sides::of(side(old), side(new));
            let names = if is_git {
                sides.both()
            } else {
                sides.as_applied()
            };
            names.into_iter().for_each(|name| self.add(name));
        }
        self.has_file = true;
        match self.next() {
            Some(line) if line.starts_with("@@") => Ok(()),
            // In what svn writes, the properties of a file may change and its lines may not.
            Some("")
                if self
                    .lines
                    .get(self.at + 1)
                    .is_some_and(|line| line.starts_with("Property changes on: ")) =>
            {
                Ok(())
            }
            _ => Err(self.cut("no hunk follows the header of the file")),
        }
    }

    /// Reads the lines that the header of a hunk announces.
    fn hunk(&mut self, header: &str) -> Result<(), PatchCutAt> {
        let start = self.at;
        if self
            .header
            .as_ref()
            .is_some_and(|header| header.name.is_some())
        {
            self.name_the_file();
            self.has_file = true;
        }
        if !self.has_file {
            return Err(self.cut("no header names the file that this hunk changes"));
        }
        let Some(mut left) = hunk_lengths(header, '@') else {
            return Err(self.cut("the header of the hunk is not `@@ -a,b +c,d @@`"));
        };
        while !left.is_complete() {
            let marks = self.next().and_then(|line| marks(line, left.old.len()));
            let Some(marks) = marks.filter(|marks| is_no_line(marks) || left.take(marks)) else {
                let message = format!(
                    "the hunk on line {start} lacks lines that its header announces: {} old and {} new are missing here",
                    left.old.iter().max().copied().unwrap_or_default(),
                    left.new
                );
                return Err(PatchCutAt {
                    line: self.lines.len().min(self.at + 1),
                    message,
                });
            };
            self.at += 1;
            // `git apply` refuses it as well: the rest of the line could be missing.
            if self.is_cut && self.at == self.lines.len() {
                return Err(self.cut("the last line does not end with a line feed"));
            }
            let is_gone = marks.contains(&b'-');
            self.added += usize::from(!is_gone && marks.contains(&b'+'));
            self.removed += usize::from(is_gone);
        }
        self.nothing_more(start)
    }

    /// Checks that the line after a hunk does not belong to it.
    fn nothing_more(&mut self, header: usize) -> Result<(), PatchCutAt> {
        while self.next().is_some_and(|line| line.starts_with('\\')) {
            self.at += 1;
        }
        let Some(line) = self.next() else {
            return Ok(());
        };
        self.at += 1;
        // `git format-patch` ends a diff with the signature `-- `.
        let is_more = line.starts_with(['+', '-', ' '])
            && line.trim_end() != "--"
            && self.sides(line).is_none();
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
        self.next()
            .is_some_and(|line| line.starts_with("literal ") || line.starts_with("delta "))
    }

    /// Reads the data of a binary file: one or two blocks, each of which ends with an empty line. In what svn writes,
    /// the next file follows the last block at once.
    fn binary(&mut self) -> Result<(), PatchCutAt> {
        if !self.is_at_block() {
            return Err(self.cut("the binary patch contains no data"));
        }
        while self.is_at_block() {
            self.at += 1;
            let start = self.at;
            while self.next().is_some_and(is_binary_data) {
                self.at += 1;
            }
            let end = self.next();
            let ends = end.is_some_and(|line| line.is_empty() || line.starts_with("Index: "));
            if self.at == start || !ends {
                return Err(self.cut("the data of the binary patch is truncated"));
            }
            if end.is_some_and(str::is_empty) {
                self.at += 1;
            }
        }
        Ok(())
    }

    /// Reads the values of properties, which are no lines of a file.
    fn properties(&mut self) -> Result<(), PatchCutAt> {
        while let Some(line) = self.next() {
            let is_file = line.starts_with("--- ")
                && self
                    .lines
                    .get(self.at + 1)
                    .is_some_and(|next| next.starts_with("+++ "))
                && self
                    .lines
                    .get(self.at + 2)
                    .is_some_and(|next| is_hunk(next));
            if is_file || line.starts_with("Index: ") || line.starts_with("diff ") {
                return Ok(());
            }
            self.at += 1;
            let Some(mut left) = hunk_lengths(line, '#') else {
                continue;
            };
            while !left.is_complete() {
                let Some(line) = self.next() else {
                    return Err(self.cut("the value of the property is truncated"));
                };
                // Some properties are shown in words.
                if !left.take(marks(line, 1).unwrap_or_default()) {
                    break;
                }
                self.at += 1;
            }
        }
        Ok(())
    }

    /// Reads any line outside hunks and data.
    fn header_line(&mut self, line: &str) -> Result<(), PatchCutAt> {
        let named = line
            .strip_prefix("diff --cc ")
            .or_else(|| line.strip_prefix("diff --combined "));
        if let Some(names) = line.strip_prefix("diff --git ") {
            self.begin(HeaderKind::Git, header_name(names), names)?;
        } else if let Some(name) = named {
            self.begin(HeaderKind::Named, Some(unquoted(name)), name)?;
        } else if let Some(name) = line.strip_prefix("diff ").and_then(hg_name) {
            self.begin(HeaderKind::Named, Some(name.to_owned()), name)?;
        } else if let Some(name) = line.strip_prefix("Index: ")
            && self.next().is_some_and(|next| next.starts_with(RULER))
        {
            let name = SAID_OF_IT
                .iter()
                .find_map(|said| name.strip_suffix(said))
                .unwrap_or(name);
            self.begin(HeaderKind::Index, Some(name.to_owned()), name)?;
        } else if let Some(name) = line.strip_prefix("* Unmerged path ") {
            self.add(unquoted(name));
        } else if let Some(name) = submodule(line) {
            self.end_header()?;
            self.add(name.to_owned());
        } else if let Some(header) = &mut self.header {
            if line.starts_with("index ") && line.contains("..") {
                // The content of an empty file that was added or removed does not change.
                let before = self.at.checked_sub(2).and_then(|at| self.lines.get(at));
                let is_new = before.is_some_and(|line| {
                    line.starts_with("new file ") || line.starts_with("deleted file ")
                });
                header.awaits = if is_new { None } else { Some(self.at) };
            } else if WHOLE.iter().any(|whole| line.starts_with(whole)) {
                header.awaits = None;
            }
            self.moved(line);
        } else if let Some(pair) = binary_pair(line) {
            pair.as_applied()
                .into_iter()
                .for_each(|name| self.add(name));
        }
        Ok(())
    }

    /// Takes the names that a header gives in lines of their own.
    fn moved(&mut self, line: &str) {
        let mut names = Vec::new();
        for prefix in ["rename from ", "rename to ", "copy to "] {
            names.extend(line.strip_prefix(prefix).map(unquoted));
        }
        if let Some(header) = &mut self.header {
            if !names.is_empty() {
                // The last of them has the place of the name that the first line of the header lacks.
                header.name = names.last().cloned();
            } else if header.name.is_none()
                && let Some(pair) = binary_pair(line)
            {
                names = pair.both();
            }
        }
        names.into_iter().for_each(|name| self.add(name));
    }

    /// Begins the header of a change.
    fn begin(
        &mut self,
        kind: HeaderKind,
        name: Option<String>,
        written: &str,
    ) -> Result<(), PatchCutAt> {
        // `Index: NAME` may stand before `diff --git X Y`, which says more.
        if kind != HeaderKind::Index
            && self
                .header
                .as_ref()
                .is_some_and(|header| header.kind == HeaderKind::Index)
            && self.at >= 2
            && self.lines[self.at - 2].starts_with(RULER)
        {
            self.header = None;
        }
        self.end_header()?;
        let awaits = (kind != HeaderKind::Index).then_some(self.at);
        self.header = Some(PatchHeader {
            kind,
            name,
            written: written.to_owned(),
            awaits,
        });
        self.has_file = false;
        Ok(())
    }

    /// Adds the file that the header names, now that its content comes.
    fn name_the_file(&mut self) {
        if let Some(name) = self.header.take().and_then(|header| header.name) {
            self.add(name);
        }
    }

    /// Ends the header of a change. Its content must have come by now.
    fn end_header(&mut self) -> Result<(), PatchCutAt> {
        if let Some(line) = self.header.as_ref().and_then(|header| header.awaits) {
            return Err(PatchCutAt {
                line,
                message: "the change that this header announces does not follow".to_owned(),
            });
        }
        self.name_the_file();
        Ok(())
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

/// Whether a line is the header of a change in colours.
fn is_coloured_header(line: &str) -> bool {
    let inside = line.strip_prefix("\u{1b}[");
    inside.is_some_and(|inside| inside.contains("mdiff --"))
}

/// The two files of a line `Binary files A and B differ`.
fn binary_pair(line: &str) -> Option<Sides> {
    let names = line
        .strip_prefix("Binary files ")?
        .strip_suffix(" differ")?;
    let (old, new) = names.split_once(" and ")?;
    Some(Sides::of(one_side(old), one_side(new)))
}

/// Whether the line is the header of a hunk: `@@ -`, or more signs for a merge.
fn is_hunk(line: &str) -> bool {
    let after = line.trim_start_matches('@');
    line.len() >= after.len() + 2 && after.starts_with(" -")
}

/// The signs before the text of a line in a hunk of so many old versions.
fn marks(line: &str, versions: usize) -> Option<&[u8]> {
    let line = line.as_bytes();
    // Some editors strip the space of an empty context line.
    if line.is_empty() || line[0] == b'\\' {
        return line.get(..line.len().min(1));
    }
    let marks = line.get(..versions)?;
    marks
        .iter()
        .all(|mark| matches!(mark, b'+' | b'-' | b' '))
        .then_some(marks)
}

/// Whether the line only says that the line before it ends without a line feed.
fn is_no_line(marks: &[u8]) -> bool {
    marks.first() == Some(&b'\\')
}

/// Whether this is a line of binary data: its first character says how many bytes it holds, the others hold them in
/// base 85, five characters for four bytes.
fn is_binary_data(line: &str) -> bool {
    let bytes = match line.as_bytes().first() {
        Some(first @ b'A'..=b'Z') => first - b'A' + 1,
        Some(first @ b'a'..=b'z') => first - b'a' + 27,
        _ => return false,
    };
    line.len() == 1 + usize::from(bytes).div_ceil(4) * 5 && !line.contains(' ')
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

/// The line counts of `@@ -1,2 +3,4 @@ …`, with one `-` range and one `@` more for each further old version.
fn hunk_lengths(header: &str, sign: char) -> Option<HunkLines> {
    let ranges = header.trim_start_matches(sign);
    let versions = (header.len() - ranges.len()).checked_sub(1)?;
    let mut ranges = ranges.strip_prefix(' ')?.split(' ');
    let mut old = Vec::new();
    for _ in 0..versions {
        old.push(hunk_length(ranges.next()?.strip_prefix('-')?)?);
    }
    let new = hunk_length(ranges.next()?.strip_prefix('+')?)?;
    if old.is_empty() {
        return None;
    }
    Some(HunkLines { old, new })
}

/// The line count of one side of a hunk; a missing count is 1.
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

    /// `git apply` changes what `---` and `+++` name, whatever stands above them.
    #[test]
    fn no_header_hides_the_file_that_is_changed() {
        let of = |name: &str| format!("--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-x\n+y\n");
        let binary = "diff --git a/ok.bin b/ok.bin\nindex 1..2 100644\nGIT binary patch\nliteral 1\nIcmZPo000310RR91\n\n\
            literal 1\nIcmZPo000310RR91\n\n";
        for (text, expected) in [
            (
                format!("diff --git a/ok.txt b/ok.txt\n{}", of("ok.txt")),
                vec!["ok.txt"],
            ),
            (
                format!(
                    "diff --git a/ok.txt b/ok.txt\nindex 1..2 100644\n{}",
                    of("secret.rs")
                ),
                vec!["ok.txt", "secret.rs"],
            ),
            (
                format!(
                    "diff --git a/ok.txt b/ok.txt\nold mode 100644\nnew mode 100755\nprose\n{}",
                    of("secret.rs")
                ),
                vec!["ok.txt", "secret.rs"],
            ),
            (
                format!("diff --git a/ok.txt b/ok.txt\n{}", of("src/ok.txt")),
                vec!["ok.txt", "src/ok.txt"],
            ),
            (
                format!("diff --cc ok.txt\n{}", of("ok.txt")),
                vec!["ok.txt"],
            ),
            (
                format!("{}diff --cc ok.txt\n{}", of("ok.txt"), of("ok2.txt")),
                vec!["ok.txt", "ok2.txt"],
            ),
            (
                format!("diff -r 0123456789ab ok.txt\n{}", of("secret.rs")),
                vec!["ok.txt", "secret.rs"],
            ),
            (
                format!(
                    "{}\nProperty changes on: ok.txt\n{}",
                    of("ok.txt"),
                    of("secret.rs")
                ),
                vec!["ok.txt", "secret.rs"],
            ),
            (
                format!("{binary}Property changes on: x\n{}", of("secret.rs")),
                vec!["ok.bin", "secret.rs"],
            ),
        ] {
            let path = RepoPath::new("p").expect("valid");
            let found = read(&path, text.as_bytes());
            let data = found.data.unwrap_or_else(|| panic!("refused: {text}"));
            assert_eq!(data["files"], json!(expected), "{text}");
        }
    }

    #[test]
    fn reads_files_and_counts() {
        let data = read(&RepoPath::new("p").expect("valid"), DIFF.as_bytes())
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
            let text = format!("{head}{hunk}");
            let verdict = read(&RepoPath::new("p").expect("valid"), text.as_bytes());
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
            let text = format!("{head}{rest}");
            let verdict = read(&RepoPath::new("p").expect("valid"), text.as_bytes());
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
            b"I changed everything.\n",
        );
        assert_eq!(verdict.problems[0].code, Code::NotAPatch);
    }
}
