import { describe, expect, it } from "vitest";
import { openShard, packDataset, packedFolder } from "../../src/dataset/index.ts";
import { footerValue } from "../../src/dataset/shard/footer.ts";
import { join } from "node:path";
import { projectWith } from "./corpus.ts";

// Written out, not computed: Python's `datasets` compares types name by name and silently drops what differs.
const LIST =
  '{"info":{"features":{"id":{"dtype":"string","_type":"Value"},"role_id":{"dtype":"string","_type":"Value"},"role_name":{"dtype":"string","_type":"Value"},"language":{"dtype":"string","_type":"Value"},"role_source":{"dtype":"string","_type":"Value"},"kind":{"dtype":"string","_type":"Value"},"category":{"dtype":"string","_type":"Value"},"system_prompt":{"dtype":"string","_type":"Value"},"context":{"dtype":"string","_type":"Value"},"num_turns":{"dtype":"int32","_type":"Value"},"audio_seconds":{"dtype":"float32","_type":"Value"},"turns":{"feature":{"index":{"dtype":"int32","_type":"Value"},"user_text":{"dtype":"string","_type":"Value"},"user_audio":{"sampling_rate":16000,"_type":"Audio"},"role_text":{"dtype":"string","_type":"Value"},"role_audio_cosyvoice2":{"sampling_rate":16000,"_type":"Audio"},"role_audio_f5_tts":{"sampling_rate":16000,"_type":"Audio"},"role_audio_e2_tts":{"sampling_rate":16000,"_type":"Audio"}},"_type":"List"},"content_sha256":{"dtype":"string","_type":"Value"}}}}';
const COMPAT =
  '{"info":{"features":{"id":{"dtype":"string","_type":"Value"},"role_id":{"dtype":"string","_type":"Value"},"role_name":{"dtype":"string","_type":"Value"},"language":{"dtype":"string","_type":"Value"},"role_source":{"dtype":"string","_type":"Value"},"kind":{"dtype":"string","_type":"Value"},"category":{"dtype":"string","_type":"Value"},"system_prompt":{"dtype":"string","_type":"Value"},"context":{"dtype":"string","_type":"Value"},"num_turns":{"dtype":"int32","_type":"Value"},"audio_seconds":{"dtype":"float32","_type":"Value"},"turns":[{"index":{"dtype":"int32","_type":"Value"},"user_text":{"dtype":"string","_type":"Value"},"user_audio":{"sampling_rate":16000,"_type":"Audio"},"role_text":{"dtype":"string","_type":"Value"},"role_audio_cosyvoice2":{"sampling_rate":16000,"_type":"Audio"},"role_audio_f5_tts":{"sampling_rate":16000,"_type":"Audio"},"role_audio_e2_tts":{"sampling_rate":16000,"_type":"Audio"}}],"content_sha256":{"dtype":"string","_type":"Value"}}}}';

describe("the footer", () => {
  it("says exactly this", () => {
    expect(footerValue("list")).toBe(LIST);
    expect(footerValue("compat")).toBe(COMPAT);
  });

  it.each([
    ["list", LIST],
    ["compat", COMPAT],
  ])("of a packed shard is the %s form where the spec says so", async (footer, expected) => {
    const project = await projectWith((corpus) => (corpus.spec["shards"] = { footer }));
    const { lock } = await packDataset({ project, name: "small" });
    for (const { path } of Object.values(lock.splits).flatMap(({ shards }) => shards)) {
      const shard = await openShard(join(packedFolder(project, "small"), path));
      expect(shard.footer).toBe(expected);
      await shard.close();
    }
  });
});
