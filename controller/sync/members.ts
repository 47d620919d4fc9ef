import type { Cidr } from "../../api/cidr.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Problem } from "../../api/problem.ts";
import type { Clock } from "../../common/clock.ts";
import type { Identity } from "../identity/own-identity.ts";
import { type PeerVerdict, peerVerdict } from "../identity/peer-verdict.ts";
import type { Contribution } from "../import/imported-slices.ts";
import { type ClusterSight, ClusterWatch } from "../liveness/cluster-watch.ts";
import { merge } from "../merge/merge.ts";
import type { ClusterState } from "../model/facts.ts";
import { shareOf } from "../registry/share.ts";
import type { Follow } from "../stores/feed.ts";
import { Member } from "../stores/member.ts";
import type { ControllerEvents } from "./controller-events.ts";
import type { Exports } from "./importer.ts";

/** Who is told what may have to be done because of what other clusters say. */
export interface MembersTold {
  /** What a cluster exports by this name, or how that cluster is, may be something else. */
  exported(service: ObjectKey, cluster: string): void;
  /** Who is heard is somebody else than before. */
  heard(): void;
  /** A cluster is stale, or alive again. */
  turned(cluster: string): void;
  /** How the registry of a cluster is read is something else than before. */
  connection(cluster: string): void;
}

/** A cluster of which we know that it is a member, and no more. */
export interface NewMember {
  readonly id: string;
  /** Where its registry is. */
  readonly namespace: string;
  /** How it was seen before we began, as its imported slices tell. */
  readonly was: ClusterState;
  /** True for our own. */
  readonly isOurs: boolean;
}

/** How a registry is to be read. */
export interface Reading {
  readonly endpointCidrs: readonly Cidr[];
  readonly follow: Follow;
  /** What was imported from it before we began. */
  readonly known: Iterable<ObjectKey>;
}

/** What `Members` are made of. */
export interface MembersOptions {
  readonly clock: Clock;
  readonly clusterSetCidrs: readonly Cidr[];
  readonly told: MembersTold;
  readonly events: Pick<
    ControllerEvents,
    "connection" | "judged" | "problems" | "replaced" | "turned"
  >;
}

/** The clusters of the clusterset, ourselves included: what each of them exports, and whether it lives. */
export class Members {
  readonly #options: MembersOptions;
  readonly #members = new Map<string, Member>();
  readonly #verdicts = new Map<string, PeerVerdict>();
  readonly #watch: ClusterWatch;
  #own: { readonly identity: Identity; readonly uid: string } | undefined;
  #known = false;

