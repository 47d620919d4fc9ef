import assert from "node:assert/strict";
import { type Limits, UNLIMITED } from "../../agent/backends/backend.ts";
import type { VirtualService } from "../../agent/plan/virtual-service.ts";
import { CheckInterval } from "../../agent/sync/check-interval.ts";
import type { DesiredState } from "../../agent/sync/desired-state.ts";
import { Reconciler } from "../../agent/sync/reconciler.ts";
import type {
  Drifted,
  Failure,
  QuarantineChange,
  Reconciliation,
} from "../../agent/sync/reconciler-events.ts";
import type { ObjectKey } from "../../api/names.ts";
import { FakeClock } from "../doubles/fake-clock.ts";
import { FakeTable, quiet } from "../doubles/fake-table.ts";
import { virtualService } from "../generators/services.ts";

/** The desired state that a map holds now. `withoutSlices`: imports that have no slice. `refused`: services whose VIPs flags do not allow. */
export function desiredOf(
  services: ReadonlyMap<ObjectKey, readonly VirtualService[]>,
  withoutSlices: ReadonlySet<ObjectKey> = new Set(),
  refused: ReadonlyMap<ObjectKey, readonly VirtualService[]> = new Map(),
): DesiredState {
  return {
    keys: () => [...services.keys(), ...refused.keys()],
    hasSlices: (key) => (services.has(key) || refused.has(key)) && !withoutSlices.has(key),
    cost: () => 0,
    services: (key) => {
      const now = services.get(key) ?? [];
      return { services: now, again: () => now };
    },
    servicesIfAllowed: (key) => [...(services.get(key) ?? []), ...(refused.get(key) ?? [])],
  };
}

/** A reconciler between a test's services and a fake kernel, with a record of its events. */
export class ReconcilerStage {
  readonly clock = new FakeClock();
  readonly table = new FakeTable();
  readonly wanted = new Map<ObjectKey, readonly VirtualService[]>();
  /** Imports without a slice. */
  readonly silent = new Set<ObjectKey>();
  /** Services whose VIPs flags do not allow. */
  readonly refused = new Map<ObjectKey, readonly VirtualService[]>();
  readonly passes: Reconciliation[] = [];
  readonly failures: Failure[] = [];
  readonly drifts: Drifted[] = [];
  readonly blind: number[] = [];
  /** Reports that a drift check did not fail. */
  checked = 0;
  readonly trials: boolean[] = [];
  /** Quarantined ports: the reason by `ns/name:port PROTOCOL`. */
  readonly quarantined = new Map<string, string>();
  /** `retained 3 of 3`, `released 2`. */
  readonly retained: string[] = [];
  /** What the node supports. */
  limits: Limits = UNLIMITED;
  readonly followed: string[] = [];
  readonly reconciler = new Reconciler({
    family: "IPv4",
    table: this.table,
    desired: desiredOf(this.wanted, this.silent, this.refused),
    limits: async () => this.limits,
    follower: {
      found: () => undefined,
      proposed: (key, services) => this.followed.push(`${key} ${services.length}`),
      kept: (services) =>
        this.followed.push(`kept ${services.map(({ portName }) => portName).join()}`),
      accepted: (complete) => this.followed.push(complete ? "accepted all" : "accepted"),
      failed: () => this.followed.push("failed"),
    },
    interval: new CheckInterval(),
    clock: this.clock,
    random: () => 0.5,
    events: {
      reconciled: (pass) => this.passes.push(pass),
      failed: (failure) => this.failures.push(failure),
      drifted: (drifted) => this.drifts.push(drifted),
      checkFailed: ({ retryIn }) => this.blind.push(retryIn),
      checked: () => this.checked++,
      tried: ({ accepted }) => this.trials.push(accepted),
      quarantined: (change) => this.quarantined.set(nameOf(change), change.reason),
      unquarantined: (change) => this.quarantined.delete(nameOf(change)),
      retained: ({ services, of, forMs }) => {
        const why = forMs === undefined ? ", not allowed" : "";
        this.retained.push(`retained ${services} of ${of}${why}`);
      },
      released: ({ services }) => this.retained.push(`released ${services}`),
    },
  });

  /** Sets the desired services of an import; none deletes it. */
  set(key: ObjectKey, ...services: readonly VirtualService[]): void {
    if (services.length === 0) this.wanted.delete(key);
    else this.wanted.set(key, services);
    this.reconciler.changed(key, this.clock.now());
  }

  /** Sets one desired port of an import, or none; `at`: when that was received. */
  want(key: ObjectKey, port: number | undefined, at = this.clock.now()): void {
    if (port === undefined) this.wanted.delete(key);
    else this.wanted.set(key, [virtualService({ importKey: key, port })]);
    this.reconciler.changed(key, at);
  }

  /** Starts, and forgets what was done for that. */
  async started(): Promise<void> {
    this.reconciler.start();
    await quiet();
    this.table.log.length = 0;
    this.passes.length = 0;
  }

  assertAsWanted(): void {
    const texts = [...this.wanted].map(
      ([key, services]) => [key, JSON.stringify(services)] as const,
    );
    assert.deepEqual(this.table.kernel, new Map(texts));
  }

  /** What the kernel has of an import. */
  has(key: ObjectKey): VirtualService[] {
    return JSON.parse(this.table.kernel.get(key) ?? "[]");
  }

  async start(): Promise<void> {
    this.reconciler.start();
    await this.settle();
  }

  /** Lets time pass until all that waits is live. */
  async settle(): Promise<void> {
    for (let turns = 0; turns < 3_000; turns++) {
      await quiet();
      const { oldestWaiting, stepSince, synced } = this.reconciler;
      if (stepSince !== undefined) continue;
      if (synced && oldestWaiting === undefined) return;
      this.clock.advance(this.clock.next ?? 0);
    }
    assert.fail("the reconciler did not come to rest");
  }

  /** Lets `ms` milliseconds pass, in steps in which everything can happen that has to. */
  async pass(ms: number, step = 1_000): Promise<void> {
    for (let passed = 0; passed < ms; passed += step) {
      this.clock.advance(Math.min(step, ms - passed));
      await quiet();
    }
    await this.settle();
  }
}

function nameOf({ servicePort, protocol }: QuarantineChange): string {
  return `${servicePort} ${protocol}`;
}
