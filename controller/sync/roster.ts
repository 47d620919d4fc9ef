import type { Cidr } from "../../api/cidr.ts";
import type { Problem } from "../../api/problem.ts";
import type { ApiServer } from "../../common/kubernetes/api-server.ts";
import type { ReflectorState } from "../../common/kubernetes/reflector-events.ts";

/** Who is told who the members of the clusterset are. */
export interface RosterTold {
  /** A cluster is a member, or is to be read in another way from now on. */
  joined(id: string, endpointCidrs: readonly Cidr[], connect: () => Promise<ApiServer>): void;
  /** A cluster is a member, and nobody has said yet, in a way that can be used, how it is to be read. */
  named(id: string): void;
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
