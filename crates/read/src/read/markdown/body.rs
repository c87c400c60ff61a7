//! The body of a document: headings and their sections, check boxes, fields and placeholders.
//!
//! The text of all sections is kept once; a section is a range in it. So reading takes linear time, and the
//! memory that it takes is limited by the size of the file and by [`MAX_ITEMS`].

use super::block::{Block, plain};
use super::check_box;
use super::placeholder::{self, PhraseRule};
use orch_core::decide::RecordVersion;
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// How many headings, check boxes, fields and placeholders of one document are kept, of each.
pub(super) const MAX_ITEMS: usize = 10_000;

/// What a body contains. All lines count from the beginning of the file.
#[derive(Default)]
pub(super) struct Body {
    pub headings: Vec<Heading>,
    pub sections: Vec<HeadedPart>,
    /// All check boxes; the first [`MAX_ITEMS`] are listed, and all are counted.
    pub boxes: Vec<CheckBox>,
    pub fields: Vec<FieldLine>,
    /// The lines `name: value`, whether or not the name is strong.
    pub named_lines: Vec<FieldLine>,
    pub placeholders: Vec<FoundPlaceholder>,
    /// The text of the sections, without markup, comments and front matter.
    pub text: String,
    /// What was counted up to the end.
    pub end: Mark,
    /// What exceeds the limit first, and its line.
    pub cut_at: Option<(&'static str, usize)>,
}

pub(super) struct Heading {
    pub level: HeadingLevel,
    pub text: String,
    pub line: usize,
    /// How it is written: `atx`, `closed` (with hashes at its end), `indented` or `underlined`.
    pub form: &'static str,
}

/// What a heading heads, up to the next heading of its level or above.
pub(super) struct HeadedPart {
    /// The index of its heading.
    pub heading: usize,
    pub part: Part,
    /// The index of the section around it.
    pub within: Option<usize>,
    /// Where its text before the first section in it ends; `None` if there is no section in it.
    pub lead_end: Option<usize>,
}

/// From one place of a document to another.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub start: Mark,
    pub end: Mark,
}

/// What was read up to some place: the lengths of the lists and of the text, and the numbers.
#[derive(Default, Clone, Copy)]
pub(super) struct Mark {
    /// Where the place is in the source.
    pub at: usize,
    pub text: usize,
    pub words: usize,
    pub boxes: usize,
    pub fields: usize,
    pub named_lines: usize,
}

/// `**name**: value`, or a line `name: value`.
pub(super) struct FieldLine {
    pub name: String,
    pub value: String,
    pub line: usize,
}

pub(super) struct CheckBox {
    /// Where it is in the source.
    pub at: usize,
    pub text: String,
    /// The sign in it; a blank if it is empty.
    pub sign: char,
    pub line: usize,
}

pub(super) struct FoundPlaceholder {
    pub kind: &'static str,
    pub text: String,
    pub line: usize,
}

/// Reads a body that begins after `lines_before` lines.
pub(super) fn body(version: RecordVersion, text: &str, lines_before: usize) -> Body {
    let lines = text.match_indices('\n').map(|(at, _)| at).collect();
    let mut reader = BodyReader {
        text,
        lines,
        lines_before,
        version,
        ..BodyReader::default()
    };
    let options =
        Options::ENABLE_TASKLISTS | Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        reader.take(event, range);
    }
    reader.end_block();
    reader.end_box();
    reader.close_sections(0, text.len());
    reader.body.end = reader.mark(text.len());
    if version > RecordVersion::First {
        reader.take_boxes_of_lines();
    }
    reader.place_boxes();
    reader.body
}

#[derive(Default)]
struct BodyReader<'t> {
    text: &'t str,
    /// Where the lines end.
    lines: Vec<usize>,
    lines_before: usize,
    version: RecordVersion,
    body: Body,
    /// What was counted so far. The lengths are those of the lists.
    counted: Mark,
    /// The indexes of the open sections, with their levels.
    open: Vec<(usize, usize)>,
    /// The heading that is read, and where it begins.
    heading: Option<(HeadingLevel, usize)>,
    check_box: Option<CheckBox>,
    in_code: bool,
    /// How many quotes and lists there are around this place.
    depth: usize,
    block: Block,
    /// Where the last piece of text ended.
    read_to: usize,
}

