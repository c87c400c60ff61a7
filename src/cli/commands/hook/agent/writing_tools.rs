//! The tools by which agent programs write files, and where the arguments of these tools name the files.
//!
//! This is the only table of them: what a hook is registered for, and what it reads, both come from here.

use serde_json::Value;
use std::path::PathBuf;

/// The tools of a program that write files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WritingTools {
    /// The program.
    pub program: &'static str,
    /// The version with which the names were seen.
    pub seen: &'static str,
    /// The names of the tools, as the input of a hook has them.
    pub names: &'static [&'static str],
    /// The arguments that are the path of a file.
    pub keys: &'static [&'static str],
    /// The arguments that are a patch, whose lines name the files. A tool may also take the patch as its only argument.
    pub patches: &'static [&'static str],
}

/// The tools of the known programs.
pub const WRITING_TOOLS: [WritingTools; 6] = [
    WritingTools {
        program: "Claude Code",
        seen: "2.1.332",
        names: &["Write", "Edit", "MultiEdit", "NotebookEdit"],
        keys: &["file_path", "notebook_path"],
        patches: &[],
    },
    WritingTools {
        program: "Codex",
        seen: "0.171",
        names: &["apply_patch", "Write", "Edit"],
        keys: &["file_path"],
        patches: &["command", "input", "patch"],
    },
    WritingTools {
        program: "Gemini CLI",
        seen: "0.61",
        names: &["write_file", "replace"],
        keys: &["file_path"],
        patches: &[],
    },
    // By its own hooks, and by those of `.claude/settings.json`, which it runs with Claude Code's names.
    WritingTools {
        program: "Copilot CLI",
        seen: "1.0.102",
        names: &["create", "edit", "apply_patch", "Write", "Edit"],
        keys: &["path", "file_path"],
        patches: &["input", "patch", "command"],
    },
    WritingTools {
        program: "Qwen Code",
        seen: "0.24.4",
        names: &["write_file", "edit", "replace", "notebook_edit"],
        keys: &["file_path", "notebook_path"],
        patches: &[],
    },
    WritingTools {
        program: "opencode",
        seen: "1.18.33",
        names: &["write", "edit", "multiedit", "patch", "apply_patch"],
        keys: &["filePath"],
        patches: &["patchText"],
    },
];

/// What precedes a path in a line of a patch of `apply_patch`.
const PATCH_LINES: [&str; 4] = [
    "*** Add File:",
    "*** Update File:",
    "*** Delete File:",
    "*** Move to:",
];

impl WritingTools {
    /// The tools of a program, as an alternation that the settings of hooks understand.
    pub fn matcher(program: &str) -> String {
        let names = WRITING_TOOLS
            .iter()
            .filter(|tools| tools.program == program)
            .flat_map(|tools| tools.names);
        names.copied().collect::<Vec<_>>().join("|")
    }
}

/// The files that a tool would write, by its name and its arguments. None for a tool whose arguments do not say, such
/// as a shell, and for one that only reads.
pub fn written_files(name: &str, arguments: &Value) -> Vec<PathBuf> {
    let named = WRITING_TOOLS
        .iter()
        .filter(|tools| tools.names.contains(&name));
    let mut files: Vec<PathBuf> = Vec::new();
    for tools in named {
        let texts = |keys: &'static [&'static str]| {
            keys.iter()
                .filter_map(|key| arguments.get(key).and_then(Value::as_str))
        };
        files.extend(texts(tools.keys).map(PathBuf::from));
        if !tools.patches.is_empty() {
            let whole = arguments.as_str();
            files.extend(texts(tools.patches).chain(whole).flat_map(files_of_patch));
        }
    }
    files.sort();
    files.dedup();
    files
}

/// The files that a patch of `apply_patch` names.
fn files_of_patch(patch: &str) -> Vec<PathBuf> {
    let path = |line: &str| {
        PATCH_LINES
            .iter()
            .find_map(|begin| line.trim_start().strip_prefix(begin))
            .map(|path| PathBuf::from(path.trim()))
    };
    patch.lines().filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const PATCH: &str = "*** Begin Patch\n*** Add File: a.txt\n+x\n*** Update File: b c.txt\n*** Move to: d.txt\n@@\n-x\n\
        +*** Add File: no\n*** Delete File: e.txt\r\n*** End Patch\n";

    #[test]
    fn what_a_tool_writes_is_read_from_the_arguments_of_each_program() {
        let patched = ["a.txt", "b c.txt", "d.txt", "e.txt"];
        for (name, arguments, files) in [
            (
                "Write",
                json!({"file_path": "f", "content": ""}),
                &["f"][..],
            ),
            ("Edit", json!({"path": "f", "old_str": "g"}), &["f"]),
            ("MultiEdit", json!({"file_path": "f"}), &["f"]),
            ("NotebookEdit", json!({"notebook_path": "f"}), &["f"]),
            ("write_file", json!({"file_path": "f"}), &["f"]),
            ("replace", json!({"file_path": "f"}), &["f"]),
            ("create", json!({"path": "f", "file_text": ""}), &["f"]),
            ("edit", json!({"path": "f"}), &["f"]),
            ("edit", json!({"filePath": "f"}), &["f"]),
            ("edit", json!({"file_path": "f"}), &["f"]),
            ("write", json!({"filePath": "f"}), &["f"]),
            ("apply_patch", json!({"command": PATCH}), &patched),
            ("apply_patch", json!({"patchText": PATCH}), &patched),
            ("apply_patch", json!({"input": PATCH}), &patched),
            ("apply_patch", json!(PATCH), &patched),
            ("Edit", json!({"command": PATCH}), &patched),
            ("Bash", json!({"command": PATCH, "file_path": "f"}), &[]),
            ("Read", json!({"file_path": "f"}), &[]),
            ("view", json!({"path": "f"}), &[]),
            ("Write", json!({"file_path": 1}), &[]),
            ("Write", json!(null), &[]),
        ] {
            let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
            assert_eq!(written_files(name, &arguments), files, "{name} {arguments}");
        }
    }

    #[test]
    fn every_tool_of_the_table_is_guarded_by_each_of_its_arguments() {
        for tools in WRITING_TOOLS {
            assert!(
                WritingTools::matcher(tools.program).contains(tools.names[0]),
                "{tools:?}"
            );
            for name in tools.names {
                for key in tools.keys {
                    assert_eq!(
                        written_files(name, &json!({*key: "f"})),
                        [PathBuf::from("f")],
                        "{} {name} {key}",
                        tools.program
                    );
                }
                for key in tools.patches {
                    assert_eq!(written_files(name, &json!({*key: PATCH})).len(), 4);
                }
            }
        }
    }
}
