import { REFERENCE_BACKENDS, type DatasetSpec } from "../schema.ts";
import { audioColumn, TEXT_COLUMNS } from "./columns.ts";

/** Key of the Parquet footer that Python's `datasets` reads the features from. */
export const FOOTER_KEY = "huggingface";

const value = (dtype: string): object => ({ dtype, _type: "Value" });
const AUDIO = { sampling_rate: 16_000, _type: "Audio" };

/**
 * Value of that key. `list` is what `datasets` 4 and later writes itself; `compat` says the same in the form that 2.x
 * and 3.x read too, since `List` is unknown to them.
 */
export const footerValue = (form: DatasetSpec["shards"]["footer"]): string => {
  const turn = {
    index: value("int32"),
    user_text: value("string"),
    user_audio: AUDIO,
    role_text: value("string"),
    ...Object.fromEntries(REFERENCE_BACKENDS.map((backend) => [audioColumn(backend), AUDIO])),
  };
  const features = {
    ...Object.fromEntries(TEXT_COLUMNS.map((name) => [name, value("string")])),
    num_turns: value("int32"),
    audio_seconds: value("float32"),
    turns: form === "list" ? { feature: turn, _type: "List" } : [turn],
    content_sha256: value("string"),
  };
  return JSON.stringify({ info: { features } });
};
