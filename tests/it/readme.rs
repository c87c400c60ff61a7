//! The README is true: its quick start runs word for word, its workflow is accepted.

use crate::harness::{World, project};
use orch::workflow::{Document, System, check, compile};
use std::fs;
use std::path::Path;

fn readme() -> String {
    fs::read_to_string(project().join("README.md")).expect("a README")
}

/// The fenced blocks with an info string, below a heading.
fn blocks(text: &str, heading: &str, info: &str) -> Vec<String> {
    let section = text.split(&format!("\n## {heading}\n")).nth(1).expect(heading);
    let section = section.split("\n## ").next().unwrap_or(section);
    let fence = format!("\n```{info}\n");
    section.split(&fence).skip(1).filter_map(|rest| rest.split("\n```").next()).map(str::to_owned).collect()
}

#[test]
fn the_quick_start_runs_word_for_word() {
    let world = World::new();
    let binary = Path::new(env!("CARGO_BIN_EXE_orch")).parent().expect("a directory").to_owned();
    let all = blocks(&readme(), "Quick start", "sh");
    assert!(all.len() >= 4, "the quick start has lost a block");
    // The agent loop needs an agent, and the orders need a task that is further on.
    for block in all.iter().take(2) {
        let mut shell = world.command("sh");
        let path = format!("{}:{}", binary.display(), std::env::var_os("PATH").unwrap_or_default().display());
        let output = shell.args(["-e", "-c", block]).env("PATH", path).output().expect("a shell");
        assert!(output.status.success(), "{block}\n{output:?}");
    }
    assert_eq!(world.phase("fix-login"), "plan_review");
    assert_eq!(world.dirty(), "");
    for order in all[3].lines().filter(|line| line.contains("--override")) {
        let mut shell = world.command("sh");
        let path = format!("{}:{}", binary.display(), std::env::var_os("PATH").unwrap_or_default().display());
        let output = shell.args(["-e", "-c", order]).env("PATH", path).output().expect("a shell");
        assert!(output.status.success(), "{order}\n{output:?}");
    }
    assert_eq!(world.phase("fix-login"), "codegen");
}

#[test]
fn the_example_of_a_workflow_is_accepted() {
    let text = readme();
    let document =
        text.split("````markdown\n").nth(1).and_then(|rest| rest.split("\n````").next()).expect("an example");
    let document = Document::new("write-and-check", "README.md", document);
    let (workflow, problems) = compile(&document, &System::empty());
    assert_eq!(problems, []);
    let found = check(&document, &workflow.expect("accepted"));
    let real: Vec<_> = found.iter().filter(|finding| finding.code != "workflow-diagram").collect();
    assert!(real.is_empty(), "{real:#?}");
}

#[test]
fn every_exit_code_is_told() {
    let text = readme();
    for code in orch::cli::ExitCode::ALL {
        assert!(text.contains(&format!("{} ", code as u8)), "{code:?}");
    }
    assert!(!text.contains("TODO"));
}
