//! Reports as tools write them, and what counts of each.

use super::*;

fn verdict(text: &str) -> ReadResult {
    if text.starts_with('<') || text.starts_with("no") {
        let path = RepoPath::new("c.xml").expect("valid");
        return read_cobertura(&path, text.as_bytes());
    }
    let path = RepoPath::new("c.info").expect("valid");
    read_lcov(&path, text)
}

/// Covered and total of the lines, the branches and the functions, with the codes of the findings.
fn counts(text: &str) -> String {
    let verdict = verdict(text);
    let Some(data) = verdict.data else {
        panic!("{text}: {:?}", verdict.problems)
    };
    let mut said = Vec::new();
    for name in ["lines", "branches", "functions"] {
        let part = &data[name];
        said.push(format!("{}/{}", part["covered"], part["total"]));
    }
    for found in verdict.problems {
        said.push(found.code.as_str().to_owned());
    }
    said.join(" ")
}

fn class(file: &str, inside: &str) -> String {
    format!("<class filename='{file}'>{inside}</class>")
}

fn cobertura(root: &str, classes: &[String]) -> String {
    let classes = classes.join("");
    format!(
        "<coverage {root}><packages><package><classes>{classes}</classes></package></packages></coverage>"
    )
}

#[test]
fn cobertura_counts_what_it_lists() {
    let lines = "<lines><line number='1' hits='2'/><line number='2' hits='0'/></lines>";
    let branches = "<lines><line number='1' hits='1' branch='true' condition-coverage='50% (1/2)'/>\
        <line number='2' hits='1' branch='True' condition-coverage='100% (4/4)'/>\
        <line number='3' hits='1' branch='false' condition-coverage='0% (0/2)'/></lines>";
    let method = "<methods><method name='f' signature='()V'><lines><line number='1' hits='2'/>\
        </lines></method><method name='g' hits='0'/></methods>";
    for (text, expected) in [
        (cobertura("", &[class("a", lines)]), "1/2 0/0 0/0"),
        (cobertura("", &[class("a", branches)]), "3/3 5/6 0/0"),
        // Each line once, in however many classes and methods of the file it stands.
        (
            cobertura("", &[class("a", &format!("{method}{lines}"))]),
            "1/2 0/0 1/2",
        ),
        (
            cobertura(
                "",
                &[class("a", lines), class("a", lines), class("b", lines)],
            ),
            "2/4 0/0 0/0",
        ),
        (cobertura("", &[class("a", method)]), "1/1 0/0 1/2"),
        // What it declares of itself counts where it lists nothing.
        (
            cobertura("lines-valid='2' lines-covered='1'", &[class("a", lines)]),
            "1/2 0/0 0/0",
        ),
        (
            cobertura("lines-valid='9' lines-covered='9'", &[class("a", lines)]),
            "1/2 0/0 0/0 coverage-counts",
        ),
        (
            cobertura("lines-valid='9' lines-covered='3'", &[class("a", "")]),
            "3/9 0/0 0/0",
        ),
        (
            cobertura("line-rate='1' lines-valid='0' lines-covered='0'", &[]),
            "0/0 0/0 0/0 nothing-measured",
        ),
        (
            "<!DOCTYPE coverage SYSTEM 'http://x/coverage-04.dtd'><coverage/>".to_owned(),
            "0/0 0/0 0/0 nothing-measured",
        ),
        (
            cobertura(
                "",
                &[class(
                    "a",
                    "<lines><line number='1' hits='99999999999999999999999'/><line number='2' hits='-1'/></lines>",
                )],
            ),
            "1/2 0/0 0/0",
        ),
    ] {
        assert_eq!(counts(&text), expected, "{text}");
    }
}

