import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { ControlPlaneContact } from "./control-plane-contact.ts";

function reach() {
  const clock = new FakeClock();
  const told: string[] = [];
  const contact = new ControlPlaneContact(clock, {
    lost: (reason) => told.push(`lost: ${reason}`),
    regained: (ms) => told.push(`regained after ${ms}`),
  });
  const renew = (count: number): void => {
    for (let i = 0; i < count; i++) {
      const renewTime = `renewal at ${clock.now()}`;
      contact.controllers({ spec: { leaseDurationSeconds: 15, renewTime } });
      clock.advance(2000);
    }
  };
  return { clock, contact, told, renew };
}

test("contact is lost with the first source and regained with the last", () => {
  const { clock, contact, told } = reach();
  for (const source of ["services", "slices"]) contact.state(source, { reason: "watching" });
  contact.state("slices", { reason: "unreachable" });
  clock.advance(1000);
  contact.state("services", { reason: "stalled" });
  contact.state("slices", { reason: "listing" });
  contact.state("slices", { reason: "watching" });
  assert.deepEqual(told, ["lost: unreachable"]);
  clock.advance(1000);
  contact.state("services", { reason: "watching" });
  assert.deepEqual(told, ["lost: unreachable", "regained after 2000"]);
});

test("an unanswered request is a loss of contact, a rejected one is not", () => {
  const { clock, contact, told } = reach();
  contact.asked("election");
  contact.asked("election", "write-conflict");
  contact.asked("election", "namespace-terminating");
  assert.deepEqual(told, []);
  contact.asked("election", "stalled");
  clock.advance(4000);
  contact.asked("election", "stalled");
  contact.asked("election", "write-conflict");
  assert.deepEqual(told, ["lost: stalled", "regained after 4000"]);
});

test("other answers of an API server are no loss of contact", () => {
  const { contact, told } = reach();
  for (const reason of ["listing", "doubtful", "expired", "rewound", "not-served"] as const) {
    contact.state("slices", { reason });
  }
  contact.state("slices", { reason: "watching" });
  assert.deepEqual(told, []);
});

test("a stopped API server is noticed by the Lease of kube-controller-manager", () => {
  const { clock, contact, told, renew } = reach();
  contact.state("slices", { reason: "watching" });
  renew(10);
  clock.advance(60_000);
  assert.deepEqual(told, ["lost: controllers-silent"]);
  renew(1);
  assert.equal(told.length, 2);
  assert.match(told[1] ?? "", /^regained after 4[5-8]000$/);
});

test("a Lease that is never renewed or is empty is no loss of contact", () => {
  const { clock, contact, told } = reach();
  const lease = { spec: { leaseDurationSeconds: 15, renewTime: "2020-01-01T00:00:00.000000Z" } };
  contact.controllers(lease);
  clock.advance(60_000);
  contact.controllers(lease);
  contact.controllers({ spec: null });
  contact.controllers("garbage");
  assert.deepEqual(told, []);
});

test("a pause of this process is no loss of contact", () => {
  const { clock, told, renew } = reach();
  renew(10);
  clock.standStill(60_000);
  renew(2);
  assert.deepEqual(told, []);
});
