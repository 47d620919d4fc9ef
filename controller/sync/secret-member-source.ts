import { LABEL_PEER } from "../../api/keys.ts";
import { isClusterId } from "../../api/names.ts";
import { Complaints } from "../../api/parse/complaints.ts";
import { fieldAt } from "../../api/parse/fields.ts";
import { shown } from "../../api/problem.ts";
import type { ApiServer } from "../../common/kubernetes/api-server.ts";
import { type Drain, drainText, parseDrain } from "../model/drain.ts";
import { scopeText } from "../model/peer-scope.ts";
import { type PeerFact, parsePeer } from "../peers/parse-peer.ts";
import { type Follow, Informer } from "../stores/informer.ts";
import { peersQuery } from "../stores/resources.ts";
import type { MemberSourceEvents } from "./member-source-events.ts";

/** Dependencies of a `SecretMemberSource`. */
export interface SecretMemberSourceOptions {
  readonly namespace: string;
  readonly follow: Follow;
  readonly connect: (peer: PeerFact) => Promise<ApiServer>;
  /** Members from before a restart: a list that lacks most of their Secrets is confirmed by a second one. */
  readonly known: Iterable<string>;
  readonly events: MemberSourceEvents;
}

/** The last state of a Secret. */
interface PeerSecret {
  readonly key: string;
  /** The cluster that its label names, if that is valid. */
  readonly cluster: string | undefined;
  /** The last valid content; undefined if it was never valid. */
  readonly peer: PeerFact | undefined;
}

/**
 * Members of a mesh: each has a Secret with a kubeconfig. A Secret that becomes invalid changes nothing. One that was
 * never valid still names a member, so that nothing imported from that cluster is removed. Of several valid Secrets of
 * one cluster the first by key counts.
 */
export class SecretMemberSource {
  readonly #options: SecretMemberSourceOptions;
  readonly informer: Informer;
  /** By key. */
  readonly #secrets = new Map<string, PeerSecret>();
  /** The last reported Secret of each cluster. */
  #reported: ReadonlyMap<string, PeerSecret> = new Map();
  #duplicates: ReadonlySet<string> = new Set();
  /** The reported drains, by Secret. */
  readonly #drains = new Map<string, { readonly cluster: string; readonly text: string }>();
  #listed = false;

  constructor(options: SecretMemberSourceOptions) {
    const { follow, known, namespace, events } = options;
    this.#options = options;
    this.informer = new Informer({
      query: peersQuery(namespace),
      sink: {
        changed: (key, object) => this.#changed(key, object),
        removed: (key) => this.#removed(key),
      },
      follow,
      // The Secrets' names are unknown; their number is what detects a mass loss.
      known: Array.from(known, (cluster) => `${namespace}/${cluster}`),
      listed: () => {
        this.#listed = true;
        this.#compare();
      },
      state: (resource, state) => events.state(resource, state),
    });
  }

  #changed(key: string, secret: unknown): void {
    const { fact: peer, object, problems } = parsePeer(secret);
    this.#options.events.problems(object, problems);
    const label = fieldAt(secret, "metadata", "labels", LABEL_PEER);
    const cluster = typeof label === "string" && isClusterId(label) ? label : undefined;
    this.#drain(key, cluster, parseDrain(secret, new Complaints(object)));
    if (peer !== undefined) {
      this.#secrets.set(key, { key, cluster: peer.cluster, peer });
    } else if (this.#secrets.get(key)?.peer === undefined) {
      this.#secrets.set(key, { key, cluster, peer });
    }
    this.#compare();
  }

  #removed(key: string): void {
    this.#options.events.problems(`Secret ${key}`, []);
    this.#secrets.delete(key);
    this.#drain(key, undefined, undefined);
    this.#compare();
  }

  /** The drain of each Secret counts, also of one that is a duplicate, or else invalid: it may be needed in a hurry. */
  #drain(key: string, cluster: string | undefined, drain: Drain | undefined): void {
    const { events } = this.#options;
    const before = this.#drains.get(key);
    const text = drain && drainText(drain);
    if (before?.cluster === cluster && before?.text === text) return;
    if (before !== undefined) events.drained(before.cluster, `Secret ${key}`, undefined);
    this.#drains.delete(key);
    if (cluster === undefined || text === undefined) return;
    this.#drains.set(key, { cluster, text });
    events.drained(cluster, `Secret ${key}`, drain);
  }

  #compare(): void {
    const { events } = this.#options;
    const next = new Map<string, PeerSecret>();
    const duplicates: PeerSecret[] = [];
    for (const secret of [...this.#secrets.values()].sort(byPrecedence)) {
      if (secret.cluster === undefined) continue;
      if (!next.has(secret.cluster)) next.set(secret.cluster, secret);
      else if (secret.peer !== undefined) duplicates.push(secret);
    }
    this.#reportDuplicates(duplicates);
    const before = this.#reported;
    this.#reported = next;
    for (const id of before.keys()) if (!next.has(id)) events.left(id);
    for (const [id, secret] of next) {
      if (contentOf(before.get(id)) !== contentOf(secret)) this.#report(id, secret);
    }
    const areNamed = this.#secrets.values().every(({ cluster }) => cluster !== undefined);
    if (this.#listed && areNamed) events.listed();
  }

  #report(id: string, { peer }: PeerSecret): void {
    const { connect, events } = this.#options;
    if (peer === undefined) events.named(id);
    else events.joined(id, peer.scope, () => connect(peer));
  }

  #reportDuplicates(duplicates: readonly PeerSecret[]): void {
    const { events } = this.#options;
    const next = new Set(duplicates.map(({ key }) => key));
    for (const key of this.#duplicates) {
      if (!next.has(key)) events.problems(`Secret ${key}`, []);
    }
    for (const { key, cluster } of duplicates) {
      const field = `metadata.labels[${LABEL_PEER}]`;
      const object = `Secret ${key}`;
      const value = shown(cluster);
      events.problems(object, [{ reason: "duplicate-object", object, field, value }]);
    }
    this.#duplicates = next;
  }
}

/** Valid Secrets first, then by key. */
function byPrecedence(a: PeerSecret, b: PeerSecret): number {
  const invalid = Number(a.peer === undefined) - Number(b.peer === undefined);
  return invalid || (a.key < b.key ? -1 : 1);
}

/** Everything that depends on a Secret, as text to compare. SECRET: never logged. */
function contentOf(secret: PeerSecret | undefined): string | undefined {
  const { key, peer } = secret ?? {};
  return peer === undefined ? key : JSON.stringify([peer.kubeconfig, scopeText(peer.scope)]);
}
