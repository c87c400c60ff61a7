//! A workflow document: CommonMark whose `toml orch` blocks form one TOML text with the same line numbers, and whose
//! `toml orch-test` blocks form another.

use orch_base::{Code, Diagnostic, Place, nearest};
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use std::ops::Range;

/// The marker before a generated diagram.
pub(super) const DIAGRAM_START: &str = "<!-- orch:diagram -->";
/// The marker after a generated diagram.
pub(super) const DIAGRAM_END: &str = "<!-- /orch:diagram -->";

/// A Markdown text that contains a workflow.
#[derive(Debug, Clone)]
pub struct Document {
    /// The name of the workflow: the stem of the file name.
    pub name: String,
    /// The path that diagnostics show.
    pub path: String,
    /// The whole text.
    pub text: String,
    /// The text with every byte outside the `toml orch` blocks blanked, so that offsets stay the same.
    pub(super) toml: String,
    /// The same of the `toml orch-test` blocks.
    pub(super) tests: String,
    /// The offset of the start of each line.
    lines: Vec<usize>,
    /// The text between the diagram markers, if both are present.
    pub(super) diagram: Option<Range<usize>>,
    /// Where blocks begin whose info string is nearly one that `orch` reads.
    unread: Vec<UnreadBlock>,
}

/// A block that `orch` does not read, although it seems to be meant for it.
#[derive(Debug, Clone)]
struct UnreadBlock {
    /// Where it begins.
    start: usize,
    /// Its info string.
    info: String,
    /// The one that is probably meant.
    meant: &'static str,
}

/// The info string of the blocks with the machine.
const MACHINE: &str = "toml orch";
/// The info string of the blocks with tests.
const TESTS: &str = "toml orch-test";

impl Document {
    /// Parses a document. A text without `toml orch` blocks is a document with an empty workflow.
    #[must_use]
    pub fn new(name: impl Into<String>, path: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let blocks = BlockRanges::of(&text);
        let toml = blank_outside(&text, &blocks.machine);
        let tests = blank_outside(&text, &blocks.tests);
        let diagram = diagram_range(&text);
        let lines = std::iter::once(0)
            .chain(text.match_indices('\n').map(|(at, _)| at + 1))
            .collect();
        Self {
            name: name.into(),
            path: path.into(),
            text,
            toml,
            tests,
            lines,
            diagram,
            unread: blocks.unread,
        }
    }

    /// Warnings about blocks whose info string is nearly one that `orch` reads.
    #[must_use]
    pub(super) fn unread_blocks(&self) -> Vec<Diagnostic> {
        let blocks = self.unread.iter();
        let found = blocks.map(|block| {
            let message = format!(
                "`orch` does not read this block: it is marked `{}`",
                block.info
            );
            let hint = format!("mark it `{}`", block.meant);
            let length = self.text[block.start..].lines().next().map_or(0, str::len);
            let warning = Diagnostic::warning(Code::WorkflowUnreadBlock, message);
            warning.at(self.place(block.start, length)).hint(hint)
        });
        found.collect()
    }

    /// The place of a key under `[state.defaults]`, or of the table if the key is missing.
    #[must_use]
    pub fn place_of_default(&self, key: &str) -> Place {
        let table = self.toml.find("[state.defaults]").unwrap_or_default();
        let below = self.toml[table..].split_inclusive('\n');
        let line = below
            .scan(table, |at, line| {
                *at += line.len();
                Some((*at - line.len(), line))
            })
            .find(|(_, line)| {
                line.split('=')
                    .next()
                    .is_some_and(|name| name.trim().trim_matches('"') == key)
            });
        line.map_or_else(|| self.place(table, 0), |(at, _)| self.place(at, key.len()))
    }

    /// The place of a range of bytes of the text.
    #[must_use]
    pub fn place_of(&self, span: &Range<usize>) -> Place {
        self.place(span.start, span.len())
    }

    /// Whether an offset is in a `toml orch` block, beyond the blanks around the blocks.
    #[must_use]
    pub fn is_machine(&self, offset: usize) -> bool {
        BlockRanges::of(&self.text)
            .machine
            .iter()
            .any(|range| range.start <= offset && offset <= range.end)
    }

