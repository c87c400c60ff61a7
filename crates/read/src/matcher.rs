//! The artifact paths of a workflow, compiled once and matched against every task.
//!
//! As in a shell, a wildcard does not match a leading dot of a name: temporary files of editors (`.#plan.md`,
//! `.plan.json.swp`) are not artifacts. A pattern for a hidden file must spell out the dot.

use globset::{Glob, GlobMatcher};
use orch_base::glob;
use orch_core::record::is_own_file;
use orch_core::workflow::{ArtifactPaths, Workflow};
use std::sync::OnceLock;

/// Matches paths relative to a task directory against the artifacts of a workflow.
#[derive(Debug, Clone)]
pub struct Matcher {
    patterns: Vec<Pattern>,
    /// The first parts of all patterns, for finding tasks without listing everything.
    first_parts: Vec<PatternPart>,
}

#[derive(Debug, Clone)]
struct Pattern {
    artifact: usize,
    index: usize,
    commit: bool,
    part: PatternPart,
}

#[derive(Debug, Clone)]
enum PatternPart {
    Literal(String),
    Glob(Box<LazyGlob>),
}

/// A glob that is compiled when a path first begins and ends as it does: a command about one task meets few such paths.
#[derive(Debug, Clone)]
struct LazyGlob {
    glob: Glob,
    /// What comes before the first wildcard, and after the last.
    ends: [String; 2],
    matcher: OnceLock<GlobMatcher>,
}

impl PatternPart {
    fn new(text: &str) -> Option<Self> {
        let Some(wildcard) = text.find(['*', '?', '[', '{']) else {
            return Some(Self::Literal(text.to_owned()));
        };
        let glob = glob(text).ok()?;
        // What a backslash stands for is left to the glob.
        let start = text[..wildcard].split('\\').next().unwrap_or_default();
        // The slash behind `**` is part of what that matches.
        let end = text
            .rsplit(['*', '?', ']', '}', '/', '\\'])
            .next()
            .unwrap_or_default();
        let ends = [start, if text.contains('\\') { "" } else { end }].map(str::to_owned);
        Some(Self::Glob(Box::new(LazyGlob {
            glob,
            ends,
            matcher: OnceLock::new(),
        })))
    }

    /// What matches the first names of the paths that a pattern matches.
    fn first(pattern: &str) -> Option<Self> {
        let first = pattern.split('/').next().unwrap_or_default();
        // Alternatives that continue behind the slash may begin with any name.
        Self::new(first).or_else(|| Self::new("*"))
    }

    fn matches(&self, text: &str) -> bool {
        match self {
            Self::Literal(literal) => literal == text,
            Self::Glob(lazy) => lazy.matches(text),
        }
    }
}

impl LazyGlob {
    fn matches(&self, text: &str) -> bool {
        let [start, end] = &self.ends;
        if !text.starts_with(start) || !text.ends_with(end) {
            return false;
        }
        let glob = self.matcher.get_or_init(|| self.glob.compile_matcher());
        glob.is_match(text) && !reads_dot_by_wildcard(glob, text)
    }
}

/// Whether a wildcard matches the leading dot of a name in `path`: then the glob also matches any other
/// character in its place, even one that no pattern contains.
fn reads_dot_by_wildcard(glob: &GlobMatcher, path: &str) -> bool {
    let bytes = path.as_bytes();
    for (at, _) in path.match_indices('.') {
        let begins_name = at == 0 || bytes[at - 1] == b'/';
        if begins_name && glob.is_match(format!("{}\0{}", &path[..at], &path[at + 1..])) {
            return true;
        }
    }
    false
}

impl Matcher {
    /// Compiles the artifact paths of a workflow. A path that is not a valid glob matches nothing.
    #[must_use]
    pub fn new(workflow: &Workflow) -> Self {
        let declared = workflow.artifacts.iter();
        Self::of(declared.map(|artifact| (artifact.paths.as_slice(), artifact.commit)))
    }

    /// Compiles the paths that can be read in a document with errors.
    #[must_use]
    pub fn of_paths(artifacts: &[ArtifactPaths]) -> Self {
        Self::of(
            artifacts
                .iter()
                .map(|artifact| (artifact.globs.as_slice(), artifact.commit)),
        )
    }

