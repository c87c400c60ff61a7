//! The artifact paths of a workflow, compiled once and matched against every task.

use crate::record::is_own_file;
use crate::workflow::Workflow;
use globset::{Glob, GlobBuilder, GlobMatcher};

/// Matches paths below a task directory against the artifacts of a workflow.
#[derive(Debug, Clone)]
pub struct Matcher {
    patterns: Vec<Pattern>,
    /// The first parts of all patterns, for finding tasks without listing everything.
    first_parts: Vec<Part>,
}

#[derive(Debug, Clone)]
struct Pattern {
    artifact: usize,
    index: usize,
    commit: bool,
    part: Part,
}

#[derive(Debug, Clone)]
enum Part {
    Literal(String),
    Glob(GlobMatcher),
}

impl Part {
    fn new(text: &str) -> Option<Self> {
        if text.contains(['*', '?', '[', '{']) {
            let glob: Glob = GlobBuilder::new(text).literal_separator(true).build().ok()?;
            return Some(Self::Glob(glob.compile_matcher()));
        }
        Some(Self::Literal(text.to_owned()))
    }

    fn matches(&self, text: &str) -> bool {
        match self {
            Self::Literal(literal) => literal == text,
            Self::Glob(glob) => glob.is_match(text),
        }
    }
}

impl Matcher {
    /// Compiles the paths of a workflow's artifacts. A path that is no glob matches nothing.
    #[must_use]
    pub fn new(workflow: &Workflow) -> Self {
        let mut patterns = Vec::new();
        let mut first_parts = Vec::new();
        for (artifact, declared) in workflow.artifacts.iter().enumerate() {
            for (index, path) in declared.paths.iter().enumerate() {
                let Some(part) = Part::new(path) else { continue };
                patterns.push(Pattern { artifact, index, commit: declared.commit, part });
                first_parts.extend(Part::new(path.split('/').next().unwrap_or_default()));
            }
        }
        Self { patterns, first_parts }
    }

    /// For each artifact that a path belongs to: its index, and the first of its patterns that matches.
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

    /// Whether a path below a task directory belongs to an artifact.
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        self.artifacts_of(path).next().is_some()
    }

    /// Whether it belongs to an artifact that transitions commit.
    #[must_use]
    pub fn matches_committed(&self, path: &str) -> bool {
        !is_own_file(path) && self.patterns.iter().any(|pattern| pattern.commit && pattern.part.matches(path))
    }

    /// Whether an artifact may lie at or below this name in a task directory.
    #[must_use]
    pub fn may_start_with(&self, name: &str) -> bool {
        self.first_parts.iter().any(|part| part.matches(name))
    }
}
