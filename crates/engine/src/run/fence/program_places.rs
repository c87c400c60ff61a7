//! The directories that agent programs and tools write to, in the home directory.

use std::path::{Path, PathBuf};

/// Paths of programs, as they may be named: whether they exist is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramPlaces {
    /// What may be written.
    pub holes: Vec<PathBuf>,
    /// What may not: what makes another program start something, and what `orch` keeps.
    pub covers: Vec<PathBuf>,
    /// The files in which Claude Code keeps what it has seen, and also which servers it starts.
    pub memories: Vec<PathBuf>,
    /// The directories of the program itself among the first ones, and that of caches, which it makes when it starts for the
    /// first time.
    pub own: Vec<PathBuf>,
}

/// The directory of a program in the home directory, the variable that names another one, and what in it makes a program
/// start something.
type Known = (&'static str, &'static str, &'static [&'static str]);

const KNOWN: [Known; 34] = [
    (
        ".claude",
        "CLAUDE_CONFIG_DIR",
        &["settings.json", "settings.local.json", "plugins"],
    ),
    (MEMORY, "", &[]),
    (
        ".codex",
        "CODEX_HOME",
        &["config.toml", "hooks.json", "rules"],
    ),
    (
        ".gemini",
        "",
        &["settings.json", "extensions", "hooks", ".env"],
    ),
    (
        ".qwen",
        "",
        &["settings.json", "extensions", "hooks", ".env"],
    ),
    (".copilot", "", &["config.json", "mcp-config.json", "hooks"]),
    (
        ".config/opencode",
        "",
        &[
            "opencode.json",
            "opencode.jsonc",
            "config.json",
            "plugin",
            "plugins",
            "tool",
            "tools",
        ],
    ),
    (".local/share/opencode", "", &[]),
    (".local/state/opencode", "", &[]),
    (".cursor", "", &["mcp.json", "hooks.json"]),
    (".config/cursor", "", &[]),
    (
        ".config/goose",
        "",
        &["config.yaml", "profiles.yaml", "permission.yaml"],
    ),
    (".local/share/goose", "", &[]),
    (".local/state/goose", "", &[]),
    (".aider", "", &[]),
    (".cache", "XDG_CACHE_HOME", &["orch"]),
    (".npm", "npm_config_cache", &[]),
    (
        ".cargo",
        "CARGO_HOME",
        &[
            "bin",
            "config",
            "config.toml",
            "env",
            "credentials",
            "credentials.toml",
        ],
    ),
    (".local/share/pnpm/store", "", &[]),
    (".pnpm-store", "", &[]),
    (".yarn", "", &[]),
    (".bun/install/cache", "", &[]),
    (".deno", "", &["bin"]),
    (
        ".gradle",
        "GRADLE_USER_HOME",
        &["init.d", "init.gradle", "gradle.properties"],
    ),
    (".m2", "", &["settings.xml"]),
    ("go/pkg", "GOMODCACHE", &[]),
    (".nuget/packages", "", &[]),
    (".gem", "", &[]),
    (".bundle/cache", "", &[]),
    (".composer/cache", "", &[]),
    (".pub-cache", "", &["bin"]),
    (".stack", "", &["config.yaml"]),
    (".cabal/packages", "", &[]),
    (".hex", "", &[]),
];

/// The file in which Claude Code keeps what it has seen. It writes it in each turn.
const MEMORY: &str = ".claude.json";

/// The directory of the caches of all programs.
const CACHE: &str = ".cache";

/// The directories below which programs have theirs, and the variables that name others.
const BASES: [(&str, &str); 4] = [
    (".config/", "XDG_CONFIG_HOME"),
    (".local/share/", "XDG_DATA_HOME"),
    (".local/state/", "XDG_STATE_HOME"),
    (".cache/", "XDG_CACHE_HOME"),
];

/// The places of known programs, those of this one by its name, and the further ones that the settings name: absolute, or
/// beginning with `~/`, or else relative to the root of the repository.
pub fn program_places(
    variable: &dyn Fn(&str) -> Option<String>,
    program: &str,
    further: &[String],
    root: &Path,
) -> ProgramPlaces {
    let absolute = |name: &str| {
        let named = variable(name).map(PathBuf::from);
        named.filter(|path| path.is_absolute())
    };
    let home = absolute("HOME");
    let mut places = ProgramPlaces::default();
    let memories = [home.clone(), absolute("CLAUDE_CONFIG_DIR")]
        .into_iter()
        .flatten();
    places.memories = memories.map(|place| place.join(MEMORY)).collect();
    for (place, name, covers) in KNOWN {
        let named = absolute(name).filter(|_| !name.is_empty());
        let last = place.rsplit('/').next().unwrap_or(place);
        let is_own = last.trim_start_matches('.') == program || place == CACHE;
        let based = || {
            let (base, name) = BASES.iter().find(|(base, _)| place.starts_with(base))?;
            Some(absolute(name)?.join(&place[base.len()..]))
        };
        let usual = || Some(home.as_ref()?.join(place));
        let Some(place) = named.or_else(based).or_else(usual) else {
            continue;
        };
        places.own.extend(is_own.then(|| place.clone()));
        places
            .covers
            .extend(covers.iter().map(|cover| place.join(cover)));
        places.holes.push(place);
    }
    for text in further {
        let place = match (text.strip_prefix("~/"), &home) {
            (Some(rest), Some(home)) => home.join(rest),
            (Some(_), None) => continue,
            (None, _) => root.join(text),
        };
        places.holes.push(place);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_the_variables_of_programs_and_the_settings() {
        let variable = |name: &str| match name {
            "HOME" => Some("/h".to_owned()),
            "CODEX_HOME" => Some("/codex".to_owned()),
            "CARGO_HOME" => Some("relative".to_owned()),
            "XDG_DATA_HOME" => Some("/data".to_owned()),
            _ => None,
        };
        let further = ["~/.gnupg", "/srv/cache", "target"].map(str::to_owned);
        let found = program_places(&variable, "opencode", &further, Path::new("/r"));
        let has =
            |paths: &[PathBuf], path: &str| paths.iter().any(|found| found == Path::new(path));
        for (path, expected) in [
            ("/h/.claude", true),
            ("/codex", true),
            ("/h/.codex", false),
            ("/h/.cargo", true),
            ("/h/.gnupg", true),
            ("/srv/cache", true),
            ("/r/target", true),
            ("/h", false),
        ] {
            assert_eq!(has(&found.holes, path), expected, "{path}");
        }
        let own = [
            "/h/.config/opencode",
            "/data/opencode",
            "/h/.local/state/opencode",
            "/h/.cache",
        ];
        assert_eq!(found.own, own.map(PathBuf::from));
        for cover in [
            "/h/.claude/settings.json",
            "/codex/config.toml",
            "/h/.cache/orch",
            "/h/.cargo/bin",
            "/h/.claude/plugins",
            "/h/.config/goose/config.yaml",
        ] {
            assert!(has(&found.covers, cover), "{cover}");
        }
        assert_eq!(found.memories, [PathBuf::from("/h/.claude.json")]);
    }

    #[test]
    fn without_a_home_directory_only_what_is_named_counts() {
        let found = program_places(&|_| None, "codex", &["~/x".to_owned()], Path::new("/r"));
        assert_eq!(found, ProgramPlaces::default());
    }
}
