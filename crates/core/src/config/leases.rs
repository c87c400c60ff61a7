//! `[leases]`: where it stands who works on which task.

use super::keys::example;
use super::reader::{SettingsReader, choice, invalid};
use super::webhook::variable;
use crate::TomlTable;
use orch_base::Period;

/// Where leases are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LeaseStoreKind {
    /// In the git directory that the work trees of a clone share.
    #[default]
    Local,
    /// On a remote of the repository.
    Git,
    /// In a bucket of NATS JetStream.
    Nats,
}

impl LeaseStoreKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Local, Self::Git, Self::Nats];

    /// The word in `orch.toml`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Git => "git",
            Self::Nats => "nats",
        }
    }

    /// The kind with this word, or `None`.
    #[must_use]
    pub fn named(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// `[leases]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseSettings {
    /// Where leases are.
    pub store: LeaseStoreKind,
    /// How long a lease lasts after it was written.
    pub length: Period,
    /// The remote of [`LeaseStoreKind::Git`], by its name.
    pub remote: String,
    /// The servers of [`LeaseStoreKind::Nats`], with commas between them.
    pub url: Option<String>,
    /// The bucket there, one for each repository.
    pub bucket: Option<String>,
    /// The environment variable with `USER:PASSWORD`, or a token, for these servers.
    pub secret: Option<String>,
}

impl Default for LeaseSettings {
    fn default() -> Self {
        Self {
            store: LeaseStoreKind::default(),
            length: Period::from_seconds(crate::lease::DEFAULT_LENGTH.as_secs()),
            remote: "origin".to_owned(),
            url: None,
            bucket: None,
            secret: None,
        }
    }
}

impl LeaseSettings {
    /// What leases are sent to over the network, for people who are asked to trust it; `None` if it is nothing.
    #[must_use]
    pub fn address(&self) -> Option<String> {
        match self.store {
            LeaseStoreKind::Local => None,
            LeaseStoreKind::Git => Some(format!("leases on the git remote {}", self.remote)),
            LeaseStoreKind::Nats => Some(format!(
                "leases in the bucket {} of {}",
                self.bucket.as_deref().unwrap_or_default(),
                self.url.as_deref().unwrap_or_default()
            )),
        }
    }
}

/// Where a queue is, as a command line names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueAddress {
    /// The servers, with commas between them.
    pub url: String,
    /// The bucket, if it is named.
    pub bucket: Option<String>,
}

impl QueueAddress {
    /// Parses `nats://HOST:PORT` with `/BUCKET` or without; several servers have commas between them. Returns what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let start = text.rfind("://").map_or(0, |at| at + 3);
        let (url, named) = match text[start..].find('/') {
            Some(at) => (&text[..start + at], Some(&text[start + at + 1..])),
            None => (text, None),
        };
        Ok(Self {
            url: servers(url)?,
            bucket: named.map(bucket).transpose()?,
        })
    }
}

/// The shortest lease: a holder has to be able to renew it.
const SHORTEST: Period = Period::from_seconds(10);
/// The longest lease: the task of a dead holder waits for so long.
const LONGEST: Period = Period::from_seconds(7 * 24 * 3600);

pub(super) fn leases(
    reader: &mut SettingsReader<'_>,
    mut table: TomlTable<'_, '_>,
) -> LeaseSettings {
    let default = LeaseSettings::default();
    let kinds = LeaseStoreKind::ALL.map(LeaseStoreKind::as_str);
    let needed = [("url", table.has("url")), ("bucket", table.has("bucket"))];
    let given = table.take("store");
    let word = given.and_then(|value| reader.text("store", value));
    let store = word.and_then(|word| {
        reader.parsed(
            word,
            |text| choice(text, LeaseStoreKind::named, &kinds),
            || format!("for example `{}`", example("store")),
        )
    });
    let settings = LeaseSettings {
        store: store.unwrap_or(default.store),
        length: reader
            .parsed_at(&mut table, "length", length)
            .unwrap_or(default.length),
        remote: reader
            .parsed_at(&mut table, "remote", remote)
            .unwrap_or(default.remote),
        url: reader.parsed_at(&mut table, "url", servers),
        bucket: reader.parsed_at(&mut table, "bucket", bucket),
        secret: reader.parsed_at(&mut table, "secret", variable),
    };
    if settings.store == LeaseStoreKind::Nats {
        for (key, _) in needed.iter().filter(|(_, is_given)| !is_given) {
            let message = format!("the store \"nats\" needs `{key}`");
            let hint = format!("for example `{}`", example(key));
            let span = given.map(|value| value.span()).unwrap_or_default();
            reader.report(span, invalid(message, hint));
        }
    }
    reader.finish(table);
    settings
}

fn length(text: &str) -> Result<Period, &'static str> {
    let period = Period::parse(text).ok_or("the value is not a duration")?;
    if (SHORTEST..=LONGEST).contains(&period) {
        Ok(period)
    } else {
        Err("a lease lasts from 10 seconds to 7 days (168h)")
    }
}

