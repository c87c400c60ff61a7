//! Who may ask: the host that a request names, the site that it comes from, and the token that it carries.

use super::request::wrong;
use super::sessions::Sessions;
use super::tokens::{TokenHolder, Tokens, is_same};
use axum::http::header::{AUTHORIZATION, COOKIE, HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, Uri};
use orch_base::{Code, Error, locked};
use orch_engine::survey::Clock;
use std::net::{IpAddr, SocketAddr};
use std::sync::Mutex;

/// The path that needs no token.
pub(super) const HEALTH: &str = "/api/v1/health";
/// The header with which an agent names itself.
const AGENT: &str = "orch-agent";

/// The headers that decide access and how the body is parsed; each may occur once.
const SINGLE: [&str; 8] = [
    "host",
    "authorization",
    "origin",
    "sec-fetch-site",
    "sec-fetch-mode",
    "sec-fetch-dest",
    "content-type",
    "last-event-id",
];

/// Decides which requests are answered.
pub(super) struct RequestGate {
    pub tokens: Tokens,
    /// What the cookies of browsers hold in their place.
    pub sessions: Sessions,
    /// The time, by which sessions end.
    pub clock: Clock,
    /// A word that signs a browser in once, as the person: others may see the command line of a browser.
    pub ticket: Mutex<Option<String>>,
    /// The address that the server listens on.
    pub listens: SocketAddr,
    /// Further names by which clients may call it.
    pub hosts: Vec<String>,
    /// Whether only requests that write nothing are answered.
    pub read_only: bool,
}

/// Who sent a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asker {
    /// Someone without a token, who may only ask for the health of the server.
    Anyone,
    /// A person.
    Person,
    /// An agent, which may have named itself.
    Agent(Option<String>),
}

