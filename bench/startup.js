// What a command costs over a bare Node, as installed and as the modules it is joined from: medians of alternating runs,
// so that a busy machine hits all alike. The limit is for `--help`; a command that looks something up has work to do.
// Usage: npm run build && node bench/startup.js [runs] [-- words]
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const LIMIT_MILLISECONDS = 150;
const separator = process.argv.indexOf("--", 2);
const given = separator === -1 ? undefined : process.argv.slice(separator + 1);
const runs = Math.max(5, Number(process.argv[2]) || 11);
const fileOf = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));

for (const words of given ? [given] : [["--help"], ["run", "list"], ["dataset", "show", "greenroom"]]) {
  const { bare, joined, modules } = measure({
    bare: ["-e", "0"],
    joined: [fileOf("bin/understudy.js"), ...words],
    modules: [fileOf("dist/main.js"), ...words],
  });
  const difference = joined - bare;
  const limit = words[0] === "--help" ? `, limit ${LIMIT_MILLISECONDS} ms` : "";
  console.log(
    `understudy ${words.join(" ").padEnd(22)} ${joined.toFixed(0)} ms, ${difference.toFixed(0)} ms more than node -e 0${limit}; not joined ${modules.toFixed(0)} ms (${(modules / joined).toFixed(2)} of it); median of ${runs}`,
  );
  if (limit !== "" && difference > LIMIT_MILLISECONDS) process.exitCode = 1;
}

function measure(ways) {
  const samples = Array.from({ length: runs }, () => Object.values(ways).map(milliseconds));
  return Object.fromEntries(
    Object.keys(ways).map((name, index) => [name, median(samples.map((each) => each[index]))]),
  );
}

function milliseconds(args) {
  const start = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { stdio: ["ignore", "ignore", "pipe"] });
  if (status !== 0) throw new Error(`node ${args.join(" ")} ended with ${status}: ${stderr}`);
  return performance.now() - start;
}

function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
