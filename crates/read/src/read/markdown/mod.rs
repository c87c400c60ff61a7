//! What a Markdown document contains: front matter, headings, sections, check boxes, fields, placeholders, words.

mod block;
mod body;
mod check_box;
mod placeholder;

use super::{ReadResult, yaml};
use body::{Body, HeadedPart, Heading, MAX_ITEMS, Mark, Part};
use check_box::is_done;
use orch_base::pointer::unescape;
use orch_base::{Code, Diagnostic, Place, RepoPath};
use orch_core::decide::RecordVersion;
use pulldown_cmark::HeadingLevel;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Reads a document. `words` counts the words outside front matter and headings.
pub(super) fn read(version: RecordVersion, path: &RepoPath, text: &str) -> ReadResult {
    let (front, body_start) = front_matter(version, text);
    let mut problems = Vec::new();
    let front_matter = match front.map(members) {
        None => Value::Null,
        Some(Ok(members)) => Value::Object(members),
        Some(Err((line, column, message))) => {
            // The opening `---` is line 1.
            let place = Place::on_line(path.as_str(), text, line + 1, Some(column));
            problems.push(
                Diagnostic::error(Code::FrontMatter, format!("the front matter cannot be read: {message}"))
                    .at(place)
                    .hint(
                        "write `key: value` in YAML between the two `---` lines, or begin with an empty line",
                    ),
            );
            return ReadResult {
                data: None,
                problems,
            };
        }
    };
    let body = body_of(version, text, body_start);
    if let Some((what, line)) = body.cut_at {
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        let place = Place::on_line(path.as_str(), text, line, Some(1));
        let message = format!(
            "the document has more than {MAX_ITEMS} {what}; the rest is ignored from here on"
        );
        problems.push(
            Diagnostic::warning(Code::MarkdownLimit, message)
                .at(place)
                .hint("split the file into several documents"),
        );
    }
    let title = body
        .headings
        .iter()
        .find(|heading| heading.level == HeadingLevel::H1);
    let headings = body
        .headings
        .iter()
        .map(|heading| heading_value(version, heading));
    let placeholders = body
        .placeholders
        .iter()
        .map(|found| json!({"kind": found.kind, "text": found.text, "line": found.line}));
    let whole = [Part {
        start: Mark::default(),
        end: body.end,
    }];
    let mut data = json!({
        "front_matter": front_matter,
        "title": title.map(|title| title.text.as_str()),
        "headings": headings.collect::<Vec<_>>(),
        "boxes": boxes(version, &body, &whole),
        "words": body.end.words,
        "fields": fields(&body, &whole),
        "placeholders": placeholders.collect::<Vec<_>>(),
        "sections": sections(version, &body),
    });
    if version > RecordVersion::Third {
        data["named_lines"] = Value::Object(named_lines(&body, &whole));
        data["section_names"] = Value::Object(section_names(&body));
    }
    ReadResult {
        data: Some(data),
        problems,
    }
}

fn body_of(version: RecordVersion, text: &str, start: usize) -> Body {
    body::body(version, &text[start..], text[..start].matches('\n').count())
}

/// The check boxes of some parts of a document, and how many of them have each sign.
fn boxes(version: RecordVersion, body: &Body, parts: &[Part]) -> Value {
    let mut signs: BTreeMap<char, usize> = BTreeMap::new();
    let mut items = Vec::new();
    for part in parts {
        let boxes = &body.boxes[part.start.boxes..part.end.boxes];
        boxes
            .iter()
            .for_each(|found| *signs.entry(found.sign).or_default() += 1);
        let listed = part.start.boxes.min(MAX_ITEMS)..part.end.boxes.min(MAX_ITEMS);
        for found in &body.boxes[listed] {
            let mut item =
                json!({"text": found.text, "done": is_done(found.sign), "line": found.line});
            if version > RecordVersion::First {
                item["sign"] = found.sign.to_string().into();
            }
            items.push(item);
        }
    }
    let total: usize = signs.values().sum();
    let done: usize = signs
        .iter()
        .filter(|(sign, _)| is_done(**sign))
        .map(|(_, count)| count)
        .sum();
    let mut boxes = json!({"total": total, "done": done, "open": total - done, "items": items});
    if version > RecordVersion::First {
        let members = signs
            .into_iter()
            .map(|(sign, count)| (sign.to_string(), count.into()));
        boxes["signs"] = Value::Object(members.collect());
    }
    boxes
}

