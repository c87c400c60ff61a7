//! Bitmaps in an index: EWAH, words of 64 bits. One word has a bit, how many words follow that have only that bit (32 bits),
//! and how many words with other bits follow it in the file (31 bits). See `ewah` of git.

use super::index_entry::number;

/// The size of a word.
const WORD: usize = 8;

/// The first bits of the bitmap at the start of these bytes, and what follows it: the number of its bits, the number of its
/// words, the words, and the place of the last word that counts others. `None` if it is cut off.
pub(super) fn decode(bytes: &[u8], count: usize) -> Option<(Vec<bool>, &[u8])> {
    let length = usize::try_from(number(bytes, 4)?).ok()?.checked_mul(WORD)?;
    let (words, rest) = bytes.get(8..)?.split_at_checked(length)?;
    let mut words = words
        .chunks_exact(WORD)
        .map(|word| u64::from_be_bytes(word.try_into().unwrap_or_default()));
    let mut bits = Vec::with_capacity(count);
    let add = |bits: &mut Vec<bool>, word: u64| {
        let left = count.saturating_sub(bits.len()).min(64);
        bits.extend((0..left).map(|at| word >> at & 1 == 1));
    };
    while let Some(told) = words.next() {
        let (same, others) = (told >> 1 & 0xffff_ffff, told >> 33);
        let word = if told & 1 == 1 { u64::MAX } else { 0 };
        let most = count.saturating_sub(bits.len()).div_ceil(64);
        (0..usize::try_from(same).ok()?.min(most)).for_each(|_| add(&mut bits, word));
        for _ in 0..others {
            add(&mut bits, words.next()?);
        }
    }
    // What no word tells of is zero.
    bits.resize(count, false);
    Some((bits, rest.get(4..)?))
}

/// A bitmap that compresses nothing. Returns `None` for more bits than an index has entries.
pub(super) fn encode(bits: &[bool]) -> Option<Vec<u8>> {
    let used = bits.iter().rposition(|bit| *bit).map_or(0, |last| last + 1);
    let word = |bits: &[bool]| {
        bits.iter()
            .enumerate()
            .fold(0, |word, (at, bit)| word | u64::from(*bit) << at)
    };
    let words: Vec<u64> = std::iter::once((used.div_ceil(64) as u64) << 33)
        .chain(bits[..used].chunks(64).map(word))
        .collect();
    let mut bytes = u32::try_from(used).ok()?.to_be_bytes().to_vec();
    bytes.extend(u32::try_from(words.len()).ok()?.to_be_bytes());
    words
        .iter()
        .for_each(|word| bytes.extend(word.to_be_bytes()));
    // The first word counts all others.
    bytes.extend([0; 4]);
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::tests::against_git::Chance;
    use super::*;

    #[test]
    fn bits_are_read_as_they_were_written() {
        let mut chance = Chance(0x5eed);
        for count in 0..300 {
            let bits: Vec<bool> = (0..count).map(|_| chance.below(4) == 0).collect();
            let mut bytes = encode(&bits).expect("few bits");
            bytes.push(b'x');
            assert_eq!(decode(&bytes, count), Some((bits.clone(), &b"x"[..])));
            // Of more, the others are zero; of fewer, the others are left.
            let more: Vec<bool> = bits.iter().copied().chain([false; 70]).collect();
            assert_eq!(decode(&bytes, count + 70).expect("whole").0, more);
            assert_eq!(
                decode(&bytes, count / 2).expect("whole").0,
                bits[..count / 2]
            );
            for length in 0..bytes.len() - 1 {
                assert_eq!(decode(&bytes[..length], count), None);
            }
        }
        // Two words of ones, one of zeros and one of others.
        let words = [2 << 1 | 1, 1 << 1 | 1 << 33, 0b101];
        let words: Vec<u8> = words
            .iter()
            .flat_map(|word: &u64| word.to_be_bytes())
            .collect();
        let bytes = [&[0, 0, 1, 0, 0, 0, 0, 3][..], &words, &[0; 4]].concat();
        let bits = decode(&bytes, 256).expect("whole").0;
        let set: Vec<usize> = (0..256).filter(|at| bits[*at]).collect();
        assert_eq!(set, (0..128).chain([192, 194]).collect::<Vec<_>>());
    }
}