impl BodyReader<'_> {
    fn take(&mut self, event: Event<'_>, range: std::ops::Range<usize>) {
        match event {
            Event::Start(Tag::Strong) => self.block.begin_strong(),
            Event::End(TagEnd::Strong) => self.block.end_strong(),
            Event::Start(
                Tag::Emphasis | Tag::Strikethrough | Tag::Link { .. } | Tag::Image { .. },
            ) => self.block.begin_markup(),
            Event::End(TagEnd::Emphasis | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image) => {
            }
            Event::Start(tag) => self.start(&tag, range.start),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.in_code => {
                self.counted.words += text.split_whitespace().count();
                self.body.text.push_str(&text);
            }
            Event::Text(text) => {
                let source = &self.text[range.clone()];
                let is_escaped =
                    range.start > self.read_to && self.text[..range.start].ends_with('\\');
                // Only the character after the backslash is escaped.
                let length = if *source != *text {
                    text.len()
                } else if is_escaped {
                    text.chars().next().map_or(0, char::len_utf8)
                } else {
                    0
                };
                if length > 0 {
                    self.block.push(&text[..length], range.start, true);
                }
                if length < text.len() {
                    self.block
                        .push(&text[length..], range.start + length, false);
                }
                self.read_to = range.end;
            }
            Event::Code(text) => {
                self.block.push(&text, range.start, true);
                self.read_to = range.end;
            }
            Event::SoftBreak => self.block.end_line(range.start, false),
            Event::HardBreak => self.block.end_line(range.start, true),
            Event::TaskListMarker(is_done) => {
                self.end_box();
                let line = self.line(range.start);
                let sign = if is_done { 'x' } else { ' ' };
                self.check_box = Some(CheckBox {
                    at: range.start,
                    text: String::new(),
                    sign,
                    line,
                });
                self.read_to = range.end;
            }
            _ => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>, offset: usize) {
        self.end_block();
        match tag {
            Tag::Heading { level, .. } => self.heading = Some((*level, offset)),
            Tag::CodeBlock(_) => self.in_code = true,
            Tag::BlockQuote(_) | Tag::List(_) => self.depth += 1,
            Tag::Item => self.end_box(),
            Tag::TableCell if !self.body.text.ends_with('\n') && !self.body.text.is_empty() => {
                self.body.text.push_str(" | ");
            }
            _ => {}
        }
        self.read_to = offset;
    }

    fn end(&mut self, tag: TagEnd) {
        self.end_block();
        match tag {
            TagEnd::Heading(_) => self.heading = None,
            TagEnd::BlockQuote(_) | TagEnd::List(_) => self.depth = self.depth.saturating_sub(1),
            TagEnd::Item => self.end_box(),
            _ => {}
        }
        self.in_code = false;
        if tag != TagEnd::TableCell && !self.body.text.is_empty() && !self.body.text.ends_with('\n')
        {
            self.body.text.push('\n');
        }
    }

    /// Adds the block that was read: its text, its fields and its placeholders.
    fn end_block(&mut self) {
        let mut block = std::mem::take(&mut self.block);
        if block.text.is_empty() && self.heading.is_none() {
            return;
        }
        block.end();
        if let Some((level, offset)) = self.heading.take() {
            self.add_heading(level, block.line(), offset);
            block.fields.clear();
        } else {
            if self.version > RecordVersion::Third {
                self.add_named_lines(&block);
            }
            if let Some(check_box) = self
                .check_box
                .as_mut()
                .filter(|check_box| check_box.text.is_empty())
            {
                check_box.text = block.line();
            }
            self.counted.words += block.text.split_whitespace().count();
            self.body.text.push_str(block.text.trim());
        }
        for field in &block.fields {
            let line = self.line(block.place(field.start));
            if self.has_room("fields", self.body.fields.len(), line) {
                let value = plain(&block.text[field.value.clone()]);
                self.body.fields.push(FieldLine {
                    name: field.name.clone(),
                    value,
                    line,
                });
            }
        }
        let values: Vec<_> = block
            .fields
            .iter()
            .map(|field| field.value.clone())
            .collect();
        let rule = if self.version > RecordVersion::Third {
            PhraseRule::Template
        } else {
            PhraseRule::AnyPhrase
        };
        for (kind, range) in placeholder::find(&block.masked, &values, rule) {
            let line = self.line(block.place(range.start));
            if self.has_room("placeholders", self.body.placeholders.len(), line) {
                let text = plain(&block.text[range]);
                self.body.placeholders.push(FoundPlaceholder {
                    kind: kind.as_str(),
                    text,
                    line,
                });
            }
        }
    }

    fn add_named_lines(&mut self, block: &Block) {
        for named in block.named_lines() {
            let line = self.line(block.place(named.start));
            if self.has_room("named lines", self.body.named_lines.len(), line) {
                let value = plain(&block.text[named.value.clone()]);
                self.body.named_lines.push(FieldLine {
                    name: named.name,
                    value,
                    line,
                });
            }
        }
    }

    fn end_box(&mut self) {
        self.body.boxes.extend(self.check_box.take());
    }

    /// Replaces the boxes of the parser, which knows few signs, by those of the lines. Where both know a box, the
    /// parser has its text without markup.
    fn take_boxes_of_lines(&mut self) {
        let mut parsed = std::mem::take(&mut self.body.boxes).into_iter().peekable();
        for found in check_box::find(self.text) {
            let line = self.line(found.offset);
            while parsed.next_if(|known| known.line < line).is_some() {}
            let known = parsed
                .next_if(|known| known.line == line)
                .map(|known| known.text);
            let text = known.unwrap_or_else(|| plain(found.text));
            self.body.boxes.push(CheckBox {
                at: found.offset,
                text,
                sign: found.sign,
                line,
            });
        }
    }

    /// Notes for each place how many boxes come before it.
    fn place_boxes(&mut self) {
        let boxes = &self.body.boxes;
        let mut marks = vec![&mut self.body.end];
        for section in &mut self.body.sections {
            marks.push(&mut section.part.start);
            marks.push(&mut section.part.end);
        }
        for mark in marks {
            mark.boxes = boxes.partition_point(|found| found.at < mark.at);
        }
        if let Some(line) = boxes.get(MAX_ITEMS).map(|found| found.line)
            && self.body.cut_at.is_none_or(|(_, other)| line < other)
        {
            self.body.cut_at = Some(("check boxes", line));
        }
    }

    /// Adds a heading. Outside quotes and lists it closes the sections of its level and below, and opens one,
    /// unless a section around it has the same heading: that one contains it already.
    fn add_heading(&mut self, level: HeadingLevel, text: String, offset: usize) {
        let line = self.line(offset);
        if !self.has_room("headings", self.body.headings.len(), line) {
            return;
        }
        let number = level as usize;
        if self.depth == 0 {
            self.close_sections(number, offset);
        }
        let within = self.open.last().map(|(index, _)| *index);
        if self.depth == 0
            && let Some(around) = within
        {
            self.body.sections[around]
                .lead_end
                .get_or_insert(self.body.text.len());
        }
        self.body.text.push_str(&text);
        self.body.text.push('\n');
        let heading = self.body.headings.len();
        let is_within = self
            .open
            .iter()
            .any(|(index, _)| self.body.headings[self.body.sections[*index].heading].text == text);
        let is_section = self.depth == 0 && !is_within;
        let form = form_of(self.text, offset);
        self.body.headings.push(Heading {
            level,
            text,
            line,
            form,
        });
        if is_section {
            let start = self.mark(offset);
            self.open.push((self.body.sections.len(), number));
            let part = Part { start, end: start };
            self.body.sections.push(HeadedPart {
                heading,
                part,
                within,
                lead_end: None,
            });
        }
    }

    fn close_sections(&mut self, level: usize, offset: usize) {
        let end = self.mark(offset);
        while let Some((index, _)) = self.open.pop_if(|(_, open)| *open >= level) {
            self.body.sections[index].part.end = end;
        }
    }

    fn mark(&self, at: usize) -> Mark {
        Mark {
            at,
            text: self.body.text.len(),
            fields: self.body.fields.len(),
            named_lines: self.body.named_lines.len(),
            ..self.counted
        }
    }

    /// Whether another item is kept. Notes the first that is not.
    fn has_room(&mut self, what: &'static str, count: usize, line: usize) -> bool {
        if count >= MAX_ITEMS {
            self.body.cut_at.get_or_insert((what, line));
        }
        count < MAX_ITEMS
    }

    fn line(&self, offset: usize) -> usize {
        self.lines_before + 1 + self.lines.partition_point(|end| *end < offset)
    }
}

/// How the heading at an offset is written. Many programs know only `atx`.
fn form_of(text: &str, offset: usize) -> &'static str {
    let source = text[offset..].lines().next().unwrap_or_default();
    let source = source.trim_end();
    if !source.starts_with('#') {
        return "underlined";
    }
    let before = source.trim_end_matches('#');
    if before.len() < source.len() && before.ends_with([' ', '\t']) {
        return "closed";
    }
    if offset > 0 && !text[..offset].ends_with('\n') {
        "indented"
    } else {
        "atx"
    }
}
