import { at } from "./at.ts";
import type { Pair } from "./ratio.ts";
import { mean } from "./sum.ts";

/** Scores of a call that heard the reference first, put back as [test, reference]. */
export function unswap([first, second]: readonly [first: number, second: number]): Pair {
  return [second, first];
}

/** How much the order of the two answers moved the judge, over items judged in both orders. */
export interface PositionEffect {
  readonly items: number;
  /** Mean of test/reference over the two orders, per item, and its mean. */
  readonly ratios: readonly number[];
  readonly balanced: number;
  readonly testFirstOnly: number;
  /** Mean over items of (log-ratio test first - log-ratio test second)/2; above 0 the first voice gains. */
  readonly firstPositionLogEffect: number;
  /** Share of items whose winner changes with the order; a tie against a win counts as a change. */
  readonly flipRate: number;
}

/**
 * Both lists hold [test, reference] of the same items in the same order, the second already un-swapped.
 * RangeError when they are empty or differ in length. Golden A7.
 */
export function positionEffect(testFirst: readonly Pair[], testSecond: readonly Pair[]): PositionEffect {
  if (testFirst.length !== testSecond.length || testFirst.length === 0)
    throw new RangeError(`Items in both orders are needed, got ${testFirst.length} and ${testSecond.length}`);
  const orders = testFirst.map((pair, index) => [ratio(pair), ratio(at(testSecond, index))] as const);
  const ratios = orders.map(([first, second]) => (first + second) / 2);
  return {
    items: orders.length,
    ratios,
    balanced: mean(ratios),
    testFirstOnly: mean(orders.map(([first]) => first)),
    firstPositionLogEffect: mean(orders.map(([first, second]) => (Math.log(first) - Math.log(second)) / 2)),
    flipRate: mean(orders.map(([first, second]) => (winner(first) === winner(second) ? 0 : 1))),
  };
}

const ratio = ([test, reference]: Pair): number => test / reference;

const winner = (value: number): number => Math.sign(value - 1);
