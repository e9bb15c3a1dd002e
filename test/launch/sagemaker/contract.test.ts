import type { Launcher } from "../../../src/launch/index.ts";
import { launcherContract } from "../../contract/launcher.ts";
import { awsSuite } from "../../real/aws/moto.ts";
import { touch, type Service } from "../../real/aws/service.ts";
import { awsBench } from "./support.ts";

const secretValue = "s3cret-of-the-test, $HOME \"q\" 'x'\nline";

// The service takes a name once and says what it was made from: a plan that is sent again is adopted, by every sender. The
// contract's word for such a replay is `ambiguous`; that it is an adoption is tested in submit.test.ts.
const withReplaysTold = (launcher: Launcher): Launcher => {
  const taken = new Set<string>();
  return {
    ...launcher,
    submit: async (plan) => {
      const answer = await launcher.submit(plan);
      if (answer.outcome !== "accepted") return answer;
      if (taken.has(plan.attempt.marker)) return { outcome: "ambiguous", reason: "adopted" };
      taken.add(plan.attempt.marker);
      return answer;
    },
  };
};

awsSuite("SageMaker", (python) => {
  // Nobody hears a stop that comes before the program listens: see observe.test.ts. Here it is waited for.
  const withPatience = (launcher: Launcher, service: () => Service): Launcher => ({
    ...launcher,
    cancel: async (ref, mode) => {
      if (ref.kind === "sagemaker") await service().begun(ref.job);
      return launcher.cancel(ref, mode);
    },
  });

  launcherContract("sagemaker", async () => {
    const bench = await awsBench(python);
    const arn = await bench.service.secret("test-secret", secretValue);
    const launcher = await bench.another({ secrets: { TEST_SECRET: arn } });
    return {
      launcher: withPatience(withReplaysTold(launcher), () => bench.service),
      job: (script, changes) => bench.job(script, changes),
      secretValue,
      touch: async (job, name) => {
        const [container] = bench.service
          .jobs()
          .filter((one) => one.startsWith(`us-${job.runId}-a`))
          .toReversed();
        await touch(bench.service, container ?? "", name);
      },
      close: async () => {
        await launcher.close();
        await bench.close();
      },
    };
  });
});