    /// Whether an offset is in a `toml orch-test` block.
    #[must_use]
    pub fn is_test(&self, offset: usize) -> bool {
        BlockRanges::of(&self.text)
            .tests
            .iter()
            .any(|range| range.start <= offset && offset <= range.end)
    }

    /// The text in which only the `toml orch` blocks are left. Offsets are those of the document.
    #[must_use]
    pub fn blocks(&self) -> &str {
        &self.toml
    }

    /// The text in which only the `toml orch-test` blocks are left. Offsets are those of the document.
    #[must_use]
    pub fn test_blocks(&self) -> &str {
        &self.tests
    }

    /// The place of a part of the text. Line starts are stored rather than counted, because a large document
    /// has many places.
    pub(super) fn place(&self, offset: usize, length: usize) -> Place {
        let line = self.lines.partition_point(|start| *start <= offset);
        Place::in_line(&self.path, &self.text, line, offset, length)
    }
}

/// The byte ranges of the contents of the fenced blocks that `orch` reads.
#[derive(Default)]
struct BlockRanges {
    /// Those with the info string `toml orch`.
    machine: Vec<Range<usize>>,
    /// Those with the info string `toml orch-test`.
    tests: Vec<Range<usize>>,
    /// Those with nearly one of these.
    unread: Vec<UnreadBlock>,
}

impl BlockRanges {
    fn of(text: &str) -> Self {
        let mut found = Self::default();
        let mut kind = String::new();
        for (event, range) in Parser::new_ext(text, Options::empty()).into_offset_iter() {
            match event {
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                    let words: Vec<&str> = info.split_whitespace().collect();
                    kind = words.join(" ");
                    found.unread.extend(unread(&kind, range.start));
                }
                Event::End(TagEnd::CodeBlock) => kind.clear(),
                Event::Text(_) if kind == MACHINE => found.machine.push(range),
                Event::Text(_) if kind == TESTS => found.tests.push(range),
                _ => {}
            }
        }
        found
    }
}

/// A block with an info string that is nearly one of those that `orch` reads.
fn unread(info: &str, start: usize) -> Option<UnreadBlock> {
    let read = [MACHINE, TESTS];
    if read.contains(&info) {
        return None;
    }
    let meant = if info.contains(' ') {
        let near = nearest(info, read)?;
        read.into_iter().find(|read| *read == near)?
    } else {
        read.into_iter()
            .find(|read| read.split_once(' ').is_some_and(|(_, name)| name == info))?
    };
    Some(UnreadBlock {
        start,
        info: info.to_owned(),
        meant,
    })
}

fn blank_outside(text: &str, ranges: &[Range<usize>]) -> String {
    let mut blanked = vec![b' '; text.len()];
    for end in ['\n', '\r'] {
        text.match_indices(end)
            .for_each(|(at, end)| blanked[at..at + 1].copy_from_slice(end.as_bytes()));
    }
    for range in ranges {
        blanked[range.clone()].copy_from_slice(&text.as_bytes()[range.clone()]);
    }
    String::from_utf8(blanked).unwrap_or_default()
}

fn diagram_range(text: &str) -> Option<Range<usize>> {
    let start = text.find(DIAGRAM_START)? + DIAGRAM_START.len();
    let end = start + text[start..].find(DIAGRAM_END)?;
    Some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_keep_their_lines_and_columns() {
        let text = "# ä title\n\n```toml orch\n[workflow]\n```\n\n- item\n\n  ```toml orch\n  a = 1\n  ```\n\n```toml\nno = 1\n```\n";
        let document = Document::new("w", "w.md", text);
        let lines: Vec<&str> = document.toml.lines().collect();
        assert_eq!(document.toml.len(), text.len());
        assert_eq!(lines[3], "[workflow]");
        assert_eq!(lines[9], "  a = 1");
        assert!(!document.toml.contains("no = 1"));
    }

    #[test]
    fn finds_the_diagram_between_its_markers() {
        let text = format!("a\n{DIAGRAM_START}\nx\n{DIAGRAM_END}\n");
        let document = Document::new("w", "w.md", text.clone());
        assert_eq!(
            document.diagram.map(|range| text[range].to_owned()),
            Some("\nx\n".to_owned())
        );
        assert_eq!(Document::new("w", "w.md", "none").diagram, None);
    }
}
