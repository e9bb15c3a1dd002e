import { PreflightError } from "../core/errors.ts";
import { MEASURE_WASM } from "./measure-wasm.ts";

interface Engine {
  validate(bytes: Uint8Array): boolean;
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
}
// Node has it, if not forbidden; its types stand with those of browsers.
declare const WebAssembly: Engine | undefined;

/**
 * PreflightError `NO_SIMD` where WebAssembly cannot look at eight samples at a time: without it, sums of floats would be added in
 * another order and a clip would have other bytes than on all other machines.
 */
export const requireSimd = (): Engine => {
  const engine = typeof WebAssembly === "undefined" ? undefined : WebAssembly;
  if (engine?.validate(Buffer.from(MEASURE_WASM, "base64"))) return engine;
  throw new PreflightError("NO_SIMD", "This processor, or this Node, cannot run WebAssembly with SIMD", {
    hint: "SSE4.1 is needed: give a virtual machine the processor of its host (QEMU: -cpu host); run Node without --jitless",
  });
};

/** What a program with SIMD exports. */
export const simdExports = (bytes: Uint8Array): unknown => {
  const { Module, Instance } = requireSimd();
  return new Instance(new Module(bytes)).exports;
};