  constructor(options: MembersOptions) {
    const { clock, events, told } = options;
    this.#options = options;
    this.#watch = new ClusterWatch({
      clock,
      events: {
        turned: (cluster, sight) => {
          events.turned(cluster, sight);
          told.turned(cluster);
          this.#touch(cluster);
        },
        replaced: (cluster, uid, before) => events.replaced(cluster, uid, before),
      },
    });
  }

  /** Who we are: until this is known, nobody is believed. */
  identify(identity: Identity, uid: string): void {
    this.#own = { identity, uid };
    for (const id of this.#members.keys()) this.#judge(id);
  }

  /** All members are known from now on. */
  complete(): void {
    if (this.#known) return;
    this.#known = true;
    this.#options.told.heard();
  }

  get(id: string): Member | undefined {
    return this.#members.get(id);
  }

  [Symbol.iterator](): Iterator<Member> {
    return this.#members.values();
  }

  /** What is made of a cluster; undefined if it is no member. */
  verdict(id: string): PeerVerdict | undefined {
    return this.#verdicts.get(id);
  }

  /** How a cluster is; undefined if it is no member. */
  sight(id: string): ClusterSight | undefined {
    return this.#watch.sight(id);
  }

  /** A cluster is a member from now on. Until its registry has been read, it is not heard. */
  admit({ id, namespace, was, isOurs }: NewMember): Member {
    const before = this.#members.get(id);
    if (before !== undefined) return before;
    const member = this.#newMember(id, namespace, isOurs);
    this.#members.set(id, member);
    this.#watch.expect(id, was);
    this.#judge(id);
    return member;
  }

  /** Reads a member's registry from now on; one that is read already, in another way. What is known of it stays. */
  async read(id: string, { follow, endpointCidrs, known }: Reading): Promise<void> {
    await this.#members.get(id)?.connect(follow, endpointCidrs, known);
  }

  /** A cluster is no member any more: a person has said so. Nothing of it is believed from now on. */
  async remove(id: string): Promise<void> {
    const member = this.#members.get(id);
    if (member === undefined) return;
    const services = member.services();
    this.#members.delete(id);
    this.#verdicts.delete(id);
    this.#watch.forget(id);
    for (const service of services) this.#options.told.exported(service, id);
    this.#options.told.heard();
    await member.stop();
  }

  /** False for a cluster of which it is not known what it does not export: what came of it stays. */
  isHeard(id: string): boolean {
    const member = this.#members.get(id);
    if (member === undefined) return this.#known;
    const records = this.verdict(id)?.records;
    return records === "drop" ? member.listed : records === "use" && member.isHeard;
  }

  /** True if it is known who all members are, and what each of them exports. */
  allHeard(): boolean {
    return this.#known && this.#members.keys().every((id) => this.isHeard(id));
  }

  /** What those clusters export by a name that have been listed; and who is heard, as of now. */
  exportsOf(key: ObjectKey): Exports {
    const contributions: Contribution[] = [];
    const problems = new Map<string, readonly Problem[]>();
    for (const member of this.#members.values()) {
      const record = member.record(key);
      if (record === undefined || !member.listed || member.isRewound) continue;
      if (this.verdict(member.id)?.records !== "use") continue;
      const share = shareOf(member.slicesOf(key));
      if (share.problems.length > 0) problems.set(member.id, share.problems);
      const cluster = member.lease?.cluster;
      contributions.push({
        record,
        slices: share.slices,
        state: this.sight(member.id)?.state ?? "alive",
        ...(cluster !== undefined && { cluster }),
      });
    }
    const merged = merge(contributions.map(({ record }) => record));
    const heard = new Map([...this.#members.keys()].map((id) => [id, this.isHeard(id)]));
    const isKnown = this.#known;
    return {
      merged,
      contributions,
      problems,
      isHeard: (id) => heard.get(id) ?? isKnown,
      allHeard: this.allHeard(),
    };
  }

  /** Every name that anybody exports. */
  services(): Set<ObjectKey> {
    return new Set([...this.#members.values()].flatMap((member) => [...member.services()]));
  }

  /** Reads nothing any more. */
  async stop(): Promise<void> {
    this.#watch.stop();
    await Promise.all([...this.#members.values()].map((member) => member.stop()));
  }

  #newMember(id: string, namespace: string, isOurs: boolean): Member {
    const { clock, clusterSetCidrs, events, told } = this.#options;
    let about: string | undefined;
    return new Member({
      id,
      namespace,
      isOurs,
      clock,
      clusterSetCidrs,
      told: {
        exported: (service) => told.exported(service, id),
        listed: () => told.heard(),
        heard: () => told.heard(),
        lease: (sight) => {
          const cluster = sight?.cluster;
          // What we export ourselves we need not be told.
          if (cluster !== undefined) this.#watch.seen(cluster, isOurs || cluster.complete);
          this.#judge(id);
          const { region, properties } = sight?.cluster ?? {};
          const next = JSON.stringify([region, properties]);
          if (next !== about) this.#touch(id);
          about = next;
        },
        state: (resource, state) => {
          events.connection(id, resource, state);
          told.connection(id);
        },
        problems: (object, problems) => events.problems(id, object, problems),
      },
    });
  }

  #judge(id: string): void {
    const member = this.#members.get(id);
    if (member === undefined || this.#own === undefined) return;
    const { identity, uid } = this.#own;
    const before = this.#verdicts.get(id);
    const next = peerVerdict(id, member.lease?.claim, identity, uid);
    this.#verdicts.set(id, next);
    if (before?.reason === next.reason && before.detail === next.detail) return;
    this.#options.events.judged(id, next);
    if (before?.records === next.records) return;
    this.#options.told.heard();
    this.#touch(id);
  }

  /** What a cluster exports has to be looked at again, all of it. */
  #touch(id: string): void {
    for (const service of this.#members.get(id)?.services() ?? []) {
      this.#options.told.exported(service, id);
    }
  }
}