/// The name of a remote. A URL would be a second place to change, and could hold a password.
fn remote(text: &str) -> Result<String, &'static str> {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-_./".contains(letter);
    if text.is_empty() || text.starts_with(['-', '/', '.']) || !text.chars().all(is_name) {
        return Err("this is not the name of a remote, as `git remote` lists them");
    }
    Ok(text.to_owned())
}

fn servers(text: &str) -> Result<String, String> {
    let mut servers = Vec::new();
    for server in text.split(',').map(str::trim) {
        let rest = ["nats://", "tls://"]
            .iter()
            .find_map(|scheme| server.strip_prefix(scheme));
        let Some(rest) = rest else {
            return Err(format!(
                "`{server}` does not begin with `nats://` or `tls://`"
            ));
        };
        if rest.contains('@') {
            return Err(
                "it must not contain a name or a password: name a variable with `secret`"
                    .to_owned(),
            );
        }
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.:[]".contains(letter);
        if rest.is_empty() || !rest.chars().all(is_plain) {
            return Err(format!("`{rest}` is not a host"));
        }
        servers.push(server);
    }
    Ok(servers.join(","))
}

fn bucket(text: &str) -> Result<String, &'static str> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    if text.is_empty() || text.len() > 100 || !text.chars().all(is_plain) {
        return Err("the name of a bucket has letters, digits, `-` and `_`");
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::QueueAddress;
    use crate::config::{FILE, parse};

    #[test]
    fn a_queue_is_named_by_its_servers_and_its_bucket() {
        for (text, expected) in [
            ("nats://a:4222", Ok(("nats://a:4222", None))),
            (
                "nats://a:1, tls://b/shop",
                Ok(("nats://a:1,tls://b", Some("shop"))),
            ),
            (
                "nats://a/",
                Err("the name of a bucket has letters, digits, `-` and `_`"),
            ),
            (
                "nats://a/x/y",
                Err("the name of a bucket has letters, digits, `-` and `_`"),
            ),
            (
                "nats://ann:secret@a",
                Err("it must not contain a name or a password: name a variable with `secret`"),
            ),
            (
                "a:4222",
                Err("`a:4222` does not begin with `nats://` or `tls://`"),
            ),
            ("", Err("`` does not begin with `nats://` or `tls://`")),
        ] {
            let found = QueueAddress::parse(text);
            let found = match &found {
                Ok(found) => Ok((found.url.as_str(), found.bucket.as_deref())),
                Err(why) => Err(why.as_str()),
            };
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn stores_need_what_they_cannot_do_without() {
        for (text, expected) in [
            ("store = 'local'", ""),
            ("store = 'git'\nremote = 'upstream'\nlength = '45m'", ""),
            (
                "store = 'nats'\nurl = 'nats://a:4222, tls://b'\nbucket = 'x'\nsecret = 'ORCH_NATS'",
                "",
            ),
            (
                "store = 'redis'",
                "2:9: \"redis\" is unknown; the choices are \"local\", \"git\" and \"nats\"",
            ),
            (
                "store = 'nats'\nbucket = 'x'",
                "2:9: the store \"nats\" needs `url`",
            ),
            (
                "store = 'nats'\nurl = 'nats://a'",
                "2:9: the store \"nats\" needs `bucket`",
            ),
            (
                "url = 'nats://ann:secret@a'",
                "2:7: it must not contain a name or a password: name a variable with `secret`",
            ),
            (
                "url = 'http://a'",
                "2:7: `http://a` does not begin with `nats://` or `tls://`",
            ),
            ("url = 'nats://'", "2:7: `` is not a host"),
            (
                "bucket = 'a.b'",
                "2:10: the name of a bucket has letters, digits, `-` and `_`",
            ),
            (
                "remote = 'https://a/b'",
                "2:10: this is not the name of a remote, as `git remote` lists them",
            ),
            (
                "remote = '--upload-pack=x'",
                "2:10: this is not the name of a remote, as `git remote` lists them",
            ),
            (
                "length = '1s'",
                "2:10: a lease lasts from 10 seconds to 7 days (168h)",
            ),
            ("length = 'soon'", "2:10: the value is not a duration"),
        ] {
            let (_, findings) = parse(&format!("[leases]\n{text}\n"), FILE);
            let found: Vec<String> = findings
                .iter()
                .map(|finding| {
                    let place = finding.place.as_ref().expect("a place").to_string();
                    let place = place.trim_start_matches("orch.toml:");
                    format!("{place}: {}", finding.message)
                })
                .collect();
            assert_eq!(found.join("\n"), expected, "{text}");
        }
    }

    #[test]
    fn only_a_store_on_the_network_asks_for_trust() {
        let address = |text: &str| {
            parse(&format!("[leases]\n{text}\n"), FILE)
                .0
                .leases
                .address()
        };
        assert_eq!(address("remote = 'upstream'"), None);
        let git = address("store = 'git'");
        assert_eq!(git.as_deref(), Some("leases on the git remote origin"));
        let nats = address("store = 'nats'\nurl = 'nats://a'\nbucket = 'x'");
        assert_eq!(nats.as_deref(), Some("leases in the bucket x of nats://a"));
    }
}
