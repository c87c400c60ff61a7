//! Walks over commits in the orders of git, and their merge bases. What a commit is, the caller reads, so that each object is
//! looked at before libgit2 reads it: it reads a file that a power failure tore for ever.
//!
//! Commits are known by [`Digest`]: two values of libgit2 for one id are equal, but may have different hashes.

use super::Error;
use orch_base::Digest;
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::rc::Rc;

/// What a walk knows of a commit.
#[derive(Debug)]
pub(super) struct CommitNode {
    /// When it was made, in seconds.
    pub time: i64,
    pub parents: Vec<Digest>,
}

/// In which order commits are returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WalkOrder {
    /// Children before their parents, otherwise by date.
    ByDate,
    /// Children before their parents, one line of history after the other.
    ByLine,
}

/// How many commits that are left out are looked at after the last one that is not: dates may go backwards.
const SLOP: usize = 5;

/// A commit that waits to be returned. Newer ones come first, and of two from the same second the one that was met first.
#[derive(PartialEq, Eq)]
struct QueuedCommit {
    time: i64,
    turn: Reverse<usize>,
    id: Digest,
}

impl Ord for QueuedCommit {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.time, &self.turn).cmp(&(other.time, &other.turn))
    }
}

impl PartialOrd for QueuedCommit {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The commits that wait, by date.
#[derive(Default)]
pub(super) struct Queue {
    heap: BinaryHeap<QueuedCommit>,
    turns: usize,
}

impl Queue {
    fn push(&mut self, id: Digest, time: i64) {
        self.turns += 1;
        let turn = Reverse(self.turns);
        self.heap.push(QueuedCommit { time, turn, id });
    }

    fn pop(&mut self) -> Option<Digest> {
        Some(self.heap.pop()?.id)
    }
}

/// The graph of commits, as far as it was read.
pub(super) struct CommitGraph<R> {
    read: R,
    nodes: HashMap<Digest, Rc<CommitNode>>,
}

impl<R: FnMut(Digest) -> Result<CommitNode, Error>> CommitGraph<R> {
    /// A graph whose commits are read by this function.
    pub(super) fn new(read: R) -> Self {
        Self {
            read,
            nodes: HashMap::new(),
        }
    }

    fn node(&mut self, id: Digest) -> Result<Rc<CommitNode>, Error> {
        if let Some(known) = self.nodes.get(&id) {
            return Ok(Rc::clone(known));
        }
        let node = Rc::new((self.read)(id)?);
        self.nodes.insert(id, Rc::clone(&node));
        Ok(node)
    }

    /// The commits that are reachable from some and not from others, by date. Each is read when it is needed if none is left
    /// out. Returns an error if one cannot be read.
    pub(super) fn walk(
        mut self,
        from: &[Digest],
        hidden: &[Digest],
    ) -> Result<CommitWalk<R>, Error> {
        let mut queue = Queue::default();
        let mut seen = HashSet::new();
        if hidden.is_empty() {
            for id in from {
                if seen.insert(*id) {
                    queue.push(*id, self.node(*id)?.time);
                }
            }
            return Ok(CommitWalk::Lazy {
                graph: self,
                queue,
                seen,
            });
        }
        Ok(CommitWalk::Known(self.without(from, hidden)?.into_iter()))
    }

    /// The commits that are reachable from some and not from others, in this order. Returns an error if one cannot be read.
    pub(super) fn sorted(
        mut self,
        from: &[Digest],
        hidden: &[Digest],
        order: WalkOrder,
    ) -> Result<Vec<Digest>, Error> {
        let listed = self.without(from, hidden)?;
        // How many children each has.
        let mut left: HashMap<Digest, usize> = listed.iter().map(|id| (*id, 0)).collect();
        for id in &listed {
            for parent in &self.node(*id)?.parents {
                if let Some(children) = left.get_mut(parent) {
                    *children += 1;
                }
            }
        }
        let tips = listed.iter().copied().filter(|id| left[id] == 0);
        let tips: Vec<Digest> = tips.collect();
        let mut found = Vec::with_capacity(listed.len());
        let mut by_date = Queue::default();
        let mut by_line: Vec<Digest> = Vec::new();
        match order {
            WalkOrder::ByDate => {
                for id in tips {
                    by_date.push(id, self.node(id)?.time);
                }
            }
            WalkOrder::ByLine => by_line = tips.into_iter().rev().collect(),
        }
        while let Some(id) = by_date.pop().or_else(|| by_line.pop()) {
            found.push(id);
            for parent in &self.node(id)?.parents {
                let Some(children) = left.get_mut(parent) else {
                    continue;
                };
                *children -= 1;
                if *children > 0 {
                    continue;
                }
                match order {
                    WalkOrder::ByDate => by_date.push(*parent, self.node(*parent)?.time),
                    WalkOrder::ByLine => by_line.push(*parent),
                }
            }
        }
        Ok(found)
    }

