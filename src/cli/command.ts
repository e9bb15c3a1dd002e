import type { Context } from "./context.ts";
import type { ExitCode } from "./exit-codes.ts";

/** What a shell may offer in place of a value, from the project that the person stands in. */
export type Completion = "run" | "profile" | "recipe" | "dataset";

export interface PositionalSpec {
  readonly describe: string;
  readonly optional?: true;
  /** Takes all remaining words. */
  readonly many?: true;
  readonly choices?: readonly string[];
  readonly complete?: Completion;
}

export interface OptionSpec {
  readonly type: "string" | "number" | "boolean";
  readonly describe: string;
  /** One letter. */
  readonly alias?: string;
  /** May be given several times. */
  readonly many?: true;
  readonly required?: true;
  readonly choices?: readonly string[];
  readonly complete?: Completion;
  readonly default?: string | number;
  /** Name of the value in help: `--set PATH=VALUE`. */
  readonly value?: string;
}

type Positionals = Readonly<Record<string, PositionalSpec>>;
type Options = Readonly<Record<string, OptionSpec>>;

type Word<Spec> = Spec extends { choices: readonly (infer Choice)[] } ? Choice : string;
type PositionalValue<Spec> = Spec extends { many: true }
  ? readonly Word<Spec>[]
  : Spec extends { optional: true }
    ? Word<Spec> | undefined
    : Word<Spec>;
type Single<Spec> = Spec extends { type: "string" }
  ? Word<Spec>
  : Spec extends { type: "number" }
    ? number
    : boolean;
type OptionValue<Spec> = Spec extends { many: true }
  ? readonly Single<Spec>[]
  : Spec extends { required: true } | { default: unknown } | { type: "boolean" }
    ? Single<Spec>
    : Single<Spec> | undefined;

/** Arguments of a handler, inferred from the command's data. */
export type Arguments<P, O> = { readonly [Name in keyof P]: PositionalValue<P[Name]> } & {
  readonly [Name in keyof O]: OptionValue<O[Name]>;
};

export interface CommandDefinition<P extends Positionals, O extends Options> {
  /** In order; names and order are those of the usage line in the command table. */
  readonly positionals: P;
  /** Names in camelCase; people write `--dry-run` for `dryRun`. */
  readonly options: O;
  /** True adds `--json`: every command that reads something has it. */
  readonly json: boolean;
  /** Paragraph below the summary in help. */
  readonly details?: string;
  /** Complete command lines. */
  readonly examples?: readonly string[];
  /** Calls one workflow and prints. A returned code ends the command with it; default 0. */
  readonly handler: (values: Arguments<P, O>, context: Context) => Promise<ExitCode | void>;
}

/** A command whose argument types are no longer visible: what the program works with. */
export interface Command {
  readonly positionals: Positionals;
  readonly options: Options;
  readonly json: boolean;
  readonly details: string | undefined;
  readonly examples: readonly string[];
  /** `values` must come from the parser, which checked them against this very data. */
  run(values: Readonly<Record<string, unknown>>, context: Context): Promise<ExitCode | void>;
}

/** A command as data; its handler's argument types follow from `positionals` and `options`. */
export const defineCommand = <const P extends Positionals, const O extends Options>(
  definition: CommandDefinition<P, O>,
): Command => ({
  positionals: definition.positionals,
  options: definition.options,
  json: definition.json,
  details: definition.details,
  examples: definition.examples ?? [],
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the one cast between data and types: parse-arguments.ts makes exactly what Arguments<P, O> promises
  run: (values, context) => definition.handler(values as Arguments<P, O>, context),
});
