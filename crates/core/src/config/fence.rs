//! `fence` of an executor, and `[fence]`: what the program of an executor may write.

use super::reader::{SettingsReader, choice};
use crate::TomlTable;
use orch_base::words;

words! {
    /// Whether an executor works inside a fence.
    #[derive(Default)]
    pub enum FenceWish {
        /// Where the system and the workflow permit one.
        #[default]
        Auto = "auto",
        /// Inside one, or not at all.
        Required = "required",
        /// Without one.
        Off = "off",
    }
}

/// The table `[fence]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FenceConfig {
    /// Further directories that programs inside may write: absolute, beginning with `~/`, or relative to the root of the
    /// repository.
    pub writes: Vec<String>,
}

/// Parses `fence` of an executor.
pub(super) fn fence_wish(
    reader: &mut SettingsReader<'_>,
    table: &mut TomlTable<'_, '_>,
) -> FenceWish {
    let wish = table
        .take("fence")
        .and_then(|value| reader.text("fence", value))
        .and_then(|text| {
            let all = FenceWish::ALL.map(FenceWish::as_str);
            let parse = |text: &str| choice(text, FenceWish::named, &all);
            reader.parsed(text, parse, || {
                "for example `fence = \"required\"`".to_owned()
            })
        });
    wish.unwrap_or_default()
}

/// Parses `[fence]`.
pub(super) fn fence(reader: &mut SettingsReader<'_>, mut table: TomlTable<'_, '_>) -> FenceConfig {
    let writes = table.take("writes").map(|value| {
        reader.items("writes", value, |text| {
            if text.is_empty() || text.contains('\0') {
                return Err("it names no directory");
            }
            let is_above = text.split('/').any(|part| part == "..");
            if is_above || matches!(text, "/" | "~" | "~/" | "." | "./") {
                return Err("it would open everything: name a directory, without `..`");
            }
            Ok(text.to_owned())
        })
    });
    reader.finish(table);
    FenceConfig {
        writes: writes.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FILE, parse};
    use super::*;

    #[test]
    fn what_an_executor_asks_for_and_further_directories_are_read() {
        let text = "[fence]\nwrites = ['~/.gnupg', 'target']\n[executor.a]\ncommand = ['x']\nfence = 'required'\n[executor.b]\ncommand = ['x']\n";
        let (config, findings) = parse(text, FILE);
        assert_eq!(findings, []);
        assert_eq!(config.fence.writes, ["~/.gnupg", "target"]);
        let wish = |name: &str| config.executors.named(name).map(|found| found.fence);
        assert_eq!(
            [wish("a"), wish("b")],
            [Some(FenceWish::Required), Some(FenceWish::Auto)]
        );
    }

    #[test]
    fn faults_are_found() {
        for (text, expected) in [
            ("[fence]\nwrites = ['/']\n", "open everything"),
            ("[fence]\nwrites = ['a/../..']\n", "open everything"),
            ("[fence]\nwrites = ['']\n", "names no directory"),
            ("[fence]\nreads = ['x']\n", "unknown key `reads`"),
            (
                "[executor.a]\ncommand = ['x']\nfence = 'on'\n",
                "\"on\" is unknown",
            ),
        ] {
            let (_, findings) = parse(text, FILE);
            let said = findings.first().map(|finding| finding.message.as_str());
            assert!(
                said.is_some_and(|said| said.contains(expected)),
                "{text}: {findings:?}"
            );
        }
    }
}
