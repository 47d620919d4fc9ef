import type { Cidr } from "../../api/cidr.ts";
import { LABEL_REGISTRY } from "../../api/keys.ts";
import { isClusterId } from "../../api/names.ts";
import { fieldAt, isUnset } from "../../api/parse/fields.ts";
import type { Problem } from "../../api/problem.ts";
import type { ApiServer } from "../../common/kubernetes/api-server.ts";
import type { ReflectorState } from "../../common/kubernetes/reflector-events.ts";
import { registryNamespace } from "../registry/names.ts";
import { Feed, type Follow, type Sink } from "../stores/feed.ts";
import { HUB_QUERY } from "../stores/resources.ts";

/** Who is told who the members of the clusterset are. */
export interface RosterTold {
  /** A cluster is a member, or is to be read in another way from now on. */
  joined(id: string, endpointCidrs: readonly Cidr[], connect: () => Promise<ApiServer>): void;
  /** A cluster is no member any more. */
  left(id: string): void;
  /** All have been named. Perhaps more than once. */
  listed(): void;
  state(resource: string, state: ReflectorState): void;
  problems(object: string, problems: readonly Problem[]): void;
}

/** Who the other members of the clusterset are: by Secrets of our own cluster, or by namespaces of a hub. */
export interface Roster {
  start(): void;
  stop(): Promise<void>;
}

/** What a roster of namespaces is made of. */
export interface HubRosterOptions {
  /** Of the hub. */
  readonly follow: Follow;
  readonly hub: ApiServer;
  /** Registry namespaces of clusters that were members before we began: a list without most of them is looked at twice. */
  readonly known: Iterable<string>;
  readonly told: RosterTold;
}

/** Members of a hub: each has a namespace that says so, under the name that its id makes. */
export class HubRoster implements Roster {
  readonly #feed: Feed;

  constructor({ follow, hub, known, told }: HubRosterOptions) {
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
    this.#feed = new Feed({ query: HUB_QUERY, sink, follow, known, events: told });
  }

  start(): void {
    this.#feed.start();
  }

  stop(): Promise<void> {
    return this.#feed.stop();
  }
}
