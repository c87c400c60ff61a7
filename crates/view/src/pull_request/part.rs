//! The parts of a text that has to fit: where the whole is longer than a host permits, the longest parts are cut, all to one
//! length, so that the short ones stay whole.

use crate::layout::counted;

/// How much room is left for what is said of a part that was cut.
const NOTE: usize = 40;

/// A part of a text.
pub(super) struct TextPart {
    /// The line that is seen when it is folded; `None` if it is not folded.
    summary: Option<String>,
    is_open: bool,
    /// Whole lines.
    body: String,
}

impl TextPart {
    /// One that is not folded.
    pub(super) fn plain(body: String) -> Self {
        Self {
            summary: None,
            is_open: true,
            body,
        }
    }

    /// One that is folded.
    pub(super) fn folded(summary: String, body: String) -> Self {
        Self {
            summary: Some(summary),
            is_open: false,
            body,
        }
    }

    /// One that can be folded, and is not at first.
    pub(super) fn open(summary: String, body: String) -> Self {
        Self {
            is_open: true,
            ..Self::folded(summary, body)
        }
    }

    /// Its text with this body.
    fn framed(&self, body: &str) -> String {
        let body = body.trim_end_matches('\n');
        let Some(summary) = &self.summary else {
            return format!("{body}\n\n");
        };
        let open = if self.is_open { " open" } else { "" };
        format!("<details{open}><summary>{summary}</summary>\n\n{body}\n\n</details>\n\n")
    }
}

/// The text of what is described, each with a heading and its parts, and the marker as its last line, in at most `limit`
/// characters; and whether anything was cut.
pub(super) fn fitted(
    mut described: Vec<(String, Vec<TextPart>)>,
    marker: &str,
    limit: usize,
) -> (String, bool) {
    let footer = format!("{marker}\n");
    let mut left = limit.saturating_sub(length(&footer) + NOTE);
    // The headings come first: a task without its parts is still named.
    let all = described.len();
    described.retain(|(heading, parts)| {
        let frames = parts.iter().map(|part| length(&part.framed("")) + NOTE);
        let rest = left.checked_sub(length(heading) + frames.sum::<usize>());
        left = rest.unwrap_or(left);
        rest.is_some()
    });
    let omitted = all - described.len();
    let bodies = described.iter().flat_map(|(_, parts)| parts);
    let longest = water_level(bodies.map(|part| length(&part.body)).collect(), left);
    let mut out = String::new();
    let mut is_cut = omitted > 0;
    for (heading, parts) in &described {
        out.push_str(heading);
        for part in parts {
            let body = cut(&part.body, longest);
            is_cut |= body.is_some();
            out.push_str(&part.framed(body.as_deref().unwrap_or(&part.body)));
        }
    }
    if omitted > 0 {
        out.push_str(&format!("No room for {omitted} more\n\n"));
    }
    out.push_str(&footer);
    (out, is_cut)
}

/// How long a text is, as hosts count it.
fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

/// The greatest length to which texts of these lengths can be cut so that together they are not longer than `room`.
fn water_level(mut lengths: Vec<usize>, room: usize) -> usize {
    lengths.sort_unstable();
    let mut left = room;
    for (done, one) in lengths.iter().enumerate() {
        let share = left / (lengths.len() - done);
        if *one > share {
            return share;
        }
        left -= one;
    }
    usize::MAX
}

/// The first lines of a text, with a note of how many are missing; `None` if it is not too long.
fn cut(body: &str, longest: usize) -> Option<String> {
    if length(body) <= longest {
        return None;
    }
    let mut kept = String::new();
    let mut lines = body.split_inclusive('\n');
    let mut used = 0;
    let mut missing = 0;
    for line in lines.by_ref() {
        used += length(line);
        if used > longest {
            missing = 1;
            break;
        }
        kept.push_str(line);
    }
    missing += lines.count();
    Some(format!(
        "{kept}\n… {} left out here\n",
        counted(missing, "line")
    ))
}
