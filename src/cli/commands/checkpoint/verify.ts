import { verifyCheckpointOf } from "../../../workflow/index.ts";
import { defineCommand } from "../../command.ts";
import { inShop } from "../../shop.ts";

export const checkpointVerify = defineCommand({
  positionals: { checkpoint: { describe: "Checkpoint id: RUN@STEP" } },
  options: {},
  json: true,
  details:
    "Compares size and SHA-256 of every file with what was written, where it lies: nothing is downloaded.",
  handler: async ({ checkpoint: id }, context) =>
    inShop(context, async (shop) => {
      const { manifest, digests } = await verifyCheckpointOf(shop, id);
      const { files, uri } = manifest;
      context.print.result({ id, sound: true, files: files.length, digests, uri }, () => [
        digests
          ? `${id} is sound: ${files.length} files have the size and SHA-256 they were written with`
          : `${id} has ${files.length} files of the size they were written with; ${uri} tells no SHA-256 without a download`,
      ]);
    }),
});
