// What `understudy --help` costs over a bare Node: medians of alternating runs, so that a busy machine hits both alike.
// Usage: npm run build && node bench/startup.js [runs] [-- words]
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const LIMIT_MILLISECONDS = 150;
const separator = process.argv.indexOf("--", 2);
const words = separator === -1 ? ["--help"] : process.argv.slice(separator + 1);
const runs = Math.max(5, Number(process.argv[2]) || 11);
const program = fileURLToPath(new URL("../bin/understudy.js", import.meta.url));

const milliseconds = (args) => {
  const start = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { stdio: ["ignore", "ignore", "pipe"] });
  if (status !== 0) throw new Error(`node ${args.join(" ")} ended with ${status}: ${stderr}`);
  return performance.now() - start;
};

const median = (values) => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

const samples = Array.from({ length: runs }, () => [
  milliseconds(["-e", "0"]),
  milliseconds([program, ...words]),
]);
const bare = median(samples.map(([first]) => first));
const ours = median(samples.map(([, second]) => second));
const difference = ours - bare;

console.log(`node -e 0                  ${bare.toFixed(0)} ms (median of ${runs})`);
console.log(`understudy ${words.join(" ").padEnd(15)} ${ours.toFixed(0)} ms`);
console.log(
  `difference ${difference.toFixed(0)} ms, ratio ${(ours / bare).toFixed(2)}; limit ${LIMIT_MILLISECONDS} ms`,
);
if (difference > LIMIT_MILLISECONDS) process.exitCode = 1;
