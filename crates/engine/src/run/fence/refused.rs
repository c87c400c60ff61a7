//! What the output of a program says about writes that a fence refused.

/// How programs name the error of a read-only file system, and that of a mount that cannot be replaced.
const ERRORS: [&str; 5] = [
    "read-only file system",
    "erofs",
    "(os error 30)",
    "errno 30",
    "device or resource busy",
];

/// The longest path that is shown.
const LONGEST: usize = 200;

/// What could not be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedWrite {
    /// A path, or else the line that says so.
    pub text: String,
    /// Whether it is a path.
    pub is_path: bool,
}

/// What a line says could not be written; `None` if it says nothing of the kind.
#[must_use]
pub fn refused_write(line: &str) -> Option<RefusedWrite> {
    // The lengths stay the same, so a place in one is a place in the other.
    let lower = line.to_ascii_lowercase();
    let at = ERRORS.iter().filter_map(|error| lower.find(error)).min()?;
    let (before, after) = line.split_at(at);
    let found = words(before)
        .next_back()
        .filter(|word| word.contains(['/', '.']));
    let found = found.or_else(|| words(after).find(|word| word.contains('/')));
    let text = found.unwrap_or_else(|| line.trim());
    Some(RefusedWrite {
        text: text.chars().take(LONGEST).collect(),
        is_path: found.is_some(),
    })
}

/// The words of a text, without quotes and the like around them.
fn words(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    let ends = |sign: char| sign.is_whitespace() || "'\"`‘’“”()[]{},;\\".contains(sign);
    text.split(ends)
        .map(|word| word.trim_end_matches([':', '.']))
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_write_is_found_in_what_programs_print() {
        for (line, expected) in [
            (
                "sh: 1: cannot create src/a.rs: Read-only file system",
                Some("src/a.rs"),
            ),
            (
                "touch: cannot touch 'tasks/t/state.json': Read-only file system",
                Some("tasks/t/state.json"),
            ),
            (
                r#"{"type":"tool_result","content":"EROFS: read-only file system, open '/r/orch.toml'"}"#,
                Some("/r/orch.toml"),
            ),
            (
                "mv: cannot move 'x' to 'orch.toml': Device or resource busy",
                Some("orch.toml"),
            ),
            (
                "/a/agent.sh: 1: eval: cannot create README.new: Read-only file system",
                Some("README.new"),
            ),
            ("it failed with EROFS", Some("it failed with EROFS")),
            (
                "error: failed to write `/r/target/x`: Read-only file system (os error 30)",
                Some("/r/target/x"),
            ),
            ("all is well in src/a.rs", None),
        ] {
            let found = refused_write(line);
            let text = found.as_ref().map(|found| found.text.as_str());
            assert_eq!(text, expected, "{line}");
            let is_whole = text == Some(line);
            assert!(
                found.is_none_or(|found| found.is_path != is_whole),
                "{line}"
            );
        }
    }
}
