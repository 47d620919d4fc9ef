import type { ReflectorState } from "../../common/kubernetes/reflector-events.ts";
import { CONTROLLERS_LEASE } from "../liveness/contact.ts";
import { Feed, type Follow } from "../stores/feed.ts";
import type { OwnCluster } from "../stores/own-cluster.ts";
import { CONTROLLERS_QUERY, OWN_QUERIES } from "../stores/resources.ts";

/** Who is told how the reading of our own cluster goes. */
export interface OwnFeedsTold {
  /** Everything that is needed has been listed. Once. */
  listed(): void;
  /** `name` tells feeds apart. */
  state(name: string, state: ReflectorState): void;
  /** kube-controller-manager's Lease. */
  controllers(lease: unknown): void;
}

type Name = keyof typeof OWN_QUERIES;

/** Reads our own cluster. */
export class OwnFeeds {
  /** By resource. */
  readonly feeds: Readonly<Record<Name, Feed>>;
  readonly #controllers: Feed;

  constructor(follow: Follow, own: OwnCluster, told: OwnFeedsTold) {
    const sinks = own.sinks();
    let isTold = false;
    const events = {
      listed: () => {
        if (isTold || !this.listed) return;
        isTold = true;
        told.listed();
      },
      state: (name: string, state: ReflectorState) => told.state(name, state),
    };
    const feed = (name: Name): Feed =>
      new Feed({ query: OWN_QUERIES[name], sink: sinks[name], follow, events });
    this.feeds = {
      namespaces: feed("namespaces"),
      services: feed("services"),
      endpointslices: feed("endpointslices"),
      serviceexports: feed("serviceexports"),
      serviceimports: feed("serviceimports"),
      clusterproperties: feed("clusterproperties"),
    };
    this.#controllers = new Feed({
      query: CONTROLLERS_QUERY,
      sink: {
        changed: (key, lease) => {
          if (key === `${CONTROLLERS_LEASE.namespace}/${CONTROLLERS_LEASE.name}`) {
            told.controllers(lease);
          }
        },
        removed: () => undefined,
      },
      follow,
      // Who may not read it goes without: it says nothing about contact, and nothing waits for it.
      events: { listed: () => undefined, state: () => undefined },
    });
  }

  /** True once everything that is needed has been listed. */
  get listed(): boolean {
    return Object.values(this.feeds).every(({ listed }) => listed);
  }

  start(): void {
    for (const feed of this.#all()) feed.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all().map((feed) => feed.stop()));
  }

  #all(): Feed[] {
    return [...Object.values(this.feeds), this.#controllers];
  }
}
