import type { ReflectorState } from "../../common/kubernetes/reflector-events.ts";
import { CONTROLLERS_LEASE } from "../liveness/control-plane-contact.ts";
import { type Follow, Informer } from "../stores/informer.ts";
import type { LocalStores } from "../stores/local-stores.ts";
import { CONTROLLERS_QUERY, LOCAL_QUERIES } from "../stores/resources.ts";

/** What `LocalInformers` report. */
export interface LocalInformersEvents {
  /** Everything needed was listed. Once. */
  listed(): void;
  state(name: string, state: ReflectorState): void;
  /** kube-controller-manager's Lease has changed. */
  controllers(lease: unknown): void;
}

type Name = keyof typeof LOCAL_QUERIES;

/** The informers of the local cluster. */
export class LocalInformers {
  /** By resource. */
  readonly byResource: Readonly<Record<Name, Informer>>;
  readonly #controllers: Informer;

  constructor(follow: Follow, own: LocalStores, events: LocalInformersEvents) {
    const sinks = own.sinks();
    let isReported = false;
    const listed = (): void => {
      if (isReported || !this.listed) return;
      isReported = true;
      events.listed();
    };
    const state = (name: string, now: ReflectorState): void => {
      own.listing(name, now.reason === "listing");
      events.state(name, now);
    };
    const informer = (name: Name): Informer =>
      new Informer({
        query: LOCAL_QUERIES[name],
        sink: sinks[name],
        follow,
        listed,
        state,
      });
    this.byResource = {
      namespaces: informer("namespaces"),
      services: informer("services"),
      endpointslices: informer("endpointslices"),
      serviceexports: informer("serviceexports"),
      serviceimports: informer("serviceimports"),
      clusterproperties: informer("clusterproperties"),
      ipaddresses: informer("ipaddresses"),
    };
    // Optional: without the right to read it, nothing is reported and nothing waits.
    this.#controllers = new Informer({
      query: CONTROLLERS_QUERY,
      sink: {
        changed: (key, lease) => {
          if (key === `${CONTROLLERS_LEASE.namespace}/${CONTROLLERS_LEASE.name}`) {
            events.controllers(lease);
          }
        },
        removed: () => undefined,
      },
      follow,
    });
  }

  /** True once everything needed was listed. */
  get listed(): boolean {
    return Object.values(this.byResource).every(({ listed }) => listed);
  }

  start(): void {
    for (const informer of this.#all()) informer.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all().map((informer) => informer.stop()));
  }

  #all(): Informer[] {
    return [...Object.values(this.byResource), this.#controllers];
  }
}
