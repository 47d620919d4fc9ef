import type { Cidr } from "../../api/cidr.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { ApiServer } from "../../common/kubernetes/api-server.ts";
import { believedState } from "../liveness/believed-state.ts";
import type { ClusterState } from "../model/facts.ts";
import { registryNamespace } from "../registry/names.ts";
import type { Follow } from "../stores/feed.ts";
import type { OwnCluster } from "../stores/own-cluster.ts";
import type { Members } from "./members.ts";

/** What a `Membership` is made of. */
export interface MembershipOptions {
  readonly own: OwnCluster;
  readonly members: Members;
  /** The API server that our own registry is on. */
  readonly registryApi: ApiServer;
  readonly follow: (api: ApiServer) => Follow;
  readonly events: {
    /** A cluster is a member no more. */
    left(cluster: string): void;
    /** A peer cannot be reached as its Secret says: what was known of it stays. */
    unreachable(cluster: string, thrown: unknown): void;
    /** Ranges that endpoints of members are declared to lie in are others than before. */
    declared(ranges: readonly Cidr[]): void;
  };
}

/** Has members read, each by a connection of its own, and lets them go; for each, one thing after the other. */
export class Membership {
  readonly #options: MembershipOptions;
  readonly #connections = new Map<string, ApiServer>();
  readonly #declared = new Map<string, readonly Cidr[]>();
  /** What is done about each cluster, to its end. */
  readonly #turns = new Map<string, Promise<void>>();
  #stopped = false;

  constructor(options: MembershipOptions) {
    this.#options = options;
  }

  /** A cluster is a member, or is to be reached in another way from now on. What was known of it stays. */
  join(id: string, endpointCidrs: readonly Cidr[], reach: () => Promise<ApiServer>): void {
    this.#declared.set(id, endpointCidrs);
    this.#options.events.declared([...this.#declared.values()].flat());
    // At once: until it is read, which may never be, it is a member that is not heard, rather than none.
    this.#admit(id);
    this.#inTurn(id, async () => {
      this.#admit(id);
      try {
        await this.#connect(id, endpointCidrs, await reach());
      } catch (thrown) {
        this.#options.events.unreachable(id, thrown);
      }
    });
  }

  /** A person has said that a cluster is no member any more. */
  leave(id: string): void {
    this.#declared.delete(id);
    this.#options.events.declared([...this.#declared.values()].flat());
    this.#inTurn(id, async () => {
      await this.#options.members.remove(id);
      this.#options.events.left(id);
      await this.#replaceConnection(id, undefined);
    });
  }

  /** Ends all connections, and makes no new one. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#turns.values());
    for (const id of [...this.#connections.keys()]) await this.#replaceConnection(id, undefined);
  }

  #admit(id: string): void {
    const { members, own } = this.#options;
    const { was } = believedBefore(own, id);
    members.admit({ id, namespace: registryNamespace(id), was });
  }

  #inTurn(id: string, act: () => Promise<void>): void {
    const before = this.#turns.get(id) ?? Promise.resolve();
    this.#turns.set(
      id,
      before.then(() => (this.#stopped ? undefined : act())),
    );
  }

  async #connect(id: string, endpointCidrs: readonly Cidr[], api: ApiServer): Promise<void> {
    const { follow, members, own } = this.#options;
    const { known } = believedBefore(own, id);
    await members.read(id, { endpointCidrs, follow: follow(api), known });
    await this.#replaceConnection(id, api);
  }

  async #replaceConnection(id: string, next: ApiServer | undefined): Promise<void> {
    const before = this.#connections.get(id);
    // That of our own registry is not ours to end.
    if (next === undefined || next === this.#options.registryApi) this.#connections.delete(id);
    else this.#connections.set(id, next);
    await before?.close();
  }
}

/** What our own cluster tells of how another was before we began: what was imported from it, and how. */
export function believedBefore(
  own: OwnCluster,
  id: string,
): { readonly known: ObjectKey[]; readonly was: ClusterState } {
  const known = [...own.imports.facts()]
    .filter(({ clusters }) => clusters.includes(id))
    .map(({ key }) => key);
  const slices = [...own.importedSlices.facts()].filter(({ cluster }) => cluster === id);
  return { known, was: believedState(slices) };
}
