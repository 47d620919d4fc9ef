import type { Clock } from "../../common/clock.ts";
import type { ApiServer } from "../../common/kubernetes/api-server.ts";
import type { ControllerConfig } from "../config/config.ts";
import type { LocalBytes } from "../model/limits.ts";
import type { Observer } from "../observe/observer.ts";
import type { PeerFact } from "../peers/parse-peer.ts";
import type { Follow } from "../stores/informer.ts";

/** Dependencies of a `Controller`, which its parts share. */
export interface ControllerOptions {
  readonly config: ControllerConfig;
  /** The local API server. */
  readonly api: ApiServer;
  /** The API server of the local cluster's registry: the local one, or the hub. */
  readonly registryApi: ApiServer;
  /** Connects to a peer with the kubeconfig of its Secret. */
  readonly connect: (peer: PeerFact) => Promise<ApiServer>;
  readonly follow: (api: ApiServer) => Follow;
  /** Unique name of this replica. */
  readonly replica: string;
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
  /** Wall-clock time, for conditions and Events. */
  readonly today: () => Date;
  readonly events: Observer;
  /** Absent: `MOST_LOCAL_BYTES`. */
  readonly localBytes?: LocalBytes;
}
