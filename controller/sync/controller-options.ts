import type { Clock } from "../../common/clock.ts";
import type { ApiServer } from "../../common/kubernetes/api-server.ts";
import type { ControllerConfig } from "../config/config.ts";
import type { PeerFact } from "../peers/parse-peer.ts";
import type { Follow } from "../stores/feed.ts";
import type { ControllerEvents } from "./controller-events.ts";

/** What a `Controller` is made of, and each of its parts takes what it needs from. */
export interface ControllerOptions {
  readonly config: Pick<
    ControllerConfig,
    | "cluster"
    | "clusterSet"
    | "clusterSetCidrs"
    | "leaderElectionId"
    | "leaseSeconds"
    | "namespace"
    | "podCidrs"
    | "region"
    | "registry"
    | "serviceCidrs"
  >;
  /** The API server of our own cluster. */
  readonly api: ApiServer;
  /** The API server that our registry is on: our own one, or the hub. */
  readonly registryApi: ApiServer;
  /** Connects to a peer as its Secret says. */
  readonly connect: (peer: PeerFact) => Promise<ApiServer>;
  /** Makes what follows a query on an API server. */
  readonly follow: (api: ApiServer) => Follow;
  /** Who this replica is: no other may call itself the same. */
  readonly replica: string;
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
  /** The time of day, for people, and for conditions. */
  readonly today: () => Date;
  readonly events: ControllerEvents;
}
