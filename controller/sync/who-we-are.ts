import {
  type Identity,
  type IdentityFlags,
  type OwnIdentity,
  ownIdentity,
} from "../identity/own-identity.ts";
import type { OwnCluster } from "../stores/own-cluster.ts";
import type { ControllerEvents } from "./controller-events.ts";

/** Namespace whose uid tells clusters apart. */
export const SYSTEM = "kube-system";

/** What `WhoWeAre` is made of. */
export interface WhoWeAreOptions {
  readonly flags: IdentityFlags;
  readonly own: OwnCluster;
  readonly events: Pick<ControllerEvents, "identified">;
}

/** Who our own cluster is, by flags and ClusterProperties, and the uid that tells it from all others. */
export class WhoWeAre {
  readonly #options: WhoWeAreOptions;
  #identity: Identity | undefined;
  #uid: string | undefined;
  #state: OwnIdentity | undefined;

  constructor(options: WhoWeAreOptions) {
    this.#options = options;
  }

  /** Who we are; undefined until that was known once. */
  get identity(): Identity | undefined {
    return this.#identity;
  }

  /** uid of kube-system; undefined until that was seen. */
  get uid(): string | undefined {
    return this.#uid;
  }

  /** What is known of it now; undefined until it was looked at. */
  get state(): OwnIdentity | undefined {
    return this.#state;
  }

  /** ClusterProperties as others may know them. */
  get properties(): Readonly<Record<string, string>> {
    const { own } = this.#options;
    return Object.fromEntries([...own.properties.facts()].map(({ name, value }) => [name, value]));
  }

  /** Looks again: something that it hangs on may have changed. */
  look(): void {
    const { events, flags, own } = this.#options;
    this.#uid ??= own.namespaces.fact(SYSTEM)?.uid;
    if (this.#uid === undefined) return;
    const properties = new Map(Object.entries(this.properties));
    const before = this.#state;
    this.#state = ownIdentity(flags, properties, this.#identity);
    if (this.#state.reason === "identified") this.#identity = this.#state.identity;
    if (sayingOf(this.#state) !== sayingOf(before)) events.identified(this.#state);
  }
}

/** What is told of who we are. */
function sayingOf(own: OwnIdentity | undefined): string {
  return JSON.stringify(own?.reason === "identified" ? own.identity : own);
}