    fn of<'p>(artifacts: impl Iterator<Item = (&'p [String], bool)>) -> Self {
        let mut patterns = Vec::new();
        let mut first_parts = Vec::new();
        for (artifact, (paths, commit)) in artifacts.enumerate() {
            for (index, path) in paths.iter().enumerate() {
                let Some(part) = PatternPart::new(path) else {
                    continue;
                };
                patterns.push(Pattern {
                    artifact,
                    index,
                    commit,
                    part,
                });
                first_parts.extend(PatternPart::first(path));
            }
        }
        Self {
            patterns,
            first_parts,
        }
    }

    /// The artifacts to which a path belongs: the index of each, and the index of its first matching pattern.
    pub fn artifacts_of<'m>(&'m self, path: &'m str) -> impl Iterator<Item = (usize, usize)> + 'm {
        let mut last = None;
        self.patterns.iter().filter_map(move |pattern| {
            if last == Some(pattern.artifact) || is_own_file(path) || !pattern.part.matches(path) {
                return None;
            }
            last = Some(pattern.artifact);
            Some((pattern.artifact, pattern.index))
        })
    }

    /// The artifacts to which a path would belong if its file were in one of the directories above: the index of each,
    /// and the index of its first matching pattern.
    pub fn artifacts_above<'m>(
        &'m self,
        path: &'m str,
    ) -> impl Iterator<Item = (usize, usize)> + 'm {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        let above = directory
            .match_indices('/')
            .map(|(end, _)| &directory[..=end])
            .rev();
        let above = above.chain((!directory.is_empty()).then_some(""));
        above.flat_map(move |above| {
            let raised = format!("{above}{name}");
            let found: Vec<(usize, usize)> = self.artifacts_of(&raised).collect();
            found
        })
    }

    /// Whether a path relative to a task directory belongs to an artifact.
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        self.artifacts_of(path).next().is_some()
    }

    /// Whether the path belongs to an artifact that transitions commit.
    #[must_use]
    pub fn matches_committed(&self, path: &str) -> bool {
        !is_own_file(path)
            && self
                .patterns
                .iter()
                .any(|pattern| pattern.commit && pattern.part.matches(path))
    }

    /// Whether a path of an artifact may begin with this name in a task directory.
    #[must_use]
    pub fn may_start_with(&self, name: &str) -> bool {
        self.first_parts.iter().any(|part| part.matches(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_does_not_match_a_hidden_name() {
        for (pattern, path, expected) in [
            ("review/*.md", "review/plan.md", true),
            ("review/*.md", "review/.#plan.md", false),
            ("planning/*", "planning/plan.json", true),
            ("planning/*", "planning/.plan.json.swp", false),
            ("planning/*.json", "planning/plan.v2.json", true),
            ("planning/*.json", "planning/plan.json~", false),
            ("planning/*.json", "planning/plan.json.tmp", false),
            ("planning/*.json", "planning/#plan.json#", false),
            ("planning/?plan.json", "planning/.plan.json", false),
            ("planning/[!a]plan.json", "planning/.plan.json", false),
            ("planning/{plan,*}.json", "planning/.plan.json", false),
            ("planning/.*.json", "planning/.plan.json", true),
            ("planning/.*.json", "planning/plan.json", false),
            ("planning/{.plan,plan}.*", "planning/.plan.json", true),
            ("specs/**/spec.md", "specs/spec.md", true),
            ("specs/**/spec.md", "specs/a/b/spec.md", true),
            ("specs/**/spec.md", "specs/.cache/spec.md", false),
            ("specs/**/spec.md", "specs/a/.cache/spec.md", false),
            ("specs/**/.spec.md", "specs/a/.spec.md", true),
            (".hidden/*.md", ".hidden/a.md", true),
            (".hidden/*.md", ".hidden/.a.md", false),
            ("**", "a/b", true),
            ("**", "a/.b", false),
            ("*", ".git", false),
            (".plan.json", ".plan.json", true),
            ("planning/**", "planning/a/b", true),
            ("planning/**/b", "planning/b", true),
            ("plan\\*/*.md", "plan*/a.md", true),
            ("plan\\*/*.md", "plan/a.md", false),
            ("\\plan/*.md", "plan/a.md", true),
            ("{a,b/*}.md", "a.md", true),
            ("{a,b/*}.md", "b/c.md", true),
            ("{a,b}", "b", true),
            ("*[.]md", "a.md", true),
            ("a/*\\*", "a/b*", true),
        ] {
            let part = PatternPart::new(pattern).expect("a glob");
            assert_eq!(part.matches(path), expected, "{pattern} {path}");
        }
    }

    /// What is left out because of how a path begins or ends is what the glob does not match.
    #[test]
    fn the_ends_of_a_pattern_leave_nothing_out() {
        let joined = |parts: &[&str]| -> Vec<String> {
            let pairs = parts
                .iter()
                .flat_map(|one| parts.iter().map(move |other| format!("{one}{other}")));
            let triples =
                pairs.flat_map(|pair| parts.iter().map(move |last| format!("{pair}{last}")));
            triples.collect()
        };
        let texts = joined(&["", "a", "b", "/", "*", ".", "ab"]);
        let mut globs = 0;
        for pattern in joined(&[
            "a", "b", "/", "*", "**", "?", "[ab]", "{a,b}", "{a/,*}", "\\*", ".",
        ]) {
            let Some(PatternPart::Glob(lazy)) = PatternPart::new(&pattern) else {
                continue;
            };
            let glob = lazy.glob.compile_matcher();
            globs += 1;
            for text in &texts {
                let expected = glob.is_match(text) && !reads_dot_by_wildcard(&glob, text);
                assert_eq!(lazy.matches(text), expected, "{pattern} {text}");
            }
        }
        assert!(globs > 1000, "{globs}");
    }

    #[test]
    fn a_pattern_whose_alternatives_are_paths_may_begin_with_any_name() {
        for (pattern, name, expected) in [
            ("review/*.md", "review", true),
            ("review/*.md", "planning", false),
            ("{planning/a,review/b}.md", "review", true),
            ("{planning,review}/b.md", "planning", true),
            ("{planning,review}/b.md", "code", false),
        ] {
            let first = PatternPart::first(pattern).expect("a glob");
            assert_eq!(first.matches(name), expected, "{pattern} {name}");
        }
    }
}
