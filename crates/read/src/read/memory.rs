//! How much memory reading a file may take, by what its text can hold at most.

use orch_core::workflow::Format;

/// At most this many bytes of memory for each byte that an artifact may have.
const PER_BYTE: u64 = 32;
/// Reading may always take so much memory, in bytes, however small artifacts have to be.
const ALWAYS: u64 = 256 << 20;

/// The bytes of memory that reading one artifact may take, where artifacts may have `limit` bytes.
pub(crate) fn memory_limit(limit: u64) -> u64 {
    limit.saturating_mul(PER_BYTE).max(ALWAYS)
}

/// The bytes of memory that reading all artifacts of a task may take, where one may have `limit` bytes.
pub(crate) fn memory_of_all(limit: u64) -> u64 {
    memory_limit(limit).saturating_mul(2)
}

/// How many bytes of memory the values of a text take at most, to read them and to evaluate guards over them. It
/// counts the characters that begin another value, also where they are part of a text.
pub(crate) fn memory_of(format: Format, bytes: &[u8]) -> u64 {
    let text = bytes.len() as u64;
    let mut cost_of = [0_u64; 256];
    for (characters, cost) in costs(format) {
        characters
            .iter()
            .for_each(|character| cost_of[usize::from(*character)] = *cost);
    }
    bytes
        .iter()
        .map(|byte| cost_of[usize::from(*byte)])
        .fold(text, u64::saturating_add)
}

/// The largest cost of a character.
const MOST: u64 = 1000;

/// What the value takes in bytes that one of these characters begins or ends. These were measured.
fn costs(format: Format) -> &'static [(&'static [u8], u64)] {
    match format {
        // Only what is counted of a report is kept, and of a log its value while it is read.
        Format::Json | Format::Sarif => &[(b"{", MOST), (b"[", 200), (b",", 150)],
        Format::Jsonl => &[(b"{", MOST), (b"[\n", 200), (b",", 150)],
        Format::Yaml => &[
            (b"{", MOST),
            (b"[", 700),
            (b",", 600),
            (b":", 300),
            (b"-", 200),
            (b"\n", 100),
        ],
        Format::Toml => &[(b"{[", MOST), (b"=", 500), (b",", 400), (b".", 200)],
        Format::Csv => &[(b"\n", 700), (b",", 150)],
        Format::Markdown => &[(b"[]*_`~<>!|#-+\\&\n", 250)],
        Format::Text => &[(b"\n", 150)],
        Format::Patch => &[(b"\n", 50)],
        Format::Junit | Format::Cobertura | Format::Lcov => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_files_exceed_the_limit_and_long_texts_do_not() {
        // An eighth of what is allowed, to save time.
        let limit = memory_limit(8 << 20) / 8;
        let prose =
            "The reviewer reads the plan, and says what is wrong with it: this, and that.\n";
        let record =
            "{\"at\": \"2026-11-22T10:00:00Z\", \"action\": \"diagnose\", \"ok\": true, \"n\": 12}";
        let fill = |unit: &str| unit.repeat((1 << 20) / unit.len());
        for (format, unit, fits) in [
            (Format::Json, "1,", false),
            (Format::Json, "{},", false),
            (Format::Jsonl, "{\"a\":1}\n", false),
            (Format::Jsonl, &format!("{record}\n"), true),
            (Format::Json, &format!("{record},\n"), true),
            (Format::Yaml, "- 1\n", false),
            (
                Format::Yaml,
                "  the name of it: what it holds, in some words\n",
                true,
            ),
            (Format::Toml, "1,", false),
            (
                Format::Toml,
                "title = \"what it holds, in some words, and more of them\"\n",
                true,
            ),
            (Format::Csv, "1\n", false),
            (
                Format::Csv,
                "2026-11-22,diagnose,some longer text about it,ok\n",
                true,
            ),
            (Format::Markdown, "[", false),
            (Format::Markdown, prose, true),
            (Format::Text, "\n", false),
            (Format::Text, prose, true),
            (Format::Patch, "+\n", true),
            (Format::Junit, "<testcase/>", true),
        ] {
            assert_eq!(
                memory_of(format, fill(unit).as_bytes()) <= limit,
                fits,
                "{format:?} {unit}"
            );
        }
        assert_eq!(memory_of(Format::Json, b"[1, 2]"), 200 + 150 + 6);
    }
}
