//! Text without what is nobody else's business: ids of conversations, and home directories.

/// A text that may be recorded: each of these ids, and whatever looks like one, is an ellipsis, and a home directory is
/// `~`.
#[must_use]
pub fn unmarked(text: &str, conversations: &[String], home: Option<&str>) -> String {
    let mut out = text.to_owned();
    for id in conversations.iter().filter(|id| id.len() > 3) {
        out = out.replace(id.as_str(), "…");
    }
    let out = without_ids(&out);
    let home = home
        .map(|home| home.trim_end_matches('/'))
        .filter(|home| home.len() > 1);
    let out = home.map_or(out.clone(), |home| without_home(&out, home, 0));
    ["/home/", "/Users/"]
        .iter()
        .fold(out, |out, homes| without_home(&out, homes, 1))
}

/// The text with `~` in the place of each home directory: `home` with this many names below it.
fn without_home(text: &str, home: &str, names: usize) -> String {
    let is_name =
        |letter: char| letter.is_alphanumeric() || matches!(letter, '.' | '_' | '-' | '@');
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(home) {
        let mut end = at + home.len();
        if names > 0 {
            end += rest[end..]
                .find(|letter| !is_name(letter))
                .unwrap_or(rest.len() - end);
        }
        let is_whole = names > 0 || !rest[end..].starts_with(is_name);
        let before = &text[..text.len() - rest.len() + at];
        let is_home = is_whole && end > at + names * home.len() && !ends_in_path(before);
        out.push_str(&rest[..at]);
        out.push_str(if is_home { "~" } else { &rest[at..end] });
        rest = &rest[end..];
    }
    out + rest
}

/// Whether a text ends in the middle of a path: what follows is below another directory, and nobody's home. `file://` is
/// none.
fn ends_in_path(text: &str) -> bool {
    let separates = |letter: char| letter.is_whitespace() || "\"'`=:(".contains(letter);
    let Some(last) = text.rfind(|letter| separates(letter) || letter == '/') else {
        return false;
    };
    let is_address = |scheme: &str| scheme.is_empty() || scheme.ends_with(separates);
    text[last..].starts_with('/') && !text.strip_suffix("//").is_some_and(is_address)
}

/// The text without words that have the form of a UUID.
fn without_ids(text: &str) -> String {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let mut out = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(is_part).unwrap_or(rest.len());
        out.push_str(&rest[..end]);
        rest = &rest[end..];
        let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        let word = &rest[..end];
        out.push_str(if is_uuid(word) { "…" } else { word });
        rest = &rest[end..];
    }
    out
}

/// Whether a word is a UUID, or has one between its dashes, as the names of files of conversations do.
fn is_uuid(word: &str) -> bool {
    let parts: Vec<&str> = word.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    let is_hex = |part: &&str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let form = [8, 4, 4, 4, 12];
    (0..parts.len().saturating_sub(form.len() - 1)).any(|at| {
        let end = at + form.len();
        lengths[at..end] == form && parts[at..end].iter().all(is_hex)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_home_directories_are_left_out() {
        let ids = ["ses_7f2a".to_owned(), "t".to_owned()];
        for (text, expected) in [
            ("", ""),
            ("ses_7f2a is the session", "… is the session"),
            (
                "see /home/ann/repo/a.rs and /home/ann",
                "see ~/repo/a.rs and ~",
            ),
            ("/Users/ann.b/x, \"/Users/bob\"", "~/x, \"~\""),
            ("/srv/ann/x /srv/ann", "~/x ~"),
            (
                "/srv/annette /data/srv/ann /home/",
                "/srv/annette /data/srv/ann /home/",
            ),
            ("resume 01890a5d-ac96-774b-bcce-b302099a8057!", "resume …!"),
            (
                "rollout-2026-11-28T10-01890a5d-ac96-774b-bcce-b302099a8057.jsonl",
                "….jsonl",
            ),
            (
                "@/home/ann/x -I/home/ann/y file:///home/ann/z.js a=/home/ann",
                "@~/x -I~/y file://~/z.js a=~",
            ),
            (
                "https://example.org/home/ann",
                "https://example.org/home/ann",
            ),
            ("a-b 0123-4567 é", "a-b 0123-4567 é"),
        ] {
            assert_eq!(unmarked(text, &ids, Some("/srv/ann/")), expected, "{text}");
        }
        assert_eq!(unmarked("/x", &[], Some("/")), "/x");
        assert_eq!(unmarked("/x", &[], None), "/x");
        // However long a text is, each part of it is looked at once.
        let long = unmarked(&"/home/ann".repeat(200_000), &[], None);
        assert!(long.starts_with("~/home/ann/"), "{}", &long[..20]);
    }
}
