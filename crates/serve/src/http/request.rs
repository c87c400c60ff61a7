//! What a request says: the arguments in its path, its query and its body.

use super::routes::Route;
use crate::{Argument, ArgumentForm};
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Uri};
use orch_base::pointer::escape;
use orch_base::{Code, Diagnostic, Error, Place, RepoPath};
use orch_read::{JsonText, parse_text, span};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};
use std::time::Duration;

/// The most bytes of a body.
pub(super) const BODY: usize = 1024 * 1024;
/// What stands for the body in a place.
pub(super) const BODY_PLACE: &str = "body";
/// How long a body may take to arrive.
const ARRIVAL: Duration = Duration::from_secs(10);

/// The arguments in the path.
pub(super) async fn path_arguments(
    parts: &mut Parts,
    route: &Route,
) -> Result<Map<String, Value>, Error> {
    let found = RawPathParams::from_request_parts(parts, &()).await;
    let found = found.map_err(|_| wrong("the path is not UTF-8"))?;
    let value = |name: &str| {
        found
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.into())
    };
    Ok(route
        .in_path
        .iter()
        .filter_map(|known| Some((known.name.clone(), value(&known.name)?)))
        .collect())
}

/// The argument in the path with this name.
pub(super) async fn path_argument(parts: &mut Parts, name: &str) -> Result<String, Error> {
    let found = RawPathParams::from_request_parts(parts, &()).await;
    let found = found.map_err(|_| wrong("the path is not UTF-8"))?;
    let value = found
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, value)| value.to_owned());
    Ok(value.unwrap_or_default())
}

/// The names and values in the query.
pub fn query(uri: &Uri) -> Result<Vec<(String, String)>, Error> {
    let decoded = |text: &str| {
        let text = text.replace('+', " ");
        let decoded = percent_decode_str(&text)
            .decode_utf8()
            .map(std::borrow::Cow::into_owned);
        decoded.map_err(|_| wrong("the query is not UTF-8"))
    };
    let pairs = uri
        .query()
        .unwrap_or_default()
        .split('&')
        .filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decoded(name)?, decoded(value)?))
        })
        .collect()
}

/// Returns an error if there is a query, where no argument is known.
pub(super) fn no_query(uri: &Uri) -> Result<(), Error> {
    match query(uri)?.first() {
        Some((name, _)) => Err(wrong(&format!(
            "`{}` has no argument `{name}` in its query",
            uri.path()
        ))),
        None => Ok(()),
    }
}

/// Adds a value to the arguments. Returns an error if the argument has one value and appears twice.
pub(super) fn add(
    given: &mut Map<String, Value>,
    argument: &Argument,
    value: Value,
) -> Result<(), String> {
    if matches!(
        argument.form,
        ArgumentForm::Texts(_) | ArgumentForm::SomeOf(..)
    ) {
        let texts = given
            .entry(argument.name.as_str())
            .or_insert_with(|| Value::Array(Vec::new()));
        texts
            .as_array_mut()
            .into_iter()
            .for_each(|texts| texts.push(value.clone()));
        return Ok(());
    }
    match given.insert(argument.name.clone(), value) {
        None => Ok(()),
        Some(_) => Err(format!(
            "the argument `{}` appears twice in the query",
            argument.name
        )),
    }
}

/// The arguments in the body; none if it is empty.
pub async fn body(headers: &HeaderMap, body: Body) -> Result<Map<String, Value>, Error> {
    let bytes = arrived(headers, body).await?;
    if bytes.is_empty() {
        Ok(Map::new())
    } else {
        members(&bytes)
    }
}

/// The bytes of a body that is one JSON object.
#[cfg(feature = "mcp")]
pub(super) async fn json(headers: &HeaderMap, body: Body) -> Result<Bytes, Error> {
    let bytes = arrived(headers, body).await?;
    object(&bytes).map(|_| bytes)
}

/// The bytes of a body, which is said to be JSON if there are any.
async fn arrived(headers: &HeaderMap, body: Body) -> Result<Bytes, Error> {
    let too_large = || Error::new(Code::RequestTooLarge, "the body is larger than 1 MiB");
    let declared = headers
        .get(CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if declared.is_some_and(|length| length > BODY) {
        return Err(too_large());
    }
    let bytes = match tokio::time::timeout(ARRIVAL, to_bytes(body, BODY)).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => return Err(too_large()),
        Err(_) => {
            return Err(Error::new(
                Code::RequestTooSlow,
                "the body did not arrive in time",
            ));
        }
    };
    if bytes.is_empty() {
        return Ok(bytes);
    }
    let media = headers
        .get(CONTENT_TYPE)
        .and_then(|media| media.to_str().ok())
        .unwrap_or_default();
    let media = media.split(';').next().unwrap_or_default().trim();
    if !media.eq_ignore_ascii_case("application/json") {
        let message = format!("the body is `{media}` instead of `application/json`");
        return Err(Error::new(Code::BodyNotJson, message));
    }
    Ok(bytes)
}

/// The place of a part of a body.
fn place(bytes: &[u8], pointer: &str) -> Place {
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    let (start, length) = span(text, pointer).unwrap_or_default();
    Place::at(BODY_PLACE, text, start, length)
}

