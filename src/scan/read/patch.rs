//! What a unified diff touches: its files, and the lines added and removed.

use super::ReadResult;
use crate::base::{Code, Diagnostic, Place, RepoPath};
use serde_json::json;

/// Reads a diff as git or `diff -u` writes it (see git-diff(1), "Generating patch text").
pub(super) fn read(path: &RepoPath, text: &str) -> ReadResult {
    let mut files: Vec<String> = Vec::new();
    let (mut added, mut removed, mut hunks) = (0_usize, 0_usize, 0_usize);
    // The lines left in the current hunk, old and new.
    let mut left = (0_u64, 0_u64);
    for line in text.lines() {
        if left.0 > 0 || left.1 > 0 {
            match line.as_bytes().first() {
                Some(b'+') => {
                    added += 1;
                    left.1 = left.1.saturating_sub(1);
                }
                Some(b'-') => {
                    removed += 1;
                    left.0 = left.0.saturating_sub(1);
                }
                Some(b'\\') => {}
                _ => left = (left.0.saturating_sub(1), left.1.saturating_sub(1)),
            }
            continue;
        }
        if let Some(range) = line.strip_prefix("@@ ") {
            hunks += 1;
            left = hunk_lengths(range).unwrap_or((0, 0));
        } else if let Some(named) = named(line)
            && !files.contains(&named)
        {
            files.push(named);
        }
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

    #[test]
    fn prose_is_no_patch() {
        let verdict = read(&RepoPath::new("p").expect("valid"), "I changed everything.\n");
        assert_eq!(verdict.problems[0].code, Code::NotAPatch);
    }
}
