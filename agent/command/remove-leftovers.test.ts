import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { FAMILIES } from "../../api/address.ts";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { logLines } from "../../test/doubles/log-lines.ts";
import type { BackendKind } from "../backends/backend-kind.ts";
import { KINDS } from "../backends/kinds.ts";
import { type InUse, removeLeftovers, removeUntilDone } from "./remove-leftovers.ts";

/** What happens at which second if this many tries fail. `stopAt`: the second at which `stop` is aborted. */
async function removed(failures: number, seconds: number, stopAt?: number): Promise<string[]> {
  const clock = new FakeClock();
  const stop = new AbortController();
  const seen: string[] = [];
  const say = (what: string) => seen.push(`${clock.now() / 1000} ${what}`);
  let left = failures;
  const remove = async (): Promise<number> => {
    say("try");
    if (left-- > 0) throw new Error("busy");
    return 1;
  };
  const leftovers: BackendKind["leftovers"] = () => [{ variant: {}, family: "IPv4", remove }];
  const kinds = { trial: { ...KINDS.iptables, leftovers } };
  const search = { kinds, ranges: [], keep: [] } as const;
  const ended = removeUntilDone(search, logLines().log, clock, stop.signal, () => say("once")).then(
    () => say("end"),
  );
  for (let second = 0; second < seconds; second++) {
    await turn();
    if (second === stopAt) stop.abort();
    await turn();
    clock.advance(1000);
  }
  stop.abort();
  await ended;
  assert.equal(clock.pending, 0);
  return seen;
}

describe("leftovers of an earlier run", () => {
  test("are removed in one try if nothing fails", async () => {
    assert.deepEqual(await removed(0, 10), ["0 try", "0 once", "0 end"]);
  });

  test("are retried until removed, after pauses that double", async () => {
    const tries = ["0 try", "0 once", "5 try", "15 try", "35 try", "35 end"];
    assert.deepEqual(await removed(3, 60), tries);
  });

  test("are retried every five minutes in the end", async () => {
    const seen = await removed(Number.POSITIVE_INFINITY, 1300);
    assert.deepEqual(seen.slice(-4), ["615 try", "915 try", "1215 try", "1300 end"]);
  });

  test("are removed of every backend, except those in use", async () => {
    const removed: string[] = [];
    const leftovers: BackendKind["leftovers"] = ({ inUse }) =>
      FAMILIES.map((family) => ({
        ...{ variant: { flavour: "nft" }, family },
        remove: async () => removed.push(`${family}, in use: ${inUse}`),
      }));
    const kinds = { trial: { ...KINDS.iptables, leftovers } };
    const none = { kinds, ranges: [], keep: [] } as const;
    const trial: InUse = { name: "trial", variant: { flavour: "nft" }, families: ["IPv4"] };
    for (const [inUse, expected] of [
      [undefined, ["IPv4, in use: none", "IPv6, in use: none"]],
      [trial, ["IPv6, in use: this"]],
      [{ ...trial, variant: { flavour: "legacy" } }, ["IPv4, in use: this", "IPv6, in use: this"]],
      [{ ...trial, name: "other" }, ["IPv4, in use: other", "IPv6, in use: other"]],
    ] as const) {
      await removeLeftovers(inUse === undefined ? none : { ...none, inUse }, logLines().log);
      assert.deepEqual(removed.splice(0), expected);
    }
  });

  test("are not retried once the agent is stopping", async () => {
    assert.deepEqual(await removed(5, 60, 7), ["0 try", "0 once", "5 try", "7 end"]);
  });
});
