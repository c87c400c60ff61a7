//! The XML of a report: its elements with their attributes, and what is not XML.
//!
//! Control characters are no fault: test runners write the names and messages of tests as they are.

mod encoding;
mod other_root;

use super::conflict;
use orch_base::{Code, Diagnostic, Place, RepoPath};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use std::borrow::Cow;

/// A kind of report, and how its faults are told.
pub(super) struct ReportKind {
    /// What a file of this kind is called, with its article.
    pub name: &'static str,
    /// The elements that may be its root.
    pub roots: &'static [&'static str],
    /// Whether it may declare a document type. No entity of it is ever expanded.
    pub may_declare_type: bool,
    /// Of a file that is not well-formed XML.
    pub syntax: Code,
    /// Of a file that is something else.
    pub other: Code,
    /// What to do about a file that is something else.
    pub hint: &'static str,
}

/// What makes a file no report.
#[derive(Debug)]
struct Fault {
    code: Code,
    /// Where it is in the text, in bytes.
    at: usize,
    message: String,
    hint: &'static str,
}

/// One element with its attributes.
pub(super) struct Element<'t> {
    pub name: &'t str,
    attributes: Vec<(&'t str, Cow<'t, str>)>,
}

/// Takes the elements of a report and the text in them, in order.
pub(super) trait Taker {
    fn start(&mut self, element: &Element<'_>);
    fn text(&mut self, text: &str);
    fn end(&mut self, name: &str);
}

impl Element<'_> {
    /// The value of an attribute.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.as_ref())
    }

    /// The value of an attribute that is not blank.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.trim().is_empty())
    }

    /// The same, as a text of its own.
    pub(super) fn owned(&self, name: &str) -> Option<String> {
        self.text(name).map(str::to_owned)
    }
}

const TRUNCATED: &str = "was the file truncated? Write the report again";
const REDIRECTED: &str =
    "was other output redirected into the file? Give the report a file of its own";
const ESCAPED: &str =
    "let the program that writes the report escape its texts, or report it to its authors";

/// Reads the bytes of a report of this kind. Returns an error if they are none.
pub(super) fn read(
    kind: &'static ReportKind,
    path: &RepoPath,
    bytes: &[u8],
    taker: &mut impl Taker,
) -> Result<(), Box<Diagnostic>> {
    let text = encoding::decode(path, bytes)?;
    read_text(kind, &text, taker).map_err(|fault| {
        let conflict = conflict(path, &text);
        Box::new(conflict.unwrap_or_else(|| {
            let place = Place::at(path.as_str(), &text, fault.at, 1);
            let finding = Diagnostic::error(fault.code, fault.message);
            finding.at(place).hint(fault.hint)
        }))
    })
}

fn read_text(kind: &'static ReportKind, text: &str, taker: &mut impl Taker) -> Result<(), Fault> {
    let mut reader = Reader::from_str(text);
    let mut place = Position::new(kind);
    loop {
        place.at = usize::try_from(reader.buffer_position()).unwrap_or(0);
        let event = match reader.read_event() {
            Ok(event) => event,
            Err(error) => {
                let message = format!("the report is not well-formed XML: {error}");
                return Err(place.fault(message, TRUNCATED));
            }
        };
        match event {
            Event::DocType(_) => place.doctype = Some(place.at),
            Event::Start(tag) => {
                let element = place.enter(&tag)?;
                place.depth += 1;
                taker.start(&element);
            }
            Event::Empty(tag) => {
                let element = place.enter(&tag)?;
                taker.start(&element);
                taker.end(element.name);
            }
            Event::End(tag) => {
                place.depth = place.depth.saturating_sub(1);
                taker.end(tag.local_name().as_ref());
            }
            Event::Text(found) => {
                place.expect_inside(&found)?;
                taker.text(&found);
            }
            Event::CData(found) => {
                place.expect_inside("CDATA")?;
                taker.text(&found);
            }
            Event::GeneralRef(name) => {
                place.expect_inside(&name)?;
                taker.text(place.entity(&name)?.encode_utf8(&mut [0; 4]));
            }
            Event::Eof => return place.end(text),
            Event::Decl(_) | Event::PI(_) | Event::Comment(_) => {}
        }
    }
}

/// Where the reader is.
struct Position {
    kind: &'static ReportKind,
    at: usize,
    depth: usize,
    has_root: bool,
    doctype: Option<usize>,
    /// Where text before the root begins.
    text_before: Option<usize>,
}

impl Position {
    fn new(kind: &'static ReportKind) -> Self {
        Self {
            kind,
            at: 0,
            depth: 0,
            has_root: false,
            doctype: None,
            text_before: None,
        }
    }

    fn fault(&self, message: String, hint: &'static str) -> Fault {
        Fault {
            code: self.kind.syntax,
            at: self.at,
            message,
            hint,
        }
    }

