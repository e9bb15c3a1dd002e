/** Event of the first look at the test split: the choice was made before it. */
export const TEST_OPENED = "test.opened";
