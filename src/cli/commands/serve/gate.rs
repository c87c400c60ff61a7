//! Who may ask: the host that a request names, the site that it comes from, and the token that it carries.

use super::tokens::{TokenHolder, Tokens};
use crate::base::{Code, Error};
use axum::http::header::{AUTHORIZATION, COOKIE, HOST, ORIGIN};
use axum::http::{HeaderMap, Method, Uri};
use std::net::{IpAddr, SocketAddr};

/// The path that needs no token.
pub(super) const HEALTH: &str = "/api/v1/health";
/// The header with which an agent names itself.
const AGENT: &str = "orch-agent";

/// Decides which requests are answered.
pub(super) struct RequestGate {
    pub tokens: Tokens,
    /// The address that the server listens on.
    pub listens: SocketAddr,
    /// Further names by which clients may call it.
    pub hosts: Vec<String>,
    /// Whether only requests that write nothing are answered.
    pub read_only: bool,
}

/// Who sent a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asker {
    /// Someone without a token, who may only ask for the health of the server.
    Anyone,
    /// A person.
    Person,
    /// An agent, which may have named itself.
    Agent(Option<String>),
}

impl RequestGate {
    /// Who sent a request. Returns an error if it is not answered.
    pub(super) fn admit(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<Asker, Error> {
        let host = text(headers, HOST.as_str()).unwrap_or_default();
        if !self.is_own(host) {
            let message = format!("the request is for the host `{host}`, and this server is another one");
            let hint = "use the URL that orch serve printed, or start it with --host NAME";
            return Err(Error::new(Code::ForeignRequest, message).with_hint(hint.to_owned()));
        }
        if !is_from_here(method, headers, host) {
            return Err(Error::new(Code::ForeignRequest, "the request comes from a page of another site"));
        }
        let asker = match self.holder(uri, headers) {
            _ if uri.path() == HEALTH => Asker::Anyone,
            Some(TokenHolder::Person) => Asker::Person,
            Some(TokenHolder::Agent) => Asker::Agent(text(headers, AGENT).map(str::to_owned)),
            None => {
                let hint = "send `Authorization: Bearer TOKEN`, or open the URL that orch serve printed";
                return Err(
                    Error::new(Code::NoToken, "the request has no valid token").with_hint(hint.to_owned())
                );
            }
        };
        if self.read_only && !is_reading(method) {
            return Err(Error::new(Code::ServerReadOnly, "this server only answers questions")
                .with_hint("start orch serve without --read-only".to_owned()));
        }
        Ok(asker)
    }

    /// The name of the cookie: two servers on one machine share their cookies.
    pub(super) fn cookie(&self) -> String {
        format!("orch-{}", self.listens.port())
    }

    /// The token in the URL that was printed at the start.
    pub(super) fn token_in<'u>(&self, uri: &'u Uri) -> Option<&'u str> {
        let token = uri.query()?.strip_prefix("token=").filter(|_| uri.path() == "/")?;
        self.tokens.holder(token).map(|_| token)
    }

    fn holder(&self, uri: &Uri, headers: &HeaderMap) -> Option<TokenHolder> {
        if let Some(given) = text(headers, AUTHORIZATION.as_str()) {
            let (scheme, token) = given.split_once(' ')?;
            return scheme.eq_ignore_ascii_case("bearer").then(|| self.tokens.holder(token.trim()))?;
        }
        if let Some(token) = self.token_in(uri) {
            return self.tokens.holder(token);
        }
        let name = self.cookie();
        let cookies = headers.get_all(COOKIE).into_iter().filter_map(|value| value.to_str().ok());
        let mut pairs =
            cookies.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let (_, token) = pairs.find(|(key, _)| *key == name)?;
        self.tokens.holder(token)
    }

    /// Whether a host is this server. Another name would be one that its owner can make mean any machine (DNS
    /// rebinding); an address cannot.
    fn is_own(&self, host: &str) -> bool {
        let Ok(authority) = host.parse::<axum::http::uri::Authority>() else { return false };
        let (name, port) = (authority.host(), authority.port_u16());
        if self.hosts.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            return true;
        }
        let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        let is_known = match address {
            Ok(address) if self.listens.ip().is_unspecified() => !address.is_unspecified(),
            Ok(address) => {
                address == self.listens.ip() || (self.listens.ip().is_loopback() && address.is_loopback())
            }
            Err(_) => name.eq_ignore_ascii_case("localhost"),
        };
        is_known && port.unwrap_or(80) == self.listens.port()
    }
}

/// Whether a method writes nothing.
pub(super) fn is_reading(method: &Method) -> bool {
    method == Method::GET || method == Method::HEAD
}

