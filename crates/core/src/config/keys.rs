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
