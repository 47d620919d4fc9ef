import { LABEL_PEER } from "../../api/keys.ts";
import { isClusterId } from "../../api/names.ts";
import { Complaints, type Parsed } from "../../api/parse/complaints.ts";
import { fieldAt } from "../../api/parse/fields.ts";
import { type Problem, shown } from "../../api/problem.ts";
import type { ApiServer } from "../../common/kubernetes/api-server.ts";
import type { ReflectorState } from "../../common/kubernetes/reflector-events.ts";
import { type Drain, type PlacedDrain, parseDrain } from "../model/drain.ts";
import { type PeerScope, scopeText } from "../model/peer-scope.ts";
import { type PeerFact, parsePeer } from "../peers/parse-peer.ts";
import { decodeNamespace } from "../registry/decode-namespace.ts";
import { registryNamespace } from "../registry/names.ts";
import { type Follow, Informer } from "../stores/informer.ts";
import { HUB_QUERY, peersQuery } from "../stores/resources.ts";

/** How the registry of a member is read. */
export interface Access {
  readonly scope: PeerScope;
  readonly connect: () => Promise<ApiServer>;
  /** Equal for equal access. SECRET: never logged. */
  readonly text: string;
}

/** What an object says of a cluster. */
interface Introduction {
  /** Undefined: its label is not valid. */
  readonly cluster: string | undefined;
  /** Undefined: it is not valid. */
  readonly access: Access | undefined;
  readonly drain: Drain | undefined;
}

/** The kind of object that introduces members. */
export interface IntroductionKind extends Pick<ConstructorParameters<typeof Informer>[0], "query"> {
  readonly name: "Namespace" | "Secret";
  /** No fact: it introduces no member. */
  readonly parse: (object: unknown) => Parsed<Introduction>;
  /** Keys from before a restart: a list that lacks most of them is confirmed by a second one. */
  readonly keysOf: (clusters: readonly string[]) => readonly string[];
}

/** Members of a mesh: each has a Secret with a kubeconfig. */
export function introducedBySecrets(
  namespace: string,
  connect: (peer: PeerFact) => Promise<ApiServer>,
): IntroductionKind {
  return {
    name: "Secret",
    query: peersQuery(namespace),
    // The Secrets' names are unknown; their number is what detects a mass loss.
    keysOf: (clusters) => clusters.map((cluster) => `${namespace}/${cluster}`),
    parse: (secret) => {
      const { fact: peer, ...rest } = parsePeer(secret);
      const label = fieldAt(secret, "metadata", "labels", LABEL_PEER);
      const access = peer && {
        scope: peer.scope,
        connect: () => connect(peer),
        text: JSON.stringify([peer.kubeconfig, scopeText(peer.scope)]),
      };
      const cluster = typeof label === "string" && isClusterId(label) ? label : undefined;
      const drain = parseDrain(secret, new Complaints(rest.object));
      return { ...rest, fact: { cluster, access, drain } };
    },
  };
}

/** Members of a hub: each has a labelled namespace. */
export function introducedByNamespaces(hub: ApiServer): IntroductionKind {
  return {
    name: "Namespace",
    query: HUB_QUERY,
    keysOf: (clusters) => clusters.map(registryNamespace),
    parse: (namespace) => {
      const { fact, ...rest } = decodeNamespace(namespace);
      if (fact === undefined) return rest;
      const { cluster, drain, scope } = fact;
      const access = scope && {
        scope,
        connect: () => Promise.resolve(hub),
        text: scopeText(scope),
      };
      return { ...rest, fact: { cluster, access, drain } };
    },
  };
}

/** What a `MemberSource` reports. */
export interface MemberSourceEvents {
  /** A member was added, or its registry has to be read in another way; without access: it cannot be read. */
  joined(id: string, access: Access | undefined): void;
  /** A member was removed. */
  left(id: string): void;
  /** `drains` may have changed for a cluster, the local one included. */
  drained(id: string): void;
  /** All members are known. May be repeated. */
  listed(): void;
  state(resource: string, state: ReflectorState): void;
  problems(object: string, problems: readonly Problem[]): void;
}

/** The last state of an object. */
interface Introducer extends Introduction {
  readonly key: string;
  /** The cluster that its drain concerns. */
  readonly drains: string | undefined;
}