    /// The commits that are reachable from some and not from others, by date.
    fn without(&mut self, from: &[Digest], hidden: &[Digest]) -> Result<Vec<Digest>, Error> {
        let mut marks = Marks::default();
        for id in hidden {
            marks.meet(*id, self.node(*id)?.time, true);
        }
        for id in from {
            marks.meet(*id, self.node(*id)?.time, false);
        }
        let mut found = Vec::new();
        let mut oldest = i64::MAX;
        let mut slop = SLOP;
        while let Some(id) = marks.queue.pop() {
            let is_hidden = marks.pop(id);
            let node = self.node(id)?;
            if is_hidden {
                marks.hide(&node.parents, &self.nodes);
            } else {
                found.push(id);
                oldest = node.time;
            }
            for parent in &node.parents {
                marks.meet(*parent, self.node(*parent)?.time, is_hidden);
            }
            let newest = marks.queue.heap.peek().map(|next| next.time);
            if marks.wanted > 0 || newest.is_some_and(|newest| newest >= oldest) {
                slop = SLOP;
            } else if slop == 0 {
                break;
            } else {
                slop -= 1;
            }
        }
        found.retain(|id| !marks.is_hidden(id));
        Ok(found)
    }

    /// The best common ancestors of two commits, newest first. Returns an error if a commit cannot be read.
    pub(super) fn merge_bases(&mut self, one: Digest, other: Digest) -> Result<Vec<Digest>, Error> {
        if one == other {
            return Ok(vec![one]);
        }
        let mut sides = HashMap::from([(one, ONE), (other, OTHER)]);
        let mut queue = Queue::default();
        queue.push(one, self.node(one)?.time);
        queue.push(other, self.node(other)?.time);
        let mut found = Vec::new();
        let is_open =
            |sides: &HashMap<Digest, u8>, waiting: &QueuedCommit| sides[&waiting.id] & BELOW == 0;
        while queue.heap.iter().any(|waiting| is_open(&sides, waiting)) {
            let Some(id) = queue.pop() else { break };
            let mut side = sides[&id];
            if side == ONE | OTHER && !found.contains(&id) {
                found.push(id);
            }
            if side & (ONE | OTHER) == ONE | OTHER {
                side |= BELOW;
            }
            for parent in &self.node(id)?.parents {
                let known = sides.entry(*parent).or_default();
                if *known & side != side {
                    *known |= side;
                    queue.push(*parent, self.node(*parent)?.time);
                }
            }
        }
        found.retain(|id| sides[id] & BELOW == 0);
        // Where dates go backwards, one may still be below another.
        let all = found.clone();
        for id in all {
            let mut is_below = false;
            for above in found.iter().filter(|above| **above != id) {
                is_below |= self.merge_bases(*above, id)? == [id];
            }
            if is_below {
                found.retain(|other| *other != id);
            }
        }
        Ok(found)
    }
}

/// Which of two commits a commit is reachable from, and whether it is below a common ancestor.
const ONE: u8 = 1;
const OTHER: u8 = 2;
const BELOW: u8 = 4;

/// What a walk that leaves commits out has met.
#[derive(Default)]
struct Marks {
    queue: Queue,
    /// Whether each is left out, and whether it still waits.
    met: HashMap<Digest, MetCommit>,
    /// How many wait that are not left out.
    wanted: usize,
}

#[derive(Clone, Copy)]
struct MetCommit {
    is_hidden: bool,
    waits: bool,
}

impl Marks {
    /// Lets a commit wait, unless it was met before.
    fn meet(&mut self, id: Digest, time: i64, is_hidden: bool) {
        if self.met.contains_key(&id) {
            return;
        }
        let waits = true;
        self.met.insert(id, MetCommit { is_hidden, waits });
        self.queue.push(id, time);
        self.wanted += usize::from(!is_hidden);
    }

