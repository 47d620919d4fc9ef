import type { Cidr } from "../../api/cidr.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { ApiServer } from "../../common/kubernetes/api-server.ts";
import type { Accepted } from "../import/outside.ts";
import type { PlacedDrain } from "../model/drain.ts";
import { type PeerScope, UNLIMITED } from "../model/peer-scope.ts";
import { registryNamespace } from "../registry/names.ts";
import type { Follow } from "../stores/informer.ts";
import type { LocalStores } from "../stores/local-stores.ts";
import type { Member } from "../stores/member.ts";
import type { ControllerOptions } from "./controller-options.ts";
import {
  type Access,
  introducedByNamespaces,
  introducedBySecrets,
  MemberSource,
} from "./member-source.ts";
import type { Members } from "./members.ts";

/** Dependencies of `MemberConnections`. */
export interface MemberConnectionsOptions extends ControllerOptions {
  readonly own: LocalStores;
  readonly members: Members;
  /** The declared endpoint ranges of members have changed; by cluster. */
  readonly declared: (ranges: ReadonlyMap<string, readonly Cidr[]>) => void;
  /** What a hub declares for the local cluster has changed. */
  readonly accepted: () => void;
}

/** Connects to the registry of each member. Changes of one member are applied one after the other. */
export class MemberConnections {
  readonly #options: MemberConnectionsOptions;
  readonly #connections = new Map<string, ApiServer>();
  readonly #declared = new Map<string, readonly Cidr[]>();
  /** The last change of each member, until it is applied. */
  readonly #changes = new Map<string, Promise<void>>();
  /** What a hub declares for the local cluster. */
  #onHub: readonly Cidr[] | undefined;
  #source: MemberSource | undefined;
  #stopped = false;

  constructor(options: MemberConnectionsOptions) {
    this.#options = options;
  }

  /** The declared endpoint ranges of other members, by cluster. */
  get declared(): ReadonlyMap<string, readonly Cidr[]> {
    return this.#declared;
  }

  /** The endpoint ranges that others declare for the local cluster, by who does. */
  get accepted(): Accepted {
    const { config, members } = this.#options;
    if (config.registry === "hub") {
      const ranges = new Map(this.#onHub && [["the hub", this.#onHub]]);
      return { ranges, isKnown: members.isComplete };
    }
    const ranges = members.accepted().map(([id, cidrs]) => [`cluster ${id}`, cidrs] as const);
    return { ranges: new Map(ranges), isKnown: members.areLeasesRead };
  }

  /** Adds the local cluster, then follows the source of members. Once. */
  begin(own: string): Member {
    const { follow, registryApi } = this.#options;
    const member = this.#add(own, true);
    void this.#read(own, UNLIMITED, follow(registryApi));
    this.#source = this.#newSource(own);
    this.#source.informer.start();
    return member;
  }

  /** Drains of a member on the objects that introduce it. */
  drains(id: string): readonly PlacedDrain[] {
    return this.#source?.drains(id) ?? [];
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#source?.informer.stop();
    await Promise.all(this.#changes.values());
    await this.#options.members.stop();
    for (const id of [...this.#connections.keys()]) await this.#replaceConnection(id, undefined);
  }

  #newSource(own: string): MemberSource {
    const { api, config, connect, events, follow, members, registryApi } = this.#options;
    const isHub = config.registry === "hub";
    const kind = isHub
      ? introducedByNamespaces(registryApi)
      : introducedBySecrets(config.namespace, connect);
    const sources = [...this.#options.own.importedSlices.facts()].map(({ cluster }) => cluster);
    const known = new Set(sources.filter((id) => id !== own));
    return new MemberSource(kind, follow(isHub ? registryApi : api), [...known], {
      joined: (id, access) => {
        if (id === own) this.#accept(access?.scope.endpointCidrs);
        else if (access === undefined) this.#add(id);
        else this.#join(id, access);
      },
      left: (id) => {
        if (id === own) this.#accept(undefined);
        else this.#leave(id);
      },
      drained: (id) => members.evaluate(id),
      listed: () => members.complete(),
      state: (resource, state) => events.connection(undefined, `${resource} of members`, state),
      problems: (object, problems) => events.problems(undefined, object, problems),
    });
  }

  #join(id: string, { connect, scope }: Access): void {
    this.#declare(id, scope.endpointCidrs);
    // At once: a member that cannot be reached is a member all the same.
    this.#add(id);
    this.#inTurn(id, async () => {
      this.#add(id);
      try {
        const api = await connect();
        await this.#read(id, scope, this.#options.follow(api));
        await this.#replaceConnection(id, api);
      } catch (thrown) {
        this.#options.events.unreachable(id, thrown);
      }
    });
  }

  #leave(id: string): void {
    this.#declare(id, undefined);
    this.#inTurn(id, async () => {
      await this.#options.members.remove(id);
      this.#options.events.left(id);
      await this.#replaceConnection(id, undefined);
    });
  }

  #declare(id: string, endpointCidrs: readonly Cidr[] | undefined): void {
    if (endpointCidrs === undefined) this.#declared.delete(id);
    else this.#declared.set(id, endpointCidrs);
    this.#options.declared(this.#declared);
  }

  /** In a mesh, a cluster has no Secret of itself, or one that says nothing about others. */
  #accept(endpointCidrs: readonly Cidr[] | undefined): void {
    this.#onHub = endpointCidrs;
    this.#options.accepted();
  }

  #add(id: string, isOurs = false): Member {
    return this.#options.members.add({ id, namespace: registryNamespace(id), isOurs });
  }

  #inTurn(id: string, act: () => Promise<void>): void {
    const before = this.#changes.get(id) ?? Promise.resolve();
    this.#changes.set(
      id,
      before.then(() => (this.#stopped ? undefined : act())),
    );
  }

  async #read(id: string, scope: PeerScope, follow: Follow): Promise<void> {
    const { members, own } = this.#options;
    const known: ObjectKey[] = [...own.imports.facts()]
      .filter(({ clusters }) => clusters.includes(id))
      .map(({ key }) => key);
    await members.get(id)?.connect(follow, scope, known);
  }

  async #replaceConnection(id: string, next: ApiServer | undefined): Promise<void> {
    const before = this.#connections.get(id);
    // The hub's connection is shared.
    if (next === undefined || next === this.#options.registryApi) this.#connections.delete(id);
    else this.#connections.set(id, next);
    await before?.close();
  }
}
