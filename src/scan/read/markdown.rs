//! What a Markdown document contains: front matter, headings, check boxes, words.

use super::ReadResult;
use crate::base::{Code, Diagnostic, Place, RepoPath};
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use serde_json::{Map, Value, json};

/// How many headings of one document are kept.
const MAX_HEADINGS: usize = 10_000;

/// Reads a document. `words` counts the words outside front matter and headings.
pub(super) fn read(path: &RepoPath, text: &str) -> ReadResult {
    let (front, body_start) = front_matter(text);
    let mut problems = Vec::new();
    let front_matter = match front.map(yaml) {
        None => Value::Null,
        Some(Ok(members)) => Value::Object(members),
        Some(Err(line)) => {
            let place = Place { line: Some(line), column: Some(1), ..Place::file(path) };
            let message = "this line of the front matter cannot be parsed";
            problems.push(
                Diagnostic::warning(Code::FrontMatter, message)
                    .at(place)
                    .hint("use `key: value` and flat lists"),
            );
            Value::Null
        }
    };
    let seen = body(&text[body_start..], text[..body_start].matches('\n').count());
    if let Some(line) = seen.cut_at {
        let place = Place { line: Some(line), column: Some(1), ..Place::file(path) };
        let message =
            format!("the document has more than {MAX_HEADINGS} headings; the rest is ignored from here on");
        problems.push(
            Diagnostic::warning(Code::MarkdownHeadings, message)
                .at(place)
                .hint("split the file into several documents"),
        );
    }
    let title =
        seen.headings.iter().find(|heading| heading["level"] == 1).map(|heading| heading["text"].clone());
    let data = json!({
        "front_matter": front_matter,
        "title": title.unwrap_or(Value::Null),
        "headings": seen.headings,
        "boxes": {"total": seen.total, "done": seen.done, "open": seen.total - seen.done},
        "words": seen.words,
    });
    ReadResult { data: Some(data), problems }
}

#[derive(Default)]
struct MarkdownBody {
    headings: Vec<Value>,
    /// The line of the first heading beyond the limit.
    cut_at: Option<u32>,
    total: usize,
    done: usize,
    words: usize,
}

fn body(text: &str, lines_before: usize) -> MarkdownBody {
    let mut seen = MarkdownBody::default();
    let mut heading: Option<(HeadingLevel, String, usize)> = None;
    // Lines are counted incrementally from heading to heading, because a document may have many headings.
    let (mut counted, mut line) = (0, lines_before + 1);
    let options = Options::ENABLE_TASKLISTS | Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                line += text.get(counted..range.start).map_or(0, |passed| passed.matches('\n').count());
                counted = counted.max(range.start);
                heading = Some((level, String::new(), line));
            }
            Event::End(TagEnd::Heading(_)) => {
                let Some((level, text, line)) = heading.take() else { continue };
                if seen.headings.len() < MAX_HEADINGS {
                    seen.headings.push(json!({"level": level as usize, "text": text.trim(), "line": line}));
                } else {
                    seen.cut_at = seen.cut_at.or(u32::try_from(line).ok());
                }
            }
            Event::TaskListMarker(done) => {
                seen.total += 1;
                seen.done += usize::from(done);
            }
            Event::Text(words) | Event::Code(words) => match &mut heading {
                Some((_, text, _)) => text.push_str(&words),
                None => seen.words += words.split_whitespace().count(),
            },
            Event::SoftBreak | Event::HardBreak => {
                if let Some((_, text, _)) = &mut heading {
                    text.push(' ');
                }
            }
            _ => {}
        }
    }
    seen
}

/// The front matter between two `---` lines at the very start, and the offset of the body.
fn front_matter(text: &str) -> (Option<&str>, usize) {
    let Some(rest) = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n")) else {
        return (None, 0);
    };
    let start = text.len() - rest.len();
    let mut offset = start;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return (Some(&text[start..offset]), offset + line.len());
        }
        offset += line.len();
    }
    (None, 0)
}