/// Whether a request comes from a page of this server, or from no page. A link of another page may be followed.
fn is_from_here(method: &Method, headers: &HeaderMap, host: &str) -> bool {
    let is = |name: &str, value: &str| text(headers, name) == Some(value);
    if is_reading(method) && is("sec-fetch-mode", "navigate") && is("sec-fetch-dest", "document") {
        return true;
    }
    let site = text(headers, "sec-fetch-site");
    let origin = text(headers, ORIGIN.as_str()).map(|origin| origin.split_once("://").map(|(_, host)| host));
    site.is_none_or(|site| ["same-origin", "none"].contains(&site))
        && origin.is_none_or(|origin| origin.is_some_and(|origin| origin.eq_ignore_ascii_case(host)))
        // What cannot be read is from elsewhere.
        && !(headers.contains_key(ORIGIN) && text(headers, ORIGIN.as_str()).is_none())
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderName, HeaderValue};

    fn gate(listens: &str, hosts: &[&str]) -> RequestGate {
        let tokens = Tokens { person: "p".repeat(64), agent: "a".repeat(64) };
        let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
        RequestGate { tokens, listens: listens.parse().expect("an address"), hosts, read_only: false }
    }

    /// The code with which a request is refused, or who sent it.
    fn asked(gate: &RequestGate, method: &str, path: &str, lines: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for line in lines {
            let (name, value) = line.split_once(": ").expect("a header");
            let name: HeaderName = name.parse().expect("a name");
            headers.append(name, HeaderValue::from_str(value).expect("a value"));
        }
        let method = method.parse().expect("a method");
        match gate.admit(&method, &path.parse().expect("a path"), &headers) {
            Ok(asker) => format!("{asker:?}"),
            Err(error) => error.code().to_string(),
        }
    }

    #[test]
    fn only_the_names_of_the_server_are_hosts() {
        for (listens, hosts, named, is_own) in [
            ("127.0.0.1:4747", &[][..], "127.0.0.1:4747", true),
            ("127.0.0.1:4747", &[], "localhost:4747", true),
            ("127.0.0.1:4747", &[], "[::1]:4747", true),
            ("127.0.0.1:4747", &[], "localhost:4748", false),
            ("127.0.0.1:4747", &[], "localhost", false),
            ("127.0.0.1:4747", &[], "evil.example:4747", false),
            ("127.0.0.1:4747", &[], "localhost.evil.example:4747", false),
            ("127.0.0.1:4747", &[], "10.0.0.1:4747", false),
            ("127.0.0.1:4747", &[], "", false),
            ("127.0.0.1:4747", &[], "a b", false),
            ("127.0.0.1:80", &[], "localhost", true),
            ("0.0.0.0:4747", &[], "10.0.0.1:4747", true),
            ("0.0.0.0:4747", &[], "evil.example:4747", false),
            ("10.0.0.1:4747", &[], "10.0.0.1:4747", true),
            ("10.0.0.1:4747", &[], "10.0.0.2:4747", false),
            ("127.0.0.1:4747", &["board.example"], "board.example", true),
            ("127.0.0.1:4747", &["board.example"], "Board.Example:443", true),
        ] {
            assert_eq!(gate(listens, hosts).is_own(named), is_own, "{listens} {named}");
        }
    }

    #[test]
    fn a_page_of_another_site_is_refused_unless_a_link_is_followed() {
        let gate = gate("127.0.0.1:4747", &[]);
        let token = format!("authorization: Bearer {}", "p".repeat(64));
        for (method, lines, expected) in [
            ("POST", &[][..], "Person"),
            ("POST", &["origin: http://localhost:4747"], "Person"),
            ("POST", &["origin: http://LOCALHOST:4747", "sec-fetch-site: same-origin"], "Person"),
            ("POST", &["origin: http://localhost:4748"], "foreign-request"),
            ("POST", &["origin: http://127.0.0.1:4747"], "foreign-request"),
            ("POST", &["origin: null"], "foreign-request"),
            ("POST", &["sec-fetch-site: same-site"], "foreign-request"),
            ("GET", &["sec-fetch-site: cross-site"], "foreign-request"),
            ("GET", &["sec-fetch-site: none", "sec-fetch-mode: navigate"], "Person"),
            (
                "GET",
                &["sec-fetch-site: cross-site", "sec-fetch-mode: navigate", "sec-fetch-dest: document"],
                "Person",
            ),
            (
                "GET",
                &["sec-fetch-site: cross-site", "sec-fetch-mode: navigate", "sec-fetch-dest: iframe"],
                "foreign-request",
            ),
            (
                "POST",
                &["sec-fetch-site: cross-site", "sec-fetch-mode: navigate", "sec-fetch-dest: document"],
                "foreign-request",
            ),
        ] {
            let lines = [&["host: localhost:4747", token.as_str()], lines].concat();
            assert_eq!(asked(&gate, method, "/api/v1/tasks", &lines), expected, "{method} {lines:?}");
        }
    }

    #[test]
    fn a_token_says_who_asks() {
        let (p, a) = ("p".repeat(64), "a".repeat(64));
        let mut gate = gate("127.0.0.1:4747", &[]);
        for (path, line, expected) in [
            ("/api/v1/health", String::new(), "Anyone"),
            ("/api/v1/tasks", String::new(), "no-token"),
            ("/api/v1/tasks", format!("authorization: Bearer {p}"), "Person"),
            ("/api/v1/tasks", format!("authorization: bearer {a}"), "Agent(None)"),
            ("/api/v1/tasks", format!("authorization: Basic {p}"), "no-token"),
            ("/api/v1/tasks", format!("authorization: Bearer {}", &p[1..]), "no-token"),
            ("/api/v1/tasks", "authorization: Bearer ".to_owned(), "no-token"),
            ("/api/v1/tasks", format!("cookie: x=1; orch-4747={a}"), "Agent(None)"),
            ("/api/v1/tasks", format!("cookie: orch-4748={a}"), "no-token"),
            (&format!("/?token={p}"), String::new(), "Person"),
            (&format!("/?token={p}1"), String::new(), "no-token"),
            (&format!("/api/v1/tasks?token={p}"), String::new(), "no-token"),
        ] {
            let lines = ["host: localhost:4747", &line];
            let lines = &lines[..if line.is_empty() { 1 } else { 2 }];
            assert_eq!(asked(&gate, "GET", path, lines), expected, "{path} {line}");
        }
        let named = ["host: localhost:4747", &format!("authorization: Bearer {a}"), "orch-agent: worker"];
        assert_eq!(asked(&gate, "POST", "/x", &named), "Agent(Some(\"worker\"))");
        gate.read_only = true;
        assert_eq!(asked(&gate, "POST", "/x", &named), "server-read-only");
        assert_eq!(asked(&gate, "GET", "/x", &named), "Agent(Some(\"worker\"))");
    }
}
