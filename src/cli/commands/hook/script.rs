//! The text of a hook: generated from the settings, sealed with a digest, and recognised by that seal.

use orch_base::Digest;
use orch_core::config;
use orch_view::HookName;

/// Who wrote a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Author {
    /// `orch`, of any version; unchanged since.
    Orch,
    /// `orch`, and someone changed it since.
    Edited,
    /// Someone else.
    Other,
}

const SHEBANG: &str = "#!/bin/sh\n";
const MARK: &str = "# orch-hook: ";
const UNSEALED: &str = "@SEAL@";

/// The text of a hook. `recorded` is the current path of `orch`, for when it is not on the `PATH`. A commit-msg hook
/// that does not check only names tasks.
pub(super) fn text(
    name: HookName,
    settings: config::Hook,
    (recorded, checks): (&str, bool),
) -> String {
    let text = include_str!("hook.sh")
        .replace("@NAME@", name.as_str())
        .replace("@ON_MISSING@", settings.on_missing.as_str())
        .replace("@CHECKS@", if checks { "yes" } else { "no" })
        .replace("@LIMIT@", &settings.timeout_seconds.to_string())
        // Replaced last, because a path may contain any of the other placeholders.
        .replacen("@RECORDED@", &quoted(recorded), 1);
    let seal = Digest::of_blob(text.as_bytes()).to_string();
    text.replacen(UNSEALED, &seal, 1)
}

/// Identifies who wrote a hook from its name and bytes.
pub(super) fn author(name: HookName, bytes: &[u8]) -> Author {
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    let marked = text
        .strip_prefix(SHEBANG)
        .and_then(|text| text.strip_prefix(MARK));
    let Some((seal, rest)) = marked.and_then(|text| text.split_once('\n')) else {
        return Author::Other;
    };
    let unsealed = format!("{SHEBANG}{MARK}{UNSEALED}\n{rest}");
    let is_whole = Digest::of_blob(unsealed.as_bytes()).to_string() == seal;
    // An unchanged hook with another name was copied here.
    let is_named = rest
        .lines()
        .any(|line| line.strip_prefix("name=") == Some(name.as_str()));
    if is_whole && is_named {
        Author::Orch
    } else {
        Author::Edited
    }
}

/// Whether a hook of `orch` with these bytes checks the commit.
pub(super) fn checks(bytes: &[u8]) -> bool {
    !bytes
        .split(|byte| *byte == b'\n')
        .any(|line| line == b"checks=no")
}

/// Quotes a text as one shell word.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(recorded: &str) -> String {
        text(HookName::PrePush, config::Hook::default(), (recorded, true))
    }

    #[test]
    fn the_settings_stand_in_the_text() {
        let settings = config::Hook {
            on_missing: config::OnMissing::Block,
            timeout_seconds: 7,
        };
        let text = text(HookName::CommitMsg, settings, ("/it's @NAME@/orch", false));
        for line in [
            "name=commit-msg",
            "on_missing=block",
            "checks=no",
            "limit=7",
            r"recorded='/it'\''s @NAME@/orch'",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert_eq!(
            text.matches('@').count(),
            2 + text.matches("$@").count(),
            "{text}"
        );
    }

    #[test]
    fn a_hook_is_known_by_its_seal_whatever_it_says() {
        for recorded in ["/bin/orch", "/a\nb/@SEAL@", ""] {
            assert_eq!(
                author(HookName::PrePush, sample(recorded).as_bytes()),
                Author::Orch,
                "{recorded}"
            );
        }
        let of_another_version = "#!/bin/sh\n# orch-hook: @SEAL@\nname=pre-push\norch check\n";
        let seal = Digest::of_blob(of_another_version.as_bytes()).to_string();
        let sealed = of_another_version.replace(UNSEALED, &seal);
        assert_eq!(author(HookName::PrePush, sealed.as_bytes()), Author::Orch);
    }

    #[test]
    fn a_changed_or_misplaced_hook_is_edited() {
        let text = sample("/bin/orch");
        for changed in [
            text.replace("limit=10", "limit=60"),
            format!("{text}echo mine\n"),
            text.replacen(MARK, "# orch-hook: 0", 1),
        ] {
            assert_ne!(changed, text);
            assert_eq!(
                author(HookName::PrePush, changed.as_bytes()),
                Author::Edited,
                "{changed}"
            );
        }
        assert_eq!(author(HookName::PreCommit, text.as_bytes()), Author::Edited);
    }

    #[test]
    fn other_texts_are_of_others() {
        for bytes in [
            &b""[..],
            b"#!/bin/sh\norch check --staged\n",
            b"\xff\xfe",
            b"# orch-hook: 1\n",
        ] {
            assert_eq!(author(HookName::PreCommit, bytes), Author::Other);
        }
    }
}
