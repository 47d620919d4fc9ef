import { isOwnProperty, PROPERTY_CLUSTER_ID } from "../../api/keys.ts";
import {
  type Identity,
  type IdentityFlags,
  type OwnIdentity,
  ownIdentity,
} from "../identity/own-identity.ts";
import type { Drain } from "../model/drain.ts";
import type { Observer } from "../observe/observer.ts";
import type { LocalStores } from "../stores/local-stores.ts";

/** The namespace whose uid identifies a cluster. */
export const SYSTEM = "kube-system";

/** The local cluster's identity, from flags and ClusterProperties, and its uid. */
export class IdentitySource {
  readonly #flags: IdentityFlags;
  readonly #own: LocalStores;
  readonly #events: Observer;
  #identity: Identity | undefined;
  #uid: string | undefined;
  #state: OwnIdentity | undefined;

  constructor(flags: IdentityFlags, own: LocalStores, events: Observer) {
    this.#flags = flags;
    this.#own = own;
    this.#events = events;
  }

  /** The last known identity; undefined before the first. */
  get identity(): Identity | undefined {
    return this.#identity;
  }

  /** uid of kube-system; undefined until it was seen. */
  get uid(): string | undefined {
    return this.#uid;
  }

  /** The present identity, or why it is unknown; undefined before the first `update`. */
  get state(): OwnIdentity | undefined {
    return this.#state;
  }

  /** The cluster's ClusterProperties, by name, without what the controller writes about clusters. */
  get properties(): Readonly<Record<string, string>> {
    return Object.fromEntries(
      [...this.#own.properties.facts()]
        .filter(({ name }) => isOwnProperty(name))
        .map(({ name, value }) => [name, value]),
    );
  }

  /** The drain that the cluster's ClusterProperty states. */
  get drain(): Drain | undefined {
    return this.#own.properties.fact(PROPERTY_CLUSTER_ID)?.drain;
  }

  /** Evaluates flags and properties again. */
  update(): void {
    this.#uid ??= this.#own.namespaces.fact(SYSTEM)?.uid;
    if (this.#uid === undefined) return;
    const properties = new Map(Object.entries(this.properties));
    const before = this.#state;
    this.#state = ownIdentity(this.#flags, properties, this.#identity);
    if (this.#state.reason === "identified") this.#identity = this.#state.identity;
    if (textOf(this.#state) !== textOf(before)) this.#events.identified(this.#state);
  }
}

function textOf(own: OwnIdentity | undefined): string {
  return JSON.stringify(own?.reason === "identified" ? own.identity : own);
}
