#!/usr/bin/env node
import { existsSync } from "node:fs";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const main = new URL("../dist/program/main.js", import.meta.url);

if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`error: Understudy needs Node 20.19 or newer, and this is ${process.versions.node}`);
  console.error("hint: install a newer Node, e.g. from https://nodejs.org");
  process.exitCode = 2;
} else if (!existsSync(main)) {
  console.error("error: Understudy is not built yet");
  console.error("hint: run npm ci && npm run build in its folder, once");
  process.exitCode = 2;
} else {
  await import(main.href);
}