/// The fields of some parts. If several have the same name, the first counts.
fn fields(body: &Body, parts: &[Part]) -> Map<String, Value> {
    let mut members = Map::new();
    for field in parts
        .iter()
        .flat_map(|part| &body.fields[part.start.fields..part.end.fields])
    {
        members
            .entry(field.name.as_str())
            .or_insert_with(|| field.value.as_str().into());
    }
    members
}

/// The lines `name: value` of some parts. If several have the same name, the first counts.
fn named_lines(body: &Body, parts: &[Part]) -> Map<String, Value> {
    let mut members = Map::new();
    for line in parts
        .iter()
        .flat_map(|part| &body.named_lines[part.start.named_lines..part.end.named_lines])
    {
        members
            .entry(line.name.as_str())
            .or_insert_with(|| line.value.as_str().into());
    }
    members
}

/// The headings of the sections by their texts in small letters. If several differ only in case, the first counts.
fn section_names(body: &Body) -> Map<String, Value> {
    let mut names = Map::new();
    for section in &body.sections {
        let text = heading_of(body, section).text.as_str();
        names
            .entry(text.to_lowercase())
            .or_insert_with(|| text.into());
    }
    names
}

fn heading_value(version: RecordVersion, heading: &Heading) -> Value {
    let mut value =
        json!({"level": heading.level as usize, "text": heading.text, "line": heading.line});
    if version > RecordVersion::Third {
        value["form"] = heading.form.into();
    }
    value
}

fn heading_of<'b>(body: &'b Body, section: &HeadedPart) -> &'b Heading {
    &body.headings[section.heading]
}

/// The sections by their headings. Sections with the same heading are one, in several parts.
fn sections(version: RecordVersion, body: &Body) -> Map<String, Value> {
    let mut found: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut within: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (index, section) in body.sections.iter().enumerate() {
        let text = heading_of(body, section).text.as_str();
        found.entry(text).or_default().push(index);
        if let Some(around) = section.within {
            within
                .entry(&heading_of(body, &body.sections[around]).text)
                .or_default()
                .push(text);
        }
    }
    let mut all = Map::new();
    for (name, indexes) in found {
        let first = &body.sections[indexes[0]];
        let heading = heading_of(body, first);
        let around = first.within.map(|around| &body.sections[around]);
        let around = around.map(|around| heading_of(body, around).text.as_str());
        let parts: Vec<Part> = indexes
            .iter()
            .map(|index| body.sections[*index].part)
            .collect();
        let texts: Vec<&str> = parts
            .iter()
            .map(|part| body.text[part.start.text..part.end.text].trim())
            .collect();
        let mut leads = Vec::new();
        for index in &indexes {
            let section = &body.sections[*index];
            let end = section.lead_end.unwrap_or(section.part.end.text);
            leads.push(body.text[section.part.start.text..end].trim());
        }
        let words: usize = parts
            .iter()
            .map(|part| part.end.words - part.start.words)
            .sum();
        let mut value = json!({
            "level": heading.level as usize,
            "line": heading.line,
            "text": texts.join("\n"),
            "lead": leads.join("\n"),
            "within": around,
            "subsections": within.get(name).cloned().unwrap_or_default(),
            "words": words,
            "boxes": boxes(version, body, &parts),
            "fields": fields(body, &parts),
        });
        if version > RecordVersion::Third {
            value["form"] = heading.form.into();
            value["named_lines"] = Value::Object(named_lines(body, &parts));
        }
        all.insert(name.to_owned(), value);
    }
    all
}

/// The front matter between two `---` lines at the very start, and the offset of the body. Blanks may follow the lines,
/// and the last may be `...`; before version 4 the first line had none, and the last was `---`.
fn front_matter(version: RecordVersion, text: &str) -> (Option<&str>, usize) {
    let is_lenient = version > RecordVersion::Third;
    let first = text.split_inclusive('\n').next().unwrap_or_default();
    let is_opened = match is_lenient {
        true => first.ends_with('\n') && first.trim_end() == "---",
        false => matches!(first, "---\n" | "---\r\n"),
    };
    if !is_opened {
        return (None, 0);
    }
    let start = first.len();
    let mut offset = start;
    for line in text[start..].split_inclusive('\n') {
        let end = line.trim_end();
        if end == "---" || (is_lenient && end == "...") {
            return (Some(&text[start..offset]), offset + line.len());
        }
        offset += line.len();
    }
    (None, 0)
}