/// Parses a simple subset of YAML: `key: scalar`, `key: [a, b]`, and `key:` followed by `- item` lines or one
/// level of indented members. The error is the number of the first other line.
fn yaml(text: &str) -> Result<Map<String, Value>, u32> {
    let mut members = Map::new();
    let mut open: Option<String> = None;
    for (index, line) in text.lines().enumerate() {
        // The opening `---` is line 1.
        let number = u32::try_from(index + 2).unwrap_or(u32::MAX);
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        let indented = line.starts_with([' ', '\t']) || trimmed.starts_with("- ");
        match (&open, indented) {
            (Some(key), true) => {
                let slot = members.entry(key.clone()).or_insert(Value::Null);
                if let Some(item) = trimmed.strip_prefix("- ") {
                    if slot.is_null() {
                        *slot = Value::Array(Vec::new());
                    }
                    slot.as_array_mut().ok_or(number)?.push(scalar(item));
                } else {
                    let (name, value) = trimmed.split_once(':').ok_or(number)?;
                    if slot.is_null() {
                        *slot = Value::Object(Map::new());
                    }
                    slot.as_object_mut().ok_or(number)?.insert(name.trim().to_owned(), scalar(value));
                }
            }
            (_, false) => {
                let (key, value) = trimmed.split_once(':').ok_or(number)?;
                let key = key.trim().trim_matches(['"', '\'']).to_owned();
                members.insert(key.clone(), scalar(value));
                open = value.trim().is_empty().then_some(key);
            }
            (None, true) => return Err(number),
        }
    }
    Ok(members)
}

fn scalar(text: &str) -> Value {
    let text = text.trim();
    let quoted = |quote: char| text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    if let Some(inner) = quoted('"').or_else(|| quoted('\'')) {
        return Value::from(inner);
    }
    if let Some(inner) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return inner.split(',').map(str::trim).filter(|item| !item.is_empty()).map(scalar).collect();
    }
    match text {
        "" | "~" | "null" => Value::Null,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => text
            .parse::<i64>()
            .map(Value::from)
            .or_else(|_| text.parse::<f64>().map(Value::from))
            .unwrap_or_else(|_| Value::from(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(text: &str) -> Value {
        read(&RepoPath::new("f.md").expect("valid"), text).data.expect("data")
    }

    #[test]
    fn reads_what_a_document_says() {
        let data = data(
            "---\nstatus: final\ntags: [a, b]\nof:\n  plan: abc\nlist:\n- 1\n- x\n---\n# Title `code`\n\nTwo words.\n\n\
             ## Tasks\n\n- [x] 1.1 done\n- [ ] open\n  - [X] nested\n\n```\n- [ ] not a box\n```\n",
        );
        assert_eq!(
            data["front_matter"],
            json!({"status": "final", "tags": ["a", "b"], "of": {"plan": "abc"}, "list": [1, "x"]})
        );
        assert_eq!(data["title"], "Title code");
        assert_eq!(data["boxes"], json!({"total": 3, "done": 2, "open": 1}));
        assert_eq!(data["headings"][1], json!({"level": 2, "text": "Tasks", "line": 14}));
    }

    #[test]
    fn words_do_not_count_headings() {
        assert_eq!(data("# Plan\n")["words"], 0);
        assert_eq!(data("# Plan\n\none two\n")["words"], 2);
    }

    #[test]
    fn odd_front_matter_is_reported_with_its_line() {
        let verdict = read(&RepoPath::new("f.md").expect("valid"), "---\na: 1\nwhat is this\n---\nx\n");
        assert_eq!(verdict.problems[0].place.as_ref().and_then(|place| place.line), Some(3));
        assert!(verdict.data.is_some());
    }

    #[test]
    fn headings_are_kept_up_to_a_number() {
        let path = RepoPath::new("f.md").expect("valid");
        let of = |count: usize| read(&path, &format!("---\na: 1\n---\n{}", "# Title\n".repeat(count)));
        let most = of(MAX_HEADINGS);
        assert_eq!(most.problems, []);
        let verdict = of(MAX_HEADINGS + 2);
        let headings = |verdict: &ReadResult| verdict.data.as_ref().expect("data")["headings"].clone();
        assert_eq!(headings(&verdict), headings(&most));
        assert_eq!(headings(&most)[MAX_HEADINGS - 1]["line"], MAX_HEADINGS + 3);
        let [problem] = &verdict.problems[..] else { panic!("{:?}", verdict.problems) };
        assert_eq!((problem.code, problem.is_error()), (Code::MarkdownHeadings, false));
        assert_eq!(problem.place.as_ref().and_then(|place| place.line), Some(10_004));
    }
}
