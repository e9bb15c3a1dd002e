import { describe, expect, it } from "vitest";
import type { Clock } from "../../../src/core/clock.ts";
import { paced } from "../../../src/launch/sagemaker/pace.ts";

const stoppedClock = (): Clock & { readonly slept: number[] } => {
  let now = 0;
  const slept: number[] = [];
  return {
    slept,
    now: () => now,
    sleep: async (milliseconds) => {
      slept.push(milliseconds);
      now += milliseconds;
    },
  };
};
const throttle = Object.assign(new Error("Rate exceeded"), { name: "ThrottlingException" });
const limits = { perSecond: 2, burst: 3, tries: 4, random: () => 0.5 };

describe("how fast the service is asked", () => {
  it("lets a burst through and then waits for each turn", async () => {
    const clock = stoppedClock();
    const pace = paced(clock, limits);
    for (let call = 0; call < 5; call++) await pace(async () => call);
    expect(clock.slept).toEqual([500, 500]);
  });

  it("asks again when throttled, later and later, and gives up after its tries", async () => {
    const clock = stoppedClock();
    const pace = paced(clock, { ...limits, burst: 100 });
    let asked = 0;
    const call = async (): Promise<never> => {
      asked += 1;
      throw throttle;
    };
    await expect(pace(call)).rejects.toBe(throttle);
    expect(asked).toBe(4);
    expect(clock.slept).toEqual([750, 1500, 3000]);
  });

  it("is slower for everybody after a throttle", async () => {
    const clock = stoppedClock();
    const pace = paced(clock, { ...limits, perSecond: 4, burst: 1, tries: 2 });
    let first = true;
    await pace(async () => {
      if (!first) return;
      first = false;
      throw throttle;
    });
    clock.slept.length = 0;
    await pace(async () => 1);
    await pace(async () => 1);
    // Half as many as before, and a little more after each answer: at first it was one in 250.
    expect(clock.slept.at(-1)).toBeGreaterThan(350);
  });

  it("leaves other errors to whoever asked", async () => {
    const clock = stoppedClock();
    await expect(
      paced(
        clock,
        limits,
      )(async () => {
        throw new Error("no");
      }),
    ).rejects.toThrow("no");
    expect(clock.slept).toEqual([]);
  });
});