/// The members of front matter, or the line, the column and the kind of the fault.
fn members(front: &str) -> Result<Map<String, Value>, (u32, u32, String)> {
    match yaml::parse(front) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(_) => Err((1, 1, "it is not a mapping".to_owned())),
        Err(fault) => Err((fault.line, fault.column, fault.message)),
    }
}

/// Returns the line and the column of a value, or of its member `key`.
pub(super) fn locate(text: &str, pointer: &str, key: Option<&str>) -> Option<(u32, u32)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (front, body_start) = front_matter(RecordVersion::CURRENT, text);
    if let Some(inner) = pointer.strip_prefix("/front_matter") {
        let (line, column) = yaml::locate(front?, inner, key)?;
        return Some((line + 1, column));
    }
    let mut path: Vec<String> = pointer.split('/').skip(1).map(unescape).collect();
    path.extend(key.map(str::to_owned));
    let words: Vec<&str> = path.iter().map(String::as_str).collect();
    let line = line(&body_of(RecordVersion::CURRENT, text, body_start), &words)?;
    Some((u32::try_from(line).ok()?, 1))
}

/// The line of a value of the body. Within a section it is that of the value, or of the heading.
fn line(body: &Body, path: &[&str]) -> Option<usize> {
    let whole = Part {
        start: Mark::default(),
        end: body.end,
    };
    let [list, item, rest @ ..] = path else {
        return None;
    };
    match *list {
        "headings" => body
            .headings
            .get(item.parse::<usize>().ok()?)
            .map(|heading| heading.line),
        "placeholders" => body
            .placeholders
            .get(item.parse::<usize>().ok()?)
            .map(|found| found.line),
        "sections" => {
            let mut first = None;
            for section in &body.sections {
                let heading = heading_of(body, section);
                if heading.text != *item {
                    continue;
                }
                first = first.or(Some(heading.line));
                let inner = line_in(body, section.part, rest);
                if inner.is_some() {
                    return inner;
                }
            }
            first
        }
        _ => line_in(body, whole, path),
    }
}

