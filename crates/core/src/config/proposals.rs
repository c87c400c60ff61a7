//! The verifications that `orch init` proposes: commented tables for the tools that a project has.

use std::fmt::Write as _;

/// What of a project tells which tools it has: the names of the files at its root, and the texts of some.
#[derive(Debug, Clone, Default)]
pub struct ProjectFiles {
    /// The names of the files and directories at the root.
    pub names: Vec<String>,
    /// The text of `package.json`, if there is one.
    pub package: String,
    /// The text of `.config/nextest.toml`.
    pub nextest: String,
    /// The text of the makefile.
    pub makefile: String,
}

impl ProjectFiles {
    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    /// Whether `package.json` names a package.
    fn uses(&self, package: &str) -> bool {
        self.package.contains(&format!("\"{package}\""))
    }
}

/// A tool that runs tests, and its table.
struct TestTool {
    /// What the project has that tells.
    shows: &'static str,
    /// The name of the table, if another tool comes before.
    name: &'static str,
    found: fn(&ProjectFiles) -> bool,
    lines: &'static [&'static str],
}

const NPM_CI: &str = "setup = [\"npm\", \"ci\"]";
const NPM_KEY: &str = "setup_key = [\"package-lock.json\", \"package.json\"]";
const NPM_KEEP: &str = "keep = [\"/node_modules\"]";
const JS_TESTS: &str =
    "protect = [\"**/*.test.*\", \"**/*.spec.*\", \"**/__tests__/**\", \"**/__snapshots__/**\"]";

