#!/usr/bin/env python3
"""Workers of one repository and of NATS, killed at random, and their server with them.

Every task has to be done in the end, no two executors may have worked on one task at once for longer than a lease, every
history has to be proven, and git has to find nothing wrong. With `--partition` (as root) each worker has a network of its
own, whose link to the server is cut now and then, for longer than a lease, too. With `--nodes 3` the server is a cluster, and the
one that leads the leases is killed, or frozen for a while.

    races-nats.py ORCH NATS_SERVER [--tasks N] [--workers N] [--seconds N] [--seed N] [--partition] [--nodes N]
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
import urllib.request
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
url = "ADDRESS"
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


class Node:
    """A server, alone or in a cluster."""

    def __init__(self, number, host, home, program):
        self.name = f"n{number}"
        self.host = host
        self.home = home
        self.program = program
        self.port, self.monitor, self.route = free_port(), free_port(), free_port()
        self.process = None
        self.thaws_at = None

    def configure(self, nodes):
        text = f"server_name: {self.name}\nlisten: {self.host}:{self.port}\nhttp: {self.host}:{self.monitor}\n"
        text += f'jetstream {{ store_dir: "{self.home / self.name}" }}\n'
        if len(nodes) > 1:
            routes = ", ".join(f"nats://{node.host}:{node.route}" for node in nodes)
            text += f"cluster {{ name: fleet, listen: {self.host}:{self.route}, routes: [{routes}] }}\n"
        (self.home / f"{self.name}.conf").write_text(text)

    def start(self):
        words = [self.program, "-c", str(self.home / f"{self.name}.conf")]
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(500):
            with socket.socket() as tried:
                if tried.connect_ex((self.host, self.port)) == 0:
                    return
            time.sleep(0.02)
        raise SystemExit("the server does not listen")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def freeze(self, seconds):
        self.process.send_signal(signal.SIGSTOP)
        self.thaws_at = time.monotonic() + seconds

    def thaw(self, at_once=False):
        if self.thaws_at and (at_once or time.monotonic() > self.thaws_at):
            self.process.send_signal(signal.SIGCONT)
            self.thaws_at = None

    def told(self, path):
        """What its monitor answers; none if it does not."""
        try:
            with urllib.request.urlopen(f"http://{self.host}:{self.monitor}{path}", timeout=1) as answer:
                return json.load(answer)
        except (OSError, ValueError):
            return {}

    def leads(self, stream):
        """Whether it leads a stream, as it says itself."""
        for account in self.told("/jsz?streams=true").get("account_details", []):
            for one in account.get("stream_detail", []):
                if one["name"] == stream:
                    return one.get("cluster", {}).get("leader") == self.name
        return False


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


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
        self.workers = {}
        self.counts = {
            "workers killed": 0,
            "runs killed": 0,
            "servers killed": 0,
            "servers frozen": 0,
            "links cut": 0,
            "leaders of them": 0,
        }
        self.networks = Networks(options.workers) if options.partition else None
        self.host = Networks.SERVER if options.partition else "127.0.0.1"
        self.nodes = [Node(number, self.host, self.home, options.server) for number in range(options.nodes)]
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
        url = ",".join(f"nats://{node.host}:{node.port}" for node in self.nodes)
        settings = SETTINGS.replace("ADDRESS", url).replace("LEASE", str(LEASE))
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

    def start_servers(self):
        for node in self.nodes:
            node.configure(self.nodes)
        for node in self.nodes:
            node.start()

    def chosen_server(self):
        """A server to do something to: mostly the one that leads the leases."""
        leaders = [node for node in self.nodes if node.leads("KV_races")]
        if leaders and self.random.random() < 0.9:
            self.counts["leaders of them"] += 1
            return leaders[0]
        return self.random.choice(self.nodes)

    def harm_server(self):
        """Kills a server and starts it again, or freezes one of a cluster; the others have to be a majority."""
        if any(node.thaws_at for node in self.nodes):
            return
        node = self.chosen_server()
        if len(self.nodes) > 1 and self.random.random() < 0.4:
            self.counts["servers frozen"] += 1
            node.freeze(self.random.random() * 1.5 * LEASE)
            return
        node.kill()
        self.counts["servers killed"] += 1
        time.sleep(self.random.random() * 2)
        node.start()

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
            self.harm_server()
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

    def mend(self, all_of_them=False):
        for node in self.nodes:
            node.thaw(all_of_them)
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
        for node in self.nodes:
            node.kill()

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
    parser.add_argument("--nodes", type=int, default=1, choices=[1, 3])
    options = parser.parse_args()
    if options.partition and "RACES_NETWORK" not in os.environ:
        os.environ["RACES_NETWORK"] = "own"
        os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])
    options.orch = str(Path(options.orch).resolve())
    print(f"seed {options.seed}: {options.workers} workers, {options.tasks} tasks", flush=True)
    fleet = Fleet(options)
    fleet.set_up()
    fleet.start_servers()
    try:
        for number in range(options.workers):
            fleet.start_worker(number)
        until = time.monotonic() + options.seconds
        while time.monotonic() < until:
            time.sleep(0.3 + fleet.random.random())
            fleet.mend()
            fleet.kill_something()
        fleet.mend(all_of_them=True)
        fleet.await_end()
        fleet.end()
    finally:
        for process in [*fleet.workers.values(), *(node.process for node in fleet.nodes)]:
            if process and process.poll() is None:
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
