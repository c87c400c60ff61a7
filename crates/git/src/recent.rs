//! A cache of recently read objects, because a walk over the history, and a look at many tasks, read most of them
//! repeatedly.

use std::collections::HashMap;
use std::hash::Hash;

/// Objects in two generations. When the young one is full, it becomes the old one, and objects that were not read
/// since then are dropped.
pub(super) struct Recent<K, V> {
    young: HashMap<K, (V, usize)>,
    old: HashMap<K, (V, usize)>,
    /// The size of the young generation, in bytes.
    size: usize,
    /// The size at which it becomes the old one. It never shrinks.
    full: usize,
    /// The maximum of that.
    most: usize,
}

/// For how many of the largest object a generation has room, unless the maximum is smaller.
const ROOM_FOR_LARGEST: usize = 4;

impl<K: Eq + Hash, V: Clone> Recent<K, V> {
    /// An empty cache with generations of at most this size.
    pub(super) fn at_most(most: usize) -> Self {
        Self::between(most, most)
    }

    /// An empty cache with generations of this size, and of more, but at most of the other size, if objects are large.
    pub(super) fn between(least: usize, most: usize) -> Self {
        Self {
            young: HashMap::new(),
            old: HashMap::new(),
            size: 0,
            full: least,
            most,
        }
    }

    pub(super) fn get(&mut self, id: &K) -> Option<V> {
        if let Some((known, _)) = self.young.get(id) {
            return Some(known.clone());
        }
        let (id, (known, size)) = self.old.remove_entry(id)?;
        self.put(id, known.clone(), size);
        Some(known)
    }

    /// Drops an object that is not asked for again.
    pub(super) fn remove(&mut self, id: &K) {
        if let Some((_, size)) = self.young.remove(id) {
            self.size -= size;
        }
        self.old.remove(id);
    }

    /// Keeps an object of this size, unless it would fill a generation.
    pub(super) fn put(&mut self, id: K, object: V, size: usize) {
        if size > self.most {
            return;
        }
        self.full = self
            .full
            .max(size.saturating_mul(ROOM_FOR_LARGEST).min(self.most));
        if self.size + size > self.full {
            self.old = std::mem::take(&mut self.young);
            self.size = 0;
        }
        self.size += size;
        self.young.insert(id, (object, size));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_asks_for_is_forgotten() {
        let mut recent = Recent::at_most(8);
        for number in 0..8 {
            recent.put(number, number, 1);
        }
        recent.put(8, 8, 1);
        assert_eq!(
            recent.get(&1),
            Some(1),
            "the old generation is still cached"
        );
        for number in 9..16 {
            recent.put(number, number, 1);
        }
        assert_eq!(recent.get(&1), Some(1), "it was read since");
        assert_eq!(recent.get(&2), None, "it was not read since");
        recent.remove(&1);
        assert_eq!(recent.get(&1), None, "it was removed");
        recent.put(99, 99, 9);
        assert_eq!(
            recent.get(&99),
            None,
            "a large object would evict all others"
        );
    }

    #[test]
    fn there_is_room_for_some_large_objects() {
        let mut recent = Recent::between(4, 64);
        (0..9).for_each(|number| recent.put(number, number, 1));
        assert_eq!(
            recent.get(&0),
            None,
            "small objects do not fill the larger size"
        );
        (10..14).for_each(|number| recent.put(number, number, 10));
        let kept = (10..14).filter(|number| recent.get(number).is_some());
        assert_eq!(kept.count(), 4, "as many of the largest have room");
        recent.put(99, 99, 65);
        assert_eq!(
            recent.get(&99),
            None,
            "but none that is larger than a generation may be"
        );
    }
}
