//! The text of one block of a document: a paragraph, a heading, an item or a cell, with the fields in it.

use super::placeholder::MASK;
use std::ops::Range;

/// The text of a block while it is read, and afterwards.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// The text without markup. The breaks of its lines are kept.
    pub text: String,
    /// The same length, with [`MASK`] for every byte that can neither begin nor end a placeholder.
    pub masked: String,
    /// Where pieces of the text begin, and where they stand in the document.
    pieces: Vec<(usize, usize)>,
    /// Where the current line begins.
    line: usize,
    label: Label,
    /// The fields, in order.
    pub fields: Vec<FieldRange>,
    /// Whether the value of the last field still grows.
    is_open: bool,
}

/// `**name**: value`. The ranges are those of the text of the block.
#[derive(Debug)]
pub(super) struct FieldRange {
    pub name: String,
    pub start: usize,
    pub value: Range<usize>,
}

/// How much of the label of a field was read.
#[derive(Debug, Default)]
enum Label {
    #[default]
    None,
    /// Strong text that began here, at the beginning of a line.
    Inside(usize),
    /// Strong text that a colon must follow to be a label.
    Closed(Range<usize>),
}

impl Block {
    /// Adds text that stands at `offset` in the document. `is_masked` keeps it from being a placeholder.
    pub(super) fn push(&mut self, text: &str, offset: usize, is_masked: bool) {
        let label = std::mem::take(&mut self.label);
        self.pieces.push((self.text.len(), offset));
        let start = self.text.len();
        self.text.push_str(text);
        if is_masked {
            self.masked.extend(std::iter::repeat_n(MASK, text.len()));
        } else {
            self.masked.push_str(text);
        }
        match label {
            Label::Inside(start) => self.label = Label::Inside(start),
            Label::Closed(name) if !is_masked => {
                let spaces = text.len() - text.trim_start_matches(' ').len();
                if let Some(colon) = text[spaces..].chars().next().filter(|c| COLONS.contains(c)) {
                    let value = start + spaces + colon.len_utf8();
                    self.begin_field(name, value);
                }
            }
            Label::Closed(_) | Label::None => {}
        }
    }

    /// The break of a line; a hard one ends the value of a field.
    pub(super) fn end_line(&mut self, offset: usize, is_hard: bool) {
        self.label = Label::None;
        if is_hard {
            self.end_field(self.text.len());
        }
        self.push("\n", offset, false);
        self.line = self.text.len();
    }

    /// Strong text begins. At the beginning of a line or after `|` it can be a label.
    pub(super) fn begin_strong(&mut self) {
        let before = self.text[self.line..].trim_end();
        let may_begin = before.is_empty() || before.ends_with('|');
        self.label = if may_begin {
            Label::Inside(self.text.len())
        } else {
            Label::None
        };
    }

    /// Strong text ends.
    pub(super) fn end_strong(&mut self) {
        let Label::Inside(start) = std::mem::take(&mut self.label) else {
            return;
        };
        let name = &self.text[start..];
        match name.trim_end().strip_suffix(COLONS) {
            Some(name) => self.begin_field(start..start + name.len(), self.text.len()),
            None => self.label = Label::Closed(start..self.text.len()),
        }
    }

    /// Other markup than strong text begins.
    pub(super) fn begin_markup(&mut self) {
        if matches!(self.label, Label::Closed(_)) {
            self.label = Label::None;
        }
    }

    fn begin_field(&mut self, name: Range<usize>, value: usize) {
        let text = plain(&self.text[name.clone()]);
        if text.is_empty() {
            return;
        }
        self.end_field(name.start);
        self.fields.push(FieldRange {
            name: text,
            start: name.start,
            value: value..value,
        });
        self.is_open = true;
    }

    fn end_field(&mut self, end: usize) {
        if let Some(field) = self.fields.last_mut().filter(|_| self.is_open) {
            let value = self.text[field.value.start..end.max(field.value.start)].trim_end();
            field.value.end = field.value.start + value.trim_end_matches('|').len();
        }
        self.is_open = false;
    }

    /// Completes the fields.
    pub(super) fn end(&mut self) {
        self.end_field(self.text.len());
    }

    /// Its lines `name: value`. The value ends with the line.
    pub(super) fn named_lines(&self) -> Vec<FieldRange> {
        let mut found = Vec::new();
        let mut start = 0;
        for line in self.text.split_inclusive('\n') {
            let masked = &self.masked[start..start + line.len()];
            if let Some(name) = label_of(masked) {
                let value = name.len() + masked[name.len()..].find(COLONS).unwrap_or_default();
                let colon = masked[value..].chars().next().map_or(0, char::len_utf8);
                found.push(FieldRange {
                    name: plain(name),
                    start,
                    value: start + value + colon..start + line.len(),
                });
            }
            start += line.len();
        }
        found
    }

    /// Where a part of the text stands in the document.
    pub(super) fn place(&self, at: usize) -> usize {
        let index = self.pieces.partition_point(|(start, _)| *start <= at);
        self.pieces[..index]
            .last()
            .map_or(0, |(start, offset)| offset + (at - start))
    }

    /// The text in one line.
    pub(super) fn line(&self) -> String {
        plain(&self.text)
    }
}

/// The longest name of a line, in bytes.
const MAX_NAME: usize = 60;

/// What stands before the colon of a line `name: value`: some words, and no mark of a sentence between them.
fn label_of(line: &str) -> Option<&str> {
    let (name, rest) = line.split_once(COLONS)?;
    let is_name = name.len() <= MAX_NAME
        && name.trim_start().starts_with(char::is_alphabetic)
        && name
            .chars()
            .all(|sign| sign.is_alphanumeric() || " -_/()".contains(sign));
    let ends = rest.chars().next().is_none_or(char::is_whitespace);
    if is_name && ends { Some(name) } else { None }
}

const COLONS: [char; 2] = [':', '：'];

/// A text in one line, with single spaces.
pub(super) fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