impl RequestGate {
    /// Who sent a request; [`named`] says what an agent calls itself. Returns an error if it is not answered.
    pub(super) fn admit(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Asker, Error> {
        SINGLE.iter().try_for_each(|name| once(headers, name))?;
        let host = only(headers, HOST.as_str())?.unwrap_or_default();
        // What stands in the target would win over the header.
        let target = uri
            .authority()
            .map(Authority::as_str)
            .filter(|target| *target != host);
        if let Some(foreign) = target.or_else(|| (!self.is_own(host)).then_some(host)) {
            let message =
                format!("the request is for the host `{foreign}`, and this server is another one");
            let hint = "use the URL that the server printed, or start it with --host NAME";
            return Err(Error::new(Code::ForeignRequest, message).with_hint(hint));
        }
        if !is_from_here(method, headers, host) {
            return Err(Error::new(
                Code::ForeignRequest,
                "the request comes from a page of another site",
            ));
        }
        let asker = match self.holder(uri, headers)? {
            _ if uri.path() == HEALTH => Asker::Anyone,
            Some(TokenHolder::Person) => Asker::Person,
            Some(TokenHolder::Agent) => Asker::Agent(None),
            None => {
                let hint =
                    "send `Authorization: Bearer TOKEN`, or open the URL that the server printed";
                return Err(
                    Error::new(Code::NoToken, "the request has no valid token").with_hint(hint)
                );
            }
        };
        if self.read_only && !is_reading(method) {
            return Err(
                Error::new(Code::ServerReadOnly, "this server only answers questions")
                    .with_hint("start the server without --read-only"),
            );
        }
        Ok(asker)
    }

    /// The name of the cookie: two servers on one machine share their cookies.
    pub(super) fn cookie(&self) -> String {
        format!("orch-{}", self.listens.port())
    }

    /// Whose token is in the URL, as in the one that was printed at the start. A ticket is used up.
    pub(super) fn exchange(&self, uri: &Uri) -> Option<TokenHolder> {
        let holder = self.token_in(uri)?;
        let mut ticket = locked(&self.ticket);
        if ticket
            .as_deref()
            .is_some_and(|ticket| given(uri) == Some(ticket))
        {
            *ticket = None;
        }
        Some(holder)
    }

    /// Whose token or ticket is in the URL.
    fn token_in(&self, uri: &Uri) -> Option<TokenHolder> {
        let token = given(uri)?;
        let is_ticket = locked(&self.ticket)
            .as_deref()
            .is_some_and(|ticket| is_same(ticket, token));
        if is_ticket {
            Some(TokenHolder::Person)
        } else {
            self.tokens.holder(token)
        }
    }

    /// Whose token a request has; `None` if it has none that is valid. Returns an error if there are two cookies.
    fn holder(&self, uri: &Uri, headers: &HeaderMap) -> Result<Option<TokenHolder>, Error> {
        if let Some(given) = text(headers, AUTHORIZATION.as_str()) {
            let token = given
                .split_once(' ')
                .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
            return Ok(token.and_then(|(_, token)| self.tokens.holder(token.trim())));
        }
        if let Some(holder) = self.token_in(uri) {
            return Ok(Some(holder));
        }
        let name = self.cookie();
        let cookies = headers
            .get_all(COOKIE)
            .into_iter()
            .filter_map(|value| value.to_str().ok());
        let pairs = cookies
            .flat_map(|text| text.split(';'))
            .filter_map(|pair| pair.trim().split_once('='));
        let mut sessions = pairs
            .filter(|(key, _)| *key == name)
            .map(|(_, session)| session);
        let session = sessions.next();
        if sessions.next().is_some() {
            return Err(wrong(&format!("the request has two cookies `{name}`")));
        }
        Ok(session.and_then(|session| self.sessions.holder(session, self.clock.now())))
    }

    /// Whether a host is this server. Another name would be one that its owner can make mean any machine (DNS
    /// rebinding); an address cannot.
    fn is_own(&self, host: &str) -> bool {
        let Ok(authority) = host.parse::<Authority>() else {
            return false;
        };
        let name = authority.host();
        let port = authority.port_u16();
        if self
            .hosts
            .iter()
            .any(|known| known.eq_ignore_ascii_case(name))
        {
            return true;
        }
        let address = name
            .trim_start_matches('[')
            .trim_end_matches(']')
            .parse::<IpAddr>();
        let is_known = match address {
            Ok(address) if self.listens.ip().is_unspecified() => !address.is_unspecified(),
            Ok(address) => {
                address == self.listens.ip()
                    || (self.listens.ip().is_loopback() && address.is_loopback())
            }
            Err(_) => name.eq_ignore_ascii_case("localhost"),
        };
        is_known && port.unwrap_or(80) == self.listens.port()
    }
}

/// The token in the URL that signs a browser in.
fn given(uri: &Uri) -> Option<&str> {
    uri.query()?
        .strip_prefix("token=")
        .filter(|_| uri.path() == "/")
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
    let origin =
        text(headers, ORIGIN.as_str()).map(|origin| origin.split_once("://").map(|(_, host)| host));
    site.is_none_or(|site| ["same-origin", "none"].contains(&site))
        && origin.is_none_or(|origin| origin.is_some_and(|origin| origin.eq_ignore_ascii_case(host)))
        // What cannot be read is from elsewhere.
        && !(headers.contains_key(ORIGIN) && text(headers, ORIGIN.as_str()).is_none())
}

/// Returns an error if a header stands in a request again: two readers could take different ones.
fn once(headers: &HeaderMap, name: &str) -> Result<(), Error> {
    match headers.get_all(name).into_iter().nth(1) {
        None => Ok(()),
        Some(_) => Err(wrong(&format!(
            "the header `{name}` appears twice in the request"
        ))),
    }
}

/// The value of a header that may appear once. Returns an error if it appears again, or is no text.
fn only<'h>(headers: &'h HeaderMap, name: &str) -> Result<Option<&'h str>, Error> {
    once(headers, name)?;
    let Some(value) = headers.get(name) else {
        return Ok(None);
    };
    let text = std::str::from_utf8(value.as_bytes());
    Ok(Some(text.map_err(|_| {
        wrong(&format!("the header `{name}` is not UTF-8"))
    })?))
}

