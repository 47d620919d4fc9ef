import { LABEL_PEER } from "../../api/keys.ts";
import { isClusterId } from "../../api/names.ts";
import { fieldAt } from "../../api/parse/fields.ts";
import { shown } from "../../api/problem.ts";
import type { ApiServer } from "../../common/kubernetes/api-server.ts";
import { type PeerFact, parsePeer, peersByCluster } from "../peers/parse-peer.ts";
import { Feed, type Follow } from "../stores/feed.ts";
import { peersQuery } from "../stores/resources.ts";
import type { Roster, RosterTold } from "./roster.ts";

/** What a roster of Secrets is made of. */
export interface SecretRosterOptions {
  readonly namespace: string;
  readonly follow: Follow;
  readonly connect: (peer: PeerFact) => Promise<ApiServer>;
  /** Clusters that were members before we began: a list without Secrets of most of them is looked at twice. */
  readonly known: Iterable<string>;
  readonly told: RosterTold;
}

/** A Secret that cannot be used, and the cluster that it means, if it says that much. */
interface Unusable {
  readonly key: string;
  readonly cluster: string | undefined;
}

/**
 * Members of a mesh: each is reached as its Secret says. A Secret that has become wrong changes nothing; one that was
 * wrong when we began still says that there is a member, and so nothing that came from it is taken away.
 */
export class SecretRoster implements Roster {
  readonly #options: SecretRosterOptions;
  readonly #feed: Feed;
  /** By the Secret's key, as it last was right. */
  readonly #facts = new Map<string, PeerFact>();
  /** By the Secret's key: those that were never right. */
  readonly #unusable = new Map<string, Unusable>();
  /** By cluster, as it was told last. */
  #told: ReadonlyMap<string, PeerFact | Unusable> = new Map();
  #duplicates: ReadonlySet<string> = new Set();
  #listed = false;

  constructor(options: SecretRosterOptions) {
    const { follow, known, namespace, told } = options;
    this.#options = options;
    this.#feed = new Feed({
      query: peersQuery(namespace),
      sink: {
        changed: (key, object) => this.#changed(key, object),
        removed: (key) => this.#removed(key),
      },
      follow,
      // What the Secret of a cluster is called is not known. It is enough to count: as many are missed as there were.
      known: Array.from(known, (cluster) => `${namespace}/${cluster}`),
      events: {
        listed: () => {
          this.#listed = true;
          this.#compare();
        },
        state: (resource, state) => told.state(resource, state),
      },
    });
  }

  start(): void {
    this.#feed.start();
  }

  stop(): Promise<void> {
    return this.#feed.stop();
  }

  #changed(key: string, secret: unknown): void {
    const { fact, object, problems } = parsePeer(secret);
    this.#options.told.problems(object, problems);
    this.#unusable.delete(key);
    if (fact !== undefined) this.#facts.set(key, fact);
    else if (!this.#facts.has(key)) {
      const label = fieldAt(secret, "metadata", "labels", LABEL_PEER);
      const cluster = typeof label === "string" && isClusterId(label) ? label : undefined;
      this.#unusable.set(key, { key, cluster });
    }
    this.#compare();
  }

  #removed(key: string): void {
    this.#options.told.problems(`Secret ${key}`, []);
    this.#facts.delete(key);
    this.#unusable.delete(key);
    this.#compare();
  }

  #compare(): void {
    const { told } = this.#options;
    const { peers, duplicates } = peersByCluster(this.#facts.values());
    this.#tellDuplicates(duplicates);
    const next = new Map<string, PeerFact | Unusable>(peers);
    for (const one of this.#unusable.values()) {
      if (one.cluster !== undefined && !next.has(one.cluster)) next.set(one.cluster, one);
    }
    const before = this.#told;
    this.#told = next;
    for (const id of before.keys()) if (!next.has(id)) told.left(id);
    for (const [id, peer] of next) if (!isSame(before.get(id), peer)) this.#tell(id, peer);
    const all = this.#unusable.values().every(({ cluster }) => cluster !== undefined);
    if (this.#listed && all) told.listed();
  }

  #tell(id: string, peer: PeerFact | Unusable): void {
    const { connect, told } = this.#options;
    if ("kubeconfig" in peer) told.joined(id, peer.endpointCidrs, () => connect(peer));
    else told.named(id);
  }

  #tellDuplicates(duplicates: readonly PeerFact[]): void {
    const next = new Set<string>(duplicates.map(({ key }) => key));
    for (const key of this.#duplicates) {
      if (!next.has(key)) this.#options.told.problems(`Secret ${key}`, []);
    }
    for (const { key, cluster } of duplicates) {
      const field = `metadata.labels[${LABEL_PEER}]`;
      const object = `Secret ${key}`;
      const problem = { reason: "duplicate-object", object, field, value: shown(cluster) } as const;
      this.#options.told.problems(object, [problem]);
    }
    this.#duplicates = next;
  }
}

/** What hangs on a Secret, as one text. It is never shown. */
function contentOf(peer: PeerFact | Unusable): string {
  return "kubeconfig" in peer
    ? JSON.stringify([peer.kubeconfig, peer.endpointCidrs.map(({ text }) => text)])
    : peer.key;
}

function isSame(a: PeerFact | Unusable | undefined, b: PeerFact | Unusable): boolean {
  return a !== undefined && contentOf(a) === contentOf(b);
}
