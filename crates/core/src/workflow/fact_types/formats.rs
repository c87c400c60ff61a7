//! What the readers of formats yield, as types.

use crate::workflow::guard::Types;
use crate::workflow::guard::typing::{
    ListType, MapType, MapWords, NumberType, RestType, ValueType,
};
use crate::workflow::{Artifact, Format};
use std::sync::Arc;

fn text() -> ValueType {
    ValueType::text()
}

fn count() -> ValueType {
    ValueType::at_least(0.0)
}

fn truth() -> ValueType {
    ValueType::truth()
}

fn or_null(value: ValueType) -> ValueType {
    value.join(&ValueType::null())
}

/// What committed code has; see `survey::code`.
fn committed() -> ValueType {
    let commit = ValueType::record([
        ("id", text()),
        ("subject", text()),
        ("tasks", ValueType::list(text())),
    ]);
    ValueType::record([
        ("commits", ValueType::list(commit)),
        ("files", ValueType::list(text())),
        ("confirmed", truth()),
    ])
}

/// The check boxes of a document, or of a section.
fn boxes() -> ValueType {
    let item = ValueType::record([
        ("text", text()),
        ("done", truth()),
        ("sign", text()),
        ("line", count()),
    ]);
    ValueType::record([
        ("total", count()),
        ("done", count()),
        ("open", count()),
        ("signs", ValueType::map_by_name(count())),
        ("items", ValueType::list(item)),
    ])
}

fn heading_form() -> ValueType {
    ValueType::one_of(["atx", "closed", "indented", "underlined"])
}

fn section() -> ValueType {
    ValueType::record([
        ("level", count()),
        ("line", count()),
        ("form", heading_form()),
        ("text", text()),
        ("lead", text()),
        ("within", or_null(text())),
        ("subsections", ValueType::list(text())),
        ("words", count()),
        ("boxes", boxes()),
        ("fields", ValueType::map_by_name(text())),
        ("named_lines", ValueType::map_by_name(text())),
    ])
}

fn markdown() -> ValueType {
    let heading = ValueType::record([
        ("level", count()),
        ("text", text()),
        ("line", count()),
        ("form", heading_form()),
    ]);
    let placeholder = ValueType::record([
        (
            "kind",
            ValueType::one_of(["clarification", "template", "todo"]),
        ),
        ("text", text()),
        ("line", count()),
    ]);
    ValueType::record([
        (
            "front_matter",
            or_null(ValueType::map_by_name(ValueType::any())),
        ),
        ("title", or_null(text())),
        ("headings", ValueType::list(heading)),
        ("boxes", boxes()),
        ("words", count()),
        ("fields", ValueType::map_by_name(text())),
        ("named_lines", ValueType::map_by_name(text())),
        ("section_names", ValueType::map_by_name(text())),
        ("placeholders", ValueType::list(placeholder)),
        ("sections", ValueType::map_by_name(section())),
    ])
}

/// A map that may have these members, too.
fn with_optional<'n>(
    mut record: ValueType,
    fields: impl IntoIterator<Item = (&'n str, ValueType)>,
) -> ValueType {
    if let Some(map) = &mut record.map {
        let map = Arc::make_mut(map);
        for (name, value) in fields {
            map.fields.insert(Arc::from(name), super::optional(value));
        }
    }
    record
}

fn junit() -> ValueType {
    let failed = with_optional(
        ValueType::record([("name", text()), ("message", text())]),
        [("file", text()), ("line", count())],
    );
    let number = ValueType::of_kinds(Types::INT.or(Types::DOUBLE));
    ValueType::record([
        ("tests", count()),
        ("failures", count()),
        ("errors", count()),
        ("skipped", count()),
        ("time", or_null(number)),
        ("suites", ValueType::list(ValueType::any())),
        ("failed", ValueType::list(text())),
        ("failed_tests", ValueType::list(failed)),
    ])
}

/// How much of something was executed.
fn covered() -> ValueType {
    let percent = ValueType::number(NumberType {
        least: Some(0.0),
        most: Some(100.0),
        ..NumberType::of(Types::DOUBLE)
    });
    ValueType::record([
        ("total", count()),
        ("covered", count()),
        ("percent", percent),
    ])
}

fn coverage() -> ValueType {
    let file = ValueType::record([("lines", covered()), ("branches", covered())]);
    ValueType::record([
        ("lines", covered()),
        ("branches", covered()),
        ("functions", covered()),
        ("files", ValueType::map_by_name(file)),
    ])
}

