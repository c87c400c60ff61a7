//! A part of a text file between two markers, and a file that is orch's alone.
//!
//! The marker at the end holds a digest of the part, so a change by someone else is noticed, and names who needs the
//! part, so it stays until the last of them is removed. Removing a part restores the text to the byte.

use super::clash::Clash;
use orch_base::ObjectFormat;
use std::collections::BTreeSet;

/// How a comment is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommentStyle {
    /// `<!-- … -->`
    Markup,
    /// `# …`
    Hash,
}

/// A part of a file.
#[derive(Debug, Clone, Copy)]
pub struct TextSection<'a> {
    /// How the markers are written.
    pub style: CommentStyle,
    /// The lines between the markers.
    pub text: &'a str,
    /// Who needs the part. Without a name the part is renewed whatever it was changed to.
    pub who: Option<&'a str>,
}

const BEGIN: &str = "orch:begin";
const END: &str = "orch:end";
const WHOLE: &str = "orch:file";

impl CommentStyle {
    fn comment(self, text: &str) -> String {
        match self {
            Self::Markup => format!("<!-- {text} -->"),
            Self::Hash => format!("# {text}"),
        }
    }

    /// The words of a comment that begins with `first`, if the line is one.
    fn words(self, line: &str, first: &str) -> Option<Vec<String>> {
        let line = line.trim_end();
        let inner = match self {
            Self::Markup => line.strip_prefix("<!--")?.strip_suffix("-->")?,
            Self::Hash => line.strip_prefix('#')?,
        };
        let mut words = inner.split_whitespace();
        (words.next()? == first).then(|| words.map(str::to_owned).collect())
    }
}

/// A part that is there.
struct PresentSection<'t> {
    /// The text before the marker at the beginning.
    before: &'t str,
    /// How the line of that marker ends, and so the lines that orch wrote.
    newline: &'static str,
    /// The lines between the markers.
    body: &'t str,
    /// Whether the marker at the end ends a line.
    is_line: bool,
    /// The text after that line.
    after: &'t str,
    /// Whether the body is as orch wrote it, as far as the marker says.
    is_own: bool,
    who: BTreeSet<String>,
}

impl<'t> PresentSection<'t> {
    /// The part in a text, if there is one. Returns an error if the markers do not come in a pair.
    fn of(text: &'t str, style: CommentStyle) -> Result<Option<Self>, Clash> {
        let mut begins = Vec::new();
        let mut ends = Vec::new();
        let mut offset = 0;
        for line in text.split_inclusive('\n') {
            if style.words(line, BEGIN).is_some() {
                begins.push((offset, offset + line.len()));
            }
            if let Some(words) = style.words(line, END) {
                ends.push((offset, offset + line.len(), words));
            }
            offset += line.len();
        }
        match (begins.as_slice(), ends.as_slice()) {
            ([], []) => Ok(None),
            ([(start, from)], [(to, end, words)]) if from <= to => {
                let body = &text[*from..*to];
                // Before there were digests, only `orch init` wrote the part.
                let is_own = words
                    .first()
                    .is_some_and(|digest| *digest == digest_of(body));
                let who = match words.get(1..) {
                    Some(who) => who.iter().cloned().collect(),
                    None => BTreeSet::from(["init".to_owned()]),
                };
                Ok(Some(Self {
                    before: &text[..*start],
                    newline: newline_of(&text[..*from]),
                    body,
                    is_line: text[..*end].ends_with('\n'),
                    after: &text[*end..],
                    is_own,
                    who,
                }))
            }
            _ => Err(Clash::Markers),
        }
    }
}

/// A digest of lines that ignores how they end.
fn digest_of(lines: &str) -> String {
    let digest = ObjectFormat::Sha256
        .blob(lines.replace("\r\n", "\n").as_bytes())
        .to_string();
    digest.chars().take(12).collect()
}

/// The text with the part; `None` as the text is a file that does not exist. Returns an error if the part was changed.
pub fn added(text: Option<&str>, section: &TextSection<'_>) -> Result<String, Clash> {
    let present = text
        .map(|text| PresentSection::of(text, section.style))
        .transpose()?
        .flatten();
    let mut who: BTreeSet<String> = present
        .iter()
        .flat_map(|present| present.who.clone())
        .collect();
    who.extend(section.who.map(str::to_owned));
    let newline = present.as_ref().map_or_else(
        || newline_of(text.unwrap_or_default()),
        |present| present.newline,
    );
    let block = section.block(&who, section.text, newline);
    let Some(present) = present else {
        return Ok(match text {
            None => block,
            Some(text) if text.is_empty() || text.ends_with('\n') => {
                format!("{text}{newline}{block}")
            }
            // A file that does not end with a newline does not do so afterwards.
            Some(text) => format!("{text}{newline}{newline}{}", block.trim_end()),
        });
    };
    let is_same = present.body.replace("\r\n", "\n") == section.text;
    if section.who.is_some() && !present.is_own && !is_same {
        return Err(Clash::Edited);
    }
    Ok(present.around(&block))
}

