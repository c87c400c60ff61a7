//! The marks of agent programs: what they leave in the environment of the commands that they run, and in commits.
//!
//! This is the only table of them. A mark makes a caller an agent whatever else it says, so a variable belongs here
//! only if the program sets it for its own commands and not for a terminal in which a person types.

/// An agent program, and how it marks what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentMark {
    /// The program.
    pub program: &'static str,
    /// The version with which the variables were seen, or where they are documented.
    pub seen: &'static str,
    /// Environment variables of its commands. Any value but an empty one counts.
    pub variables: &'static [&'static str],
    /// Addresses of the `Co-authored-by` trailers by which it marks commits.
    pub addresses: &'static [&'static str],
    /// How its name as a client of the Model Context Protocol begins.
    pub clients: &'static [&'static str],
}

/// The trailer by which an agent program says that it has written a commit, in lower case.
const CO_AUTHOR: &str = "co-authored-by";

impl AgentMark {
    /// Claude Code.
    pub const CLAUDE_CODE: Self = Self {
        program: "Claude Code",
        seen: "2.1.332",
        variables: &["CLAUDECODE"],
        addresses: &["noreply@anthropic.com"],
        clients: &["claude-code"],
    };

    /// The name of an agent whose program is not known.
    pub const UNKNOWN: &'static str = "an agent program";

    /// The known programs. The variables that several of them set come last, so that a program is named where one is
    /// known.
    pub const ALL: [Self; 17] = [
        Self::CLAUDE_CODE,
        Self {
            program: "Codex",
            seen: "0.171",
            variables: &["CODEX_THREAD_ID", "CODEX_CI", "CODEX_SANDBOX"],
            addresses: &["noreply@openai.com", "codex@openai.com"],
            clients: &["codex-mcp-client"],
        },
        Self {
            program: "Gemini CLI",
            seen: "0.61",
            variables: &["GEMINI_CLI"],
            addresses: &["gemini-code-assist[bot]@users.noreply.github.com"],
            clients: &["gemini-cli-mcp-client"],
        },
        Self {
            program: "opencode",
            seen: "1.18.33",
            variables: &["OPENCODE"],
            addresses: &["noreply@opencode.ai"],
            clients: &["opencode"],
        },
        Self {
            program: "Copilot CLI",
            seen: "1.0.102",
            variables: &["COPILOT_CLI"],
            addresses: &["copilot@users.noreply.github.com", "copilot@github.com"],
            clients: &["copilot-cli"],
        },
        Self {
            program: "Qwen Code",
            seen: "0.24.4",
            variables: &["QWEN_CODE"],
            addresses: &["qwen-coder@alibabacloud.com", "noreply@qwen.ai"],
            clients: &["qwen-cli-mcp-client"],
        },
        Self {
            program: "Cursor",
            seen: "its documentation",
            variables: &["CURSOR_AGENT"],
            addresses: &["cursoragent@cursor.com"],
            clients: &[],
        },
        Self {
            program: "Amp",
            seen: "its documentation",
            variables: &["AMP_THREAD_ID"],
            addresses: &["amp@ampcode.com"],
            clients: &[],
        },
        Self {
            program: "Cline",
            seen: "its documentation",
            variables: &["CLINE_ACTIVE"],
            addresses: &[],
            clients: &[],
        },
        Self {
            program: "Crush",
            seen: "its documentation",
            variables: &["CRUSH"],
            addresses: &["crush@charm.land"],
            clients: &[],
        },
        Self {
            program: "Goose",
            seen: "its documentation",
            variables: &["GOOSE_TERMINAL"],
            addresses: &[],
            clients: &[],
        },
        Self {
            program: "Auggie",
            seen: "its documentation",
            variables: &["AUGMENT_AGENT"],
            addresses: &[],
            clients: &[],
        },
        Self {
            program: "Antigravity",
            seen: "its documentation",
            variables: &["ANTIGRAVITY_AGENT"],
            addresses: &[],
            clients: &[],
        },
        Self {
            program: "Aider",
            seen: "its documentation",
            variables: &[],
            addresses: &["noreply@aider.chat"],
            clients: &[],
        },
        Self {
            program: "Devin",
            seen: "its documentation",
            variables: &[],
            addresses: &["devin-ai-integration[bot]@users.noreply.github.com"],
            clients: &[],
        },
        // What Claude Code sets besides, and others alone.
        Self {
            program: Self::UNKNOWN,
            seen: "Claude Code 2.1.332",
            variables: &["AI_AGENT"],
            addresses: &[],
            clients: &[],
        },
        Self {
            program: Self::UNKNOWN,
            seen: "opencode 1.18.33",
            variables: &["AGENT"],
            addresses: &[],
            clients: &[],
        },
    ];

