//! Where a test failed: the file and the line that the text of a failure names.

/// Parts of paths of code that is not the project's.
const FOREIGN: [&str; 6] = [
    "node_modules",
    "site-packages",
    "dist-packages",
    "/lib/python",
    "/vendor/",
    "/rustc/",
];

/// A line of a source file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SourceLine {
    pub file: String,
    pub line: u64,
}

/// The line of a source file that a text names: the first one in a file that `names`, which are the class and the
/// file of the test, name too; otherwise the first one in code of the project, and else the first one.
pub(super) fn find(text: &str, names: &[&str]) -> Option<SourceLine> {
    let mut found: Vec<SourceLine> = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(is_path).map(|begin| at + begin) {
        let length = text[start..]
            .find(|letter| !is_path(letter))
            .unwrap_or(text.len() - start);
        let path = &text[start..start + length];
        at = start + length;
        if is_source(path)
            && let Some(line) = line_after(&text[at..])
        {
            let drive = drive_before(&text[..start], path);
            found.push(SourceLine {
                file: format!("{drive}{path}"),
                line,
            });
        }
    }
    let named = found.iter().find(|location| {
        let stem = stem(&location.file);
        names.iter().any(|name| {
            name.split(['.', '/', '\\', '$', ':'])
                .any(|part| part == stem)
        })
    });
    let mut all = found.iter();
    let own = all.find(|location| !FOREIGN.iter().any(|part| location.file.contains(part)));
    named.or(own).or(found.first()).cloned()
}

fn is_path(letter: char) -> bool {
    letter.is_alphanumeric() || "_-./\\@+~$#".contains(letter)
}

/// Whether this may be the path of a source file: it has an extension that is not a number.
fn is_source(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let Some((stem, extension)) = name.rsplit_once('.') else {
        return false;
    };
    let is_extension = (1..=10).contains(&extension.len())
        && extension
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric())
        && extension.chars().any(|letter| letter.is_ascii_alphabetic());
    let is_host = path.starts_with("//");
    !stem.is_empty() && is_extension && !is_host
}

/// The drive before a path of Windows.
fn drive_before<'t>(before: &'t str, path: &str) -> &'t str {
    let letters = before.as_bytes();
    let is_drive = path.starts_with(['\\', '/'])
        && letters.len() >= 2
        && letters.ends_with(b":")
        && letters[letters.len() - 2].is_ascii_alphabetic()
        && !letters
            .get(letters.len().wrapping_sub(3))
            .is_some_and(u8::is_ascii_alphanumeric);
    if is_drive {
        &before[before.len() - 2..]
    } else {
        ""
    }
}

/// The number of the line that follows a path: `:12`, `:line 12`, `(12)`, `", line 12`.
fn line_after(rest: &str) -> Option<u64> {
    let rest = rest.strip_prefix(['"', '\'', '`']).unwrap_or(rest);
    let number = ["(", ":line ", ", line ", " line ", ":"]
        .iter()
        .find_map(|mark| rest.strip_prefix(mark))?;
    let length = number
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(number.len());
    number[..length].parse().ok().filter(|line| *line > 0)
}

/// The name of a file without its directories and its last extension.
fn stem(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_the_test_is_found_as_runners_write_it() {
        for (text, names, expected) in [
            (
                ">   assert x == 2\n\ntest_fail.py:4: AssertionError",
                "tests.test_fail",
                "test_fail.py:4",
            ),
            (
                "Error: no\n    at Object.toBe (/r/jt/fail.test.js:1:43)",
                "f",
                "/r/jt/fail.test.js:1",
            ),
            (
                "at org.junit.Assert.fail(Assert.java:89)\n\tat ATest.bad(ATest.java:14)",
                "p.ATest",
                "ATest.java:14",
            ),
            (
                "at f (/r/node_modules/x/a.js:3:1)\nat g (src/b.js:9:1)",
                "",
                "src/b.js:9",
            ),
            (
                "at f (/r/node_modules/x/a.js:3:1)",
                "",
                "/r/node_modules/x/a.js:3",
            ),
            ("g.cpp:3\nExpected equality", "S", "g.cpp:3"),
            ("g.cpp(12): error: no", "", "g.cpp:12"),
            ("(in test file x.bats, line 2)", "", "x.bats:2"),
            ("  File \"a/b.py\", line 7, in f", "", "a/b.py:7"),
            ("   at N.T.M() in C:\\r\\T.cs:line 12", "", "C:\\r\\T.cs:12"),
            (
                "thread 't' panicked at src/lib.rs:12:5:\nboom",
                "",
                "src/lib.rs:12",
            ),
            ("❯ vt/fail.test.mjs:1:112", "", "vt/fail.test.mjs:1"),
            ("./spec/x_spec.rb:5:in `block'", "", "./spec/x_spec.rb:5"),
            ("connect 127.0.0.1:8080, http://example.org:80/", "", ""),
            ("expected 1.5:2, version 1.2.3", "", ""),
            ("", "", ""),
        ] {
            let found = find(text, &[names]);
            let found = found
                .map(|at| format!("{}:{}", at.file, at.line))
                .unwrap_or_default();
            assert_eq!(found, expected, "{text}");
        }
    }
}
