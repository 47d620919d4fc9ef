import type { Cidr } from "../../api/cidr.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { ApiServer } from "../../common/kubernetes/api-server.ts";
import { believedState } from "../liveness/believed-state.ts";
import type { ClusterState } from "../model/facts.ts";
import { registryNamespace } from "../registry/names.ts";
import type { Follow } from "../stores/feed.ts";
import type { Member } from "../stores/member.ts";
import type { OwnCluster } from "../stores/own-cluster.ts";
import type { ControllerOptions } from "./controller-options.ts";
import { HubRoster } from "./hub-roster.ts";
import type { Members } from "./members.ts";
import type { Roster, RosterTold } from "./roster.ts";
import { SecretRoster } from "./secret-roster.ts";

/** What a `Membership` is made of. */
export interface MembershipOptions
  extends Pick<
    ControllerOptions,
    "api" | "config" | "connect" | "events" | "follow" | "registryApi"
  > {
  readonly own: OwnCluster;
  readonly members: Members;
  /** Ranges that endpoints of members are declared to lie in are others than before. */
  readonly declared: (ranges: readonly Cidr[]) => void;
}

/**
 * Who is a member: we, and whom the roster names. Each is read by a connection of its own, and let go; for each, one thing
 * after the other.
 */
export class Membership {
  readonly #options: MembershipOptions;
  readonly #connections = new Map<string, ApiServer>();
  readonly #declared = new Map<string, readonly Cidr[]>();
  /** What is done about each cluster, to its end. */
  readonly #turns = new Map<string, Promise<void>>();
  #roster: Roster | undefined;
  #stopped = false;

  constructor(options: MembershipOptions) {
    this.#options = options;
  }

  /** It is known who we are: the first member. The others are looked for from now on. Once. */
  begin(own: string): Member {
    const { follow, registryApi } = this.#options;
    const member = this.#admit(own, true);
    void this.#read(own, [], follow(registryApi));
    this.#roster = this.#rosterWithout(own);
    this.#roster.start();
    return member;
  }

  /** Ends all connections, and makes no new one. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#roster?.stop();
    await Promise.all(this.#turns.values());
    await this.#options.members.stop();
    for (const id of [...this.#connections.keys()]) await this.#replaceConnection(id, undefined);
  }

  #rosterWithout(own: string): Roster {
    const { api, config, connect, events, follow, members, registryApi } = this.#options;
    const told: RosterTold = {
      joined: (id, endpointCidrs, reach) => {
        if (id !== own) this.#join(id, endpointCidrs, reach);
      },
      named: (id) => {
        if (id !== own) this.#admit(id);
      },
      left: (id) => {
        if (id !== own) this.#leave(id);
      },
      listed: () => members.complete(),
      state: (resource, state) => events.connection(undefined, `${resource} of members`, state),
      problems: (object, problems) => events.problems(undefined, object, problems),
    };
    const sources = [...this.#options.own.importedSlices.facts()].map(({ cluster }) => cluster);
    const others = new Set(sources.filter((id) => id !== own));
    if (config.registry === "hub") {
      const known = [...others].map(registryNamespace);
      return new HubRoster({ follow: follow(registryApi), hub: registryApi, known, told });
    }
    const { namespace } = config;
    return new SecretRoster({ namespace, follow: follow(api), connect, known: others, told });
  }

  /** A cluster is a member, or is to be reached in another way from now on. What was known of it stays. */
  #join(id: string, endpointCidrs: readonly Cidr[], reach: () => Promise<ApiServer>): void {
    this.#declared.set(id, endpointCidrs);
    this.#options.declared([...this.#declared.values()].flat());
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
  #leave(id: string): void {
    this.#declared.delete(id);
    this.#options.declared([...this.#declared.values()].flat());
    this.#inTurn(id, async () => {
      await this.#options.members.remove(id);
      this.#options.events.left(id);
      await this.#replaceConnection(id, undefined);
    });
  }

  #admit(id: string, isOurs = false): Member {
    const { members, own } = this.#options;
    const { was } = believedBefore(own, id);
    return members.admit({ id, namespace: registryNamespace(id), was, isOurs });
  }

  #inTurn(id: string, act: () => Promise<void>): void {
    const before = this.#turns.get(id) ?? Promise.resolve();
    this.#turns.set(
      id,
      before.then(() => (this.#stopped ? undefined : act())),
    );
  }

  async #connect(id: string, endpointCidrs: readonly Cidr[], api: ApiServer): Promise<void> {
    await this.#read(id, endpointCidrs, this.#options.follow(api));
    await this.#replaceConnection(id, api);
  }

  async #read(id: string, endpointCidrs: readonly Cidr[], follow: Follow): Promise<void> {
    const { members, own } = this.#options;
    const { known } = believedBefore(own, id);
    await members.read(id, { endpointCidrs, follow, known });
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
function believedBefore(
  own: OwnCluster,
  id: string,
): { readonly known: ObjectKey[]; readonly was: ClusterState } {
  const known = [...own.imports.facts()]
    .filter(({ clusters }) => clusters.includes(id))
    .map(({ key }) => key);
  const slices = [...own.importedSlices.facts()].filter(({ cluster }) => cluster === id);
  return { known, was: believedState(slices) };
}
