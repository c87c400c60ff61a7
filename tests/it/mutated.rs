//! Everything that reads what others write is given mutated texts: bytes that are cut, repeated, exchanged, nested or
//! taken from elsewhere. It may refuse them; it must not panic, overflow its stack, or point outside the text.
//!
//! The corpus is what ships and what documents show, so that most mutations get past the first line of a reader.

use crate::faults::choices;
use crate::harness::project;
use crate::setting;
use orch_base::{Diagnostic, RepoPath, TaskId, TypedLine, argv_at};
use orch_core::config;
use orch_core::decide::ActionResult;
use orch_core::record::{EventLog, read_state, sides};
use orch_core::workflow::{Document, Format, Guard, System, check, compile};
use orch_git::trailers;
use orch_read::{Schema, lint, read};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// A reader, the texts that it is for, and what it does with one.
struct Target {
    name: &'static str,
    corpus: Vec<String>,
    read: fn(&str),
}

/// How many mutations of each corpus.
fn mutations() -> u64 {
    setting::number("ORCH_MUTATIONS").unwrap_or(150)
}

/// The texts with these extensions below a directory of the project.
fn texts(directory: &str, extensions: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![project().join(directory)];
    while let Some(directory) = open.pop() {
        let mut entries: Vec<_> = fs::read_dir(&directory)
            .expect("listed")
            .flatten()
            .map(|entry| entry.path())
            .collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                open.push(path);
            } else if path
                .extension()
                .is_some_and(|own| extensions.iter().any(|one| own == *one))
            {
                found.extend(fs::read_to_string(&path));
            }
        }
    }
    assert!(!found.is_empty(), "{directory} {extensions:?}");
    found
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// Each finding points into the text.
fn point_into(text: &str, found: &[Diagnostic]) {
    let lines = text.lines().count().max(1) + 1;
    for finding in found {
        let line = finding
            .place
            .as_ref()
            .and_then(|place| place.line)
            .unwrap_or(1);
        assert!(
            line >= 1 && usize::try_from(line).is_ok_and(|line| line <= lines),
            "{finding:?} in {lines} lines"
        );
    }
}

fn read_as(format: Format, text: &str) {
    let path = RepoPath::new("tasks/t/file").expect("a path");
    point_into(text, &read(format, &path, text.as_bytes()).problems);
}