    /// The element that begins here.
    fn enter<'t>(&mut self, tag: &'t BytesStart<'_>) -> Result<Element<'t>, Fault> {
        if self.depth == 0 {
            self.enter_root(tag)?;
        }
        let mut attributes = Vec::new();
        for attribute in tag.attributes() {
            let attribute = attribute.map_err(|error| {
                self.fault(
                    format!("an attribute is not well-formed XML: {error}"),
                    ESCAPED,
                )
            })?;
            let Cow::Borrowed(raw) = attribute.value else {
                continue;
            };
            if raw.contains('<') {
                let message = format!(
                    "the attribute `{}` contains an unescaped `<`",
                    attribute.key.as_ref()
                );
                return Err(self.fault(message, ESCAPED));
            }
            attributes.push((
                attribute.key.local_name().into_inner(),
                self.unescaped(raw)?,
            ));
        }
        Ok(Element {
            name: tag.local_name().into_inner(),
            attributes,
        })
    }

    fn enter_root(&mut self, tag: &BytesStart<'_>) -> Result<(), Fault> {
        if let Some(at) = self.text_before {
            let message =
                "there is text before the root element, so the file is not XML".to_owned();
            return Err(Fault {
                at,
                ..self.fault(message, REDIRECTED)
            });
        }
        if self.has_root {
            let message =
                "the file has a second root element, so it is not one XML document".to_owned();
            return Err(self.fault(message, "give each report a file of its own"));
        }
        self.has_root = true;
        let name = tag.local_name().into_inner();
        if !self.kind.roots.contains(&name) {
            return Err(self.other_root(name, tag.attributes_raw()));
        }
        match self.doctype {
            Some(at) if !self.kind.may_declare_type => {
                let message = "the report declares a document type".to_owned();
                Err(Fault {
                    at,
                    ..self.fault(message, "remove the DOCTYPE declaration")
                })
            }
            _ => Ok(()),
        }
    }

    /// The root is one of another kind of file.
    fn other_root(&self, name: &str, attributes: &str) -> Fault {
        let kind = self.kind;
        let other = other_root::of(name, attributes);
        let what = match (other, kind.roots) {
            (Some(other), _) => format!("it is {}", other.name),
            (None, [one]) => format!("its root is not `{one}`"),
            (None, roots) => format!("its root is neither `{}`", roots.join("` nor `")),
        };
        let message = format!("the file is not {}: {what} (`<{name}>`)", kind.name);
        let hint = other.and_then(|other| other.hint).unwrap_or(kind.hint);
        Fault {
            code: kind.other,
            ..self.fault(message, hint)
        }
    }

    /// Only blanks may stand outside the root.
    fn expect_inside(&mut self, text: &str) -> Result<(), Fault> {
        if self.depth > 0 || text.trim_start_matches('\u{feff}').trim().is_empty() {
            return Ok(());
        }
        if !self.has_root {
            self.text_before.get_or_insert(self.at);
            return Ok(());
        }
        let message =
            "there is text after the end of the root element, so the file is not XML".to_owned();
        Err(self.fault(message, REDIRECTED))
    }

    fn end(&self, text: &str) -> Result<(), Fault> {
        if self.depth > 0 {
            return Err(self.fault("the report ends early".to_owned(), TRUNCATED));
        }
        if self.has_root {
            return Ok(());
        }
        let kind = self.kind;
        let what = match text.contains('<') {
            true => "it has no root element",
            false => "it contains no XML",
        };
        let message = format!("the file is not {}: {what}", kind.name);
        Err(Fault {
            code: kind.other,
            ..self.fault(message, kind.hint)
        })
    }

    /// The value of an attribute as it is meant.
    fn unescaped<'t>(&self, raw: &'t str) -> Result<Cow<'t, str>, Fault> {
        if !raw.contains('&') {
            return Ok(Cow::Borrowed(raw));
        }
        let mut value = String::with_capacity(raw.len());
        let mut pieces = raw.split('&');
        value.push_str(pieces.next().unwrap_or_default());
        for piece in pieces {
            let Some((name, rest)) = piece.split_once(';') else {
                return Err(
                    self.fault("an attribute contains an unescaped `&`".to_owned(), ESCAPED)
                );
            };
            value.push(self.entity(name)?);
            value.push_str(rest);
        }
        Ok(Cow::Owned(value))
    }

    /// The character that an entity stands for. A number that is not a character stands for the replacement character.
    fn entity(&self, name: &str) -> Result<char, Fault> {
        let number = match name.strip_prefix('#') {
            Some(digits) => match digits.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok(),
                None => digits.parse::<u32>().ok(),
            },
            None => None,
        };
        match (name, number) {
            ("amp", _) => Ok('&'),
            ("lt", _) => Ok('<'),
            ("gt", _) => Ok('>'),
            ("quot", _) => Ok('"'),
            ("apos", _) => Ok('\''),
            (_, Some(number)) => Ok(char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER)),
            _ => Err(self.fault(
                format!("XML does not define the entity `&{name};`"),
                ESCAPED,
            )),
        }
    }
}