/// The text without the part; `None` if nothing else was in the file. Returns an error if the part was changed.
pub fn removed(text: &str, section: &TextSection<'_>) -> Result<Option<String>, Clash> {
    let Some(present) = PresentSection::of(text, section.style)? else {
        return Ok(Some(text.to_owned()));
    };
    let mut who = present.who.clone();
    if !section.who.is_some_and(|one| who.remove(one)) {
        return Ok(Some(text.to_owned()));
    }
    if !present.is_own {
        return Err(Clash::Edited);
    }
    let newline = present.newline;
    if !who.is_empty() {
        let block = section.block(&who, &present.body.replace("\r\n", "\n"), newline);
        return Ok(Some(present.around(&block)));
    }
    if present.before.is_empty() {
        return Ok((!present.after.is_empty()).then(|| present.after.to_owned()));
    }
    // An empty line separates the part, unless someone has moved it.
    let is_line_end = |rest: &&str| rest.is_empty() || rest.ends_with('\n');
    let line = || present.before.strip_suffix(newline).filter(is_line_end);
    let text_and_line = || present.before.strip_suffix(newline)?.strip_suffix(newline);
    let before = if present.is_line {
        line()
    } else {
        text_and_line().or_else(line)
    };
    let before = before.unwrap_or(present.before);
    Ok(Some(format!("{before}{}", present.after)))
}

impl PresentSection<'_> {
    /// The text with a block in place of the part.
    fn around(&self, block: &str) -> String {
        let block = if self.is_line {
            block
        } else {
            block.trim_end()
        };
        format!("{}{block}{}", self.before, self.after)
    }
}

impl TextSection<'_> {
    fn block(&self, who: &BTreeSet<String>, body: &str, newline: &str) -> String {
        let seal = |_| {
            [END.to_owned(), digest_of(body)]
                .into_iter()
                .chain(who.clone())
        };
        let end = self.who.map_or(END.to_owned(), |one| {
            seal(one).collect::<Vec<_>>().join(" ")
        });
        let text = format!(
            "{}\n{body}{}\n",
            self.style.comment(BEGIN),
            self.style.comment(&end)
        );
        text.replace('\n', newline)
    }
}

/// How the last line of the text that ends does so. A carriage return alone ends no line.
fn newline_of(text: &str) -> &'static str {
    let ended = text.rfind('\n').map_or("", |end| &text[..end]);
    if ended.ends_with('\r') { "\r\n" } else { "\n" }
}

/// A whole file of orch. Its last line holds a digest of the lines above it, and the names of those who need it.
#[derive(Debug, Clone, Copy)]
pub struct WholeFile<'a> {
    /// How the last line is written.
    pub style: CommentStyle,
    /// The lines above it.
    pub text: &'a str,
    /// Who needs the file.
    pub who: &'a str,
}

impl WholeFile<'_> {
    /// The file with its last line; `before` is what is there. Returns an error if somebody else wrote or changed that.
    pub fn added(&self, before: Option<&str>) -> Result<String, Clash> {
        let mut who = match before {
            Some(before) => sealed_for(before, self.style)?,
            None => BTreeSet::new(),
        };
        who.insert(self.who.to_owned());
        Ok(self.sealed(self.text, &who))
    }

    /// The file without the name; `None` if nobody else needs it. A file that orch did not write stays. Returns an error
    /// if somebody changed it.
    pub fn removed(&self, before: &str) -> Result<Option<String>, Clash> {
        let mut who = match sealed_for(before, self.style) {
            Err(Clash::Foreign) => return Ok(Some(before.to_owned())),
            sealed => sealed?,
        };
        // Before there were names, one program needed the file.
        if !who.is_empty() && !who.remove(self.who) {
            return Ok(Some(before.to_owned()));
        }
        let body = before
            .trim_end()
            .rsplit_once('\n')
            .map_or("", |parts| parts.0);
        Ok((!who.is_empty()).then(|| self.sealed(&format!("{body}\n"), &who)))
    }

    fn sealed(&self, text: &str, who: &BTreeSet<String>) -> String {
        let words = [WHOLE.to_owned(), digest_of(text)]
            .into_iter()
            .chain(who.iter().cloned());
        let seal = words.collect::<Vec<_>>().join(" ");
        format!("{text}{}\n", self.style.comment(&seal))
    }
}

