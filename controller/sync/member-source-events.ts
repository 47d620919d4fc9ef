import type { Problem } from "../../api/problem.ts";
import type { ApiServer } from "../../common/kubernetes/api-server.ts";
import type { ReflectorState } from "../../common/kubernetes/reflector-events.ts";
import type { Drain } from "../model/drain.ts";
import type { PeerScope } from "../model/peer-scope.ts";

/** What a source of the other members reports, as an operator configured them. */
export interface MemberSourceEvents {
  /** A member was added, or its registry has to be read in another way. */
  joined(id: string, scope: PeerScope, connect: () => Promise<ApiServer>): void;
  /** A member was added that cannot be read, because its configuration is invalid. */
  named(id: string): void;
  /** An object states this drain of a cluster, the local one included; undefined: none any more. Only changes. */
  drained(id: string, object: string, drain: Drain | undefined): void;
  /** A member was removed. */
  left(id: string): void;
  /** All members have been reported. May be repeated. */
  listed(): void;
  state(resource: string, state: ReflectorState): void;
  problems(object: string, problems: readonly Problem[]): void;
}
