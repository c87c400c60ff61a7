#!/bin/sh
# coverage 7.17.5 and gcovr 8.8 write lcov tracefiles that the crate lcov 0.8.2 cannot read.
#
# Guess:  the format is old and simple; what one program writes, a reader of the format reads.
# Seen:   coverage.py names the branches of BRDA records in words ("jump to line 3"), where the crate wants a number. gcovr
#         writes a record VER with the digest of the source, which the crate does not know. Both files are refused whole. What
#         c8 writes is read.
# Why:    a gate on coverage that reads by this crate works with the files of JavaScript and fails with those of Python and C.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv tool
tool/bin/pip install --quiet --disable-pip-version-check coverage==7.17.5 gcovr==8.8 >&2 || exit 2
npm install --silent --no-audit --no-fund --prefix node c8@12.0.0 >&2 || exit 2

printf 'def f(x):\n    if x > 1:\n        return 1\n    return 2\n\n\nf(2)\n' > code.py
tool/bin/coverage run --branch code.py
tool/bin/coverage lcov -q -o python.info
echo 'int main(void) { return 0; }' > code.c
cc --coverage code.c -o code
./code
tool/bin/gcovr --lcov c.info > /dev/null 2>&1
echo 'const f = (x) => (x > 1 ? 1 : 2); f(2)' > code.js
node/node_modules/.bin/c8 -r lcovonly -o js node code.js

cargo new --quiet --name reader reader
cd reader
cargo add --quiet lcov@=0.8.2 >&2 || exit 2
cat > src/main.rs << 'END'
fn main() {
    for file in std::env::args().skip(1) {
        let records: Result<Vec<_>, _> = lcov::Reader::open_file(&file).expect("a file").collect();
        match records {
            Ok(_) => println!("{file} is read"),
            Err(error) => println!("{file} is refused: {error}"),
        }
    }
}
END
cargo run --quiet -- ../python.info ../c.info ../js/lcov.info | tee ../seen
cd ..
if [ "$(grep -c refused seen) $(grep -c 'is read' seen)" = "2 1" ]; then
    echo "seen: two of three writers are refused"
else
    echo "no longer seen"
    exit 1
fi
