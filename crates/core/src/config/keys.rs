//! The keys of `orch.toml`, table by table, each with an example of its value.

/// A table of the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Section {
    /// The name of the table, as the user writes it.
    pub(super) title: &'static str,
    /// The keys, each with an example: a line, or the header of a table.
    pub(super) keys: &'static [(&'static str, &'static str)],
}

/// The keys before the first table header, including the tables themselves.
pub(super) const TOP: Section = Section {
    title: "the top of the file (before the first table)",
    keys: &[
        ("version", "version = 1"),
        ("system", "system = \"system\""),
        ("settle_ms", "settle_ms = 50"),
        ("limit_bytes", "limit_bytes = 8388608"),
        ("root", "[[root]]"),
        ("git", "[git]"),
        ("watch", "[watch]"),
        ("people", "[people]"),
        ("require", "[require]"),
        ("hook", "[hook]"),
        ("acknowledged", "[[acknowledged]]"),
        ("executor", "[executor.default]"),
        ("notify", "[[notify]]"),
        ("verify", "[verify.tests]"),
        ("checkouts", "[checkouts]"),
        ("worktrees", "[worktrees]"),
        ("leases", "[leases]"),
        ("fence", "[fence]"),
    ],
};

pub(super) const ROOT: Section = Section {
    title: "`[[root]]`",
    keys: &[
        ("path", "path = \"tasks/*\""),
        ("workflow", "workflow = \"global-state-machine\""),
        ("exclude", "exclude = [\"tasks/archive\"]"),
    ],
};

pub(super) const GIT: Section = Section {
    title: "`[git]`",
    keys: &[
        ("commit", "commit = \"batch\""),
        ("batch_seconds", "batch_seconds = 60"),
        ("base", "base = \"main\""),
        ("protected", "protected = [\"main\", \"release/*\"]"),
        ("task_branch", "task_branch = \"task/{task}\""),
        ("subject", "subject = \"orch({task}): {from} -> {to}\""),
        ("sign_off", "sign_off = false"),
        ("detached_head", "detached_head = false"),
    ],
};

pub(super) const WATCH: Section = Section {
    title: "`[watch]`",
    keys: &[
        ("apply", "apply = [\"plan-accepted\"]"),
        ("adopt", "adopt = [\"team/*\"]"),
        ("poll", "poll = false"),
        ("verify", "verify = false"),
        ("reconcile_seconds", "reconcile_seconds = 45"),
    ],
};

pub(super) const PEOPLE: Section = Section {
    title: "`[people]`",
    keys: &[
        ("orders", "orders = \"terminal\""),
        ("agents_may", "agents_may = [\"confirm\"]"),
        ("teams", "teams = { security = [\"ann@example.org\"] }"),
    ],
};

pub(super) const REQUIRE: Section = Section {
    title: "`[require]`",
    keys: &[
        ("independent", "independent = false"),
        ("verified", "verified = true"),
        ("tests_kept", "tests_kept = true"),
    ],
};

pub(super) const HOOK: Section = Section {
    title: "`[hook]`",
    keys: &[
        ("on_missing", "on_missing = \"pass\""),
        ("timeout_seconds", "timeout_seconds = 10"),
    ],
};

pub(super) const ACKNOWLEDGED: Section = Section {
    title: "`[[acknowledged]]`",
    keys: &[
        (
            "forged",
            "forged = \"1f2e3d4c5b6a79880796a5b4c3d2e1f001234567\"",
        ),
        ("task", "task = \"login\""),
        ("reason", "reason = \"made by hand and reverted\""),
    ],
};

/// `[executor.NAME]`.
pub(super) const EXECUTOR: Section = Section {
    title: "`[executor.NAME]`",
    keys: &[
        (
            "command",
            "command = [\"claude\", \"-p\", \"--permission-mode\", \"acceptEdits\"]",
        ),
        ("timeout", "timeout = \"30m\""),
        ("soft_timeout", "soft_timeout = \"30m\""),
        ("idle_timeout", "idle_timeout = \"30m\""),
        ("grace", "grace = \"30m\""),
        ("fence", "fence = \"required\""),
    ],
};

pub(super) const FENCE: Section = Section {
    title: "`[fence]`",
    keys: &[("writes", "writes = [\"~/.gnupg\"]")],
};

pub(super) const NOTIFY: Section = Section {
    title: "`[[notify]]`",
    keys: &[
        ("on", "on = [\"human\", \"failed\"]"),
        ("command", "command = [\"notify-send\", \"orch\"]"),
        ("webhook", "webhook = \"https://example.com/hooks/orch\""),
        ("secret", "secret = \"ORCH_WEBHOOK_KEY\""),
        ("time_limit", "time_limit = \"10s\""),
        ("bell", "bell = true"),
    ],
};

/// `[verify.NAME]`.
pub(super) const VERIFY: Section = Section {
    title: "`[verify.NAME]`",
    keys: &[
        ("command", "command = [\"make\", \"test\"]"),
        ("commands", "commands = [[\"make\"], [\"make\", \"test\"]]"),
        ("setup", "setup = [\"npm\", \"ci\"]"),
        ("setup_key", "setup_key = [\"package-lock.json\"]"),
        ("report", "report = [\"junit.xml\"]"),
        ("paths", "paths = [\"src/**\"]"),
        ("timeout", "timeout = \"20m\""),
        ("keep", "keep = [\"/target\"]"),
        ("protect", "protect = [\"tests/**\"]"),
        ("env", "env = [\"DATABASE_URL\"]"),
        ("files", "files = [\".env.test\"]"),
        ("network", "network = true"),
        ("retries", "retries = 0"),
        ("allow_empty", "allow_empty = false"),
    ],
};

