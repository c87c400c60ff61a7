//! What kind of file has a root that was not expected.

/// A kind of file.
#[derive(Clone, Copy)]
pub(super) struct OtherKind {
    /// What it is called, with its article.
    pub name: &'static str,
    /// What to do about it, where it can be read.
    pub hint: Option<&'static str>,
}

/// The roots of other reports, with the names of their formats.
const FORMATS: &[(&str, &str)] = &[
    ("assemblies", "an xUnit.net report"),
    ("BugCollection", "a SpotBugs report"),
    ("Catch", "a report of Catch2 in its own format"),
    ("Catch2TestRun", "a report of Catch2 in its own format"),
    ("checkstyle", "a Checkstyle report"),
    ("doctest", "a report of doctest in its own format"),
    ("html", "an HTML page"),
    ("issues", "a report of Android lint"),
    ("phpunit", "a PHPUnit configuration or coverage report"),
    ("pmd", "a PMD report"),
    ("pmd-cpd", "a report of the copy/paste detector of PMD"),
    ("project", "a project of Maven or Ant"),
    ("report", "a JaCoCo coverage report"),
    ("results", "a report of Cppcheck"),
    ("robot", "an output of Robot Framework"),
    ("Site", "a report of CTest for CDash"),
    ("test-results", "a report of NUnit 2"),
    ("test-run", "a report of NUnit 3"),
    ("testExecutions", "a test execution report of SonarQube"),
    ("testng-results", "a report of TestNG in its own format"),
    ("TestLog", "a log of Boost.Test"),
    ("TestResult", "a report of Boost.Test in its own format"),
    (
        "TestRun",
        "a report of the Visual Studio test platform (trx)",
    ),
    (
        "testrun",
        "an export of a test run from Eclipse or IntelliJ IDEA",
    ),
    ("valgrindoutput", "an output of Valgrind"),
];

/// What kind of file has this root, if known. `attributes` are those of the root as written.
pub(super) fn of(root: &str, attributes: &str) -> Option<OtherKind> {
    // Clover says when it was generated, and Cobertura counts branches.
    let (name, hint) = match root {
        "coverage" if attributes.contains("generated") => ("a Clover coverage report", None),
        "coverage" => (
            "a Cobertura coverage report",
            Some("write `format = \"cobertura\"` in the table of the artifact"),
        ),
        "testsuites" | "testsuite" => (
            "a JUnit report",
            Some("write `format = \"junit\"` in the table of the artifact"),
        ),
        _ => (FORMATS.iter().find(|(name, _)| *name == root)?.1, None),
    };
    Some(OtherKind { name, hint })
}