    fn is_hidden(&self, id: &Digest) -> bool {
        self.met.get(id).is_some_and(|mark| mark.is_hidden)
    }

    /// Notes that a commit no longer waits. Returns whether it is left out.
    fn pop(&mut self, id: Digest) -> bool {
        let Some(mark) = self.met.get_mut(&id) else {
            return false;
        };
        mark.waits = false;
        self.wanted -= usize::from(!mark.is_hidden);
        mark.is_hidden
    }

    /// Leaves out those of these that were met, and their ancestors.
    fn hide(&mut self, ids: &[Digest], nodes: &HashMap<Digest, Rc<CommitNode>>) {
        let mut left = ids.to_vec();
        while let Some(id) = left.pop() {
            let Some(mark) = self.met.get_mut(&id).filter(|mark| !mark.is_hidden) else {
                continue;
            };
            mark.is_hidden = true;
            self.wanted -= usize::from(mark.waits);
            left.extend(nodes.get(&id).iter().flat_map(|node| &node.parents));
        }
    }
}

/// Commits by date.
pub(super) enum CommitWalk<R> {
    /// Each is read when the one before was returned.
    Lazy {
        graph: CommitGraph<R>,
        queue: Queue,
        seen: HashSet<Digest>,
    },
    /// All were read.
    Known(std::vec::IntoIter<Digest>),
}

impl<R: FnMut(Digest) -> Result<CommitNode, Error>> Iterator for CommitWalk<R> {
    type Item = Result<Digest, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let Self::Lazy { graph, queue, seen } = self else {
            let Self::Known(known) = self else {
                return None;
            };
            return known.next().map(Ok);
        };
        let id = queue.pop()?;
        let node = match graph.node(id) {
            Ok(node) => node,
            Err(error) => return Some(Err(error)),
        };
        graph.nodes.remove(&id);
        for parent in &node.parents {
            if !seen.insert(*parent) {
                continue;
            }
            match graph.node(*parent) {
                Ok(node) => queue.push(*parent, node.time),
                Err(error) => return Some(Err(error)),
            }
        }
        Some(Ok(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn id(number: usize) -> Digest {
        Digest::parse(&format!("{number:040x}")).expect("an id")
    }

    /// A history: of each commit its date, and the numbers of its parents, all of them lower.
    struct History(Vec<(i64, Vec<usize>)>);

    impl History {
        /// A random one, in which dates may be the same or go backwards.
        fn random(seed: &mut u64, most_parents: usize) -> Self {
            let mut next = |below: usize| {
                *seed = seed
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                usize::try_from(*seed >> 33).expect("few") % below
            };
            let mut commits: Vec<(i64, Vec<usize>)> = Vec::new();
            for number in 0..3 + next(12) {
                let parents: BTreeSet<usize> = (0..next(most_parents + 1))
                    .filter(|_| number > 0)
                    .map(|_| number - 1 - next(number.min(4)))
                    .collect();
                let time = i64::try_from(number / 2 + next(3)).expect("few");
                commits.push((time, parents.into_iter().collect()));
            }
            Self(commits)
        }

        fn graph(&self) -> CommitGraph<impl FnMut(Digest) -> Result<CommitNode, Error>> {
            CommitGraph::new(|wanted: Digest| {
                let number = (0..self.0.len()).find(|number| id(*number) == wanted);
                let (time, parents) = &self.0[number.expect("a commit")];
                Ok(CommitNode {
                    time: *time,
                    parents: parents.iter().copied().map(id).collect(),
                })
            })
        }

        /// The commit and its ancestors.
        fn reachable(&self, from: usize) -> BTreeSet<usize> {
            let mut found = BTreeSet::from([from]);
            for parent in &self.0[from].1 {
                found.extend(self.reachable(*parent));
            }
            found
        }
    }

    fn ids(numbers: &BTreeSet<usize>) -> BTreeSet<Digest> {
        numbers.iter().copied().map(id).collect()
    }

    #[test]
    fn a_commit_that_was_merged_is_the_base() {
        // 2 is the tip of a branch that 4 merges into its own line, 1 and 3.
        let history = History(vec![
            (300, vec![]),
            (480, vec![0]),
            (1080, vec![0]),
            (900, vec![1]),
            (1260, vec![3, 2]),
        ]);
        for sides in [[4, 2], [2, 4]] {
            let [one, other] = sides.map(id);
            let found = history.graph().merge_bases(one, other);
            assert_eq!(found.expect("read"), [id(2)]);
        }
    }

    #[test]
    fn all_that_is_reachable_is_returned_children_first() {
        let mut seed = 1;
        for _ in 0..500 {
            let history = History::random(&mut seed, 2);
            let tip = history.0.len() - 1;
            let reachable = ids(&history.reachable(tip));
            let walk = history.graph().walk(&[id(tip)], &[]).expect("read");
            let walked: Vec<Digest> = walk.map(|id| id.expect("read")).collect();
            assert_eq!(walked.len(), reachable.len());
            assert_eq!(walked.iter().copied().collect::<BTreeSet<_>>(), reachable);
            for order in [WalkOrder::ByDate, WalkOrder::ByLine] {
                let sorted = history.graph().sorted(&[id(tip)], &[], order);
                let sorted = sorted.expect("read");
                assert_eq!(sorted.iter().copied().collect::<BTreeSet<_>>(), reachable);
                let place = |number| sorted.iter().position(|one| *one == id(number));
                for number in history.reachable(tip) {
                    for parent in &history.0[number].1 {
                        assert!(place(number) < place(*parent), "{order:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_others_contain_is_left_out() {
        let mut seed = 2;
        for _ in 0..500 {
            let history = History::random(&mut seed, 2);
            let tip = history.0.len() - 1;
            for hidden in 0..tip {
                let expected = &history.reachable(tip) - &history.reachable(hidden);
                let walk = history.graph().walk(&[id(tip)], &[id(hidden)]);
                let walked = walk.expect("read").map(|id| id.expect("read"));
                assert_eq!(walked.collect::<BTreeSet<_>>(), ids(&expected));
            }
        }
    }

    #[test]
    fn merge_bases_are_the_best_common_ancestors() {
        let mut seed = 3;
        for _ in 0..300 {
            let history = History::random(&mut seed, 2);
            let all = history.0.len();
            for (one, other) in (0..all).flat_map(|one| (0..all).map(move |other| (one, other))) {
                let common = &history.reachable(one) & &history.reachable(other);
                let is_best = |base: &usize| {
                    let mut others = common.iter().filter(|other| *other != base);
                    others.all(|other| !history.reachable(*other).contains(base))
                };
                let best: BTreeSet<usize> = common.iter().copied().filter(is_best).collect();
                let found = history.graph().merge_bases(id(one), id(other));
                let found: BTreeSet<Digest> = found.expect("read").into_iter().collect();
                assert_eq!(found, ids(&best), "{one} {other} {:?}", history.0);
            }
        }
    }

    /// A command that looks for the newest of something reads no more than it needs.
    #[test]
    fn a_walk_that_ends_early_reads_little() {
        let history = History(
            (0..100)
                .map(|at| (at, (0..at as usize).rev().take(1).collect()))
                .collect(),
        );
        let mut read = 0;
        let mut graph = history.graph();
        let counted = CommitGraph::new(|id| {
            read += 1;
            (graph.read)(id)
        });
        let walked = counted.walk(&[id(99)], &[]).expect("read").take(3);
        assert_eq!(
            walked.map(|id| id.expect("read")).collect::<Vec<_>>(),
            [99, 98, 97].map(id)
        );
        assert_eq!(read, 4);
    }
}