#[test]
fn lcov_counts_what_it_lists() {
    for (records, expected) in [
        ("DA:1,2\nDA:2,0\n", "1/2 0/0 0/0"),
        ("DA:1,2,c0ffee==\nDA:2,-\nLF:2\nLH:1\n", "1/2 0/0 0/0"),
        ("DA:1,0\nDA:1,3\n", "1/1 0/0 0/0"),
        ("DA:1,-4\nDA:2,1.5e+9\n", "1/2 0/0 0/0"),
        ("DA:1,1\nLF:3\nLH:3\n", "1/1 0/0 0/0 coverage-counts"),
        ("LF:3\nLH:2\n", "2/3 0/0 0/0"),
        // gcovr, coverage.py and lcov itself name branches each in their own way.
        (
            "DA:1,1\nBRDA:1,0,0,1\nBRDA:1,0,1,-\nBRDA:1,e0,2,0\n",
            "1/1 1/3 0/0",
        ),
        (
            "DA:1,1\nBRDA:1,0,jump to line 3, or on,1\nBRDA:1,0,exit,0\n",
            "1/1 1/2 0/0",
        ),
        (
            "DA:1,1\nFN:1,f\nFN:2,9,g(int, int)\nFNDA:3,g(int, int)\nFNF:2\nFNH:1\n",
            "1/1 0/0 1/2",
        ),
        // Two names of one function.
        (
            "DA:1,1\nFNL:0,1,4\nFNA:0,0,f\nFNA:0,2,f<int>\nFNL:1,5\nFNA:1,0,g\n",
            "1/1 0/0 1/2",
        ),
        ("VER:1\n# note\n\nMCDC:1,2,t,0,0,a\nDA:1,1\n", "1/1 0/0 0/0"),
        ("", "0/0 0/0 0/0 nothing-measured"),
    ] {
        let text = format!("TN:\nSF:a\n{records}end_of_record\n");
        assert_eq!(counts(&text), expected, "{text}");
        // Two runs of the same tests name each file twice.
        assert_eq!(
            counts(&format!("{text}{text}")).split(' ').next(),
            expected.split(' ').next()
        );
    }
}

#[test]
fn each_file_has_its_part() {
    let text = "SF:a\nDA:1,1\nDA:2,0\nDA:3,0\nend_of_record\nSF:b\nDA:1,1\nend_of_record\n";
    let data = verdict(text).data.expect("valid");
    let whole = json!({"total": 1, "covered": 1, "percent": 100.0});
    let none = json!({"total": 0, "covered": 0, "percent": 0.0});
    assert_eq!(
        data["files"]["b"],
        json!({"lines": whole, "branches": none})
    );
    assert_eq!(
        data["lines"],
        json!({"total": 4, "covered": 2, "percent": 50.0})
    );
    assert_eq!(data["files"]["a"]["lines"]["percent"], json!(100.0 / 3.0));
}

#[test]
fn what_is_no_coverage_report_is_refused_with_its_place() {
    for (text, code, place, said) in [
        (
            "<coverage><class filename='a'>",
            "coverage-syntax",
            "c.xml:1",
            "ends early",
        ),
        (
            "<coverage/>done",
            "coverage-syntax",
            "c.xml:1",
            "text after",
        ),
        ("<testsuite/>", "not-coverage", "c.xml:1", "a JUnit report"),
        ("<report name='x'/>", "not-coverage", "c.xml:1", "JaCoCo"),
        (
            "<coverage generated='1'><project><metrics/></project></coverage>",
            "not-coverage",
            "c.xml",
            "Clover",
        ),
        ("no XML", "not-coverage", "c.xml:1", "no XML"),
        ("hello\n", "not-coverage", "c.info:1", "not an lcov"),
        ("TN:\n", "not-coverage", "c.info:1", "no source file"),
        (
            "SF:a\nDA:1,1\n",
            "coverage-syntax",
            "c.info:2",
            "ends within",
        ),
        (
            "SF:a\nDA:1,1\nSF:b\n",
            "coverage-syntax",
            "c.info:3",
            "no `end_of_record`",
        ),
        (
            "SF:a\nDA:1\nend_of_record\n",
            "coverage-syntax",
            "c.info:2",
            "`DA:1` is no record",
        ),
        (
            "SF:a\nDA:1,x\nend_of_record\n",
            "coverage-syntax",
            "c.info:2",
            "no record",
        ),
        ("DA:1,1\n", "coverage-syntax", "c.info:1", "no source file"),
        (
            "SF:a\nend_of_record\nReport written\n",
            "coverage-syntax",
            "c.info:3",
            "no record",
        ),
    ] {
        let verdict = verdict(text);
        let first = verdict.problems.first().expect("a finding");
        let found = first.place.as_ref().map(ToString::to_string);
        assert_eq!(first.code.as_str(), code, "{text}: {first}");
        assert!(
            found.unwrap_or_default().starts_with(place),
            "{text}: {first}"
        );
        assert!(
            first.message.contains(said) && first.hint.is_some(),
            "{first}"
        );
        assert!(verdict.data.is_none(), "{text}");
    }
    let junit = verdict("<testsuite/>");
    let hint = junit.problems[0].hint.as_ref().map(ToString::to_string);
    assert_eq!(
        hint.as_deref(),
        Some("write `format = \"junit\"` in the table of the artifact")
    );
}
