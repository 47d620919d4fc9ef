import type { Cidr } from "../../api/cidr.ts";
import { parseEndpointRanges } from "../../api/endpoint-ranges.ts";
import type { ObjectKey } from "../../api/names.ts";
import { type Cancel, type Clock, everySecond } from "../../common/clock.ts";
import type { Identity } from "../identity/own-identity.ts";
import type { ClusterDescription } from "../members/damped-description.ts";
import {
  evaluate,
  isSyncedFor,
  type MemberState,
  type Now,
  recordOf,
  usesOf,
} from "../members/evaluate.ts";
import { LEASE_SECONDS } from "../members/lease-expiry.ts";
import { isAmong, UNCONFIRMED } from "../members/removal-confirmation.ts";
import type { Windows } from "../members/rotate.ts";
import { drainText, type PlacedDrain, phaseOf } from "../model/drain.ts";
import { IN_ROTATION, type Rotation, type RotationRecord } from "../model/rotation.ts";
import type { Dirty } from "../model/task.ts";
import type { Observer } from "../observe/observer.ts";
import { Member, type MemberOptions } from "../stores/member.ts";

/** Dependencies of `Members`. */
export interface MembersOptions extends Pick<MemberOptions, "clusterSetCidrs" | "maxRules"> {
  readonly clock: Clock;
  readonly today: () => Date;
  readonly windows: Windows;
  /** Drains of a member that operators state, on objects other than its Lease and ClusterProperties. */
  readonly drains: (id: string) => readonly PlacedDrain[];
  /** What is recorded of a member. */
  readonly recorded: (id: string) => RotationRecord | undefined;
  /** True while this replica records it. */
  readonly isLeader: () => boolean;
  readonly dirty: Dirty;
  /** The set of members whose exports are known has changed, because of a cluster; undefined: the local one. */
  readonly synced: (cluster?: string) => void;
  /** How the records and endpoints of a member are used has changed. */
  readonly turned: (cluster: string) => void;
  /** The ranges in which another member accepts endpoints of the local cluster have changed. */
  readonly accepted: () => void;
  /** The connection to a registry has changed. */
  readonly connection: (cluster: string) => void;
  readonly events: Observer;
}

/** The local cluster. */
interface Local {
  readonly identity: Identity;
  readonly uid: string;
  /** What its Lease repeats for the others. */
  readonly description: ClusterDescription;
}

/** The clusters of the clusterset, the local one included: their registries, and the state of each by its last evaluation. */
export class Members {
  readonly #options: MembersOptions;
  readonly #members = new Map<string, Member>();
  readonly #states = new Map<string, MemberState>();
  #local: Local | undefined;
  #isComplete = false;
  /** When the Lease of a member would have expired that was named at once. */
  #lateAt = Number.POSITIVE_INFINITY;
  #isLate = false;
  #cancel: Cancel | undefined;

  constructor(options: MembersOptions) {
    this.#options = options;
  }

  /** True once all members are known. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Sets what is known of the local cluster. Before, there are no members. */
  identify(local: Local): void {
    const { clock } = this.#options;
    if (this.#local === undefined) {
      this.#lateAt = clock.now() + LEASE_SECONDS * 1000;
      this.#cancel = everySecond(clock, (isLate) => this.#check(isLate));
    }
    this.#local = local;
    this.#evaluateAll();
  }

  /** All members are known from now on. */
  complete(): void {
    if (this.#isComplete) return;
    this.#isComplete = true;
    this.#evaluateAll();
    this.#options.accepted();
    this.#options.synced();
  }

  get(id: string): Member | undefined {
    return this.#members.get(id);
  }

  [Symbol.iterator](): Iterator<Member> {
    return this.#members.values();
  }

  /** Undefined for a cluster that is not known to be a member. */
  state(id: string): MemberState | undefined {
    return this.#states.get(id);
  }

  /** Milliseconds since a member's Lease was last seen to be renewed. */
  silence(id: string): number | undefined {
    const state = this.state(id);
    return state && this.#options.clock.now() - state.lease.since;
  }

  /** All drains of a member, the one that ends last first, and whether each is in force. */
  drains(id: string): (PlacedDrain & { readonly phase: ReturnType<typeof phaseOf> })[] {
    const today = this.#options.today().getTime();
    const drains = this.state(id)?.drains ?? [];
    return drains.map((drain) => ({ ...drain, phase: phaseOf(drain, today) }));
  }

  /** How the endpoints of a member are used. */
  rotation(id: string): Rotation {
    return this.state(id)?.rotation.current ?? IN_ROTATION;
  }

  /** What to record of a member for the next start. */
  record(id: string): RotationRecord {
    const state = this.state(id);
    return state === undefined ? IN_ROTATION : recordOf(state, this.#options.today().getTime());
  }

  /** The ranges in which each other member accepts endpoints of the local cluster; undefined: it does not say. */
  accepted(): [string, readonly Cidr[] | undefined][] {
    return this.#others().map(([id, { accepts }]) => {
      const ranges = accepts?.ranges;
      return [id, ranges === undefined ? undefined : parseEndpointRanges(ranges)];
    });
  }

  /** True once the Leases of all members were read. */
  get areLeasesRead(): boolean {
    return this.#isComplete && this.#others().every(([, { accepts }]) => accepts !== undefined);
  }

