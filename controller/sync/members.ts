import type { Cidr } from "../../api/cidr.ts";
import { parseEndpointRanges } from "../../api/endpoint-ranges.ts";
import { PROPERTY_CLUSTER_ID, rotationProperty } from "../../api/keys.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Cancel, Clock } from "../../common/clock.ts";
import type { Identity } from "../identity/own-identity.ts";
import { type PeerVerdict, peerVerdict } from "../identity/peer-verdict.ts";
import {
  ClusterLiveness,
  type ClusterStatus,
  LEASE_SECONDS,
} from "../liveness/cluster-liveness.ts";
import { type ClusterDescription, DampedDescription } from "../liveness/damped-description.ts";
import { Drains } from "../liveness/drains.ts";
import { Rotations, type RotationsOptions } from "../liveness/rotations.ts";
import type { Drain } from "../model/drain.ts";
import type { ClusterFact } from "../model/facts.ts";
import { IN_ROTATION, type Rotation, type RotationRecord } from "../model/rotation.ts";
import type { Dirty } from "../model/task.ts";
import type { Observer } from "../observe/observer.ts";
import { Member, type MemberOptions, type RegistryLeaseFact } from "../stores/member.ts";

/** A cluster that is known to be a member. */
export interface NewMember extends Pick<MemberOptions, "id" | "isOurs" | "namespace"> {
  /** How it was used before a restart; absent: it was in rotation, or it is unknown. */
  readonly recorded?: RotationRecord | undefined;
}

/** Dependencies of `Members`. */
export interface MembersOptions {
  readonly clock: Clock;
  readonly today: () => Date;
  readonly windows: RotationsOptions["windows"];
  readonly clusterSetCidrs: readonly Cidr[];
  /** As in `MemberOptions`. */
  readonly maxRules: number;
  readonly dirty: Dirty;
  /** The set of members whose exports are known has changed, because of a cluster; undefined: the local one. */
  readonly synced: (cluster?: string) => void;
  /** A cluster became stale or alive, `isSilent` is true now, or `rotation` or `record` has changed. */
  readonly turned: (cluster: string) => void;
  /** The ranges in which another member accepts endpoints of the local cluster have changed. */
  readonly accepted: () => void;
  /** The connection to a registry has changed. */
  readonly connection: (cluster: string) => void;
  readonly events: Observer;
}

/** The clusters of the clusterset, the local one included: their registries, whether each is trusted, and whether it is alive. */
export class Members {
  readonly #options: MembersOptions;
  readonly #members = new Map<string, Member>();
  readonly #verdicts = new Map<string, PeerVerdict>();
  readonly #descriptions = new Map<string, DampedDescription>();
  /** By cluster, as text: the ranges in which it accepts endpoints of the local cluster. */
  readonly #accepted = new Map<string, string | undefined>();
  readonly #liveness: ClusterLiveness;
  readonly drains: Drains;
  readonly #rotations: Rotations;
  #cancelLate: Cancel | undefined;
  /** The members were not all named in the time in which the Lease of a named one expires. */
  #isLate = false;
  #own: { readonly identity: Identity; readonly uid: string } | undefined;
  #isComplete = false;

