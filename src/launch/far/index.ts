// What every far machine (SSH host, login node, compute node) has in common.
export { checkFar, probeFar } from "./check-far.ts";
export { prepareEnvironment, type EnvironmentOptions } from "./prepare-environment.ts";
export { farProblems } from "./problems.ts";
export { farProgram, type FarProgram } from "./program.ts";
export { pyxisFlags } from "./container.ts";
export { farScript } from "./script.ts";
export { secretFile } from "./secret-file.ts";
export { lookAtInputs } from "./inputs.ts";
export { tokenFolder } from "./staging.ts";