  /**
   * True for another cluster that did not renew its Lease for its duration, counted from the start of this process. While a hub
   * cannot be reached, also for a cluster that is not known to be a member.
   */
  isSilent(id: string): boolean {
    const state = this.state(id);
    if (state === undefined) return this.#isLate && !this.#isComplete;
    return state.lease.isSilent && id !== this.#local?.identity.id;
  }

  /** True if it is known whether a cluster exports a name. */
  isSynced(id: string, key: ObjectKey): boolean {
    const state = this.state(id);
    return state === undefined ? this.#isComplete : isSyncedFor(state, key);
  }

  /** Every name that a member exports. */
  services(): Set<ObjectKey> {
    return new Set([...this.#members.values()].flatMap((member) => [...member.services()]));
  }

  /** Adds a member. It is not synced until its registry is listed. */
  add({ id, namespace, isOurs }: Pick<MemberOptions, "id" | "isOurs" | "namespace">): Member {
    const before = this.#members.get(id);
    if (before !== undefined) return before;
    const { clock, clusterSetCidrs, connection, dirty, events, maxRules } = this.#options;
    const member = new Member({
      ...{ id, namespace, isOurs, clock, clusterSetCidrs, maxRules },
      isConfirmed: (key) => {
        const { isGiven, except } = this.state(id)?.confirmation ?? UNCONFIRMED;
        return isGiven && !isAmong(except, key);
      },
      events: {
        dirty: (kind, key) => dirty(kind, key, isOurs ? undefined : id),
        changed: () => this.evaluate(id),
        state: (resource, state) => {
          events.connection(id, resource, state);
          connection(id);
        },
        problems: (object, problems) => events.problems(id, object, problems),
      },
    });
    this.#members.set(id, member);
    this.evaluate(id);
    return member;
  }

  /** Removes a member with everything it exports. */
  async remove(id: string): Promise<void> {
    const member = this.#members.get(id);
    if (member === undefined) return;
    this.#members.delete(id);
    this.#states.delete(id);
    this.#requeue(member);
    this.#options.accepted();
    this.#options.synced();
    await member.stop();
  }

  /** Evaluates a member: something that its state depends on may have changed. */
  evaluate(id: string, check?: Now["check"]): void {
    const member = this.#members.get(id);
    const local = this.#local;
    if (member === undefined || local === undefined) return;
    const { clock, drains, isLeader, recorded, today, windows } = this.#options;
    const { isOurs, lease, listed: isListed, registry, rewinds } = member;
    const before = this.#states.get(id);
    const after = evaluate(
      before,
      {
        ...{ id, isOurs, isListed, rewinds, ...lease },
        isWatched: registry.isWatched,
        lacking: before?.confirmation.wasWatched ? undefined : member.lacking,
        drains: drains(id),
        recorded: recorded(id) ?? IN_ROTATION,
      },
      { ...local, windows, isComplete: this.#isComplete, isLeader: isLeader() },
      { now: clock.now(), today: today().getTime(), check },
    );
    this.#states.set(id, after);
    this.#report(id, before, after);
    this.#queue(member, before, after);
  }

  async stop(): Promise<void> {
    this.#cancel?.();
    await Promise.all([...this.#members.values()].map((member) => member.stop()));
  }

  #check(isLate: boolean): void {
    const now = this.#options.clock.now();
    if (!this.#isLate && !this.#isComplete && now >= this.#lateAt) {
      this.#isLate = true;
      this.#options.synced();
    }
    for (const [id, { until }] of this.#states) {
      if (isLate || until <= now) this.evaluate(id, isLate ? "late" : "in-time");
    }
  }

  #evaluateAll(): void {
    for (const id of this.#members.keys()) this.evaluate(id);
  }

  #report(id: string, before: MemberState | undefined, after: MemberState): void {
    const { events } = this.#options;
    const { drain, lease, uid, verdict } = after;
    const was = before?.lease.status.state;
    if (was !== undefined && was !== lease.status.state) events.turned(id, lease.status);
    if (uid !== undefined && before?.uid !== undefined && before.uid !== uid) {
      events.replaced(id, uid, before.uid);
    }
    if (before?.verdict.reason !== verdict.reason || before.verdict.detail !== verdict.detail) {
      events.evaluated(id, verdict);
    }
    const drained = before?.drain && drainText(before.drain);
    if (drained !== (drain && drainText(drain))) events.drained(id, drain);
  }

  #queue(member: Member, before: MemberState | undefined, after: MemberState): void {
    const { accepted, synced, turned } = this.#options;
    const { id, isOurs } = member;
    const [was, is] = [usesOf(before), usesOf(after)];
    if (after.confirmation.isGiven) member.removeMissing();
    if (was.use !== is.use) {
      turned(id);
      this.#requeue(member);
    }
    if (was.sync !== is.sync) synced(isOurs ? undefined : id);
    if (was.accepts !== is.accepts) accepted();
  }

  /** Requeues everything that a member exports. */
  #requeue(member: Member): void {
    const { dirty } = this.#options;
    const source = member.isOurs ? undefined : member.id;
    for (const service of member.services()) {
      dirty("import", service, source);
      dirty("status", service, source);
    }
  }

  #others(): [string, MemberState][] {
    return [...this.#states].filter(([id]) => id !== this.#local?.identity.id);
  }
}
