import assert from "node:assert/strict";
import type { VirtualService } from "../../agent/plan/virtual-service.ts";
import { Pace } from "../../agent/sync/pace.ts";
import { Reconciler } from "../../agent/sync/reconciler.ts";
import type {
  Drifted,
  Failure,
  Reconciliation,
  SetAsideChange,
} from "../../agent/sync/reconciler-events.ts";
import type { ObjectKey } from "../../api/names.ts";
import { FakeBackend, quiet } from "./fake-backend.ts";
import { FakeClock } from "./fake-clock.ts";
import { virtualService } from "./services.ts";
import { wantedOf } from "./wanted.ts";

/** A reconciler between services that a test names and a fake kernel, with all that it tells written down. */
export class ReconcilerBench {
  readonly clock = new FakeClock();
  readonly backend = new FakeBackend();
  readonly wanted = new Map<ObjectKey, readonly VirtualService[]>();
  /** Imports that no slice tells of. */
  readonly silent = new Set<ObjectKey>();
  readonly passes: Reconciliation[] = [];
  readonly failures: Failure[] = [];
  readonly drifts: Drifted[] = [];
  readonly blind: number[] = [];
  readonly trials: boolean[] = [];
  /** What is set aside: reason by `ns/name:port PROTOCOL`. */
  readonly aside = new Map<string, string>();
  /** `doubted 3 of 3`, `believed 2`. */
  readonly losses: string[] = [];
  readonly followed: string[] = [];
  readonly reconciler = new Reconciler({
    family: "IPv4",
    backend: this.backend,
    wanted: wantedOf(this.wanted, this.silent),
    follower: {
      proposed: (key, services) => this.followed.push(`${key} ${services.length}`),
      accepted: (complete) => this.followed.push(complete ? "accepted all" : "accepted"),
      failed: () => this.followed.push("failed"),
    },
    pace: new Pace(),
    clock: this.clock,
    random: () => 0.5,
    events: {
      reconciled: (pass) => this.passes.push(pass),
      failed: (failure) => this.failures.push(failure),
      drifted: (drifted) => this.drifts.push(drifted),
      lookFailed: ({ retryIn }) => this.blind.push(retryIn),
      tried: ({ accepted }) => this.trials.push(accepted),
      setAside: (change) => this.aside.set(nameOf(change), change.reason),
      restored: (change) => this.aside.delete(nameOf(change)),
      lossDoubted: ({ services, of }) => this.losses.push(`doubted ${services} of ${of}`),
      lossBelieved: ({ services }) => this.losses.push(`believed ${services}`),
    },
  });

  /** Says what an import wants; nothing takes it out. */
  set(key: ObjectKey, ...services: readonly VirtualService[]): void {
    if (services.length === 0) this.wanted.delete(key);
    else this.wanted.set(key, services);
    this.reconciler.changed(key, this.clock.now());
  }

  /** Says that an import wants one port, or nothing; `at`: when that was learned of. */
  want(key: ObjectKey, port: number | undefined, at = this.clock.now()): void {
    if (port === undefined) this.wanted.delete(key);
    else this.wanted.set(key, [virtualService({ importKey: key, port })]);
    this.reconciler.changed(key, at);
  }

  /** Starts, and forgets what was done for that. */
  async started(): Promise<void> {
    this.reconciler.start();
    await quiet();
    this.backend.log.length = 0;
    this.passes.length = 0;
  }

  assertAsWanted(): void {
    const texts = [...this.wanted].map(
      ([key, services]) => [key, JSON.stringify(services)] as const,
    );
    assert.deepEqual(this.backend.kernel, new Map(texts));
  }

  /** What the kernel has of an import. */
  has(key: ObjectKey): VirtualService[] {
    return JSON.parse(this.backend.kernel.get(key) ?? "[]");
  }

  async start(): Promise<void> {
    this.reconciler.start();
    await this.settle();
  }

  /** Lets time pass until all that waits is live. */
  async settle(): Promise<void> {
    for (let turns = 0; turns < 3_000; turns++) {
      await quiet();
      const { oldestWaiting, passSince, synced } = this.reconciler;
      if (passSince !== undefined) continue;
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

function nameOf({ servicePort, protocol }: SetAsideChange): string {
  return `${servicePort} ${protocol}`;
}
