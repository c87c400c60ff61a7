//! The keys that `orch.toml` knows, table by table.

/// A table of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    /// The keys before the first table header, and the tables themselves.
    Top,
    /// `[[root]]`.
    Root,
    /// `[git]`.
    Git,
    /// `[watch]`.
    Watch,
    /// `[hook]`.
    Hook,
    /// `[executor.NAME]`.
    Executor,
}

impl Section {
    /// Every table.
    pub(super) const ALL: [Self; 6] =
        [Self::Top, Self::Root, Self::Git, Self::Watch, Self::Hook, Self::Executor];

    /// The keys of this table.
    pub(super) fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Top => {
                &["version", "system", "settle_ms", "limit_bytes", "root", "git", "watch", "hook", "executor"]
            }
            Self::Root => &["path", "workflow", "exclude"],
            Self::Git => &["commit", "protected", "task_branch", "subject", "sign_off", "detached_head"],
            Self::Watch => &["apply", "adopt", "poll", "reconcile_seconds"],
            Self::Hook => &["on_fault", "timeout_seconds"],
            Self::Executor => &["command", "timeout", "soft_timeout", "idle_timeout", "grace"],
        }
    }

    /// How the user writes this table.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Top => "the top of the file, before the first table",
            Self::Root => "`[[root]]`",
            Self::Git => "`[git]`",
            Self::Watch => "`[watch]`",
            Self::Hook => "`[hook]`",
            Self::Executor => "`[executor.NAME]`",
        }
    }

    /// The table that a key belongs to.
    pub(super) fn of(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|section| section.keys().contains(&key))
    }
}
