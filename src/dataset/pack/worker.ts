import { parentPort, workerData } from "node:worker_threads";
import { openHand, type HandSetup, type Watch } from "./hand.ts";
import { failureOf, type Reply, type Task } from "./worker-protocol.ts";

// The entry of a packing thread: tasks come one at a time, and each is answered by one `done` or `failed`.
const port = parentPort;
// Whoever starts this thread passes exactly this.
const setup: HandSetup = workerData;
const send = (reply: Reply): void => port?.postMessage(reply);

// With the first task: a thread may be there before the state of the source has been taken down, and must not see an earlier one.
let hand: ReturnType<typeof openHand> | undefined;
let stop = new AbortController();

// A message costs as much as reading a short clip, and a bar is looked at a few times a second.
const TELL_MS = 100;
let untold = 0;
let toldAt = 0;

function tell(): void {
  if (untold > 0) send({ kind: "dialogues", count: untold });
  untold = 0;
  toldAt = performance.now();
}

async function answer(task: Exclude<Task, { kind: "stop" }>): Promise<void> {
  stop = new AbortController();
  const watch: Watch = {
    onDialogues: (count) => {
      untold += count;
      if (performance.now() - toldAt > TELL_MS) tell();
    },
    signal: stop.signal,
  };
  try {
    const opened = await (hand ??= openHand(setup));
    const value =
      task.kind === "survey" ? await opened.survey(task.unit, watch) : await opened.write(task.shard, watch);
    tell();
    send({ kind: "done", value });
  } catch (error) {
    tell();
    send(failureOf(error));
  }
}

port?.on("message", (task: Task) => {
  if (task.kind === "stop") stop.abort();
  else void answer(task);
});
