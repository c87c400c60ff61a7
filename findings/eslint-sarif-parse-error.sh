#!/bin/sh
# ESLint 10.15.0 with @microsoft/eslint-formatter-sarif 3.1.0: a file that does not parse is no result of the log.
#
# Guess:  the log lists every error that the ordinary output counts, so `results` with the level `error` tell whether to pass.
# Seen:   ESLint says "1 problem (1 error)" and exits with 1. `results` is an empty list. The error stands in
#         `invocations[].toolConfigurationNotifications`, with the level `error`, and `executionSuccessful` is false.
# Why:    a gate that counts results passes code that has not even been read. Biome lists the same error as a result.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME="$work" NO_COLOR=1
echo '{"private": true}' > package.json
npm install --silent --no-audit --no-fund eslint@10.15.0 @microsoft/eslint-formatter-sarif@3.1.0 @biomejs/biome@2.6.8 >&2 || exit 2
echo 'module.exports = [{ files: ["*.js"], rules: { "no-undef": "error" } }]' > eslint.config.js
mkdir src
echo 'const a = ;' > src/broken.js
status=0
npx eslint src > plain || status=$?
npx eslint -f @microsoft/eslint-formatter-sarif src > log.sarif || true
npx biome lint --reporter=sarif src > biome.sarif 2> /dev/null || true
cat > count.js << 'END'
const errors = (file) => {
  const run = JSON.parse(require('fs').readFileSync(file)).runs[0]
  const isError = (entry) => entry.level === 'error'
  const told = (run.invocations ?? []).flatMap((invocation) => invocation.toolConfigurationNotifications ?? [])
  return `${run.results.filter(isError).length} ${told.filter(isError).length}`
}
console.log(`${errors('log.sarif')} ${errors('biome.sarif')}`)
END
seen=$(node count.js)
grep 'problem' plain
echo "exit code $status; errors as results and as notifications: ESLint and Biome $seen"
if [ "$status $seen" = "1 0 1 1 0" ]; then
    echo "seen: the error is no result"
else
    echo "no longer seen"
    exit 1
fi
