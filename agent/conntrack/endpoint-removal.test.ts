import assert from "node:assert/strict";
import { test } from "node:test";
import { entry, RANGE, tcpService, VIP } from "../../test/doubles/fake-conntrack.ts";
import type { VirtualService } from "../plan/virtual-service.ts";
import type { EndpointRemoval } from "./endpoint-removal.ts";
import { programmedPort } from "./programmed-port.ts";
import { ProgrammedState } from "./programmed-state.ts";
import { StaleCheck } from "./stale-check.ts";

const A = "10.1.0.11";
const B = "10.1.0.12";
const UNANSWERED = { protocol: "TCP", to: `${VIP}:80`, replied: false, tcp: "SYN_SENT" } as const;

/** These services of `demo/serve` are live; `complete`: and no others. Returns the removal. */
function change(
  state: ProgrammedState,
  services: readonly VirtualService[],
  complete = false,
): EndpointRemoval | undefined {
  state.propose("demo/serve", services.map(programmedPort));
  return state.accept(complete).removal;
}

function expire(state: ProgrammedState, removal: EndpointRemoval | undefined): void {
  assert.ok(removal);
  state.removals.expire(removal);
}

test("entries to a removed endpoint do not count as unanswered until the removal expires", () => {
  const state = new ProgrammedState([RANGE]);
  const reasons = () =>
    [A, B].map((at) => new StaleCheck(state).reasonFor(entry({ ...UNANSWERED, at: `${at}:8080` })));
  const start = change(state, [tcpService([A])], true);
  assert.deepEqual(reasons(), [undefined, undefined], "earlier endpoints are unknown");
  expire(state, start);
  assert.deepEqual(reasons(), [undefined, "unanswered"]);
  assert.equal(change(state, [tcpService([A, B])]), undefined, "an endpoint was added");
  const first = change(state, [tcpService([A])]);
  const second = change(state, []);
  assert.deepEqual(reasons(), [undefined, undefined]);
  expire(state, first);
  assert.deepEqual(reasons(), [undefined, "unanswered"]);
  expire(state, second);
  assert.deepEqual(reasons(), ["unanswered", "unanswered"]);
});

test("before the first complete pass, entries to unknown endpoints are kept until the removal expires", () => {
  const state = new ProgrammedState([RANGE]);
  const removal = change(state, [tcpService([A])]);
  const reason = () => new StaleCheck(state).reasonFor(entry({ ...UNANSWERED, at: `${B}:8080` }));
  assert.equal(reason(), undefined);
  expire(state, removal);
  assert.equal(reason(), "unanswered");
});

for (const complete of [false, true]) {
  const pass = complete ? "a complete pass" : "a change";
  test(`an explicit VIP released by ${pass} stays known until its removed endpoints can answer no more`, () => {
    const state = new ProgrammedState([RANGE]);
    const vips = ["198.51.100.7"];
    const reason = () =>
      new StaleCheck(state).reasonFor(
        entry({ ...UNANSWERED, to: "198.51.100.7:80", at: `${A}:8080` }),
      );
    expire(state, change(state, [tcpService([A], undefined, { vips })], true));
    const removal = change(state, [], complete);
    state.forget(state.released());
    expire(state, removal);
    assert.equal(reason(), "unanswered");
    state.forget(state.released());
    assert.equal(reason(), undefined, "no longer ours");
  });
}

test("entries to an endpoint that was found silent are unanswered at once, and are looked for again later", () => {
  const state = new ProgrammedState([RANGE]);
  const reasons = () =>
    [A, B].map((at) => new StaleCheck(state).reasonFor(entry({ ...UNANSWERED, at: `${at}:8080` })));
  expire(state, change(state, [tcpService([A, B])], true));
  const services = [tcpService([B], undefined, { unanswering: [`${A}:8080`] })];
  state.propose("demo/serve", services.map(programmedPort));
  const { stale, removal } = state.accept(false);
  assert.deepEqual(stale, {
    protocols: new Set(["TCP"]),
    unanswered: true,
    vips: removal?.scope.vips,
  });
  assert.deepEqual(reasons(), ["unanswered", undefined]);
});