pub(super) const CHECKOUTS: Section = Section {
    title: "`[checkouts]`",
    keys: &[("max", "max = 8")],
};

pub(super) const WORKTREES: Section = Section {
    title: "`[worktrees]`",
    keys: &[
        ("path", "path = \"../{repo}.orch/{task}\""),
        ("branch", "branch = \"task/{task}\""),
        ("kind", "kind = \"clone\""),
        ("setup", "setup = [[\"npm\", \"ci\"]]"),
        ("merge", "merge = \"merge\""),
    ],
};

pub(super) const LEASES: Section = Section {
    title: "`[leases]`",
    keys: &[
        ("store", "store = \"git\""),
        ("length", "length = \"30m\""),
        ("remote", "remote = \"origin\""),
        ("url", "url = \"nats://nats.example.com:4222\""),
        ("bucket", "bucket = \"shop\""),
        ("secret", "secret = \"ORCH_NATS\""),
    ],
};

/// All tables.
pub(super) const SECTIONS: [Section; 15] = [
    TOP,
    ROOT,
    GIT,
    WATCH,
    PEOPLE,
    REQUIRE,
    HOOK,
    ACKNOWLEDGED,
    EXECUTOR,
    NOTIFY,
    VERIFY,
    CHECKOUTS,
    WORKTREES,
    LEASES,
    FENCE,
];

/// The title of the table that a key belongs to, and an example of the key.
fn known(key: &str) -> Option<(&'static str, &'static str)> {
    let sections = SECTIONS.into_iter();
    let mut keys =
        sections.flat_map(|section| section.keys.iter().map(move |key| (section.title, key)));
    keys.find(|(_, (name, _))| *name == key)
        .map(|(title, (_, example))| (title, *example))
}

/// The title of the table that a key belongs to.
pub(super) fn home(key: &str) -> Option<&'static str> {
    known(key).map(|(title, _)| title)
}

/// An example of the key, as the user writes it.
pub(super) fn example(key: &str) -> &'static str {
    known(key).map_or("", |(_, example)| example)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, Value, json};
    use std::path::Path;

    /// Keys that take values of several types; those of all others are of the type of the example.
    const OF_SEVERAL_TYPES: [&str; 19] = [
        "adopt",
        "agents_may",
        "apply",
        "command",
        "commands",
        "env",
        "exclude",
        "files",
        "keep",
        "on",
        "paths",
        "protect",
        "protected",
        "report",
        "setup",
        "setup_key",
        "teams",
        "verified",
        "writes",
    ];

    fn table(section: &Section) -> Value {
        let mut properties = Map::new();
        for (key, example) in section.keys {
            let example: Option<toml::Table> = example.parse().ok();
            let value = example.and_then(|table| serde_json::to_value(table.get(*key)?).ok());
            let value = value.unwrap_or_default();
            let kind = match &value {
                Value::Bool(_) => "boolean",
                Value::Number(_) => "integer",
                _ => "string",
            };
            let mut schema = json!({"examples": [value]});
            if !OF_SEVERAL_TYPES.contains(key) {
                schema["type"] = Value::from(kind);
            }
            properties.insert((*key).to_owned(), schema);
        }
        json!({"type": "object", "properties": properties, "additionalProperties": false})
    }

    /// The schema of the file.
    fn of_settings() -> Value {
        let several = |section: &Section| json!({"type": "array", "items": table(section)});
        let named = |section| json!({"type": "object", "additionalProperties": table(section)});
        let mut schema = table(&TOP);
        for (key, section) in [
            ("root", several(&ROOT)),
            ("git", table(&GIT)),
            ("watch", table(&WATCH)),
            ("people", table(&PEOPLE)),
            ("require", table(&REQUIRE)),
            ("hook", table(&HOOK)),
            ("acknowledged", several(&ACKNOWLEDGED)),
            ("executor", named(&EXECUTOR)),
            ("notify", several(&NOTIFY)),
            ("verify", named(&VERIFY)),
            ("checkouts", table(&CHECKOUTS)),
            ("worktrees", table(&WORKTREES)),
            ("leases", table(&LEASES)),
            ("fence", table(&FENCE)),
        ] {
            schema["properties"][key] = section;
        }
        let mut whole = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": "orch-toml.schema.json",
            "title": "The settings of a repository: orch.toml",
        });
        let members = schema.as_object_mut().map(std::mem::take);
        let whole_members = whole.as_object_mut().expect("an object");
        whole_members.extend(members.into_iter().flatten());
        whole
    }

    #[test]
    fn the_schemas_are_those_of_the_settings() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let path = here.join("../../system/schemas/input/orch-toml.schema.json");
        let text = format!("{:#}\n", of_settings());
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, &text).expect("written");
        }
        let known = std::fs::read_to_string(&path).expect("a schema");
        assert_eq!(known, text, "run `make fix`");
        for section in SECTIONS.iter().skip(1) {
            let name = section.title.trim_matches(['`', '[', ']']);
            let name = name.split('.').next().unwrap_or_default();
            let kind = &of_settings()["properties"][name]["type"];
            assert!(kind == "object" || kind == "array", "{name}: {kind}");
        }
    }
}