/// Who sent a request that was admitted, with the name that an agent gives itself. It is asked for where the path and the
/// method are known to be right, because what is wrong with them is told first. Returns an error if the name can be none.
pub fn named(parts: &Parts) -> Result<Asker, Error> {
    let name = agent(&parts.headers)?;
    Ok(match parts.extensions.get::<Asker>() {
        Some(Asker::Agent(_)) => Asker::Agent(name),
        asker => asker.cloned().unwrap_or(Asker::Anyone),
    })
}

/// The name that an agent gives itself.
fn agent(headers: &HeaderMap) -> Result<Option<String>, Error> {
    let name = only(headers, AGENT)?.map(str::trim);
    match name {
        Some("") => Err(wrong(&format!("the header `{AGENT}` is empty"))),
        name => Ok(name.map(str::to_owned)),
    }
}

/// A name that clients may give in the header `Host`. Returns an error for what can be none.
pub fn host_name(text: &str) -> Result<String, String> {
    let is_own = |authority: &Authority| authority.host() == text && authority.as_str() == text;
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "-._:[]".contains(letter);
    match text.parse::<Authority>() {
        Ok(authority) if is_own(&authority) && text.chars().all(fits) => Ok(text.to_owned()),
        _ => Err(
            "not the name of a host, such as board.example; there are no patterns and no ports"
                .to_owned(),
        ),
    }
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderName, HeaderValue};
    use orch_base::Timestamp;

    /// A gate, and the words of the sessions of a person and of an agent.
    fn gate_with_sessions(listens: &str, hosts: &[&str]) -> (RequestGate, [String; 2]) {
        let tokens = Tokens {
            person: "p".repeat(64),
            agent: "a".repeat(64),
        };
        let git = tempfile::tempdir().expect("a directory");
        let clock = Clock::Fixed(Timestamp::from_seconds(0));
        let sessions = Sessions::of(git.path(), &tokens).unwrap_or_else(|error| panic!("{error}"));
        let words = [TokenHolder::Person, TokenHolder::Agent].map(|holder| {
            let word = sessions.begin(holder, clock.now());
            word.unwrap_or_else(|error| panic!("{error}"))
        });
        let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
        let gate = RequestGate {
            tokens,
            sessions,
            clock,
            ticket: Mutex::default(),
            listens: listens.parse().expect("an address"),
            hosts,
            read_only: false,
        };
        (gate, words)
    }

    fn gate(listens: &str, hosts: &[&str]) -> RequestGate {
        gate_with_sessions(listens, hosts).0
    }

    /// The code with which a request is refused, or who sent it.
    fn asked(gate: &RequestGate, method: &str, path: &str, lines: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for line in lines {
            let (name, value) = line.split_once(": ").expect("a header");
            let name: HeaderName = name.parse().expect("a name");
            headers.append(
                name,
                HeaderValue::from_bytes(value.as_bytes()).expect("a value"),
            );
        }
        let (mut parts, ()) = axum::http::Request::new(()).into_parts();
        (parts.method, parts.headers) = (method.parse().expect("a method"), headers);
        parts.uri = path.parse().expect("a path");
        let admitted = gate
            .admit(&parts.method, &parts.uri, &parts.headers)
            .and_then(|asker| {
                parts.extensions.insert(asker);
                named(&parts)
            });
        admitted.map_or_else(
            |error| error.code().to_string(),
            |asker| format!("{asker:?}"),
        )
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
            (
                "127.0.0.1:4747",
                &["board.example"],
                "Board.Example:443",
                true,
            ),
        ] {
            assert_eq!(
                gate(listens, hosts).is_own(named),
                is_own,
                "{listens} {named}"
            );
        }
    }

    #[test]
    fn a_page_of_another_site_is_refused_unless_a_link_is_followed() {
        let gate = gate("127.0.0.1:4747", &[]);
        let token = format!("authorization: Bearer {}", "p".repeat(64));
        for (method, lines, expected) in [
            ("POST", &[][..], "Person"),
            ("POST", &["origin: http://localhost:4747"], "Person"),
            (
                "POST",
                &[
                    "origin: http://LOCALHOST:4747",
                    "sec-fetch-site: same-origin",
                ],
                "Person",
            ),
            (
                "POST",
                &["origin: http://localhost:4748"],
                "foreign-request",
            ),
            (
                "POST",
                &["origin: http://127.0.0.1:4747"],
                "foreign-request",
            ),
            ("POST", &["origin: null"], "foreign-request"),
            ("POST", &["sec-fetch-site: same-site"], "foreign-request"),
            ("GET", &["sec-fetch-site: cross-site"], "foreign-request"),
            (
                "GET",
                &["sec-fetch-site: none", "sec-fetch-mode: navigate"],
                "Person",
            ),
            (
                "GET",
                &[
                    "sec-fetch-site: cross-site",
                    "sec-fetch-mode: navigate",
                    "sec-fetch-dest: document",
                ],
                "Person",
            ),
            (
                "GET",
                &[
                    "sec-fetch-site: cross-site",
                    "sec-fetch-mode: navigate",
                    "sec-fetch-dest: iframe",
                ],
                "foreign-request",
            ),
            (
                "POST",
                &[
                    "sec-fetch-site: cross-site",
                    "sec-fetch-mode: navigate",
                    "sec-fetch-dest: document",
                ],
                "foreign-request",
            ),
        ] {
            let lines = [&["host: localhost:4747", token.as_str()], lines].concat();
            assert_eq!(
                asked(&gate, method, "/api/v1/tasks", &lines),
                expected,
                "{method} {lines:?}"
            );
        }
    }

    #[test]
    fn what_two_readers_could_read_in_two_ways_is_refused() {
        let gate = gate("127.0.0.1:4747", &["board.example"]);
        let token = format!("authorization: Bearer {}", "p".repeat(64));
        for (target, lines, expected) in [
            ("/x", &["host: localhost:4747"][..], "Person"),
            (
                "/x",
                &["host: localhost:4747", "host: localhost:4747"],
                "usage",
            ),
            (
                "/x",
                &["host: localhost:4747", "host: evil.example"],
                "usage",
            ),
            ("/x", &[], "foreign-request"),
            (
                "http://localhost:4747/x",
                &["host: localhost:4747"],
                "Person",
            ),
            (
                "http://evil.example/x",
                &["host: localhost:4747"],
                "foreign-request",
            ),
            (
                "http://localhost:4747/x",
                &["host: board.example"],
                "foreign-request",
            ),
            ("http://localhost:4747/x", &[], "foreign-request"),
            ("/x", &["host: localhost:4747", &token], "usage"),
            (
                "/x",
                &["host: localhost:4747", "authorization: Bearer x"],
                "usage",
            ),
            (
                "/x",
                &[
                    "host: localhost:4747",
                    "origin: http://localhost:4747",
                    "origin: http://localhost:4747",
                ],
                "usage",
            ),
            (
                "/x",
                &[
                    "host: localhost:4747",
                    "content-type: application/json",
                    "content-type: text/plain",
                ],
                "usage",
            ),
        ] {
            let lines = [&[token.as_str()], lines].concat();
            assert_eq!(
                asked(&gate, "POST", target, &lines),
                expected,
                "{target} {lines:?}"
            );
        }
    }

    #[test]
    fn a_ticket_signs_in_once() {
        let mut gate = gate("127.0.0.1:4747", &[]);
        *gate.ticket.get_mut().expect("free") = Some("t".repeat(16));
        let ticket = format!("/?token={}", "t".repeat(16));
        let token = format!("/?token={}", "p".repeat(64));
        let ask =
            |gate: &RequestGate, path: &str| asked(gate, "GET", path, &["host: localhost:4747"]);
        let exchange =
            |gate: &RequestGate, path: &str| gate.exchange(&path.parse().expect("a path"));
        // A look at it alone does not use it up.
        assert_eq!(
            (ask(&gate, &ticket), ask(&gate, &ticket)),
            ("Person".to_owned(), "Person".to_owned())
        );
        assert_eq!(
            ask(&gate, &format!("/api/v1/tasks{}", &ticket[1..])),
            "no-token"
        );
        assert_eq!(exchange(&gate, &token), Some(TokenHolder::Person));
        assert_eq!(exchange(&gate, &ticket), Some(TokenHolder::Person));
        assert_eq!(
            (exchange(&gate, &ticket), ask(&gate, &ticket)),
            (None, "no-token".to_owned())
        );
        assert_eq!(exchange(&gate, &token), Some(TokenHolder::Person));
    }

    #[test]
    fn a_host_is_a_name_and_no_pattern() {
        for name in ["board.example", "a-b", "10.0.0.1", "[::1]", "localhost"] {
            assert_eq!(host_name(name).as_deref(), Ok(name));
        }
        for name in [
            "",
            "*",
            "*.example",
            "a b",
            "board.example:80",
            "http://a",
            "a/b",
            "a@b",
            "a,b",
            "é",
        ] {
            assert!(host_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_token_says_who_asks() {
        let p = "p".repeat(64);
        let a = "a".repeat(64);
        let (mut gate, [session, of_agent]) = gate_with_sessions("127.0.0.1:4747", &[]);
        for (path, line, expected) in [
            ("/api/v1/health", String::new(), "Anyone"),
            ("/api/v1/tasks", String::new(), "no-token"),
            (
                "/api/v1/tasks",
                format!("authorization: Bearer {p}"),
                "Person",
            ),
            (
                "/api/v1/tasks",
                format!("authorization: bearer {a}"),
                "Agent(None)",
            ),
            (
                "/api/v1/tasks",
                format!("authorization: Basic {p}"),
                "no-token",
            ),
            (
                "/api/v1/tasks",
                format!("authorization: Bearer {}", &p[1..]),
                "no-token",
            ),
            (
                "/api/v1/tasks",
                "authorization: Bearer ".to_owned(),
                "no-token",
            ),
            (
                "/api/v1/tasks",
                format!("cookie: x=1; orch-4747={of_agent}"),
                "Agent(None)",
            ),
            (
                "/api/v1/tasks",
                format!("cookie: orch-4747={session}"),
                "Person",
            ),
            // A cookie holds no token, and a session is none.
            (
                "/api/v1/tasks",
                format!("cookie: orch-4747={p}"),
                "no-token",
            ),
            (
                "/api/v1/tasks",
                format!("authorization: Bearer {session}"),
                "no-token",
            ),
            (
                "/api/v1/tasks",
                format!("cookie: orch-4747={session}; orch-4747={session}"),
                "usage",
            ),
            (
                "/api/v1/tasks",
                format!("cookie: orch-4748={of_agent}"),
                "no-token",
            ),
            (&format!("/?token={p}"), String::new(), "Person"),
            (&format!("/?token={p}1"), String::new(), "no-token"),
            (
                &format!("/api/v1/tasks?token={p}"),
                String::new(),
                "no-token",
            ),
        ] {
            let lines = ["host: localhost:4747", &line];
            let lines = &lines[..if line.is_empty() { 1 } else { 2 }];
            assert_eq!(asked(&gate, "GET", path, lines), expected, "{path} {line}");
        }
        let named = [
            "host: localhost:4747",
            &format!("authorization: Bearer {a}"),
            "orch-agent: worker",
        ];
        assert_eq!(
            asked(&gate, "POST", "/x", &named),
            "Agent(Some(\"worker\"))"
        );
        let bearer = format!("authorization: Bearer {a}");
        for (lines, expected) in [
            (&["orch-agent: é"][..], "Agent(Some(\"é\"))"),
            (&["orch-agent:  "], "usage"),
            (&["orch-agent: a", "orch-agent: b"], "usage"),
        ] {
            let lines = [&["host: localhost:4747", bearer.as_str()], lines].concat();
            assert_eq!(asked(&gate, "POST", "/x", &lines), expected, "{lines:?}");
        }
        gate.read_only = true;
        assert_eq!(asked(&gate, "POST", "/x", &named), "server-read-only");
        assert_eq!(asked(&gate, "GET", "/x", &named), "Agent(Some(\"worker\"))");
    }
}
