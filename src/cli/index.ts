export { EXIT, type ExitCode } from "./exit-codes.ts";
export { programName, type ProgramName } from "./program-name.ts";
export { runUnderstudy } from "./program.ts";
export type { Sink, World } from "./world.ts";
