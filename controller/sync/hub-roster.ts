import type { ApiServer } from "../../common/kubernetes/api-server.ts";
import { decodeNamespace, type NamespaceOfMember } from "../registry/decode-namespace.ts";
import { Feed, type Follow } from "../stores/feed.ts";
import { HUB_QUERY } from "../stores/resources.ts";
import type { Roster, RosterTold } from "./roster.ts";

/** What a roster of namespaces is made of. */
export interface HubRosterOptions {
  /** Of the hub. */
  readonly follow: Follow;
  readonly hub: ApiServer;
  /** Registry namespaces of clusters that were members before we began: a list without most of them is looked at twice. */
  readonly known: Iterable<string>;
  readonly told: RosterTold;
}

/**
 * Members of a hub: each has a namespace that says so, under the name that its id makes. Ranges that have become wrong
 * change nothing; where they were wrong when we began, the cluster is a member that is not read.
 */
export class HubRoster implements Roster {
  readonly #options: HubRosterOptions;
  readonly #feed: Feed;
  /** By namespace, as it last was right. */
  readonly #members = new Map<string, NamespaceOfMember>();

  constructor(options: HubRosterOptions) {
    const { follow, known, told } = options;
    this.#options = options;
    this.#feed = new Feed({
      query: HUB_QUERY,
      sink: {
        changed: (key, object) => this.#changed(key, object),
        removed: (key) => {
          told.problems(`Namespace ${key}`, []);
          this.#leave(key);
        },
      },
      follow,
      known,
      events: told,
    });
  }

  start(): void {
    this.#feed.start();
  }

  stop(): Promise<void> {
    return this.#feed.stop();
  }

  #changed(key: string, namespace: unknown): void {
    const { hub, told } = this.#options;
    const { fact, object, problems } = decodeNamespace(namespace);
    told.problems(object, problems);
    if (fact === undefined) {
      this.#leave(key);
      return;
    }
    const { cluster, endpointCidrs } = fact;
    const before = this.#members.get(key);
    if (endpointCidrs === undefined) {
      if (before === undefined) told.named(cluster);
      this.#members.set(key, before ?? fact);
    } else if (before === undefined || textOf(before) !== textOf(fact)) {
      this.#members.set(key, fact);
      told.joined(cluster, endpointCidrs, () => Promise.resolve(hub));
    }
  }

  #leave(key: string): void {
    const member = this.#members.get(key);
    this.#members.delete(key);
    if (member !== undefined) this.#options.told.left(member.cluster);
  }
}

function textOf({ endpointCidrs }: NamespaceOfMember): string | undefined {
  return endpointCidrs?.map(({ text }) => text).join();
}
