//! The XML of a report: its elements with their attributes, and what is not XML.
//!
//! Control characters are no fault: test runners write the names and messages of tests as they are.

use super::other_root;
use orch_base::Code;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use std::borrow::Cow;

/// What makes a file no report.
#[derive(Debug)]
pub(super) struct Fault {
    pub code: Code,
    /// Where it is in the text, in bytes.
    pub at: usize,
    pub message: String,
    pub hint: &'static str,
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

/// Reads a report. Document type declarations are refused, so no entity can expand.
pub(super) fn read(text: &str, taker: &mut impl Taker) -> Result<(), Fault> {
    let mut reader = Reader::from_str(text);
    let mut place = Position::default();
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
#[derive(Default)]
struct Position {
    at: usize,
    depth: usize,
    has_root: bool,
    doctype: Option<usize>,
    /// Where text before the root begins.
    text_before: Option<usize>,
}

impl Position {
    fn fault(&self, message: String, hint: &'static str) -> Fault {
        Fault {
            code: Code::JunitSyntax,
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
        if !matches!(name, "testsuite" | "testsuites") {
            let what = match other_root::format_of(name, tag.attributes_raw()) {
                Some(format) => format!("it is {format}"),
                None => "its root is neither `testsuites` nor `testsuite`".to_owned(),
            };
            let message = format!("the file is not a JUnit report: {what} (`<{name}>`)");
            let hint =
                "let the test runner write a JUnit XML report, and keep other files elsewhere";
            return Err(Fault {
                code: Code::NotJunit,
                ..self.fault(message, hint)
            });
        }
        match self.doctype {
            None => Ok(()),
            Some(at) => {
                let message = "the report declares a document type".to_owned();
                Err(Fault {
                    at,
                    ..self.fault(message, "remove the DOCTYPE declaration")
                })
            }
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
        let message = match text.contains('<') {
            true => "the file is not a JUnit report: it has no root element",
            false => "the file is not a JUnit report: it contains no XML",
        };
        let hint = "write a JUnit XML report";
        Err(Fault {
            code: Code::NotJunit,
            ..self.fault(message.to_owned(), hint)
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
