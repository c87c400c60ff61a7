//! The files by which agent programs are made to run commands: their hooks, plugins and servers.

/// A kind of file: a path, and how it ends if that is not all. A path that ends in `/` stands for all that is below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramSettings {
    /// How the path begins.
    pub begin: &'static str,
    /// How it ends, without another `/`; empty if `begin` is the whole path.
    pub end: &'static str,
}

const fn file(begin: &'static str) -> ProgramSettings {
    ProgramSettings { begin, end: "" }
}

/// The kinds, in the directory in which a program is started.
pub const PROGRAM_SETTINGS: [ProgramSettings; 14] = [
    ProgramSettings {
        begin: ".claude/settings",
        end: ".json",
    },
    file(".mcp.json"),
    file(".codex/"),
    file(".gemini/settings.json"),
    file(".qwen/settings.json"),
    file(".github/hooks/"),
    file(".github/mcp.json"),
    file("opencode.json"),
    file("opencode.jsonc"),
    file(".opencode/plugin/"),
    file(".opencode/plugins/"),
    file(".vscode/mcp.json"),
    file(".cursor/mcp.json"),
    file(".cursor/hooks.json"),
];

/// Whether an agent program that is started in any directory of the repository may read a file for what to run.
#[must_use]
pub fn is_program_setting(path: &str) -> bool {
    let whole = format!("/{path}");
    PROGRAM_SETTINGS.iter().any(|kind| {
        let begin = format!("/{}", kind.begin);
        whole.match_indices(&begin).any(|(at, _)| {
            let rest = &whole[at + begin.len()..];
            match (begin.ends_with('/'), kind.end.is_empty()) {
                (true, _) => !rest.is_empty(),
                (false, true) => rest.is_empty(),
                (false, false) => rest.ends_with(kind.end) && !rest.contains('/'),
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_of_agents_programs_are_known_in_any_directory() {
        for (path, expected) in [
            (".claude/settings.json", true),
            (".claude/settings.local.json", true),
            (".claude/settings/x.json", false),
            (".claude/commands/x.md", false),
            ("sub/.mcp.json", true),
            ("x.mcp.json", false),
            (".codex/config.toml", true),
            (".gemini/settings.json", true),
            (".gemini/settings.json.bak", false),
            (".qwen/settings.json", true),
            (".github/hooks/a/b.json", true),
            (".github/workflows/ci.yml", false),
            ("opencode.json", true),
            ("my-opencode.json", false),
            (".opencode/plugin/x.js", true),
            (".opencode/command/next.md", false),
            (".vscode/mcp.json", true),
            (".vscode/settings.json", false),
        ] {
            assert_eq!(is_program_setting(path), expected, "{path}");
        }
    }
}
