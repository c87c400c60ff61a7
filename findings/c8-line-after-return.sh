#!/bin/sh
# c8 12.0.0 counts a line as covered that was never executed; nyc 18.0.0 does not.
#
# Guess:  two tools that write the same formats agree on which lines ran: the line after an early return did not.
# Seen:   f returns on its second line. In the lcov file of c8 the third line has one hit, and all lines are covered; nyc
#         says 0 hits. The same file of c8 says that both branches on that line were never taken.
# Why:    the same tests pass a gate of 100 % of lines by one tool and fail it by the other; who replaces nyc by c8 loosens
#         the gate and sees no sign of it. A gate on branches sees it.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
echo '{"private": true}' > package.json
npm install --silent --no-audit --no-fund c8@12.0.0 nyc@18.0.0 >&2 || exit 2
cat > code.js << 'END'
exports.f = (x) => {
  if (x > 1) { return 1 }
  return x < -1 ? 2 : 3
}
END
echo "require('./code').f(2)" > run.js
npx c8 -r lcovonly -o c8 node run.js
npx nyc --silent node run.js
npx nyc report -r lcovonly --report-dir nyc
for tool in c8 nyc; do
    line=$(sed -n '/^SF:code.js/,/^end_of_record/p' "$tool/lcov.info" | grep '^DA:3,')
    branches=$(sed -n '/^SF:code.js/,/^end_of_record/p' "$tool/lcov.info" | grep -c '^BRDA:3,.*,0$')
    echo "$tool: $line, branches of line 3 never taken: $branches"
    echo "$line $branches" >> seen
done
if [ "$(tr '\n' ' ' < seen)" = "DA:3,1 2 DA:3,0 2 " ]; then
    echo "seen: one tool covers the line, the other does not"
else
    echo "no longer seen"
    exit 1
fi
