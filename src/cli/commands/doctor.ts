import { doctorHere, doctorMlflow, doctorProfile, doctorProfiles } from "../../workflow/index.ts";
import { checkLines } from "../check-lines.ts";
import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-codes.ts";

export const doctorCommand = defineCommand({
  positionals: {},
  options: {
    on: {
      type: "string",
      describe: "Ask this profile's machine too: launchers/NAME.yaml",
      value: "NAME",
      complete: "profile",
    },
  },
  json: true,
  details:
    "Tells what this machine has, and with --on what the machine of a profile has: whether it can be reached, its scheduler, " +
    "Python, GPUs and disk, each with numbers. Starts nothing. Ends with 3 when a check failed.",
  examples: ["understudy doctor", "understudy doctor --on my-slurm"],
  handler: async ({ on }, context) => {
    const { clock, environment, fetch, print, signal } = context;
    const project = await context.project();
    const request = {
      project,
      clock,
      environment,
      onProgress: ({ text }: { readonly text: string }): void => print.progress(`  ${text}`),
    };
    const mlflow = await doctorMlflow(project, environment, { clock, fetch, signal });
    const here = [...(await doctorHere(request)), ...(mlflow === null ? [] : [mlflow])];
    const profiles = on === undefined ? await doctorProfiles(request) : [];
    const asked = on === undefined ? null : { name: on, ...(await doctorProfile(request, on)) };
    print.progress("");
    const checks = [...here, ...profiles.map(({ check }) => check), ...(asked?.checks ?? [])];
    const failed = checks.filter(({ outcome }) => outcome === "failed").length;
    const value = {
      ok: failed === 0,
      here,
      profiles,
      profile: asked === null ? null : { name: asked.name, kind: asked.profile.kind, checks: asked.checks },
    };
    print.result(value, () => [
      print.style.bold("this machine"),
      ...checkLines(here, context),
      "",
      ...(asked === null
        ? [
            print.style.bold("profiles"),
            ...checkLines(
              profiles.map(({ check }) => check),
              context,
            ),
            ...(profiles.length === 0 ? [] : ["", "ask one of them: understudy doctor --on NAME"]),
          ]
        : [print.style.bold(`${asked.name} (${asked.profile.kind})`), ...checkLines(asked.checks, context)]),
      "",
      failed === 0 ? "no check failed" : `${failed} ${failed === 1 ? "check" : "checks"} failed`,
    ]);
    return failed === 0 ? EXIT.ok : EXIT.preflight;
  },
});
