import type { ApiServer } from "../../common/kubernetes/api-server.ts";
import { type Drain, drainText } from "../model/drain.ts";
import { scopeText } from "../model/peer-scope.ts";
import { decodeNamespace, type NamespaceOfMember } from "../registry/decode-namespace.ts";
import { type Follow, Informer } from "../stores/informer.ts";
import { HUB_QUERY } from "../stores/resources.ts";
import type { MemberSourceEvents } from "./member-source-events.ts";

/** Dependencies of a `HubMemberSource`. */
export interface HubMemberSourceOptions {
  readonly follow: Follow;
  readonly hub: ApiServer;
  /** Registry namespaces from before a restart: a list that lacks most of them is confirmed by a second one. */
  readonly known: Iterable<string>;
  readonly events: MemberSourceEvents;
}

/**
 * Members of a hub: each has a labelled namespace. An invalid scope changes nothing for a known member; a new one
 * is not read.
 */
export class HubMemberSource {
  readonly #options: HubMemberSourceOptions;
  readonly informer: Informer;
  /** The last valid state, by namespace. */
  readonly #members = new Map<string, NamespaceOfMember>();
  /** The reported drains, by namespace. */
  readonly #drains = new Map<string, string>();

  constructor(options: HubMemberSourceOptions) {
    const { follow, known, events } = options;
    this.#options = options;
    this.informer = new Informer({
      query: HUB_QUERY,
      sink: {
        changed: (key, object) => this.#changed(key, object),
        removed: (key) => {
          events.problems(`Namespace ${key}`, []);
          this.#leave(key);
        },
      },
      follow,
      known,
      listed: () => events.listed(),
      state: (resource, state) => events.state(resource, state),
    });
  }

  #changed(key: string, namespace: unknown): void {
    const { hub, events } = this.#options;
    const { fact, object, problems } = decodeNamespace(namespace);
    events.problems(object, problems);
    if (fact === undefined) {
      this.#leave(key);
      return;
    }
    const { cluster, drain, scope } = fact;
    const before = this.#members.get(key);
    if (scope === undefined) {
      if (before === undefined) events.named(cluster);
      this.#members.set(key, before ?? fact);
    } else if (before === undefined || textOf(before) !== textOf(fact)) {
      this.#members.set(key, fact);
      events.joined(cluster, scope, () => Promise.resolve(hub));
    }
    this.#drain(key, cluster, drain);
  }

  #drain(key: string, cluster: string, drain: Drain | undefined): void {
    const text = drain && drainText(drain);
    if (text === this.#drains.get(key)) return;
    if (text === undefined) this.#drains.delete(key);
    else this.#drains.set(key, text);
    this.#options.events.drained(cluster, `Namespace ${key}`, drain);
  }

  #leave(key: string): void {
    const member = this.#members.get(key);
    this.#members.delete(key);
    if (member !== undefined) this.#drain(key, member.cluster, undefined);
    if (member !== undefined) this.#options.events.left(member.cluster);
  }
}

function textOf({ scope }: NamespaceOfMember): string | undefined {
  return scope && scopeText(scope);
}
