import { describe, expect, it } from "vitest";
import { z } from "zod";
import { positionEffect, unswap } from "../../src/stats/index.ts";
import { Numbers, PairSchema } from "./examples.ts";
import { golden } from "./golden.ts";

describe("position effect", () => {
  it("un-swaps the second order and measures what the order did", () => {
    const { input, expected, close } = golden(
      "A7_position_swap_debias",
      z.object({
        order_AB_test_first: z.array(PairSchema),
        order_BA_ref_first_raw_scores_A_B: z.array(PairSchema),
      }),
      z.object({
        unswapped_BA_test_ref: z.array(PairSchema),
        per_item_ratio_mean_of_orders: Numbers,
        score_balanced: z.number(),
        score_AB_only: z.number(),
        first_position_effect_log: z.number(),
        winner_flip_rate: z.number(),
      }),
    );
    const second = input.order_BA_ref_first_raw_scores_A_B.map(unswap);
    expect(second).toEqual(expected.unswapped_BA_test_ref);
    close(positionEffect(input.order_AB_test_first, second), {
      items: 3,
      ratios: expected.per_item_ratio_mean_of_orders,
      balanced: expected.score_balanced,
      testFirstOnly: expected.score_AB_only,
      firstPositionLogEffect: expected.first_position_effect_log,
      flipRate: expected.winner_flip_rate,
    });
  });

  it("is 0 for a judge that ignores the order, and refuses unequal lists", () => {
    const effect = positionEffect(
      [
        [8, 6],
        [5, 5],
      ],
      [
        [8, 6],
        [5, 5],
      ],
    );
    expect(effect).toMatchObject({ firstPositionLogEffect: 0, flipRate: 0 });
    expect(() => positionEffect([[8, 6]], [])).toThrow(RangeError);
    expect(() => positionEffect([], [])).toThrow(RangeError);
  });
});