/// The object in a body. Returns an error with its place in the body if it is none, or repeats a key.
fn object(bytes: &[u8]) -> Result<Map<String, Value>, Error> {
    let path = RepoPath::new(BODY_PLACE).map_err(|_| wrong("there is no place for the body"))?;
    let usage = |problem: Diagnostic| Diagnostic {
        code: Code::Usage,
        ..problem
    };
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let shown = String::from_utf8_lossy(bytes);
        let place = Place::at(BODY_PLACE, &shown, error.valid_up_to(), 1);
        Diagnostic::error(Code::Usage, "the body is not UTF-8")
            .at(place)
            .hint("send JSON as UTF-8")
    })?;
    let (value, problems) = parse_text(&path, text, JsonText::Body);
    if let Some(problem) = problems.into_iter().next() {
        return Err(usage(problem).into());
    }
    match value {
        Some(Value::Object(given)) => Ok(given),
        _ => Err(
            Diagnostic::error(Code::Usage, "the body is not a JSON object")
                .at(place(bytes, ""))
                .into(),
        ),
    }
}

/// The members of the object in a body. Returns an error even if a member is null: leaving it out would mean the same, or
/// not.
fn members(bytes: &[u8]) -> Result<Map<String, Value>, Error> {
    let given = object(bytes)?;
    if let Some((name, _)) = given.iter().find(|(_, value)| value.is_null()) {
        let problem = Diagnostic::error(Code::Usage, format!("the argument `{name}` is null"));
        let place = place(bytes, &format!("/{}", escape(name)));
        return Err(problem
            .at(place)
            .hint("leave it out, or give it a value")
            .into());
    }
    Ok(given)
}

/// The error for a request that means nothing.
pub fn wrong(what: &str) -> Error {
    Error::new(Code::Usage, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_in_a_body_has_a_place() {
        for (body, expected) in [
            ("{\"a\": 1,\n \"a\": 2}", Some((2, 2))),
            ("{\"a\": {\"b\": 1, \"b\": 1}}", Some((1, 16))),
            ("{\"a\": null}", Some((1, 7))),
            ("{\"a\": 1", Some((1, 8))),
            ("{\"a\": 123456789012345678901}", Some((1, 7))),
            (" []", Some((1, 2))),
            ("{\"a\": {\"b\": null}}", None),
        ] {
            let place = members(body.as_bytes()).err().map(|error| {
                assert_eq!(error.code(), Code::Usage);
                let place = Diagnostic::from(error).place.expect("a place");
                assert_eq!(place.path, BODY_PLACE);
                (place.line.expect("a line"), place.column.expect("a column"))
            });
            assert_eq!(place, expected, "{body}");
        }
    }

    #[test]
    fn what_is_wrong_in_a_body_is_said_of_the_body() {
        for (body, message, hint) in [
            (
                &b"{\"a\": 1"[..],
                "the body is not valid JSON: ",
                "the body ends early: was it truncated?",
            ),
            (
                b"nope",
                "the body is not valid JSON: ",
                "send one JSON object",
            ),
            (
                b"\xef\xbb\xbf{}",
                "the body is not valid JSON: ",
                "send one JSON object",
            ),
            (
                b"<<<<<<< a\n=======\n>>>>>>> b\n",
                "the body is not valid JSON: ",
                "send one JSON object",
            ),
            (
                b"{\"a\": \"\xff\"}",
                "the body is not UTF-8",
                "send JSON as UTF-8",
            ),
            (b"[]", "the body is not a JSON object", ""),
        ] {
            let error = members(body).expect_err("refused");
            assert!(error.message().starts_with(message), "{error:?}");
            assert_eq!(
                error.hint().cloned().unwrap_or_default().to_string(),
                hint,
                "{error:?}"
            );
        }
    }

    #[test]
    fn a_query_is_decoded_and_repeated_only_where_it_may_be() {
        let uri: Uri = "/x?phase=plan%20review&phase=a%26b&all&q=1+2"
            .parse()
            .expect("a URI");
        let pairs = query(&uri).unwrap_or_else(|error| panic!("{error}"));
        let pairs: Vec<(&str, &str)> = pairs
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!(
            pairs,
            [
                ("phase", "plan review"),
                ("phase", "a&b"),
                ("all", ""),
                ("q", "1 2")
            ]
        );
        let argument = |form| Argument {
            name: "x".to_owned(),
            about: String::new(),
            form,
            is_required: false,
        };
        let mut given = Map::new();
        for _ in 0..2 {
            add(
                &mut given,
                &argument(ArgumentForm::Texts("--x".to_owned())),
                "a".into(),
            )
            .expect("added");
        }
        assert_eq!(Value::from(given), serde_json::json!({"x": ["a", "a"]}));
        let mut given = Map::new();
        add(
            &mut given,
            &argument(ArgumentForm::Text("--x".to_owned())),
            "a".into(),
        )
        .expect("added");
        let twice = add(
            &mut given,
            &argument(ArgumentForm::Text("--x".to_owned())),
            "b".into(),
        );
        assert_eq!(
            twice,
            Err("the argument `x` appears twice in the query".to_owned())
        );
        assert!(query(&"/x?a=%ff".parse().expect("a URI")).is_err());
    }
}
