declare module "parquetjs-lite" {
  export class ParquetSchema {
    constructor(fields: Readonly<Record<string, unknown>>);
    readonly schema: Readonly<Record<string, unknown>>;
  }
  export class ParquetWriter {
    static openFile(
      schema: ParquetSchema,
      path: string,
      options?: {
        readonly useDataPageV2?: boolean;
        readonly rowGroupSize?: number;
        readonly pageIndex?: boolean;
      },
    ): Promise<ParquetWriter>;
    appendRow(row: Readonly<Record<string, unknown>>): Promise<void>;
    close(): Promise<void>;
  }
}