/// The tools, the more telling ones first. Of those that show the same file, the first counts.
const TOOLS: [TestTool; 13] = [
    TestTool {
        shows: "Cargo.toml and a junit profile of nextest",
        name: "cargo",
        found: |files| files.has("Cargo.toml") && files.nextest.contains(".junit]"),
        lines: &[
            "# With the first failure, nextest ends what it has not begun: those tests would be missing.",
            "command = [\"cargo\", \"nextest\", \"run\", \"--workspace\", \"--profile\", \"ci\", \"--locked\", \"--no-fail-fast\"]",
            "report = [\"target/nextest/ci/junit.xml\"]",
            "keep = [\"/target\"]",
            "protect = [\"tests/**\", \"**/tests/**\", \".config/nextest.toml\"]",
        ],
    },
    TestTool {
        shows: "Cargo.toml",
        name: "cargo",
        found: |files| files.has("Cargo.toml"),
        lines: &[
            "# Only the exit code tells; cargo nextest with a junit profile names the tests.",
            "command = [\"cargo\", \"test\", \"--workspace\", \"--locked\"]",
            "keep = [\"/target\"]",
            "protect = [\"tests/**\", \"**/tests/**\"]",
        ],
    },
    TestTool {
        shows: "vitest in package.json",
        name: "node",
        found: |files| files.uses("vitest"),
        lines: &[
            NPM_CI,
            NPM_KEY,
            "command = [\"npx\", \"--no-install\", \"vitest\", \"run\", \"--reporter=default\", \"--reporter=junit\", \"--outputFile.junit=junit.xml\"]",
            "report = [\"junit.xml\"]",
            NPM_KEEP,
            JS_TESTS,
        ],
    },
    TestTool {
        shows: "jest in package.json",
        name: "node",
        found: |files| files.uses("jest"),
        lines: &[
            "# Needs the package jest-junit.",
            NPM_CI,
            NPM_KEY,
            "command = [\"npx\", \"--no-install\", \"jest\", \"--ci\", \"--reporters=default\", \"--reporters=jest-junit\"]",
            "report = [\"junit.xml\"]",
            NPM_KEEP,
            JS_TESTS,
        ],
    },
    TestTool {
        shows: "node --test in package.json",
        name: "node",
        found: |files| files.package.contains("node --test"),
        lines: &[
            "command = [\"node\", \"--test\", \"--test-reporter=junit\", \"--test-reporter-destination=junit.xml\"]",
            "report = [\"junit.xml\"]",
            JS_TESTS,
        ],
    },
    TestTool {
        shows: "a test script in package.json",
        name: "node",
        found: |files| files.uses("test"),
        lines: &[
            "# Only the exit code tells, unless the script writes a report.",
            NPM_CI,
            NPM_KEY,
            "command = [\"npm\", \"test\"]",
            NPM_KEEP,
            JS_TESTS,
        ],
    },
    TestTool {
        shows: "uv.lock",
        name: "python",
        found: |files| files.has("uv.lock"),
        lines: &[
            "command = [\"uv\", \"run\", \"--frozen\", \"python\", \"-m\", \"pytest\", \"--junitxml=junit.xml\"]",
            "report = [\"junit.xml\"]",
            "keep = [\"/.venv\"]",
            "protect = [\"tests/**\", \"**/conftest.py\", \"pytest.ini\", \"tox.ini\"]",
        ],
    },
    TestTool {
        shows: "pyproject.toml or setup.py",
        name: "python",
        found: |files| files.has("pyproject.toml") || files.has("setup.py"),
        lines: &[
            "setup = [\"sh\", \"-c\", \"python3 -m venv .venv && .venv/bin/pip install -e . pytest\"]",
            "setup_key = [\"pyproject.toml\", \"setup.py\", \"requirements*.txt\"]",
            "command = [\".venv/bin/python\", \"-m\", \"pytest\", \"--junitxml=junit.xml\"]",
            "report = [\"junit.xml\"]",
            "keep = [\"/.venv\"]",
            "protect = [\"tests/**\", \"**/conftest.py\", \"pytest.ini\", \"tox.ini\"]",
        ],
    },
    TestTool {
        shows: "go.mod",
        name: "go",
        found: |files| files.has("go.mod"),
        lines: &[
            "# Only the exit code tells; gotestsum --junitfile junit.xml -- -count=1 ./... names the tests.",
            "command = [\"go\", \"test\", \"-count=1\", \"./...\"]",
            "protect = [\"**/*_test.go\", \"**/testdata/**\"]",
        ],
    },
    TestTool {
        shows: "pom.xml",
        name: "maven",
        found: |files| files.has("pom.xml"),
        lines: &[
            "command = [\"mvn\", \"-B\", \"-ntp\", \"verify\"]",
            "report = [\"**/target/surefire-reports/TEST-*.xml\", \"**/target/failsafe-reports/TEST-*.xml\"]",
            "protect = [\"src/test/**\", \"**/src/test/**\"]",
        ],
    },
    TestTool {
        shows: "a Gradle build",
        name: "gradle",
        found: |files| files.has("build.gradle") || files.has("build.gradle.kts"),
        lines: &[
            "command = [\"./gradlew\", \"test\", \"--no-daemon\", \"--rerun-tasks\"]",
            "report = [\"**/build/test-results/test/*.xml\"]",
            "keep = [\"/.gradle\"]",
            "protect = [\"src/test/**\", \"**/src/test/**\"]",
        ],
    },
    TestTool {
        shows: "CMakeLists.txt",
        name: "cmake",
        found: |files| files.has("CMakeLists.txt"),
        lines: &[
            "commands = [[\"cmake\", \"-S\", \".\", \"-B\", \"build\"], [\"cmake\", \"--build\", \"build\"], [\"ctest\", \"--test-dir\", \"build\", \"--output-junit\", \"junit.xml\"]]",
            "report = [\"build/junit.xml\"]",
            "keep = [\"/build\"]",
            "protect = [\"tests/**\", \"test/**\"]",
        ],
    },
    TestTool {
        shows: "a target `test` in the makefile",
        name: "make",
        found: |files| files.makefile.lines().any(|line| line.starts_with("test:")),
        lines: &[
            "# Only the exit code tells.",
            "command = [\"make\", \"test\"]",
            "protect = [\"tests/**\", \"test/**\"]",
        ],
    },
];

