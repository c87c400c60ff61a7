//! Workflow documents with faults: each finding at the offending word, with advice.
//!
//! Beside `fixtures/workflows/invalid/x.md` stands `x.expected`, one finding a line as
//! `code line:column message`. `UPDATE=1` rewrites those files, and the diagrams of valid documents.

use super::world::World;
use crate::setting::is_update;
use orch_base::{Code, Diagnostic};
use orch_core::workflow::{Document, System, check, compile, format};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root(folder)).expect(folder);
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == extension));
    paths.sort();
    paths
}

fn read(path: &Path) -> Document {
    let name = path
        .file_stem()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    let text = std::fs::read_to_string(path).expect("readable");
    Document::new(name.clone(), format!("{name}.md"), text)
}

fn findings(document: &Document) -> Vec<Diagnostic> {
    let system = System::empty()
        .with("schemas/plan.schema.json", "{}")
        .with("schemas/state.schema.json", "{}")
        .with("agents/planner.md", "Plan.");
    let (workflow, mut problems) = compile(document, &system);
    problems.extend(
        workflow
            .iter()
            .flat_map(|workflow| check(document, workflow)),
    );
    problems
}

#[test]
fn every_fault_is_found_where_it_stands() {
    let mut wrong = Vec::new();
    for path in files("fixtures/workflows/invalid", "md") {
        let document = read(&path);
        let lines: String = findings(&document)
            .iter()
            .map(|finding| {
                let place = finding.place.as_ref().expect("a place");
                assert!(finding.hint.is_some(), "{path:?}: no hint: {finding}");
                let (line, column) = (place.line.expect("a line"), place.column.expect("a column"));
                format!("{} {line}:{column} {}\n", finding.code, finding.message)
            })
            .collect();
        assert!(!lines.is_empty(), "{path:?} has no fault");
        let beside = path.with_extension("expected");
        if is_update() {
            std::fs::write(&beside, &lines).expect("writable");
        }
        let expected = std::fs::read_to_string(&beside).unwrap_or_default();
        if lines != expected {
            wrong.push(format!(
                "{}:\nexpected:\n{expected}found:\n{lines}",
                path.display()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_code_has_a_document_that_earns_it() {
    let earned: BTreeSet<String> = files("fixtures/workflows/invalid", "md")
        .iter()
        .flat_map(|path| findings(&read(path)))
        .map(|finding| finding.code.to_string())
        .collect();
    let mut written = BTreeSet::new();
    let folders = [
        "",
        "/cases",
        "/fact_types",
        "/guard",
        "/guard/typing",
        "/raw",
    ];
    let sources = folders
        .map(|folder| files(&format!("crates/core/src/workflow{folder}"), "rs"))
        .concat();
    for path in sources {
        let text = std::fs::read_to_string(&path).expect("readable");
        let own = text.split("mod tests").next().unwrap_or_default();
        let named = own.split("Code::").skip(1);
        let names = named.map(|rest| {
            rest.chars()
                .take_while(char::is_ascii_alphanumeric)
                .collect::<String>()
        });
        let codes =
            names.filter_map(|name| Code::ALL.iter().find(|code| format!("{code:?}") == name));
        let texts = codes.map(ToString::to_string);
        written.extend(
            texts.filter(|text| text.starts_with("workflow-") || text.starts_with("guard-")),
        );
    }
    assert!(written.len() > 20, "{written:?}");
    assert_eq!(earned, written);
}

#[test]
fn valid_documents_have_no_finding() {
    for path in files("fixtures/workflows/valid", "md") {
        let mut document = read(&path);
        let (workflow, problems) = compile(&document, &System::empty());
        let workflow = workflow.unwrap_or_else(|| panic!("{path:?}: {problems:#?}"));
        let drawn = format(&document, &workflow);
        if is_update() && drawn != document.text {
            std::fs::write(&path, &drawn).expect("writable");
            document = read(&path);
        }
        let mut found = findings(&document);
        // It goes in circles on purpose.
        if document.name.as_str() == "wild" {
            found.retain(|one| !matches!(one.code, Code::WorkflowGap | Code::WorkflowLivelock));
        }
        assert_eq!(found, [], "{path:?}");
        assert_eq!(drawn, document.text, "{path:?}");
    }
}

#[test]
fn a_faulty_document_never_gives_a_workflow_and_any_text_gives_an_answer() {
    for path in files("fixtures/workflows/invalid", "md") {
        let document = read(&path);
        let errors = findings(&document).iter().any(Diagnostic::is_error);
        assert_eq!(
            compile(&document, &System::empty()).0.is_none(),
            errors,
            "{path:?}"
        );
        // Cut off anywhere, it still gives an answer.
        for end in (0..document.text.len())
            .step_by(7)
            .filter(|end| document.text.is_char_boundary(*end))
        {
            let _ = findings(&Document::new("cut", "cut.md", &document.text[..end]));
        }
    }
}

/// Each named expression reads the one before twice: without care that takes 2^60 steps.
#[test]
fn names_that_double_cost_no_more_than_one() {
    let mut text =
        String::from("```toml orch\n[artifact.a]\npath = \"a.json\"\n[define]\nd0 = \"a.ready\"\n");
    for n in 1..60 {
        text.push_str(&format!(
            "d{n} = \"(d{m} || d{m}) && (d{m} || !d{m})\"\n",
            m = n - 1
        ));
    }
    text.push_str("[phase.one]\nproduces = [\"a\"]\n[phase.two]\nterminal = true\n");
    text.push_str(
        "[[rule]]\nid = \"on\"\nfrom = \"one\"\nwhen = \"d59\"\nto = \"two\"\nbecause = \"so\"\n```\n",
    );
    let document = Document::new("double", "double.md", text);
    let (workflow, problems) = compile(&document, &System::empty());
    let workflow = workflow.unwrap_or_else(|| panic!("{problems:#?}"));
    assert_eq!(check(&document, &workflow), []);
    let mut world = World::new(Arc::new(workflow));
    world.write("a.json", "{}");
    assert!(world.settle().decision.is_done());
}
