// Assembles src/audio/measure.wat into src/audio/measure-wasm.ts. `node scripts/assemble.js --check` only compares them.
import { readFileSync, writeFileSync } from "node:fs";
import openWabt from "wabt";

const SOURCE = new URL("../src/audio/measure.wat", import.meta.url);
const RESULT = new URL("../src/audio/measure-wasm.ts", import.meta.url);

const wabt = await openWabt();
const parsed = wabt.parseWat("measure.wat", readFileSync(SOURCE, "utf8"), { simd: true });
parsed.validate();
const base64 = Buffer.from(parsed.toBinary({}).buffer).toString("base64");
const lines = base64.match(/.{1,96}/g).map((line) => `  "${line}"`);
const text = `// Assembled from measure.wat by scripts/assemble.js.
export const MEASURE_WASM =
${lines.join(" +\n")};
`;
if (!process.argv.includes("--check")) writeFileSync(RESULT, text);
else if (readFileSync(RESULT, "utf8") !== text) {
  console.error("src/audio/measure-wasm.ts is not what measure.wat says: run node scripts/assemble.js");
  process.exitCode = 1;
}