  constructor(options: MembersOptions) {
    const { clock, events, turned } = options;
    this.#options = options;
    this.#liveness = new ClusterLiveness(clock, {
      turned: (cluster, status) => {
        events.turned(cluster, status);
        this.#rotations.update(cluster, this.#isStale(cluster), this.#drainedFrom(cluster));
        turned(cluster);
        this.#requeue(cluster);
      },
      silent: (cluster) => turned(cluster),
      replaced: (cluster, uid, before) => events.replaced(cluster, uid, before),
    });
    this.#rotations = new Rotations(options);
    this.drains = new Drains({
      ...options,
      mayChange: (cluster, { where }) =>
        where !== leaseOf(cluster) || this.#descriptions.get(cluster)?.isSettled !== false,
      changed: (cluster, drain, cause) => {
        events.drained(cluster, drain);
        if (cause.where === leaseOf(cluster)) this.#descriptions.get(cluster)?.touch();
        this.#rotate(cluster);
        // The message of conditions names the drain.
        turned(cluster);
        this.#requeue(cluster);
      },
    });
  }

  /** True once all members are known. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Sets the local cluster's identity. Before, no member is trusted. */
  identify(identity: Identity, uid: string): void {
    const { clock, synced } = this.#options;
    this.#own = { identity, uid };
    // The source of members is followed from now on.
    this.#cancelLate ??= clock.after(LEASE_SECONDS * 1000, () => {
      this.#isLate = !this.#isComplete;
      if (this.#isLate) synced();
    });
    for (const id of this.#members.keys()) this.#evaluate(id);
  }

  /** All members are known from now on. */
  complete(): void {
    if (this.#isComplete) return;
    this.#isComplete = true;
    for (const id of this.#members.keys()) this.#confirmDrains(id);
    this.#options.accepted();
    this.#options.synced();
  }

  get(id: string): Member | undefined {
    return this.#members.get(id);
  }

  [Symbol.iterator](): Iterator<Member> {
    return this.#members.values();
  }

  /** Whether the records of a member are used; undefined for other clusters. */
  verdict(id: string): PeerVerdict | undefined {
    return this.#verdicts.get(id);
  }

  /** Region and properties of a member, for its imported slices; undefined if they are unknown. */
  description(id: string): ClusterDescription | undefined {
    return this.#descriptions.get(id)?.current;
  }

  /** The ranges in which each other member accepts endpoints of the local cluster; undefined: it does not say. */
  accepted(): [string, readonly Cidr[] | undefined][] {
    return this.#others().map((id) => {
      const text = this.#accepted.get(id);
      return [id, text === undefined ? undefined : parseEndpointRanges(text)];
    });
  }

  /** True once the Leases of all members were read. */
  get areLeasesRead(): boolean {
    return this.#isComplete && this.#others().every((id) => this.#accepted.has(id));
  }

  /** Whether a member is alive; undefined for other clusters. */
  status(id: string): ClusterStatus | undefined {
    return this.#liveness.status(id);
  }

  /** Milliseconds since a cluster's Lease was last seen to be renewed; undefined for one that is not tracked. */
  silence(id: string): number | undefined {
    return this.#liveness.silence(id);
  }

  /** How the endpoints of a member are used. */
  rotation(id: string): Rotation {
    return this.#rotations.of(id) ?? IN_ROTATION;
  }

  /** Takes the windows that the leader recorded, so that this replica writes the same if it becomes the leader. */
  adopt(recorded: (id: string) => RotationRecord | undefined): void {
    for (const id of this.#members.keys()) this.#rotations.adopt(id, recorded(id) ?? IN_ROTATION);
  }

  /** What to record of a member for the next start. */
  record(id: string): RotationRecord {
    const drain = this.drains
      .of(id)
      .find(({ phase, where }) => phase === "in-force" && where !== OWN_PROPERTY);
    return { ...this.rotation(id), ...(drain !== undefined && { drain }) };
  }

  /** An object states this drain of a cluster; undefined: none. */
  drain(id: string, object: string, drain: Drain | undefined): void {
    this.drains.set(id, object, drain);
  }

  /**
   * True for another cluster that did not renew its Lease for its duration, counted from the start of this process. While a hub
   * cannot be reached, also for a cluster that is not known to be a member.
   */
  isSilent(id: string): boolean {
    if (this.#isOwn(id)) return false;
    if (!this.#members.has(id)) return this.#isLate && !this.#isComplete;
    return this.#liveness.isSilent(id);
  }

  /** Region, properties and drain of the local cluster, which its Lease repeats for the others. */
  describe(id: string, description: ClusterDescription): void {
    this.#descriptions.get(id)?.observe(description);
    // A drain of its own that was removed while no controller ran is over.
    this.#rotate(id);
  }

  /** Adds a member. It is not synced until its registry is listed. */
  add({ id, namespace, recorded = IN_ROTATION, isOurs }: NewMember): Member {
    const before = this.#members.get(id);
    if (before !== undefined) return before;
    const member = this.#newMember(id, namespace, isOurs);
    this.#members.set(id, member);
    this.#liveness.expect(id, recorded.state === "stale" ? "stale" : "alive");
    this.#rotations.begin(id, recorded);
    // The object that states it may not be readable for long.
    this.drains.set(id, recordOf(id), recorded.drain);
    // What the local cluster states is known a moment later (`describe`).
    if (!isOurs) this.#rotate(id);
    this.#confirmDrains(id);
    this.#evaluate(id);
    return member;
  }

  /** Removes a member with everything it exports. */
  async remove(id: string): Promise<void> {
    const member = this.#members.get(id);
    if (member === undefined) return;
    const services = member.services();
    this.#members.delete(id);
    this.#verdicts.delete(id);
    this.#accepted.delete(id);
    this.#descriptions.get(id)?.stop();
    this.#descriptions.delete(id);
    this.#liveness.forget(id);
    this.#rotations.forget(id);
    for (const object of [leaseOf(id), recordOf(id)]) this.drains.set(id, object, undefined);
    this.#dirty(services);
    this.#options.accepted();
    this.#options.synced();
    await member.stop();
  }

  /** True if it is known what a cluster exports, and so what it does not. */
  isSynced(id: string): boolean {
    const member = this.#members.get(id);
    if (member === undefined) return this.#isComplete;
    const records = this.verdict(id)?.records;
    return records === "drop" ? member.listed : records === "use" && member.isSynced;
  }

  /** Every name that a member exports. */
  services(): Set<ObjectKey> {
    return new Set([...this.#members.values()].flatMap((member) => [...member.services()]));
  }

  async stop(): Promise<void> {
    this.#cancelLate?.();
    this.#liveness.stop();
    this.drains.stop();
    for (const description of this.#descriptions.values()) description.stop();
    await Promise.all([...this.#members.values()].map((member) => member.stop()));
  }

  #newMember(id: string, namespace: string, isOurs: boolean): Member {
    const { clock, clusterSetCidrs, connection, dirty, events, maxRules, synced, turned } =
      this.#options;
    const source = isOurs ? undefined : id;
    const description = new DampedDescription(clock, () => {
      this.drains.set(id, isOurs ? OWN_PROPERTY : leaseOf(id), description.current?.drain);
      this.#requeue(id);
      // What the local cluster imports from itself may be in no registry.
      if (isOurs) turned(id);
    });
    this.#descriptions.set(id, description);
    return new Member({
      id,
      namespace,
      isOurs,
      clock,
      clusterSetCidrs,
      maxRules,
      events: {
        dirty: (kind, key) => dirty(kind, key, source),
        synced: () => {
          this.#confirmDrains(id);
          synced(source);
        },
        lease: (lease: RegistryLeaseFact | undefined) => {
          const cluster = lease?.cluster;
          // The local cluster knows its own exports. Of one that was rebuilt or restored, records from before are still here until it is confirmed.
          const isCurrent = isOurs || (cluster?.complete === true && this.#isConfirmed(id));
          if (cluster !== undefined) this.#liveness.seen(cluster, isCurrent);
          this.#evaluate(id);
          if (isOurs) return;
          description.observe(cluster);
          this.#accepts(id, cluster);
        },
        state: (resource, state) => {
          events.connection(id, resource, state);
          connection(id);
        },
        problems: (object, problems) => events.problems(id, object, problems),
      },
    });
  }

  #isConfirmed(id: string): boolean {
    return this.#members.get(id)?.isConfirmed === true;
  }

  #accepts(id: string, cluster: ClusterFact | undefined): void {
    if (cluster === undefined) return;
    const { accepts = {} } = cluster;
    const own = this.#own?.identity.id ?? "";
    const text = Object.hasOwn(accepts, own) ? accepts[own] : undefined;
    if (this.#accepted.has(id) && text === this.#accepted.get(id)) return;
    this.#accepted.set(id, text);
    this.#options.accepted();
  }

  /** What the local cluster cannot renew, such as after an outage of its API server, says nothing about its endpoints. */
  #isStale(id: string): boolean {
    return !this.#isOwn(id) && this.status(id)?.state === "stale";
  }

  #drainedFrom(id: string): number | undefined {
    return this.drains.inForce(id)?.from;
  }

  /** Forgets a recorded drain once every object that may state one was read. */
  #confirmDrains(id: string): void {
    const isRead = this.#isOwn(id) || this.#members.get(id)?.listed === true;
    if (this.#isComplete && isRead) this.drains.set(id, recordOf(id), undefined);
  }

  #rotate(id: string): void {
    if (!this.#rotations.update(id, this.#isStale(id), this.#drainedFrom(id))) return;
    this.#options.turned(id);
    this.#requeue(id);
  }

  #evaluate(id: string): void {
    const member = this.#members.get(id);
    if (member === undefined || this.#own === undefined) return;
    const { identity, uid } = this.#own;
    const before = this.#verdicts.get(id);
    const next = peerVerdict(id, member.lease?.claim, identity, uid);
    this.#verdicts.set(id, next);
    if (before?.reason === next.reason && before.detail === next.detail) return;
    this.#options.events.evaluated(id, next);
    if (before?.records === next.records) return;
    this.#options.synced(this.#sourceOf(id));
    this.#requeue(id);
  }

  /** Requeues everything that a member exports. */
  #requeue(id: string): void {
    this.#dirty(this.#members.get(id)?.services() ?? [], this.#sourceOf(id));
  }

  #dirty(services: Iterable<ObjectKey>, source?: string): void {
    for (const service of services) {
      this.#options.dirty("import", service, source);
      this.#options.dirty("status", service, source);
    }
  }

  #sourceOf(id: string): string | undefined {
    return this.#isOwn(id) ? undefined : id;
  }

  #others(): string[] {
    return [...this.#members.keys()].filter((id) => !this.#isOwn(id));
  }

  #isOwn(id: string): boolean {
    return id === this.#own?.identity.id;
  }
}

/** The object in which the local cluster's operator states a drain. */
const OWN_PROPERTY = `ClusterProperty ${PROPERTY_CLUSTER_ID}`;

/** The object that records the drain in force for the next start. */
function recordOf(id: string): string {
  return `ClusterProperty ${rotationProperty(id)}`;
}

/** The object in which another cluster states its own drain. */
function leaseOf(id: string): string {
  return `Lease of ${id}`;
}