/// Who needs a whole file of orch, as its last line says. Returns an error unless the file is as orch wrote it, now or in
/// an earlier version.
fn sealed_for(file: &str, style: CommentStyle) -> Result<BTreeSet<String>, Clash> {
    let (body, last) = file.trim_end().rsplit_once('\n').ok_or(Clash::Foreign)?;
    let Some(words) = style.words(last, WHOLE) else {
        let is_sealed = body.lines().any(|line| style.words(line, WHOLE).is_some());
        return Err(if is_sealed {
            Clash::Edited
        } else {
            Clash::Foreign
        });
    };
    let mut words = words.into_iter();
    let is_own = words.next() == Some(digest_of(&format!("{body}\n")));
    if is_own {
        Ok(words.collect())
    } else {
        Err(Clash::Edited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "One.\nTwo.\n";

    fn section(who: &str) -> TextSection<'_> {
        TextSection {
            style: CommentStyle::Markup,
            text: TEXT,
            who: Some(who),
        }
    }

    #[test]
    fn a_part_is_added_to_every_text_and_removed_to_the_byte() {
        for text in [
            "",
            "\n",
            "a",
            "a\n",
            "a\n\n",
            "a\n\n\n",
            "a\r\nb\r\n",
            "a\r\nb",
            "# a\n\n<!-- b -->\n",
            "a\r\nb\n",
            "a\nb\r\n",
            "a\r",
            "\r",
            "a\n\r",
        ] {
            let with = added(Some(text), &section("x")).expect("added");
            assert!(with.starts_with(text) && with.contains("One."), "{with:?}");
            assert_eq!(
                added(Some(&with), &section("x")),
                Ok(with.clone()),
                "a second time changes nothing"
            );
            assert_eq!(
                removed(&with, &section("x")),
                Ok(Some(text.to_owned())),
                "{with:?}"
            );
            let more = format!("{}\nmore\n", with.trim_end());
            let rest = removed(&more, &section("x"))
                .expect("removed")
                .expect("a file");
            assert!(
                rest.starts_with(text) && rest.ends_with("more\n"),
                "{rest:?}"
            );
            let block = &with[with.find("<!-- orch").expect("the marker")..];
            assert_eq!(
                block.contains("\r\n"),
                text.ends_with("\r\n") || text == "a\r\nb",
                "{with:?}"
            );
            assert!(
                !block.contains("\r\n") || !block.replace("\r\n", "").contains('\n'),
                "{with:?}"
            );
        }
        let alone = added(None, &section("x")).expect("added");
        assert_eq!(removed(&alone, &section("x")), Ok(None));
    }

    /// Every text of up to so many of these characters.
    fn texts_up_to(length: usize, characters: &[char]) -> Vec<String> {
        let mut all = vec![String::new()];
        let mut from = 0;
        for _ in 0..length {
            let longest = all[from..].to_vec();
            from = all.len();
            all.extend(
                longest
                    .iter()
                    .flat_map(|text| characters.iter().map(move |c| format!("{text}{c}"))),
            );
        }
        all
    }

    #[test]
    fn however_the_lines_of_a_text_end_a_part_is_added_once_and_removed_to_the_byte() {
        let texts = texts_up_to(6, &['a', '\r', '\n']);
        assert_eq!(texts.len(), 1093);
        for text in texts {
            for style in [CommentStyle::Markup, CommentStyle::Hash] {
                let [x, y] = ["x", "y"].map(|who| TextSection {
                    style,
                    ..section(who)
                });
                let with = added(Some(&text), &x).expect("added");
                assert!(with.starts_with(&text), "{text:?}: {with:?}");
                assert_eq!(
                    added(Some(&with), &x),
                    Ok(with.clone()),
                    "{text:?}: a second time changes nothing"
                );
                assert_eq!(removed(&with, &x), Ok(Some(text.clone())), "{with:?}");
                let both = added(Some(&with), &y).expect("added");
                assert_eq!(removed(&both, &y), Ok(Some(with.clone())), "{text:?}");
                let rest = removed(&format!("{with}\nmore"), &x)
                    .expect("removed")
                    .expect("a file");
                assert!(
                    rest.starts_with(&text) && rest.ends_with("more"),
                    "{text:?}: {rest:?}"
                );
            }
        }
    }

    #[test]
    fn a_part_stays_until_the_last_that_needs_it_is_removed() {
        let one = added(Some("a\n"), &section("x")).expect("added");
        let two = added(Some(&one), &section("y")).expect("added");
        assert_eq!(two.matches("One.").count(), 1);
        assert_eq!(removed(&two, &section("y")), Ok(Some(one.clone())));
        assert_eq!(
            removed(&one, &section("y")),
            Ok(Some(one.clone())),
            "it never needed it"
        );
        assert_eq!(removed(&one, &section("x")), Ok(Some("a\n".to_owned())));
    }

    #[test]
    fn a_changed_part_is_noticed_and_an_older_one_renewed() {
        let with = added(Some("a\n"), &section("x")).expect("added");
        let edited = with.replace("Two.", "Three.");
        assert_eq!(added(Some(&edited), &section("x")), Err(Clash::Edited));
        assert_eq!(removed(&edited, &section("x")), Err(Clash::Edited));
        let older = TextSection {
            text: "Zero.\n",
            ..section("x")
        };
        let older = added(Some("a\n"), &older).expect("added");
        assert_eq!(added(Some(&older), &section("x")), Ok(with.clone()));
        // From before there was a digest: `orch init` wrote it, and nothing shows whether someone changed it.
        let unsealed = |body: &str| format!("a\n\n<!-- orch:begin -->\n{body}<!-- orch:end -->\n");
        assert_eq!(
            added(Some(&unsealed("Zero.\n")), &section("init")),
            Err(Clash::Edited)
        );
        assert_eq!(
            removed(&unsealed(TEXT), &section("x")),
            Ok(Some(unsealed(TEXT))),
            "it is not x's"
        );
        let renewed = added(Some(&unsealed(TEXT)), &section("init")).expect("added");
        assert_eq!(
            removed(&renewed, &section("init")),
            Ok(Some("a\n".to_owned()))
        );
        let moved = with.replace("a\n\n<!--", "a\n<!--") + "more\n";
        assert_eq!(
            removed(&moved, &section("x")),
            Ok(Some("a\nmore\n".to_owned())),
            "nothing is joined"
        );
        for broken in [
            "<!-- orch:begin -->\n",
            "<!-- orch:end -->\n<!-- orch:begin -->\n",
            &with.repeat(2),
        ] {
            assert_eq!(
                added(Some(broken), &section("x")),
                Err(Clash::Markers),
                "{broken}"
            );
        }
    }

    #[test]
    fn a_part_that_nobody_may_change_is_always_renewed() {
        let section = TextSection {
            style: CommentStyle::Hash,
            text: TEXT,
            who: None,
        };
        let with = added(Some("a"), &section).expect("added");
        assert_eq!(with, "a\n\n# orch:begin\nOne.\nTwo.\n# orch:end");
        assert_eq!(added(Some(&with.replace("One", "Won")), &section), Ok(with));
    }

    fn whole(who: &str) -> WholeFile<'_> {
        WholeFile {
            style: CommentStyle::Hash,
            text: TEXT,
            who,
        }
    }

    #[test]
    fn a_whole_file_is_known_by_its_last_line() {
        let file = whole("x").added(None).expect("added");
        let edited: Result<String, Clash> = Err(Clash::Edited);
        for (before, added, removed) in [
            (file.clone(), Ok(file.clone()), Ok(None)),
            (file.replace('\n', "\r\n"), Ok(file.clone()), Ok(None)),
            (file.replace(" x\n", "\n"), Ok(file.clone()), Ok(None)),
            (
                file.replace("One", "Won"),
                edited.clone(),
                Err(Clash::Edited),
            ),
            (format!("{file}more\n"), edited, Err(Clash::Edited)),
            (
                TEXT.to_owned(),
                Err(Clash::Foreign),
                Ok(Some(TEXT.to_owned())),
            ),
            (String::new(), Err(Clash::Foreign), Ok(Some(String::new()))),
        ] {
            assert_eq!(whole("x").added(Some(&before)), added, "{before:?}");
            assert_eq!(whole("x").removed(&before), removed, "{before:?}");
        }
    }

    #[test]
    fn a_whole_file_stays_until_the_last_that_needs_it_is_removed() {
        let one = whole("x").added(None).expect("added");
        let two = whole("y").added(Some(&one)).expect("added");
        assert_eq!(whole("z").removed(&two), Ok(Some(two.clone())));
        assert_eq!(whole("y").removed(&two), Ok(Some(one.clone())));
        assert_eq!(whole("y").removed(&one), Ok(Some(one.clone())));
        assert_eq!(whole("x").removed(&one), Ok(None));
    }
}