fn targets() -> Vec<Target> {
    let lines = "{\"a\": [1, 2.5, null], \"b\": {\"c\": \"\\u00e4\"}}\n{\"a\": -0}\n";
    let junit = "<testsuites><testsuite name=\"s\" tests=\"2\"><testcase name=\"a\" classname=\"b\" time=\"0.1\"/>\
                 <testcase name=\"c\"><failure message=\"no\">text</failure></testcase></testsuite></testsuites>\n";
    let patch = "diff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@ g\n a\n-b\n+c\n\
                 diff --git a/n b/n\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n";
    let yaml = "---\na: &x [1, 'two', {c: |\n  text\n  }]\nb: *x\nd: 2026-11-23\n...\n";
    let markdown = "---\nok: true\nof: {plan: abc}\n---\n# T\n\n## Why\n\n- [x] done\n  - [ ] open\n\n**Field**: value\n\n\
                    ```toml orch\n[a]\n```\n";
    let log = "{\"v\":1,\"seq\":1,\"after\":[],\"from\":null,\"to\":\"planning\",\"patch\":[{\"op\":\"add\",\"path\":\"/a\",\"value\":1}]}\n";
    let result = "words\nACTION_RESULT:\n- status: success\n- state_updates: {\"a\": 1}\n```json\n{\"stateUpdates\": {\"b\": [2]}}\n```\n";
    let message = "orch(t): a -> b\n\nText.\n\nOrch-Task: t\nOrch-From: a\nOrch-To: b\nSigned-off-by: A <a@b>\n";
    let cobertura = "<!DOCTYPE coverage SYSTEM 'x'><coverage lines-valid='2' lines-covered='1'><packages><package><classes>\
                     <class filename='a'><methods><method name='f'><lines><line number='1' hits='1'/></lines></method></methods>\
                     <lines><line number='1' hits='1' branch='true' condition-coverage='50% (1/2)'/></lines></class></classes>\
                     </package></packages></coverage>";
    let lcov =
        "TN:t\nSF:a\nFN:1,2,f\nFNDA:1,f\nBRDA:1,0,0,-\nDA:1,2,abc\nLF:1\nLH:1\nend_of_record\n";
    let sarif = r#"{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"t","rules":[{"id":"E","defaultConfiguration":{"level":"note"}}]}},
        "invocations":[{"executionSuccessful":false,"toolExecutionNotifications":[{"level":"error"}]}],"results":[{"ruleId":"E/1",
        "ruleIndex":0,"message":{"text":"m"},"suppressions":[{"status":"accepted"}],"locations":[{"physicalLocation":
        {"artifactLocation":{"uri":"a"},"region":{"startLine":1}}}]}]}]}"#;
    let conflict =
        "{\n<<<<<<< ours\n\"a\": 1\n||||||| base\n\"a\": 0\n=======\n\"a\": 2\n>>>>>>> theirs\n}\n";
    vec![
        Target {
            name: "json",
            corpus: texts("system/schemas", &["json"]),
            read: |text| read_as(Format::Json, text),
        },
        Target {
            name: "jsonl",
            corpus: owned(&[lines, log]),
            read: |text| read_as(Format::Jsonl, text),
        },
        Target {
            name: "markdown",
            corpus: [owned(&[markdown]), texts("docs", &["md"])].concat(),
            read: |text| read_as(Format::Markdown, text),
        },
        Target {
            name: "junit",
            corpus: owned(&[junit]),
            read: |text| read_as(Format::Junit, text),
        },
        Target {
            name: "cobertura",
            corpus: owned(&[cobertura]),
            read: |text| read_as(Format::Cobertura, text),
        },
        Target {
            name: "lcov",
            corpus: owned(&[lcov]),
            read: |text| read_as(Format::Lcov, text),
        },
        Target {
            name: "sarif",
            corpus: owned(&[sarif]),
            read: |text| read_as(Format::Sarif, text),
        },
        Target {
            name: "patch",
            corpus: owned(&[patch]),
            read: |text| read_as(Format::Patch, text),
        },
        Target {
            name: "yaml",
            corpus: owned(&[yaml, markdown]),
            read: |text| read_as(Format::Yaml, text),
        },
        Target {
            name: "toml",
            corpus: owned(&[
                config::template(),
                "a = [1, {b = 'c'}]\n[d.e]\nf = 1979-05-27T07:32:00Z\n",
            ]),
            read: |text| read_as(Format::Toml, text),
        },
        Target {
            name: "csv",
            corpus: owned(&["a,b\n1,\"two \"\"2\"\"\"\n\n3,4\r\n"]),
            read: |text| read_as(Format::Csv, text),
        },
        Target {
            name: "settings",
            corpus: owned(&[config::template()]),
            read: |text| point_into(text, &config::parse(text, "orch.toml").1),
        },
        Target {
            name: "workflow",
            corpus: texts("system/workflows", &["md"]),
            read: |text| {
                let document = Document::new("w", "w.md", text);
                let (workflow, found) = compile(&document, &System::shipped());
                point_into(text, &found);
                workflow
                    .iter()
                    .for_each(|workflow| point_into(text, &check(&document, workflow)));
            },
        },
        Target {
            name: "guard",
            corpus: owned(&[
                "plan.ready && plan.data.status == 'final' && !plan.data.open.exists(q, q.blocking)",
                "a.all.map(f, f.data.n).filter(n, n > 2).size() >= 3 || has(a.data.x) ? 'y' in b : c.matches('^a+$')",
                "string(1 + 2 * -3 % 4) + \"\\u00e4\" == b'x' || {'k': [1u, 0x1F, 1e3]}['k'][0] != null",
            ]),
            read: |text| {
                if let Err(error) = Guard::parse(text) {
                    assert!(error.offset <= text.len(), "{error:?}");
                }
            },
        },
        Target {
            name: "schema",
            corpus: texts("system/schemas", &["json"]),
            read: |text| {
                point_into(text, &lint("s.schema.json", text));
                if let Err(found) = Schema::compile("s.schema.json", text) {
                    point_into(text, &found);
                }
            },
        },
        Target {
            name: "log",
            corpus: owned(&[log]),
            read: |text| drop(EventLog::parse(text.as_bytes())),
        },
        Target {
            name: "state",
            corpus: owned(&[
                "{\"task\": \"t\", \"phase\": \"planning\", \"heads\": [\"ab\"], \"actors\": {\"planning\": {\"runs\": 1}}, \"history\": []}\n",
            ]),
            read: |text| {
                if let Ok(value) = serde_json::from_str::<Value>(text) {
                    let _ = read_state(&value, text, "phase");
                }
            },
        },
        Target {
            name: "conflict",
            corpus: owned(&[conflict]),
            read: |text| drop(sides(text)),
        },
        Target {
            name: "result",
            corpus: owned(&[
                result,
                "{\"stateUpdates\": {\"a\": 1}, \"cost\": 0.1, \"continue\": true}\n",
            ]),
            read: |text| {
                if let Some(value) = ActionResult::find(text) {
                    let _ = ActionResult::read(&value);
                }
            },
        },
        Target {
            name: "trailers",
            corpus: owned(&[message]),
            read: |text| drop(trailers(text)),
        },
        Target {
            name: "skill",
            corpus: texts("fixtures", &["json"]),
            read: |text| {
                if let Ok(value) = serde_json::from_str::<Value>(text) {
                    let _ = orch_scaffold::read(&value);
                }
            },
        },
        Target {
            name: "typed line",
            corpus: owned(&["git restore -- 'a b' \"c\\\"d\" e\\ f && rm -f x; then: orch new t"]),
            read: |text| {
                let line = TypedLine::of(text);
                assert!(line.words.iter().all(|word| word.start <= text.len()));
                let _ = argv_at(&RepoPath::new("tasks/t").expect("a path"), &line.texts());
                let _ = (RepoPath::new(text).is_ok(), TaskId::new(text).is_ok());
            },
        },
    ]
}

