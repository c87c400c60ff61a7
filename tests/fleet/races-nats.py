#!/usr/bin/env python3
"""Workers of one repository and of NATS, killed at random, and their server with them.

Every task has to be done in the end, no two executors may have worked on one task at once for longer than a lease, every
history has to be proven, and git has to find nothing wrong. With `--partition` (as root) each worker has a network of its
own, whose link to the server is cut now and then, for longer than a lease, too.

    races-nats.py ORCH NATS_SERVER [--tasks N] [--workers N] [--seconds N] [--seed N] [--partition]
"""

import argparse
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LEASE = 10  # seconds: the shortest that `[leases] length` takes
WORKFLOW = """# Note

```toml orch
[workflow]
title = "Note"
initial = "write"
[artifact.note]
path = "note.md"
[artifact.check]
path = "check.md"
[phase.write]
agent = "writer"
produces = ["note"]
[phase.check]
agent = "checker"
produces = ["check"]
needs = ["note"]
[phase.done]
terminal = true
[[rule]]
id = "written"
from = "write"
when = "note.ready"
to = "check"
because = "the note is there"
[[rule]]
id = "checked"
from = "check"
when = "check.ready"
to = "done"
because = "it is checked"
```
"""
# Each turn is a line when it begins and one when it ends, in one file for all.
EXECUTOR = """cat > /dev/null
task=tasks/$ORCH_TASK
echo "begin $ORCH_TASK $$ $(date +%s.%N)" >> "$TURNS"
sleep 0.$((RANDOM_SLEEP + $$ % 5))
if [ -e $task/note.md ]; then echo "$$" > $task/check.md; else echo "$$" > $task/note.md; fi
echo "end $ORCH_TASK $$ $(date +%s.%N)" >> "$TURNS"
"""
SETTINGS = """[[root]]
path = "tasks/*"
workflow = "note"
[people]
orders = "anyone"
[executor.default]
command = ["sh", "executor.sh"]
[worktrees]
merge = "merge"
[leases]
store = "nats"
url = "nats://ADDRESS"
bucket = "races"
length = "LEASEs"
"""


