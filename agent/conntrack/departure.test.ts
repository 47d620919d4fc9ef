import assert from "node:assert/strict";
import { test } from "node:test";
import { entry, RANGE, tcpService, VIP } from "../../test/support/fake-conntrack.ts";
import type { VirtualService } from "../plan/virtual-service.ts";
import type { Departure } from "./departure.ts";
import { Judge } from "./judge.ts";
import { targetOf } from "./target.ts";
import { Targets } from "./targets.ts";

const A = "10.1.0.11";
const B = "10.1.0.12";
const TRY = { protocol: "TCP", to: `${VIP}:80`, replied: false, tcp: "SYN_SENT" } as const;

/** Has these services of `demo/serve` live, and nothing else if `complete`; gives who left. */
function change(
  targets: Targets,
  services: readonly VirtualService[],
  complete = false,
): Departure | undefined {
  targets.propose("demo/serve", services.map(targetOf));
  return targets.accept(complete).departure;
}

function settle(targets: Targets, departure: Departure | undefined): void {
  assert.ok(departure);
  targets.departures.settle(departure);
}

test("what was sent to an endpoint before it left may be answered until its departure is settled", () => {
  const targets = new Targets(RANGE);
  const verdicts = () =>
    [A, B].map((at) => new Judge(targets).verdict(entry({ ...TRY, at: `${at}:8080` })));
  const start = change(targets, [tcpService([A])], true);
  assert.deepEqual(verdicts(), [undefined, undefined], "nobody knows who took connections before");
  settle(targets, start);
  assert.deepEqual(verdicts(), [undefined, "unanswered"]);
  assert.equal(change(targets, [tcpService([A, B])]), undefined, "who comes does not leave");
  const first = change(targets, [tcpService([A])]);
  const second = change(targets, []);
  assert.deepEqual(verdicts(), [undefined, undefined]);
  settle(targets, first);
  assert.deepEqual(verdicts(), [undefined, "unanswered"]);
  settle(targets, second);
  assert.deepEqual(verdicts(), ["unanswered", "unanswered"]);
});

test("a process that does not know everything yet lets be what may have led to somebody just now", () => {
  const targets = new Targets(RANGE);
  const departure = change(targets, [tcpService([A])]);
  const verdict = () => new Judge(targets).verdict(entry({ ...TRY, at: `${B}:8080` }));
  assert.equal(verdict(), undefined);
  settle(targets, departure);
  assert.equal(verdict(), "unanswered");
});

for (const complete of [false, true]) {
  const pass = complete ? "a complete pass" : "a change";
  test(`an explicit VIP that ${pass} gives up is looked after until nobody who left it may answer`, () => {
    const targets = new Targets(RANGE);
    const vips = ["198.51.100.7"];
    const verdict = () =>
      new Judge(targets).verdict(entry({ ...TRY, to: "198.51.100.7:80", at: `${A}:8080` }));
    settle(targets, change(targets, [tcpService([A], undefined, { vips })], true));
    const departure = change(targets, [], complete);
    targets.forget(targets.former());
    settle(targets, departure);
    assert.equal(verdict(), "unanswered");
    targets.forget(targets.former());
    assert.equal(verdict(), undefined, "somebody else's now");
  });
}
