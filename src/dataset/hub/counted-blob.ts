/** A Blob that tells how many bytes of it were read: what is read from a request's body is what was sent. */
export class CountedBlob extends Blob {
  override readonly size: number;
  readonly #inner: Blob;
  readonly #onBytes: (bytes: number) => void;

  constructor(inner: Blob, onBytes: (bytes: number) => void) {
    super([], { type: inner.type });
    this.size = inner.size;
    this.#inner = inner;
    this.#onBytes = onBytes;
  }

  override stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    const reader = this.#inner.stream().getReader();
    const onBytes = this.#onBytes;
    return new ReadableStream<Uint8Array<ArrayBuffer>>(
      {
        async pull(controller) {
          const { done, value } = await reader.read();
          if (done) return controller.close();
          onBytes(value.byteLength);
          controller.enqueue(value);
        },
        cancel: async (reason) => reader.cancel(reason),
      },
      { highWaterMark: 0 },
    );
  }
}