def name_of(pid):
    """The name of the program of a process; none if it has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


class Networks:
    """A network for each worker, with a link to that of the server. They end with this process."""

    SERVER = "10.77.0.1"

    def __init__(self, workers):
        self.holders = {}
        self.command("ip", "link", "set", "lo", "up")
        self.command("ip", "link", "add", "races", "type", "bridge")
        self.command("ip", "addr", "add", f"{self.SERVER}/24", "dev", "races")
        self.command("ip", "link", "set", "races", "up")
        for number in range(workers):
            self.add(number)

    def command(self, *words):
        subprocess.run(words, check=True)

    def add(self, number):
        holder = subprocess.Popen(["unshare", "--net", "--kill-child", "sleep", "infinity"])
        self.holders[number] = holder
        while os.readlink(f"/proc/{holder.pid}/ns/net") == os.readlink("/proc/self/ns/net"):
            time.sleep(0.01)
        self.command("ip", "link", "add", f"out{number}", "type", "veth", "peer", "name", "in", "netns", str(holder.pid))
        self.command("ip", "link", "set", f"out{number}", "master", "races", "up")
        inside = self.inside(number)
        self.command(*inside, "ip", "addr", "add", f"10.77.0.{number + 10}/24", "dev", "in")
        self.command(*inside, "ip", "link", "set", "in", "up")
        self.command(*inside, "ip", "link", "set", "lo", "up")

    def inside(self, number):
        """What a command begins with that runs in the network of a worker."""
        return ["nsenter", "--target", str(self.holders[number].pid), "--net"]

    def cut(self, number, is_cut):
        self.command("ip", "link", "set", f"out{number}", "down" if is_cut else "up")

    def end(self):
        for holder in self.holders.values():
            holder.kill()


class Fleet:
    """A repository, its server, and its workers."""

    def __init__(self, options):
        self.options = options
        self.home = Path(tempfile.mkdtemp(prefix="orch-races-"))
        self.repository = self.home / "repository"
        self.turns = self.home / "turns"
        self.random = random.Random(options.seed)
        self.environment = {
            **os.environ,
            "HOME": str(self.home),
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "ORCH_TRUST_ONCE": "1",
            "TURNS": str(self.turns),
            "RANDOM_SLEEP": "1",
        }
        for who in ["AUTHOR", "COMMITTER"]:
            self.environment[f"GIT_{who}_NAME"] = "Races"
            self.environment[f"GIT_{who}_EMAIL"] = "races@example.com"
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            self.port = taken.getsockname()[1]
        self.server = None
        self.workers = {}
        self.counts = {"workers killed": 0, "runs killed": 0, "servers killed": 0, "links cut": 0}
        self.networks = Networks(options.workers) if options.partition else None
        self.host = Networks.SERVER if options.partition else "127.0.0.1"
        # When the link of a worker is mended.
        self.cut_until = {}

    def run(self, *words):
        """Runs a program in the repository, and returns what it prints."""
        done = subprocess.run(
            words, cwd=self.repository, env=self.environment, capture_output=True, text=True
        )
        if done.returncode != 0:
            raise SystemExit(f"{words} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def set_up(self):
        """Makes the repository with its tasks; every fourth waits for the one before it."""
        self.repository.mkdir()
        settings = SETTINGS.replace("ADDRESS", f"{self.host}:{self.port}").replace("LEASE", str(LEASE))
        files = {
            "orch.toml": settings,
            "executor.sh": EXECUTOR,
            "system/workflows/note.md": WORKFLOW,
            "system/agents/writer.md": "Write.\n",
            "system/agents/checker.md": "Check.\n",
        }
        for name, text in files.items():
            path = self.repository / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.run("git", "init", "-q", "-b", "main")
        self.run("git", "add", "-A")
        self.run("git", "commit", "-qm", "Set up")
        for number in range(self.options.tasks):
            after = ["--after", f"t{number - 1}"] if number % 4 == 3 else []
            self.run(self.options.orch, "new", f"t{number}", *after)

    def start_server(self):
        words = [self.options.server, "-a", self.host, "-p", str(self.port)]
        words += ["-js", "-sd", str(self.home / "jetstream")]
        self.server = subprocess.Popen(
            words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for _ in range(500):
            with socket.socket() as tried:
                if tried.connect_ex((self.host, self.port)) == 0:
                    return
            time.sleep(0.02)
        raise SystemExit("the server does not listen")

    def start_worker(self, number):
        log = open(self.home / f"worker-{number}.log", "a")
        inside = self.networks.inside(number) if self.networks else []
        self.workers[number] = subprocess.Popen(
            [*inside, self.options.orch, "work", "--queue"],
            cwd=self.repository,
            env=self.environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )

    def kill_something(self):
        """Kills a worker, the run of one, or the server."""
        chance = self.random.random()
        number = self.random.choice(list(self.workers))
        worker = self.workers[number]
        if self.networks and chance > 0.7:
            if number not in self.cut_until:
                self.networks.cut(number, True)
                self.counts["links cut"] += 1
                self.cut_until[number] = time.monotonic() + self.random.random() * 2.5 * LEASE
        elif chance < 0.15:
            self.server.kill()
            self.server.wait()
            self.counts["servers killed"] += 1
            time.sleep(self.random.random() * 2)
            self.start_server()
        elif chance < 0.5:
            children = Path(f"/proc/{worker.pid}/task/{worker.pid}/children")
            pids = children.read_text().split() if children.exists() else []
            runs = [pid for pid in pids if name_of(pid).startswith("orch")]
            if runs:
                try:
                    os.kill(int(self.random.choice(runs)), signal.SIGKILL)
                    self.counts["runs killed"] += 1
                except ProcessLookupError:
                    pass
        else:
            worker.kill()
            worker.wait()
            self.counts["workers killed"] += 1
            time.sleep(self.random.random())
            self.start_worker(number)

    def mend_links(self, all_of_them=False):
        for number, until in list(self.cut_until.items()):
            if all_of_them or time.monotonic() > until:
                self.networks.cut(number, False)
                del self.cut_until[number]

    def phases(self):
        """The tasks by their phases on the base branch."""
        rows = json.loads(self.run(self.options.orch, "status", "--at", "main", "--json"))["tasks"]
        return {row["task"]: row["currentPhase"] for row in rows}

    def await_end(self):
        """Waits until every task is done on the base branch."""
        until = time.monotonic() + self.options.patience
        while True:
            phases = self.phases()
            left = {task: phase for task, phase in phases.items() if phase != "done"}
            if len(phases) == self.options.tasks and not left:
                return
            if time.monotonic() > until:
                raise SystemExit(f"not done: {left}; see {self.home}")
            for number, worker in self.workers.items():
                if worker.poll() is not None:
                    raise SystemExit(f"worker {number} ended with {worker.returncode}; see {self.home}")
            time.sleep(1)

    def end(self):
        for worker in self.workers.values():
            worker.terminate()
        for number, worker in self.workers.items():
            if worker.wait(timeout=60) != 0:
                raise SystemExit(f"worker {number} ended with {worker.returncode}")
        self.server.kill()
        self.server.wait()

    def longest_overlap(self):
        """For how long two executors worked on one task at once at most."""
        turns = {}
        last = 0.0
        for line in self.turns.read_text().splitlines():
            word, task, process, at = line.split()
            last = max(last, float(at))
            turn = turns.setdefault(task, {}).setdefault(process, [float(at), None])
            if word == "end":
                turn[1] = float(at)
        longest = 0.0
        for task, all_turns in turns.items():
            # One that was killed has no end; its executor lives no longer than it was going to.
            spans = sorted((begin, end or begin + 0.7) for begin, end in all_turns.values())
            for (_, end), (begin, _) in zip(spans, spans[1:]):
                longest = max(longest, end - begin)
        return longest, sum(len(one) for one in turns.values())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("orch")
    parser.add_argument("server")
    parser.add_argument("--tasks", type=int, default=24)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--patience", type=float, default=180)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--partition", action="store_true")
    options = parser.parse_args()
    if options.partition and "RACES_NETWORK" not in os.environ:
        os.environ["RACES_NETWORK"] = "own"
        os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])
    options.orch = str(Path(options.orch).resolve())
    print(f"seed {options.seed}: {options.workers} workers, {options.tasks} tasks", flush=True)
    fleet = Fleet(options)
    fleet.set_up()
    fleet.start_server()
    try:
        for number in range(options.workers):
            fleet.start_worker(number)
        until = time.monotonic() + options.seconds
        while time.monotonic() < until:
            time.sleep(0.3 + fleet.random.random())
            fleet.mend_links()
            fleet.kill_something()
        fleet.mend_links(all_of_them=True)
        fleet.await_end()
        fleet.end()
    finally:
        for process in [*fleet.workers.values(), fleet.server]:
            if process.poll() is None:
                process.kill()
        if fleet.networks:
            fleet.networks.end()
    overlap, turns = fleet.longest_overlap()
    print(f"{fleet.counts}; {turns} turns; longest overlap {max(overlap, 0):.2f} s", flush=True)
    if overlap > LEASE:
        raise SystemExit("two worked on a task for longer than a lease")
    audit = fleet.run(options.orch, "audit", "--json")
    verdicts = json.loads(audit)["counts"]
    print(f"audit: {verdicts}")
    if set(verdicts) - {"proven", "claimed", "folded"}:
        raise SystemExit(f"a history is not proven; see {fleet.home}")
    fleet.run("git", "fsck", "--strict")
    shutil.rmtree(fleet.home)


if __name__ == "__main__":
    sys.exit(main())
