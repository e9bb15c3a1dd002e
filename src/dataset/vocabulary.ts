import { z } from "zod";

/** The three reference backends of SpeechRole-Data, in the order of their columns. */
export const REFERENCE_BACKENDS = ["cosyvoice2", "f5_tts", "e2_tts"] as const;
export const ReferenceBackend = z.enum(REFERENCE_BACKENDS);
export type ReferenceBackend = z.infer<typeof ReferenceBackend>;

/** `train` seen roles · `dev` their held-back sessions · `ood` training-type dialogues of held-out roles · `test` all roles. */
export const SPLITS = ["train", "dev", "ood", "test"] as const;
export const Split = z.enum(SPLITS);
export type Split = z.infer<typeof Split>;

export const Language = z.enum(["en", "zh"]);
export type Language = z.infer<typeof Language>;

export const DialogueKind = z.enum(["single", "multi"]);
export type DialogueKind = z.infer<typeof DialogueKind>;

export const Sha256 = z.string().regex(/^[0-9a-f]{64}$/, "expected 64 hexadecimal digits");
