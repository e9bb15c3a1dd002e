import { findCheckpoint, scanCheckpoints, verifyCheckpoint } from "../../../checkpoint/index.ts";
import { dirname } from "node:path";
import { UserError } from "../../../core/errors.ts";
import { defineCommand } from "../../command.ts";
import { inShop } from "../../shop.ts";

export const checkpointVerify = defineCommand({
  positionals: { checkpoint: { describe: "Checkpoint id: RUN@STEP" } },
  options: {},
  json: true,
  details: "Compares size and SHA-256 of every file with what was written.",
  handler: async ({ checkpoint: id }, context) =>
    inShop(context, async (shop) => {
      const manifest = await findCheckpoint(shop.project, id);
      const hint = {
        hint: `bring it back from a copy, or take another: understudy checkpoint list ${manifest.run}`,
      };
      const found = (await scanCheckpoints(dirname(manifest.uri))).find(({ step }) => step === manifest.step);
      if (!found?.complete) {
        throw new UserError(
          "CHECKPOINT_GONE",
          `${id} is no longer complete: ${found?.reason ?? "its folder is gone"}`,
          hint,
        );
      }
      const problems = await verifyCheckpoint(found.folder, found.marker, { digests: true });
      if (problems.length > 0) {
        const lines = problems.map(({ path, problem }) => `  ${path}: ${problem}`);
        throw new UserError(
          "CHECKPOINT_CHANGED",
          `${id} is not what was written:\n${lines.join("\n")}`,
          hint,
        );
      }
      context.print.result({ id, sound: true, files: manifest.files.length }, () => [
        `${id} is sound: ${manifest.files.length} files have the size and SHA-256 they were written with`,
      ]);
    }),
});
