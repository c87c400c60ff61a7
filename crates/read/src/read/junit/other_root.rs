//! Which report a file is whose root is not one of JUnit.

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
pub(super) fn format_of(root: &str, attributes: &str) -> Option<&'static str> {
    if root == "coverage" {
        // Clover says when it was generated, and Cobertura counts branches.
        return Some(match attributes.contains("generated") {
            true => "a Clover coverage report",
            false => "a Cobertura coverage report",
        });
    }
    FORMATS
        .iter()
        .find(|(name, _)| *name == root)
        .map(|(_, format)| *format)
}