/// The text of `orch.toml` with a table, commented out, for each tool of the project. The first one is `tests`, the name
/// that the shipped lifecycle verifies.
#[must_use]
pub fn with_verifications(text: &str, files: &ProjectFiles) -> String {
    let mut named: Vec<&str> = Vec::new();
    let mut proposals = String::new();
    for tool in TOOLS.iter().filter(|tool| (tool.found)(files)) {
        if named.contains(&tool.name) {
            continue;
        }
        let name = if named.is_empty() { "tests" } else { tool.name };
        named.push(tool.name);
        let _ = writeln!(
            proposals,
            "# Found {}. To have orch run the tests itself: uncomment, commit, `orch trust`.",
            tool.shows
        );
        let _ = writeln!(proposals, "#[verify.{name}]");
        for line in tool.lines {
            let _ = writeln!(proposals, "#{line}");
        }
        proposals.push('\n');
    }
    text.replacen("\n[checkouts]\n", &format!("\n{proposals}[checkouts]\n"), 1)
}

#[cfg(test)]
mod tests {
    use super::super::{FILE, parse, template};
    use super::*;
    use orch_base::VerificationName;

    fn files(names: &[&str]) -> ProjectFiles {
        ProjectFiles {
            names: names.iter().map(|&name| name.to_owned()).collect(),
            ..ProjectFiles::default()
        }
    }

    /// Each table as it is once the user has taken the comment signs away.
    #[test]
    fn what_is_proposed_is_a_table_that_can_be_read() {
        for tool in &TOOLS {
            let text = format!("[verify.tests]\n{}\n", tool.lines.join("\n"));
            let (config, findings) = parse(&text, FILE);
            assert_eq!(findings, [], "{}", tool.shows);
            assert_eq!(config.verify.len(), 1, "{}", tool.shows);
        }
    }

    #[test]
    fn each_tool_is_told_by_its_files() {
        let package = |text: &str| ProjectFiles {
            package: text.to_owned(),
            ..files(&["package.json"])
        };
        let nextest = ProjectFiles {
            nextest: "[profile.ci.junit]\npath = 'junit.xml'".to_owned(),
            ..files(&["Cargo.toml"])
        };
        let make = ProjectFiles {
            makefile: "all:\n\ntest: all\n\ttrue\n".to_owned(),
            ..files(&["Makefile", "go.mod"])
        };
        for (found, expected) in [
            (files(&[]), &[][..]),
            (files(&["Cargo.toml"]), &["#command = [\"cargo\", \"test\""]),
            (nextest, &["#command = [\"cargo\", \"nextest\""]),
            (
                package("{\"devDependencies\": {\"vitest\": \"4\", \"jest\": \"30\"}}"),
                &["\"vitest\", \"run\""],
            ),
            (
                package("{\"scripts\": {\"test\": \"node --test\"}}"),
                &["#command = [\"node\", \"--test\""],
            ),
            (package("{\"scripts\": {\"build\": \"x\"}}"), &[]),
            (files(&["uv.lock", "pyproject.toml"]), &["\"uv\", \"run\""]),
            (make, &["#[verify.tests]\n#", "#[verify.make]\n#"]),
        ] {
            let text = with_verifications(template(), &found);
            for part in expected {
                assert!(text.contains(part), "{found:?}: {part}");
            }
            let proposed = text.matches(". To have orch run the tests itself").count();
            assert_eq!(proposed, expected.len(), "{found:?}");
            let (config, findings) = parse(&text, FILE);
            assert_eq!((config.verify.len(), findings.len()), (0, 0), "{found:?}");
        }
        assert!(
            TOOLS
                .iter()
                .all(|tool| VerificationName::new(tool.name).is_ok())
        );
    }
}
