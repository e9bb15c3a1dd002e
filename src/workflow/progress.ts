/** What long work says while it runs; printing is the caller's business. */
export type Progress =
  /** A new part of the work begins. */
  | { readonly type: "stage"; readonly stage: string; readonly text: string }
  /** Worth a line of its own. */
  | { readonly type: "note"; readonly text: string }
  /** Only worth showing while nothing else happens, e.g. a line of an installer. */
  | { readonly type: "detail"; readonly text: string }
  | {
      readonly type: "step";
      readonly step: number;
      readonly steps: number;
      /** Nats per label token. */
      readonly loss: number;
      readonly etaSeconds: number | null;
    }
  | { readonly type: "evaluation"; readonly step: number; readonly devLoss: number }
  | { readonly type: "checkpoint"; readonly step: number }
  | { readonly type: "work"; readonly text: string; readonly done: number; readonly total: number };

export type OnProgress = (progress: Progress) => void;
