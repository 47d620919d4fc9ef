import type { Cidr } from "../../api/cidr.ts";
import { LABEL_REGISTRY } from "../../api/keys.ts";
import { isClusterId } from "../../api/names.ts";
import { fieldAt, isUnset } from "../../api/parse/fields.ts";
import type { Problem } from "../../api/problem.ts";
import type { ApiServer } from "../../common/kubernetes/api-server.ts";
import type { ReflectorState } from "../../common/kubernetes/reflector-events.ts";
import { type PeerFact, parsePeer, peersByCluster } from "../peers/parse-peer.ts";
import { registryNamespace } from "../registry/names.ts";
import { Feed, type Follow, type Sink } from "../stores/feed.ts";
import { HUB_QUERY, peersQuery } from "../stores/resources.ts";

/** Who is told who the members of the clusterset are. */
export interface RosterTold {
  /** A cluster is a member, or is to be read in another way from now on. */
  joined(id: string, endpointCidrs: readonly Cidr[], connect: () => Promise<ApiServer>): void;
  /** A cluster is no member any more. */
  left(id: string): void;
  /** All have been named. Once. */
  listed(): void;
  state(resource: string, state: ReflectorState): void;
  problems(object: string, problems: readonly Problem[]): void;
}

/** Who the other members of the clusterset are: by Secrets of our own cluster, or by namespaces of a hub. */
export interface Roster {
  start(): void;
  stop(): Promise<void>;
}

/** What a roster of Secrets is made of. */
export interface SecretRosterOptions {
  readonly namespace: string;
  readonly follow: Follow;
  readonly connect: (peer: PeerFact) => Promise<ApiServer>;
  readonly told: RosterTold;
}

/** Members of a mesh: each is reached as its Secret says. A Secret that has become wrong changes nothing. */
export class SecretRoster implements Roster {
  readonly #options: SecretRosterOptions;
  readonly #feed: Feed;
  /** By the Secret's key, as it last was right. */
  readonly #facts = new Map<string, PeerFact>();
  #peers: ReadonlyMap<string, PeerFact> = new Map();

  constructor(options: SecretRosterOptions) {
    const { follow, namespace, told } = options;
    this.#options = options;
    const sink: Sink = {
      changed: (key, object) => {
        const { fact, object: name, problems } = parsePeer(object);
        told.problems(name, problems);
        if (fact !== undefined) this.#facts.set(key, fact);
        this.#compare();
      },
      removed: (key) => {
        told.problems(`Secret ${key}`, []);
        this.#facts.delete(key);
        this.#compare();
      },
    };
    this.#feed = new Feed({ query: peersQuery(namespace), sink, follow, events: told });
  }

  start(): void {
    this.#feed.start();
  }

  stop(): Promise<void> {
    return this.#feed.stop();
  }

  #compare(): void {
    const { told, connect } = this.#options;
    const before = this.#peers;
    const { peers } = peersByCluster(this.#facts.values());
    this.#peers = peers;
    for (const id of before.keys()) if (!peers.has(id)) told.left(id);
    for (const [id, peer] of peers) {
      if (!isSame(before.get(id), peer)) {
        told.joined(id, peer.endpointCidrs, () => connect(peer));
      }
    }
  }
}

function isSame(a: PeerFact | undefined, b: PeerFact): boolean {
  const cidrs = ({ endpointCidrs }: PeerFact) => endpointCidrs.map(({ text }) => text).join();
  return a !== undefined && a.kubeconfig === b.kubeconfig && cidrs(a) === cidrs(b);
}

/** What a roster of namespaces is made of. */
export interface HubRosterOptions {
  /** Of the hub. */
  readonly follow: Follow;
  readonly hub: ApiServer;
  readonly told: RosterTold;
}

/** Members of a hub: each has a namespace that says so, under the name that its id makes. */
export class HubRoster implements Roster {
  readonly #feed: Feed;

  constructor({ follow, hub, told }: HubRosterOptions) {
    const members = new Map<string, string>();
    const leave = (key: string): void => {
      const id = members.get(key);
      members.delete(key);
      if (id !== undefined) told.left(id);
    };
    const sink: Sink = {
      changed: (key, object) => {
        const id = fieldAt(object, "metadata", "labels", LABEL_REGISTRY);
        const going = !isUnset(fieldAt(object, "metadata", "deletionTimestamp"));
        // The name follows from the id: no namespace can take the place of another.
        const isMember =
          typeof id === "string" && isClusterId(id) && registryNamespace(id) === key && !going;
        if (!isMember) leave(key);
        else if (!members.has(key)) {
          members.set(key, id);
          told.joined(id, [], () => Promise.resolve(hub));
        }
      },
      removed: leave,
    };
    this.#feed = new Feed({ query: HUB_QUERY, sink, follow, events: told });
  }

  start(): void {
    this.#feed.start();
  }

  stop(): Promise<void> {
    return this.#feed.stop();
  }
}
