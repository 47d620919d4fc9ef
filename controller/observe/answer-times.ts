import type { AskedOf } from "./counted-api-server.ts";
import type { Server } from "./metrics.ts";

/** Answers of an API server that count. Peers are sent a few requests in ten minutes: each watch ends and begins again. */
const LAST = 9;

/** How soon the API servers of registries answer: until the first byte, over the network of this pod. */
export class AnswerTimes {
  /** Milliseconds of the last answers, by API server. */
  readonly #last = new Map<string, number[]>();

  /** `member`: the cluster of a peer, else empty. */
  asked(server: Server, member: string, { result, seconds }: AskedOf): void {
    if (result !== "200" && result !== "201") return;
    const key = `${server} ${member}`;
    this.#last.set(key, [...(this.#last.get(key) ?? []), seconds * 1000].slice(-LAST));
  }

  /**
   * The median of the last answers of the API server that has a cluster's registry, in milliseconds; undefined if there was none. `isOwn`:
   * of the local cluster.
   */
  median(cluster: string, isOwn: boolean): number | undefined {
    // Only controllers that use a hub have requested something of it.
    return (
      this.#median("registry", "") ?? this.#median(isOwn ? "own" : "peer", isOwn ? "" : cluster)
    );
  }

  #median(server: Server, member: string): number | undefined {
    const times = (this.#last.get(`${server} ${member}`) ?? []).toSorted((a, b) => a - b);
    return times[Math.floor(times.length / 2)];
  }
}
