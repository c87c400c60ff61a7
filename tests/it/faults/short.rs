//! Short writes. No file may grow beyond this many bytes, and nobody is killed for trying: a write up to that size writes
//! a part and says so, and the next one fails. What must hold is what must hold after any other fault.

use super::inject::{Run, choices, is_whole, sum_up, told, traced};
use super::orders::{ORDERS, Order};
use super::writing::Trial;
use crate::harness::{World, copy, program, skipped};
use std::collections::{BTreeMap, BTreeSet};

/// Runs its other arguments, with the first as the largest size of a file.
const LIMITED: &str = "trap '' XFSZ; size=$1; shift; exec prlimit --fsize=\"$size\" -- \"$@\"";

/// Runs an order under a limit.
fn limited(world: &World, order: &Order, size: u64) -> Run {
    let mut command = world.command("sh");
    command
        .args(["-c", LIMITED, "sh", &size.to_string(), &program()])
        .args(order.arguments);
    Trial::at_its_time(world, &mut command);
    Run::of(command.output().expect("a shell"))
}

/// Whether the machine has what it takes. If not, says so.
fn can_limit() -> bool {
    let world = World::without_git();
    let mut command = world.command("sh");
    let can = command
        .args(["-c", LIMITED, "sh", "1", "true"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !can {
        skipped("prlimit is missing, so no write is cut");
    }
    can
}

/// The limits that cut a file that an order writes: after no byte, one, half of them, and all but one.
fn limits(trial: &Trial) -> BTreeSet<u64> {
    let world = copy(&trial.template);
    let (_, trace) = traced(
        &world,
        trial.order.arguments,
        (&["write", "pwrite64"], None),
        |command| {
            Trial::at_its_time(&world, command);
        },
    );
    let mut sizes: BTreeMap<&str, u64> = BTreeMap::new();
    for line in trace.lines() {
        let path = line
            .split_once('<')
            .and_then(|(_, rest)| rest.split_once('>'))
            .map(|(path, _)| path);
        let written = line
            .rsplit_once("= ")
            .and_then(|(_, written)| written.trim().parse::<u64>().ok());
        if let (Some(path), Some(written)) = (path.filter(|path| path.starts_with('/')), written) {
            *sizes.entry(path).or_default() += written;
        }
    }
    sizes
        .values()
        .flat_map(|size| [0, 1, size / 2, size.saturating_sub(1)])
        .collect()
}

fn try_limit(trial: &Trial, size: u64) -> Result<(), String> {
    let world = copy(&trial.template);
    let run = limited(&world, trial.order, size);
    let is_told = run.code == Some(trial.code)
        || (![None, Some(101)].contains(&run.code)
            && ["error", "warning"]
                .iter()
                .any(|word| run.stderr.contains(word) || run.stdout.contains(word)));
    let found = if is_told {
        trial.judge_left(&world, &run)
    } else {
        Err("it failed without a word".to_owned())
    };
    found.map_err(|wrong| format!("{}, {size} bytes: {wrong}\n{run:?}", trial.order.name))
}

/// Some of them for some orders, or each of them for each order with `make faults`.
#[test]
fn a_write_that_is_cut_leaves_the_old_state_or_the_new_one() {
    if !can_limit() {
        return;
    }
    let (mut below, mut wrong, mut runs) = (choices(), Vec::new(), 0);
    let orders: Vec<&Order> = match is_whole() {
        true => ORDERS.iter().collect(),
        false => (0..6).map(|_| &ORDERS[below(ORDERS.len())]).collect(),
    };
    for order in orders {
        let trial = Trial::of(order);
        let limits: Vec<u64> = limits(&trial).into_iter().collect();
        assert!(!limits.is_empty(), "{} writes nothing", order.name);
        let chosen = if is_whole() {
            limits
        } else {
            (0..3).map(|_| limits[below(limits.len())]).collect()
        };
        for size in chosen {
            runs += 1;
            wrong.extend(try_limit(&trial, size).err());
        }
    }
    told(&format!(
        "{runs} runs with writes that are cut: {} violations",
        wrong.len()
    ));
    sum_up("a write is cut", [runs, runs, wrong.len()]);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
