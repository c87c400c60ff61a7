//! What a unified diff touches: its files, and the lines added and removed.

use super::ReadResult;
use crate::base::{Code, Diagnostic, Place, RepoPath};
use serde_json::json;

/// Reads a diff as git or `diff -u` writes it (see git-diff(1), "Generating patch text").
pub(super) fn read(path: &RepoPath, text: &str) -> ReadResult {
    let mut files: Vec<String> = Vec::new();
    let (mut added, mut removed, mut hunks) = (0_usize, 0_usize, 0_usize);
    // The lines left in the current hunk, old and new, and the line of its header.
    let mut left = (0_u64, 0_u64);
    let mut header = 0;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if left.0 > 0 || left.1 > 0 {
            let (old, new) = match line.as_bytes().first() {
                Some(b'+') => (0, 1),
                Some(b'-') => (1, 0),
                Some(b'\\') => (0, 0),
                // Some editors strip the space of an empty context line.
                Some(b' ') | None => (1, 1),
                _ => return cut(path, (header, number), left),
            };
            if old > left.0 || new > left.1 {
                return cut(path, (header, number), left);
            }
            left = (left.0 - old, left.1 - new);
            added += usize::from(new > old);
            removed += usize::from(old > new);
            continue;
        }
        if let Some(range) = line.strip_prefix("@@ ") {
            hunks += 1;
            header = number;
            left = match hunk_lengths(range) {
                Some(lengths) => lengths,
                None => return garbled(path, number),
            };
        } else if let Some(named) = named(line)
            && !files.contains(&named)
        {
            files.push(named);
        }
    }
    if left != (0, 0) {
        return cut(path, (header, text.lines().count()), left);
    }
    if files.is_empty() && hunks == 0 {
        let message = "the file is not a diff: it has no file header and no hunk";
        return ReadResult::refused(
            Diagnostic::error(Code::NotAPatch, message)
                .at(Place::file(path))
                .hint("write the file with: git diff > FILE"),
        );
    }
    ReadResult::of(json!({
        "bytes": text.len(),
        "lines": text.lines().count(),
        "files": files,
        "added": added,
        "removed": removed,
    }))
}

/// The finding for a hunk whose lines are not those that its header announces. `at` is the line of the header,
/// and the line at which the lines and the header disagree.
fn cut(path: &RepoPath, at: (usize, usize), (old, new): (u64, u64)) -> ReadResult {
    let message = format!(
        "the hunk of line {} does not hold the lines that its header announces: {old} old and {new} new are missing here",
        at.0
    );
    refused_at(path, at.1, message)
}

/// The finding for a hunk header that cannot be read.
fn garbled(path: &RepoPath, line: usize) -> ReadResult {
    refused_at(path, line, "the header of the hunk is not `@@ -a,b +c,d @@`".to_owned())
}

fn refused_at(path: &RepoPath, line: usize, message: String) -> ReadResult {
    let place = Place { line: u32::try_from(line).ok(), column: Some(1), ..Place::file(path) };
    ReadResult::refused(
        Diagnostic::error(Code::PatchCut, message)
            .at(place)
            .hint("write the whole diff again, with: git diff > FILE"),
    )
}

/// The file name in a header line.
fn named(line: &str) -> Option<String> {
    for prefix in ["+++ ", "--- "] {
        if let Some(name) = line.strip_prefix(prefix) {
            return side(name);
        }
    }
    for prefix in ["rename from ", "rename to ", "copy to "] {
        if let Some(name) = line.strip_prefix(prefix) {
            return Some(unquoted(name));
        }
    }
    // For a binary file or a mode change there is only this line.
    let (_, after) = line.strip_prefix("diff --git ")?.rsplit_once(" b/")?;
    Some(after.trim_end_matches('"').to_owned())
}

fn side(name: &str) -> Option<String> {
    let name = name.split('\t').next().unwrap_or(name).trim_end();
    let name = unquoted(name);
    if name == "/dev/null" {
        return None;
    }
    Some(name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(&name).to_owned())
}

/// A name without the quotes and octal escapes that git adds to unusual names.
fn unquoted(name: &str) -> String {
    let Some(inner) = name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
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
                let digits = [first, rest.next().unwrap_or(b'0'), rest.next().unwrap_or(b'0')];
                bytes.push(
                    digits.iter().fold(0_u8, |value, digit| value.wrapping_mul(8).wrapping_add(digit - b'0')),
                );
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
    let count = |side: &str, sign: char| -> Option<u64> {
        let side = side.strip_prefix(sign)?;
        side.split_once(',').map_or(Some(1), |(_, count)| count.parse().ok())
    };
    Some((count(sides.next()?, '-')?, count(sides.next()?, '+')?))
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
        let data = read(&RepoPath::new("p").expect("valid"), DIFF).data.expect("a diff");
        assert_eq!(data["files"], json!(["src/a.rs", "gone", "old name", "new name"]));
        assert_eq!((&data["added"], &data["removed"]), (&json!(2), &json!(2)));
    }

    /// A diff cut in the middle of a hunk is not a diff, and the finding names the line.
    #[test]
    fn a_hunk_holds_as_many_lines_as_its_header_announces() {
        let head = "--- a/f\n+++ b/f\n";
        let cases = [
            ("@@ -1,2 +1,3 @@\n one\n-two\n+2\n", Some(6)),
            ("@@ -1,2 +1,2 @@\n", Some(3)),
            ("@@ -1,2 +1,2 @@\n one\n-two\ndiff --git a/g b/g\n+2\n", Some(6)),
            ("@@ -1 +1 @@\n-a\n-b\n+c\n", Some(5)),
            ("@@ -1,x +1 @@\n-a\n+c\n", Some(3)),
            (
                "@@ -1,2 +1,2 @@\n one\n-two\n\\ No newline at end of file\n+2\n\\ No newline at end of file\n",
                None,
            ),
            ("@@ -1,3 +1,3 @@\n one\n\n-two\n+2\n", None),
            ("@@ -0,0 +1 @@ fn f\n+a\n@@ -5 +6,0 @@\n-b\n", None),
        ];
        for (hunk, line) in cases {
            let verdict = read(&RepoPath::new("p").expect("valid"), &format!("{head}{hunk}"));
            let found = verdict.problems.first();
            assert_eq!(found.and_then(|found| found.place.as_ref()?.line), line, "{hunk}");
            assert!(found.is_none_or(|found| found.code == Code::PatchCut), "{hunk}");
            assert_eq!(verdict.data.is_some(), line.is_none(), "{hunk}");
        }
    }

    #[test]
    fn prose_is_no_patch() {
        let verdict = read(&RepoPath::new("p").expect("valid"), "I changed everything.\n");
        assert_eq!(verdict.problems[0].code, Code::NotAPatch);
    }
}
