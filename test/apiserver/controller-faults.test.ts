import { after, before } from "node:test";
import { apiServerItems } from "./controller-faults/api-servers.ts";
import { clockItems } from "./controller-faults/clocks.ts";
import { leaderItems } from "./controller-faults/leaders.ts";
import { Pair } from "./controller-faults/pair.ts";

// Faults of a controller itself and of what is next to it: a second one, clocks, its own API server, a token. The clocks of
// both clusters are an hour off all the while.

let pair: Pair;
before(async () => {
  pair = await Pair.open();
});
after(() => pair[Symbol.asyncDispose]());

leaderItems(() => pair);
clockItems(() => pair);
apiServerItems(() => pair);