/// What is put in anywhere: what ends, opens or escapes something in one of the formats.
const TOKENS: [&str; 32] = [
    "\0",
    "\n",
    "\r\n",
    "\t",
    "\u{feff}",
    "\u{202e}",
    "\u{1b}[31m",
    "ä",
    "\u{10ffff}",
    "\"",
    "'",
    "`",
    "\\",
    "\\u0000",
    "[",
    "]",
    "{",
    "}",
    "(",
    "<",
    ">",
    "&x;",
    ":",
    ",",
    "---\n",
    "```\n",
    "99999999999999999999",
    "-0.0e-999",
    "null",
    "@@",
    "<<<<<<<",
    "*x",
];

/// A mutation of a text, which stays UTF-8 and below a size.
fn mutated(corpus: &[String], below: &mut impl FnMut(usize) -> usize) -> String {
    let mut text = corpus[below(corpus.len())].clone();
    // Large texts take long and hide what is small.
    text.truncate(text.floor_char_boundary(4_000 + below(4_000)));
    for _ in 0..=below(4) {
        let at = text.floor_char_boundary(below(text.len() + 1));
        let end = text.ceil_char_boundary((at + below(40)).min(text.len()));
        match below(7) {
            0 => text.truncate(at),
            1 => text.replace_range(at..end, ""),
            2 => text.insert_str(at, TOKENS[below(TOKENS.len())]),
            3 => text.replace_range(at..end, TOKENS[below(TOKENS.len())]),
            4 => {
                let part = text[at..end].to_owned();
                text.insert_str(at, &part.repeat(1 + below(8)));
            }
            5 => {
                let nested = ["[", "{\"a\":", "(", "- ", "<a>", "> ", "!"][below(7)];
                text.insert_str(at, &nested.repeat(1 + below(3_000)));
            }
            _ => {
                let other = &corpus[below(corpus.len())];
                let from = other.floor_char_boundary(below(other.len() + 1));
                let to = other.ceil_char_boundary((from + below(200)).min(other.len()));
                text.insert_str(at, &other[from..to]);
            }
        }
    }
    text
}

#[test]
fn no_reader_panics_on_a_mutated_text() {
    let mut below = choices();
    for target in targets() {
        // Unchanged texts are read, too.
        target.corpus.iter().for_each(|text| (target.read)(text));
        for _ in 0..mutations() {
            let text = mutated(&target.corpus, &mut below);
            // The process may be aborted, by an overflow of the stack or of the memory; then the file is what did it.
            let kept = Path::new(env!("CARGO_TARGET_TMPDIR"))
                .join(format!("mutated-{}", target.name.replace(' ', "-")));
            fs::write(&kept, &text).expect("kept");
            (target.read)(&text);
            let _ = fs::remove_file(kept);
        }
    }
}
