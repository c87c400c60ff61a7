//! Did you mean …: the nearest of the known names.

/// The longest text, in bytes, that is compared: the work grows with its square, and what is longer
/// was hardly mistyped.
const MAX_LENGTH: usize = 64;

/// The candidate nearest to `text` by edit distance, if one is near enough to be a likely slip.
///
/// There is none for a text of more than 64 bytes, and no candidate longer than that is looked at.
#[must_use]
pub fn nearest<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if text.len() > MAX_LENGTH {
        return None;
    }
    let limit = (text.chars().count().max(3)) / 3;
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= MAX_LENGTH)
        .map(|candidate| (distance(&text.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| {
            *distance <= limit || (candidate.starts_with(text) && text.len() >= 3)
        })
        .min()
        .map(|(_, candidate)| candidate)
}

/// Edit distance in which swapping two neighbours counts one (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
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
        assert_eq!(nearest(&just[1..], [just.as_str(), &long]), Some(just.as_str()));
        assert_eq!(nearest(&just, [long.as_str()]), None);
        assert_eq!(nearest(&long, [just.as_str(), &long]), None);
    }
}
