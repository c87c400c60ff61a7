//! The address of a webhook: what it may be.

/// Where word of an event is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// The URL: `https`, or `http` on this machine.
    pub url: String,
    /// The environment variable with the key of the signature; without it, nothing is signed.
    pub secret: Option<String>,
}

/// The URL of a webhook, with its scheme and host in lower case, in which case does not count. Returns why it can be
/// none: a password in it would be in the repository, and a name or a character that readers take in different ways
/// could lead elsewhere.
pub(super) fn url(text: &str) -> Result<String, String> {
    let (scheme, rest) = text.split_once("://").unwrap_or_default();
    let scheme = scheme.to_ascii_lowercase();
    if !["https", "http"].contains(&scheme.as_str()) {
        return Err("it does not begin with `https://`".to_owned());
    }
    if let Some(odd) = text
        .chars()
        .find(|c| !c.is_ascii_graphic() || "\\\"<>^`{|}#".contains(*c))
    {
        return Err(format!("{odd:?} is not allowed in it; write it as %XX"));
    }
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let authority = authority.to_ascii_lowercase();
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority.as_str(), None),
    };
    if authority.contains('@') {
        return Err("it must not contain a name or a password".to_owned());
    }
    if port.is_some_and(|port| port.parse::<u16>().is_err()) {
        return Err("its port is not a number".to_owned());
    }
    let address = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let is_name = !host.is_empty()
        && host
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
    let is_host = address.map_or(is_name, |address| {
        address.parse::<core::net::Ipv6Addr>().is_ok()
    });
    if !is_host {
        return Err(format!("`{host}` is not a host"));
    }
    let numbers: Option<core::net::Ipv4Addr> = host.parse().ok();
    let is_here = host == "localhost"
        || host == "[::1]"
        || numbers.is_some_and(|numbers| numbers.is_loopback());
    if scheme == "https" || is_here {
        Ok(format!("{scheme}://{authority}{path}"))
    } else {
        Err("without `https`, it must point to this machine".to_owned())
    }
}

/// The name of an environment variable. Returns an error if it can be none.
pub(super) fn variable(text: &str) -> Result<String, &'static str> {
    let is_name = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_name {
        Ok(text.to_owned())
    } else {
        Err("not the name of an environment variable; the key itself does not belong here")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_webhook_is_safe_or_on_this_machine() {
        for text in [
            "https://example.com",
            "https://example.com/a/b?c=%7B%7B.text%7D%7D&d",
            "https://example.com:8443/",
            "https://[2001:db8::1]/x",
            "http://localhost:3000/x",
            "http://127.1.2.3/x",
            "http://[::1]:80",
        ] {
            assert_eq!(url(text).as_deref(), Ok(text));
        }
        for (text, meant) in [
            ("HTTP://LOCALHOST", "http://localhost"),
            (
                "Http://LocalHost:3000/Path?Q=V",
                "http://localhost:3000/Path?Q=V",
            ),
            ("HTTPS://EXAMPLE.COM?A", "https://example.com?A"),
            ("HTTPS://[2001:DB8::1]/X", "https://[2001:db8::1]/X"),
        ] {
            assert_eq!(url(text).as_deref(), Ok(meant));
        }
        for (text, why) in [
            ("", "begin with"),
            ("ftp://example.com", "begin with"),
            ("https:/example.com", "begin with"),
            ("HTTP://EXAMPLE.COM", "this machine"),
            ("HTTP://LOCALHOST.EXAMPLE.COM", "this machine"),
            ("http://example.com", "this machine"),
            ("http://localhost.example.com", "this machine"),
            ("http://127.0.0.1.example.com", "this machine"),
            ("http://[::2]/", "this machine"),
            ("https://", "not a host"),
            ("https:///x", "not a host"),
            ("https://[x]/", "not a host"),
            ("https://a b/", "not allowed"),
            ("https://a\\@b/", "not allowed"),
            ("https://a/#x", "not allowed"),
            ("https://bücher.example", "not allowed"),
            ("https://a/\n", "not allowed"),
            ("https://me:secret@example.com/", "password"),
            ("http://localhost@example.com/", "password"),
            ("https://example.com:port/", "port"),
            ("https://example.com:99999/", "port"),
        ] {
            let refused = url(text).expect_err(text);
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }

    #[test]
    fn a_key_is_named_and_never_given() {
        assert_eq!(
            variable("ORCH_WEBHOOK_KEY").as_deref(),
            Ok("ORCH_WEBHOOK_KEY")
        );
        for text in ["", "1", "a-b", "$KEY", "s3cr3t!"] {
            assert!(variable(text).is_err(), "{text}");
        }
    }
}