/**
 * The members, as an operator introduces them. An object that becomes invalid changes nothing, except for its drain, which may
 * be needed in a hurry. One that was never valid still names a member, so that nothing imported from that cluster is removed.
 */
export class MemberSource {
  readonly #kind: IntroductionKind;
  readonly #events: MemberSourceEvents;
  readonly informer: Informer;
  /** By key. */
  readonly #objects = new Map<string, Introducer>();
  readonly #duplicates = new Set<string>();
  /** By member: what it was reported by. */
  readonly #reported = new Map<string, string>();

  /** `known`: the members from before a restart. */
  constructor(
    kind: IntroductionKind,
    follow: Follow,
    known: readonly string[],
    events: MemberSourceEvents,
  ) {
    this.#kind = kind;
    this.#events = events;
    this.informer = new Informer({
      query: kind.query,
      sink: {
        changed: (key, object) => this.#changed(key, object),
        removed: (key) => {
          this.#report(key, []);
          this.#replace(key, undefined);
        },
      },
      follow,
      known: kind.keysOf(known),
      listed: () => this.#reportListed(),
      state: (resource, state) => events.state(resource, state),
    });
  }

  /** The drains of a cluster. That of each object counts, also of a duplicate. */
  drains(id: string): PlacedDrain[] {
    return [...this.#objects.values()].flatMap(({ drain, drains, key }) =>
      drain === undefined || drains !== id
        ? []
        : [{ ...drain, where: `${this.#kind.name} ${key}` }],
    );
  }

  #changed(key: string, object: unknown): void {
    const { fact, object: name, problems } = this.#kind.parse(object);
    this.#events.problems(name, problems);
    const before = this.#objects.get(key);
    const keeps = before?.access !== undefined && fact?.access === undefined;
    this.#replace(
      key,
      fact && { ...(keeps ? before : fact), key, drain: fact.drain, drains: fact.cluster },
    );
  }

  #replace(key: string, next: Introducer | undefined): void {
    const before = this.#objects.get(key);
    if (next === undefined) this.#objects.delete(key);
    else this.#objects.set(key, next);
    this.#duplicates.delete(key);
    const clusters = [before?.cluster, before?.drains, next?.cluster, next?.drains];
    for (const id of new Set(clusters)) {
      if (id === undefined) continue;
      const introducers = [...this.#objects.values()].filter(({ cluster }) => cluster === id);
      const [used, ...others] = introducers.sort(byPrecedence);
      this.#reportDuplicates(id, used, others);
      this.#events.drained(id);
      this.#reportMember(id, used);
    }
    this.#reportListed();
  }

  #reportMember(id: string, used: Introducer | undefined): void {
    const text = used?.access?.text ?? used?.key;
    if (text === this.#reported.get(id)) return;
    if (text === undefined) {
      this.#reported.delete(id);
      this.#events.left(id);
    } else {
      this.#reported.set(id, text);
      this.#events.joined(id, used?.access);
    }
  }

  /** Of several valid objects the first by key counts. */
  #reportDuplicates(id: string, used: Introducer | undefined, others: readonly Introducer[]): void {
    if (used && this.#duplicates.delete(used.key)) this.#report(used.key, []);
    for (const { access, key } of others) {
      if (access === undefined || this.#duplicates.has(key)) continue;
      this.#duplicates.add(key);
      const object = `${this.#kind.name} ${key}`;
      const field = `metadata.labels[${LABEL_PEER}]`;
      this.#report(key, [{ reason: "duplicate-object", object, field, value: shown(id) }]);
    }
  }

  #reportListed(): void {
    const areNamed = this.#objects.values().every(({ cluster }) => cluster !== undefined);
    if (this.informer.listed && areNamed) this.#events.listed();
  }

  #report(key: string, problems: readonly Problem[]): void {
    this.#events.problems(`${this.#kind.name} ${key}`, problems);
  }
}

/** Valid ones first, then by key. */
function byPrecedence(a: Introducer, b: Introducer): number {
  const invalid = Number(a.access === undefined) - Number(b.access === undefined);
  return invalid || (a.key < b.key ? -1 : 1);
}
