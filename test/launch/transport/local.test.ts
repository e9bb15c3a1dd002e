import { systemClock } from "../../../src/core/clock.ts";
import { localTransport } from "../../../src/launch/transport/index.ts";
import { transportContract } from "../../contract/transport.ts";

transportContract("this machine", async () =>
  localTransport({ clock: systemClock, environment: process.env }),
);