fn sarif() -> ValueType {
    let listed = with_optional(
        ValueType::record([
            ("rule", text()),
            ("level", ValueType::one_of(["error", "warning", "note"])),
            ("message", text()),
        ]),
        [("file", text()), ("line", count())],
    );
    let tool = ValueType::record([("name", or_null(text())), ("version", or_null(text()))]);
    ValueType::record([
        ("scans", count()),
        ("failed", count()),
        ("results", count()),
        ("errors", count()),
        ("warnings", count()),
        ("notes", count()),
        ("new", count()),
        ("suppressed", count()),
        ("rules", ValueType::map_by_name(count())),
        ("tools", ValueType::list(tool)),
        ("listed", ValueType::list(listed)),
    ])
}

/// What the format of an artifact says of its data; `None` if the file decides.
fn of_format(format: Format) -> Option<ValueType> {
    Some(match format {
        Format::Json | Format::Yaml | Format::Toml => return None,
        Format::Jsonl => ValueType::lists(ListType {
            item: ValueType::any(),
            at_least: Some(1),
        }),
        Format::Csv => ValueType::list(ValueType::map_of(text())),
        Format::Markdown => markdown(),
        Format::Junit => junit(),
        Format::Cobertura | Format::Lcov => coverage(),
        Format::Sarif => sarif(),
        Format::Text => ValueType::record([("bytes", count()), ("lines", ValueType::list(text()))]),
        Format::Patch => ValueType::record([
            ("files", ValueType::list(text())),
            ("added", count()),
            ("removed", count()),
            ("bytes", count()),
            ("lines", count()),
        ]),
    })
}

/// The type of the data of an artifact, of which a schema says this.
pub(super) fn data_type(artifact: &Artifact, by_schema: Option<ValueType>) -> ValueType {
    let mut data = match (of_format(artifact.format), by_schema) {
        (Some(table), Some(by_schema)) if artifact.format == Format::Csv => {
            cells(&by_schema).unwrap_or(table)
        }
        (Some(of_format), Some(by_schema)) => of_format.meet(&by_schema),
        (Some(known), None) | (None, Some(known)) => known,
        (None, None) => ValueType::any(),
    };
    if let Some(map) = &mut data.map {
        Arc::make_mut(map).words = Some(Arc::new(words(artifact)));
    }
    if artifact.tree.is_none() {
        return data;
    }
    if artifact.pattern_count() == 0 {
        return committed();
    }
    // Which of the two it is depends on the files.
    let mut either = data.either(&committed());
    if let Some(map) = &mut either.map {
        Arc::make_mut(map).words = Some(Arc::new(words(artifact)));
    }
    either
}

/// The rows of a table with these members: whatever a schema says of them, they are texts.
fn cells(by_schema: &ValueType) -> Option<ValueType> {
    let rows = by_schema.list.as_ref()?;
    let mut row = MapType::clone(rows.item.map.as_ref()?);
    for field in row.fields.values_mut() {
        let known = field.value.text.clone().unwrap_or_default();
        field.value = Arc::new(ValueType::texts(known));
    }
    if !matches!(row.rest, RestType::Closed) {
        row.rest = RestType::Open(text());
    }
    Some(ValueType::lists(ListType {
        item: ValueType::map(row),
        at_least: rows.at_least,
    }))
}

/// What the data of an artifact is, in words.
fn words(artifact: &Artifact) -> MapWords {
    let name = &artifact.name;
    let format = artifact.format;
    let path = artifact.paths.first().map_or("", String::as_str);
    let file = path.rsplit_once('/').map_or(path, |(_, file)| file);
    let extension = file.rsplit_once('.').map(|(_, extension)| extension);
    let subject = format!("the data of `{name}`");
    if format == Format::Text && Format::of_extension(extension.unwrap_or_default()).is_none() {
        let read = match extension {
            Some(extension) => format!("files with the extension `.{extension}`"),
            None => format!("`{path}`"),
        };
        return MapWords {
            subject,
            because: format!(": {read} are read as text"),
            advice: Some(format!(
                "set `format` of `{name}` to one of {}; text has bytes and lines",
                Format::ALL.map(Format::as_str).join(", ")
            )),
        };
    }
    let subject = match format {
        Format::Json | Format::Yaml | Format::Toml => subject,
        _ => format!("{subject}, which is {},", format.as_str()),
    };
    MapWords {
        subject,
        ..MapWords::default()
    }
}