    /// The variable that marks a caller as the command of an agent program, with the program; `None` if none is set.
    pub fn of_environment(
        variable: impl Fn(&str) -> Option<String>,
    ) -> Option<(&'static str, &'static Self)> {
        let all = Self::ALL
            .iter()
            .flat_map(|mark| mark.variables.iter().map(move |name| (*name, mark)));
        all.into_iter()
            .find(|(name, _)| variable(name).is_some_and(|value| !value.is_empty()))
    }

    /// The agent program by which a trailer marks a commit as its own; `None` for every other trailer.
    #[must_use]
    pub fn of_trailer(token: &str, value: &str) -> Option<&'static Self> {
        if !token.trim().eq_ignore_ascii_case(CO_AUTHOR) {
            return None;
        }
        let (_, rest) = value.rsplit_once('<')?;
        Self::of_address(rest.split('>').next()?)
    }

    /// The agent program with this name as a client of the Model Context Protocol; `None` for every other name. Some add
    /// the name of the server to theirs.
    #[must_use]
    pub fn of_client(name: &str) -> Option<&'static Self> {
        let is_named = |client: &&str| {
            let rest = name.strip_prefix(*client);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        Self::ALL
            .iter()
            .find(|mark| mark.clients.iter().any(is_named))
    }

    /// The agent program with this email address; `None` for every other address.
    #[must_use]
    pub fn of_address(address: &str) -> Option<&'static Self> {
        let address = address.trim().to_ascii_lowercase();
        // GitHub puts the number of the account before its name: 123+name@users.noreply.github.com.
        let plain = match address.split_once('+') {
            Some((number, plain)) if number.bytes().all(|byte| byte.is_ascii_digit()) => plain,
            _ => address.as_str(),
        };
        Self::ALL
            .iter()
            .find(|mark| mark.addresses.contains(&plain))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_named_whatever_else_is_set() {
        let marked = |set: &[&str]| {
            AgentMark::of_environment(|name| set.contains(&name).then(|| "1".to_owned()))
                .map(|(variable, mark)| (variable, mark.program))
        };
        assert_eq!(marked(&[]), None);
        assert_eq!(
            marked(&["AI_AGENT", "CLAUDECODE"]),
            Some(("CLAUDECODE", "Claude Code"))
        );
        assert_eq!(
            marked(&["AGENT", "OPENCODE"]),
            Some(("OPENCODE", "opencode"))
        );
        assert_eq!(
            marked(&["AI_AGENT"]),
            Some(("AI_AGENT", "an agent program"))
        );
        assert_eq!(
            AgentMark::of_environment(|_| Some(String::new())),
            None,
            "empty is not set"
        );
        for mark in AgentMark::ALL {
            for variable in mark.variables {
                assert_eq!(marked(&[variable]), Some((*variable, mark.program)));
            }
        }
    }

    #[test]
    fn a_client_is_told_by_the_beginning_of_its_name() {
        for (name, program) in [
            ("claude-code", Some("Claude Code")),
            ("codex-mcp-client", Some("Codex")),
            ("gemini-cli-mcp-client", Some("Gemini CLI")),
            ("opencode", Some("opencode")),
            ("copilot-cli", Some("Copilot CLI")),
            ("qwen-cli-mcp-client-orch", Some("Qwen Code")),
            ("opencoder", None),
            ("claude", None),
            ("", None),
        ] {
            let found = AgentMark::of_client(name).map(|mark| mark.program);
            assert_eq!(found, program, "{name}");
        }
    }

    #[test]
    fn a_trailer_of_an_agent_program_is_told_from_one_of_a_person() {
        for (token, value, program) in [
            (
                "Co-Authored-By",
                "Claude <noreply@anthropic.com>",
                Some("Claude Code"),
            ),
            (
                "co-authored-by",
                "Claude Sonnet 4.6 <NoReply@Anthropic.com> ",
                Some("Claude Code"),
            ),
            (
                "Co-authored-by",
                "Copilot <223556219+Copilot@users.noreply.github.com>",
                Some("Copilot CLI"),
            ),
            (
                "Co-authored-by",
                "Qwen-Coder <qwen-coder@alibabacloud.com>",
                Some("Qwen Code"),
            ),
            (
                "Co-authored-by",
                "Ann <12345+ann@users.noreply.github.com>",
                None,
            ),
            ("Co-authored-by", "Claude Monet <claude@example.org>", None),
            ("Co-authored-by", "noreply@anthropic.com", None),
            ("Signed-off-by", "Claude <noreply@anthropic.com>", None),
        ] {
            assert_eq!(
                AgentMark::of_trailer(token, value).map(|mark| mark.program),
                program,
                "{value}"
            );
        }
    }
}
