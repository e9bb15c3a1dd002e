import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { chainOf } from "./link-support.ts";
import { temporaryFolder } from "./support.ts";

it.each([
  ["printf 'n7\\nn8\\nn8\\n'", "update JobId=103 ExcNodeList=n8,n7\nupdate JobId=104 ExcNodeList=n8,n7\n"],
  ["exit 1", undefined],
])(
  "a node to be avoided that the cluster does not know keeps no other from being avoided (sinfo: %s)",
  async (sinfo, told) => {
    const chain = chainOf("us-a");
    for (const n of [1, 2]) chain.script(n, "exit 3");
    const path = temporaryFolder().path;
    const program = (name: string, text: string): void =>
      writeFileSync(join(path, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    program("squeue", "printf '103\\n104\\n'");
    program("sinfo", sinfo);
    program(
      "scontrol",
      `case "$*" in
  'show hostnames '*) echo "$3" | tr , '\\n' ;;
  *gone9*) echo 'Invalid node name specified' >&2; exit 1 ;;
  *) echo "$*" >>"${chain.run}/told" ;;
esac`,
    );
    const avoid = ["--avoid", "gone9,n8"];
    expect(
      (await chain.link(1, { path, node: "n7", options: [...avoid, "--python", "/nowhere/python"] })).code,
    ).toBe(69);
    const { code, said } = await chain.link(2, { path, options: avoid });
    expect(code).toBe(3);
    expect(chain.read("told")).toBe(told);
    if (told !== undefined) expect(said).toContain("not avoided, as the cluster does not know it: gone9");
    expect(chain.ran()).toEqual([2]);
  },
);
