// `npm test`: installs what the tests need, then runs the whole suite: vitest and the payload's pytest.
// UNDERSTUDY_SKIPS=fail turns every skipped test into a failure. Arguments are handed to vitest (and then pytest is left out).
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { prepare, requireNode, root } from "./install.js";

requireNode();
await prepare();
const python = await testEnvironment();
const results = mkdtempSync(join(tmpdir(), "understudy-results-"));
const chosen = process.argv.slice(2);
const failed = [vitest(chosen), ...(chosen.length > 0 ? [] : [pytest()])];
const total = { passed: 0, failed: 0, skipped: 0 };
for (const { counts } of failed) for (const key of Object.keys(total)) total[key] += counts[key];
rmSync(results, { recursive: true, force: true });

const skipsFail = process.env.UNDERSTUDY_SKIPS === "fail" && total.skipped > 0;
if (total.skipped > 0) {
  console.log(`\nSkipped${skipsFail ? " (counted as failures here)" : ""}:`);
  for (const { skipped } of failed) for (const name of skipped) console.log(`  ${name}`);
}
const broken = failed.some(({ ok }) => !ok);
console.log(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exitCode = broken || skipsFail || total.passed === 0 ? 1 : 0;

async function testEnvironment() {
  const { preparePython } = await import(join(root, "dist", "launch", "index.js"));
  const { systemClock } = await import(join(root, "dist", "core", "clock.js"));
  const { projectAt } = await import(join(root, "dist", "core", "project.js"));
  return preparePython({
    project: projectAt(root),
    payload: join(root, "launchers", "payload"),
    profile: { schemaVersion: 1, kind: "local", processes: 1, device: "cpu", graceSeconds: 120 },
    environment: process.env,
    clock: systemClock,
    onLine: (line) => console.error(line),
    extraLocks: ["requirements-test.lock"],
  });
}

function vitest(args) {
  const report = join(results, "vitest.json");
  const { status } = spawnSync(
    process.execPath,
    [
      join(root, "node_modules", "vitest", "vitest.mjs"),
      "run",
      "--reporter=default",
      "--reporter=json",
      `--outputFile.json=${report}`,
      ...args,
    ],
    { cwd: root, stdio: "inherit", env: { ...process.env, UNDERSTUDY_TEST_PYTHON: python } },
  );
  if (!existsSync(report)) return { ok: false, counts: { passed: 0, failed: 1, skipped: 0 }, skipped: [] };
  const { testResults, numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, "utf8"));
  console.log("\nSeconds by file:");
  for (const { name, startTime, endTime } of testResults
    .toSorted((a, b) => b.endTime - b.startTime - (a.endTime - a.startTime))
    .slice(0, 12)) {
    console.log(`  ${((endTime - startTime) / 1000).toFixed(1).padStart(6)}  ${name.slice(root.length + 1)}`);
  }
  const skipped = testResults.flatMap(({ name, assertionResults }) =>
    assertionResults
      .filter(({ status: state }) => state !== "passed" && state !== "failed")
      .map(({ fullName }) => `${name.slice(root.length + 1)}: ${fullName}`),
  );
  // A file that cannot be loaded fails without a failed test.
  const failures = Math.max(numFailedTests, status === 0 ? 0 : 1);
  return {
    ok: status === 0,
    counts: { passed: numPassedTests, failed: failures, skipped: skipped.length },
    skipped,
  };
}

function pytest() {
  const report = join(results, "pytest.xml");
  const { status } = spawnSync(
    python,
    ["-m", "pytest", "-q", "-rs", "--durations=8", `--junitxml=${report}`, "tests"],
    {
      cwd: join(root, "launchers", "payload"),
      stdio: "inherit",
      env: { ...process.env, HF_HUB_OFFLINE: "1", PYTHONDONTWRITEBYTECODE: "1" },
    },
  );
  if (!existsSync(report)) return { ok: false, counts: { passed: 0, failed: 1, skipped: 0 }, skipped: [] };
  const xml = readFileSync(report, "utf8");
  const suite = /<testsuite [^>]*>/.exec(xml)?.[0] ?? "";
  const count = (name) => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(suite)?.[1] ?? 0);
  const bad = count("failures") + count("errors");
  const skipped = [...xml.matchAll(/<testcase classname="([^"]*)" name="([^"]*)"[^>]*><skipped/g)].map(
    ([, file, name]) => `payload ${file}: ${name}`,
  );
  return {
    ok: status === 0,
    counts: { passed: count("tests") - bad - count("skipped"), failed: bad, skipped: count("skipped") },
    skipped,
  };
}
