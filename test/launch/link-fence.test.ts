import { afterEach, expect, it } from "vitest";
import { chainOf, meddling } from "./link-support.ts";
import { sweep } from "./support.ts";

afterEach(async () => {
  for (const n of [1, 2]) await sweep(`us-fence-a${n}`);
});

it("a submission that takes the fence while a link makes its own durable keeps it, and the link trains nothing", async () => {
  const chain = chainOf("us-fence");
  chain.script(1, "checkpoint 2; exit 3");
  chain.script(2, "exit 0");
  expect((await chain.link(1)).code).toBe(3);
  const path = meddling("sync", "*/fence.*", `echo newer >"${chain.run}/fence"`);
  expect(await chain.link(2, { path })).toMatchObject({ code: 75 });
  expect(chain.read("fence")).toBe("newer\n");
  expect(chain.ran()).not.toContain(2);
});
