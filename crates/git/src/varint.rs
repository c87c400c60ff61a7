//! Numbers as git writes them into an index and into a pack, where an object says how far back its base begins: seven bits
//! in a byte, the highest first, and no two encodings of one number. See `varint.c` of git.

pub(super) fn encode(mut number: usize) -> Vec<u8> {
    let low = |number: usize| number.to_le_bytes()[0] & 0x7f;
    let mut bytes = vec![low(number)];
    while number > 0x7f {
        number = (number >> 7) - 1;
        bytes.push(0x80 | low(number));
    }
    bytes.reverse();
    bytes
}

/// The number at the start of these bytes, and what follows it. `None` if it does not end, or is too large.
pub(super) fn decode(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (mut last, mut rest) = bytes.split_first()?;
    let mut number = usize::from(last & 0x7f);
    while last & 0x80 != 0 {
        (last, rest) = rest.split_first()?;
        number = number.checked_add(1)?.checked_mul(0x80)? | usize::from(last & 0x7f);
    }
    Some((number, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_as_it_was_written() {
        let edges = (0..63).flat_map(|bit| [(1_usize << bit) - 1, 1 << bit, (1 << bit) + 1]);
        for number in (0..70_000).chain(edges) {
            let bytes = [&encode(number), &b"x"[..]].concat();
            assert_eq!(decode(&bytes), Some((number, &b"x"[..])));
        }
        let encoded = [0x7f, 0x80, 0x407f, 0x4080].map(encode);
        assert_eq!(
            encoded,
            [
                vec![0x7f],
                vec![0x80, 0],
                vec![0xff, 0x7f],
                vec![0x80, 0x80, 0]
            ]
        );
        assert_eq!(decode(&[0x80]), None);
        assert_eq!(decode(&[0xff; 20]), None);
        assert_eq!(decode(&[]), None);
    }
}
