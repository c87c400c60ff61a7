//! "Did you mean …?": the closest known name.

use strsim::osa_distance;

/// The longest text, in bytes, that is compared. The work grows with the square of the length, and a longer
/// text is hardly a misspelling.
const MAX_LENGTH: usize = 64;

/// The candidate closest to `text` by edit distance, or `None` if none is close enough to be a likely
/// misspelling.
///
/// A `text` of more than 64 bytes has no match; longer candidates are skipped.
#[must_use]
pub fn nearest<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if text.len() > MAX_LENGTH {
        return None;
    }
    let limit = (text.chars().count().max(3)) / 3;
    let lower = text.to_lowercase();
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= MAX_LENGTH)
        .map(|candidate| (osa_distance(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| {
            *distance <= limit || (candidate.starts_with(text) && text.len() >= 3)
        })
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_slips_and_nothing_else() {
        let phases = ["planning", "plan_review", "codegen", "test"];
        assert_eq!(nearest("codgen", phases), Some("codegen"));
        assert_eq!(nearest("plan-review", phases), Some("plan_review"));
        assert_eq!(nearest("tets", phases), Some("test"));
        assert_eq!(nearest("elephant", phases), None);
    }

    #[test]
    fn long_names_are_not_compared() {
        let just = "a".repeat(MAX_LENGTH);
        let long = "a".repeat(MAX_LENGTH + 1);
        assert_eq!(
            nearest(&just[1..], [just.as_str(), &long]),
            Some(just.as_str())
        );
        assert_eq!(nearest(&just, [long.as_str()]), None);
        assert_eq!(nearest(&long, [just.as_str(), &long]), None);
    }
}
