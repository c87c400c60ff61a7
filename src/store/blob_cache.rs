//! A cache of recently read blobs, because a walk over the history reads most of them repeatedly.

use git2::Oid;
use std::collections::HashMap;
use std::sync::Arc;

/// The maximum size of a generation in bytes.
const MOST: usize = 8 << 20;

/// Blobs in two generations. When the young one is full, it becomes the old one, and blobs that were not read
/// since then are dropped.
#[derive(Default)]
pub(super) struct BlobCache {
    young: HashMap<Oid, Arc<[u8]>>,
    old: HashMap<Oid, Arc<[u8]>>,
    /// The size of the young generation in bytes.
    bytes: usize,
}

impl BlobCache {
    pub(super) fn get(&mut self, id: Oid) -> Option<Arc<[u8]>> {
        if let Some(known) = self.young.get(&id) {
            return Some(Arc::clone(known));
        }
        let known = self.old.remove(&id)?;
        self.put(id, Arc::clone(&known));
        Some(known)
    }

    pub(super) fn put(&mut self, id: Oid, blob: Arc<[u8]>) {
        if blob.len() > MOST / 8 {
            return;
        }
        if self.bytes + blob.len() > MOST {
            self.old = std::mem::take(&mut self.young);
            self.bytes = 0;
        }
        self.bytes += blob.len();
        self.young.insert(id, blob);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_asks_for_is_forgotten() {
        let id = |number: u8| Oid::from_bytes(&[number; 20]).expect("an id");
        let blob: Arc<[u8]> = vec![0; MOST / 8].into();
        let mut recent = BlobCache::default();
        for number in 0..8 {
            recent.put(id(number), Arc::clone(&blob));
        }
        recent.put(id(8), Arc::clone(&blob));
        assert!(recent.get(id(1)).is_some(), "the old generation is still cached");
        for number in 9..16 {
            recent.put(id(number), Arc::clone(&blob));
        }
        assert!(recent.get(id(1)).is_some(), "it was read since");
        assert!(recent.get(id(2)).is_none(), "it was not read since");
        recent.put(id(99), vec![0; MOST / 8 + 1].into());
        assert!(recent.get(id(99)).is_none(), "a large blob would evict all others");
    }
}