/// The line of a field or a check box of a part.
fn line_in(body: &Body, part: Part, path: &[&str]) -> Option<usize> {
    match path {
        ["fields", name, ..] => {
            let mut fields = body.fields[part.start.fields..part.end.fields].iter();
            fields
                .find(|field| field.name == *name)
                .map(|field| field.line)
        }
        ["named_lines", name, ..] => {
            let mut lines = body.named_lines[part.start.named_lines..part.end.named_lines].iter();
            lines.find(|line| line.name == *name).map(|line| line.line)
        }
        ["boxes", "items", index, ..] => {
            let items = &body.boxes[part.start.boxes..part.end.boxes];
            items
                .get(index.parse::<usize>().ok()?)
                .map(|item| item.line)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data_by(version: RecordVersion, text: &str) -> Value {
        read(version, &RepoPath::new("f.md").expect("valid"), text)
            .data
            .expect("data")
    }

    fn data(text: &str) -> Value {
        data_by(RecordVersion::CURRENT, text)
    }

    /// Where front matter begins and ends, by the version that reads it.
    #[test]
    fn front_matter_may_have_blanks_after_its_lines_and_end_with_dots() {
        let found = json!({"a": 1});
        for (text, before, now) in [
            ("---\na: 1\n---\nx\n", &found, &found),
            ("---\r\na: 1\r\n---\r\nx\r\n", &found, &found),
            ("---\na: 1\n--- \t\nx\n", &found, &found),
            ("--- \na: 1\n---\nx\n", &Value::Null, &found),
            ("---\t \r\na: 1\r\n---\r\nx\r\n", &Value::Null, &found),
            ("---\na: 1\n...\nx\n", &Value::Null, &found),
            ("---  \na: 1\n...  \nx\n", &Value::Null, &found),
            ("---\na: 1\n... x\n", &Value::Null, &Value::Null),
            ("----\na: 1\n----\nx\n", &Value::Null, &Value::Null),
            ("--- a: 1\n---\nx\n", &Value::Null, &Value::Null),
            (" ---\na: 1\n---\nx\n", &Value::Null, &Value::Null),
            ("---", &Value::Null, &Value::Null),
            ("--- ", &Value::Null, &Value::Null),
        ] {
            let of = |version| data_by(version, text)["front_matter"].clone();
            assert_eq!(
                (&of(RecordVersion::Third), &of(RecordVersion::CURRENT)),
                (before, now),
                "{text:?}"
            );
        }
    }

    #[test]
    fn headings_have_a_form_and_sections_are_found_in_any_case() {
        let data = data(
            "# A\n\n## ADDED Requirements ##\n\n  ## In\n\nUnder\n---\n\n## C#\n\n### Acceptance criteria\n\n### ACCEPTANCE Criteria #\n",
        );
        let headings = data["headings"].as_array().expect("a list").iter();
        let forms: Vec<(&str, &str)> = headings
            .map(|heading| (heading["text"].as_str(), heading["form"].as_str()))
            .map(|found| (found.0.expect("text"), found.1.expect("form")))
            .collect();
        let expected = [
            ("A", "atx"),
            ("ADDED Requirements", "closed"),
            ("In", "indented"),
            ("Under", "underlined"),
            ("C#", "atx"),
            ("Acceptance criteria", "atx"),
            ("ACCEPTANCE Criteria", "closed"),
        ];
        assert_eq!(forms, expected);
        assert_eq!(data["sections"]["In"]["form"], "indented");
        let names = &data["section_names"];
        assert_eq!(names["added requirements"], "ADDED Requirements");
        assert_eq!(names["acceptance criteria"], "Acceptance criteria");
    }

    #[test]
    fn lines_with_a_name_are_read_plain_and_strong() {
        let text = "Status: ready-for-dev\nStory Points : 3\n\n# Title: no\n\n**Owner**: Ann\n\nA sentence: one. Then\nhttp://a.example is\n12:30 no\n\n- Due date: soon\n- `Code: no`\n\n```\nFence: no\n```\n\n## Notes\n\nStatus: later\nEmpty:\n";
        let data = data(text);
        let expected = json!({
            "Status": "ready-for-dev", "Story Points": "3", "Owner": "Ann", "A sentence": "one. Then",
            "Due date": "soon", "Empty": "",
        });
        assert_eq!(data["named_lines"], expected);
        assert_eq!(data["fields"], json!({"Owner": "Ann"}));
        assert_eq!(
            data["sections"]["Notes"]["named_lines"],
            json!({"Status": "later", "Empty": ""})
        );
        assert_eq!(locate(text, "/named_lines/Due date", None), Some((12, 1)));
        let before = data_by(RecordVersion::Third, text);
        assert_eq!(before.get("named_lines"), None);
    }

    /// A phrase in small letters is an author's own, unless a template has it.
    #[test]
    fn a_role_in_brackets_is_no_placeholder() {
        for (text, before, now) in [
            ("As a [power user], I log in.\n", true, false),
            ("It shows [the last ten] of them.\n", true, false),
            ("[Describe the journey]\n", true, true),
            ("**Given** [initial state], go.\n", true, true),
            ("What happens when [boundary\n  condition]?\n", true, true),
            ("[specific thing, e.g. a button]\n", true, true),
        ] {
            let found = |version| {
                let data = data_by(version, text);
                !data["placeholders"].as_array().expect("a list").is_empty()
            };
            assert_eq!(
                (found(RecordVersion::Third), found(RecordVersion::CURRENT)),
                (before, now),
                "{text}"
            );
        }
    }

    #[test]
    fn reads_what_a_document_says() {
        let data = data(
            "---\nstatus: final\ntags: [a, b]\nof:\n  plan: abc\nlist:\n- 1\n- x\n---\n# Title `code`\n\nTwo words.\n\n\
             ## Tasks\n\n- [x] 1.1 done\n- [ ] open\n  - [X] nested\n\n```\n- [ ] `shown`\n```\n<!--\n- [~] later\n-->\n",
        );
        assert_eq!(
            data["front_matter"],
            json!({"status": "final", "tags": ["a", "b"], "of": {"plan": "abc"}, "list": [1, "x"]})
        );
        assert_eq!(data["title"], "Title code");
        let counts =
            ["total", "done", "open"].map(|name| data["boxes"][name].as_u64().expect("a number"));
        assert_eq!(counts, [5, 2, 3]);
        let item = |text: &str, sign: &str, line: usize| json!({"text": text, "done": sign.eq_ignore_ascii_case("x"), "sign": sign, "line": line});
        let items = [
            item("1.1 done", "x", 16),
            item("open", " ", 17),
            item("nested", "X", 18),
            item("`shown`", " ", 21),
            item("later", "~", 24),
        ];
        assert_eq!(data["boxes"]["items"], json!(items));
        assert_eq!(
            data["boxes"]["signs"],
            json!({"x": 1, "X": 1, " ": 2, "~": 1})
        );
        assert_eq!(data["sections"]["Tasks"]["boxes"], data["boxes"]);
        assert_eq!(
            data["headings"][1],
            json!({"level": 2, "text": "Tasks", "line": 14, "form": "atx"})
        );
    }

    #[test]
    fn the_first_version_knows_two_signs_and_no_boxes_in_fences() {
        let text = "- [x] a\n- [ ] b\n- [~] c\n\n```\n- [ ] d\n```\n";
        let boxes = data_by(RecordVersion::First, text)["boxes"].clone();
        let item =
            |text: &str, done: bool, line: usize| json!({"text": text, "done": done, "line": line});
        let items = [item("a", true, 1), item("b", false, 2)];
        assert_eq!(
            boxes,
            json!({"total": 2, "done": 1, "open": 1, "items": items})
        );
    }

    #[test]
    fn words_do_not_count_headings() {
        assert_eq!(data("# Plan\n")["words"], 0);
        assert_eq!(data("# Plan\n\none two\n")["words"], 2);
    }

    #[test]
    fn front_matter_is_yaml() {
        let data = data("---\na: |\n  two\n  lines\nb: {c: [1]}\n---\nx\n");
        assert_eq!(
            data["front_matter"],
            json!({"a": "two\nlines\n", "b": {"c": [1]}})
        );
        let deep = format!("a: {}{}", "[".repeat(20_000), "]".repeat(20_000));
        for (front, line) in [
            ("a: 1\nwhat is this", 3),
            ("a: 1\na: 2", 3),
            ("just words", 2),
            (&deep, 2),
        ] {
            let text = format!("---\n{front}\n---\nx\n");
            let verdict = read(
                RecordVersion::Second,
                &RepoPath::new("f.md").expect("valid"),
                &text,
            );
            assert_eq!(
                verdict.problems[0]
                    .place
                    .as_ref()
                    .and_then(|place| place.line),
                Some(line)
            );
            assert!(verdict.data.is_none() && verdict.problems[0].is_error());
        }
        assert_eq!(
            locate("---\na:\n  b: 1\n---\n", "/front_matter/a/b", None),
            Some((3, 6))
        );
    }

    #[test]
    fn headings_are_kept_up_to_a_number() {
        let path = RepoPath::new("f.md").expect("valid");
        let of = |count: usize| {
            read(
                RecordVersion::Second,
                &path,
                &format!("---\na: 1\n---\n{}", "# Title\n".repeat(count)),
            )
        };
        let most = of(MAX_ITEMS);
        assert_eq!(most.problems, []);
        let verdict = of(MAX_ITEMS + 2);
        let headings =
            |verdict: &ReadResult| verdict.data.as_ref().expect("data")["headings"].clone();
        assert_eq!(headings(&verdict), headings(&most));
        assert_eq!(headings(&most)[MAX_ITEMS - 1]["line"], MAX_ITEMS + 3);
        let [problem] = &verdict.problems[..] else {
            panic!("{:?}", verdict.problems)
        };
        assert_eq!(
            (problem.code, problem.is_error()),
            (Code::MarkdownLimit, false)
        );
        assert_eq!(
            problem.place.as_ref().and_then(|place| place.line),
            Some(10_004)
        );
    }

    const TASK: &str = "\u{feff}---
title: Fix login
---
# task-12 - Fix login

**Status**: To Do | **Owner**: *Ann* `B.` | no field
**Since:** 2026-01-02
and still

## Description

A first
line with <!-- no --> `code`.

<!--
- [ ] in a comment
**Comment**: no
-->

## Acceptance Criteria

- [x] #1 It works
- [ ] #2 **Given** x: it fails
  - **Why**: because

```sh
- [ ] in a block
**Block**: no
# No heading
```

### Acceptance Criteria

- [ ] #3 is inside

> ## Quoted
>
> - [ ] #4 in a quote

## Notes

## Acceptance Criteria

- [x] #5 comes later
";

    #[test]
    fn sections_have_text_boxes_and_fields() {
        let verdict = super::super::read(
            orch_core::workflow::Format::Markdown,
            &RepoPath::new("f.md").expect("valid"),
            TASK.as_bytes(),
        );
        let data = verdict.data.expect("data");
        let sections = &data["sections"];
        let criteria = &sections["Acceptance Criteria"];
        let numbers =
            |value: &Value| ["total", "done", "open"].map(|name| value["boxes"][name].as_u64());
        assert_eq!(numbers(&data), [Some(7), Some(2), Some(5)]);
        assert_eq!(numbers(criteria), [Some(6), Some(2), Some(4)]);
        assert_eq!(
            numbers(&sections["Description"]),
            [Some(1), Some(0), Some(1)]
        );
        assert_eq!(numbers(&sections["Notes"]), [Some(0); 3]);
        assert_eq!(
            numbers(&sections["task-12 - Fix login"]),
            [Some(7), Some(2), Some(5)]
        );
        let texts = criteria["boxes"]["items"]
            .as_array()
            .expect("a list")
            .iter();
        let texts: Vec<&str> = texts
            .map(|item| item["text"].as_str().expect("a text"))
            .collect();
        let expected = [
            "#1 It works",
            "#2 Given x: it fails",
            "in a block",
            "#3 is inside",
            "#4 in a quote",
            "#5 comes later",
        ];
        assert_eq!(texts, expected);
        assert_eq!(criteria["boxes"]["items"][1]["line"], 23);
        assert_eq!(
            (&criteria["level"], &criteria["line"]),
            (&json!(2), &json!(20))
        );
        assert_eq!(sections["Description"]["text"], "A first\nline with  code.");
        assert_eq!(sections["Description"]["words"], 5);
        assert_eq!(
            sections["Description"]["lead"],
            sections["Description"]["text"]
        );
        let whole = &sections["task-12 - Fix login"];
        assert_eq!(whole["within"], Value::Null);
        assert_eq!(whole["subsections"][0], "Description");
        assert!(
            !whole["lead"]
                .as_str()
                .expect("a text")
                .contains("Description"),
            "{whole:#}"
        );
        assert_eq!(sections["Description"]["within"], "task-12 - Fix login");
        assert_eq!(
            (&sections["Notes"]["text"], &sections["Notes"]["words"]),
            (&json!(""), &json!(0))
        );
        assert_eq!(sections.get("Quoted"), None);
        assert_eq!(sections.as_object().map(Map::len), Some(4));
        let fields = json!({
            "Status": "To Do", "Owner": "Ann B. | no field", "Since": "2026-01-02 and still", "Why": "because",
        });
        assert_eq!(data["fields"], fields);
        assert_eq!(criteria["fields"], json!({"Why": "because"}));
    }

    #[test]
    fn values_of_the_body_have_places() {
        for (pointer, key, line) in [
            ("/sections/Notes/words", None, 40),
            ("/sections/Acceptance Criteria/boxes/items/1/done", None, 23),
            ("/sections/Acceptance Criteria/boxes/open", None, 20),
            ("/sections/Acceptance Criteria/fields/Why", None, 24),
            ("/fields", Some("Since"), 7),
            ("/boxes/items/0", None, 16),
            ("/headings/1/text", None, 10),
        ] {
            assert_eq!(locate(TASK, pointer, key), Some((line, 1)), "{pointer}");
        }
        for (pointer, key) in [
            ("/boxes/open", None),
            ("/fields/None", None),
            ("", Some("words")),
            ("", None),
        ] {
            assert_eq!(locate(TASK, pointer, key), None, "{pointer}");
        }
        assert_eq!(
            locate("x\n\n[FEATURE NAME]\n", "/placeholders/0/kind", None),
            Some((3, 1))
        );
    }

    /// Every text with what counts in it, each with its kind and its line.
    #[test]
    fn placeholders_are_what_is_left_to_fill_in() {
        type Expected = (&'static str, &'static str, usize);
        let cases: [(&str, &[Expected]); 12] = [
            (
                "# Spec: [FEATURE NAME]\n\n**Created**: [DATE]\n",
                &[("template", "[FEATURE NAME]", 1), ("template", "[DATE]", 3)],
            ),
            (
                "- MUST log in with [NEEDS CLARIFICATION: which\n  provider?] and [NEEDS CLARIFICATION - how?]\n",
                &[
                    ("clarification", "[NEEDS CLARIFICATION: which provider?]", 1),
                    ("clarification", "[NEEDS CLARIFICATION - how?]", 2),
                ],
            ),
            (
                "**Storage**: NEEDS CLARIFICATION (files?)\n**Testing**: [NEEDS CLARIFICATION]\n",
                &[
                    ("clarification", "NEEDS CLARIFICATION (files?)", 1),
                    ("clarification", "NEEDS CLARIFICATION", 2),
                ],
            ),
            (
                "No [NEEDS CLARIFICATION] markers remain; every NEEDS CLARIFICATION is resolved.\n",
                &[],
            ),
            (
                "### Story 1 - [Brief Title]\n\n[Describe how `it` works, for [all users]]\n",
                &[
                    ("template", "[Brief Title]", 1),
                    ("template", "[Describe how it works, for [all users]]", 3),
                ],
            ),
            (
                "**Language**: [e.g., Rust 1.75 or NEEDS CLARIFICATION]\n\n| a | [PROJECT_NAME] |\n|---|---|\n| [e.g. b] | c |\n",
                &[
                    ("template", "[e.g., Rust 1.75 or NEEDS CLARIFICATION]", 1),
                    ("template", "[PROJECT_NAME]", 3),
                    ("template", "[e.g. b]", 5),
                ],
            ),
            (
                "- [ ] T001 [P] [US1] Use [API] v[0, 1) of [RFC 2119] and [1], see [depends on T004] [Spec §FR-1]\n",
                &[],
            ),
            (
                "A [plain link](x.md), [another one][ref], [a broken one][none], an ![image here](x.png), list[of texts],\n\
                 \\[FEATURE NAME\\], `[FEATURE NAME]`, [word], [^1] and <!-- [FEATURE NAME] --> an end.\n\n[ref]: x.md\n",
                &[],
            ),
            (
                "```\n[FEATURE NAME] TODO: x\n```\n\n    TODO: y\n\n<!--\n\n[FEATURE NAME]\n\n-->\n",
                &[],
            ),
            (
                "TODO\n\n- TBD.\n- then TODO: write\n- TODO(ann) x\n- [TODO] and [TBD: when]\n\n**Owner**: TBD\n",
                &[
                    ("todo", "TODO", 1),
                    ("todo", "TBD.", 3),
                    ("todo", "TODO: write", 4),
                    ("todo", "TODO(ann) x", 5),
                    ("todo", "[TODO]", 6),
                    ("todo", "[TBD: when]", 6),
                    ("todo", "TBD", 8),
                ],
            ),
            (
                "# TODO app\n\nA TODO list, MYTODO: x, TODO-2: x, `TODO: x` and TODOs.\n",
                &[],
            ),
            (
                "\\\\[FEATURE NAME] &#91;DATE]\n",
                &[("template", "[FEATURE NAME]", 1)],
            ),
        ];
        for (text, expected) in cases {
            let found = data(text)["placeholders"].clone();
            let expected: Vec<Value> = expected
                .iter()
                .map(|(kind, text, line)| json!({"kind": kind, "text": text, "line": line}))
                .collect();
            assert_eq!(found, Value::from(expected), "{text}");
        }
    }

    /// Reading takes time in proportion to the size: what would be quadratic would take minutes here.
    #[test]
    fn hostile_bodies_are_read_in_linear_time() {
        let size = 100_000;
        for piece in [
            "[",
            "[a b ",
            "TODO:",
            "**a** ",
            "**a**: ",
            "# a\n",
            "- [ ] a\n",
            "[[a b]] ",
            "\\[",
            "| a ",
            "> ",
        ] {
            let text = piece.repeat(size / piece.len());
            let read = data(&text);
            for list in ["headings", "placeholders"] {
                assert!(
                    read[list].as_array().expect("a list").len() <= MAX_ITEMS,
                    "{piece}"
                );
            }
            assert!(
                read["fields"].as_object().expect("a map").len() <= MAX_ITEMS,
                "{piece}"
            );
        }
    }
}
