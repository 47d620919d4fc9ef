import type { ObjectKey } from "../../api/names.ts";
import { isMassLoss } from "../../common/mass-loss.ts";
import { Feed, type Follow } from "../stores/feed.ts";
import type { Member } from "../stores/member.ts";
import type { OwnCluster } from "../stores/own-cluster.ts";
import { OWN_QUERIES } from "../stores/resources.ts";

/** What `LostExports` are made of. */
export interface LostExportsOptions {
  readonly own: Pick<OwnCluster, "exports">;
  /** Where exports come from. */
  readonly feed: Pick<Feed, "found">;
  /** We, as our registry shows us. */
  readonly member: Pick<Member, "services">;
  /** Of our own cluster. */
  readonly follow: Follow;
  /** What is not exported is not, from now on. */
  readonly believed: () => void;
}

/**
 * Exports that we had published before we began, and that our own API server does not list. If that is most of them, it
 * may have been restored, or its kind been installed anew, while we were away: nothing is withdrawn before a second list,
 * ten seconds later, lacks them as well. While we are there, the reflector sees to it.
 */
export class LostExports {
  readonly #options: LostExportsOptions;
  /** What lists them once more; undefined while nothing is doubted. */
  #second: Feed | undefined;

  constructor(options: LostExportsOptions) {
    this.#options = options;
  }

  /** True for an export that is not seen any more, and perhaps there. */
  isDoubted(key: ObjectKey): boolean {
    return this.#second !== undefined && this.#options.own.exports.fact(key) === undefined;
  }

  /** This replica begins to withdraw. All has been listed. */
  begin(): void {
    const { own, member, feed, follow, believed } = this.#options;
    const published = [...member.services()];
    const lost = new Set<string>(published.filter((key) => own.exports.fact(key) === undefined));
    if (this.#second !== undefined || !isMassLoss(lost.size, published.length)) return;
    const second = new Feed({
      query: OWN_QUERIES.serviceexports,
      // Of all others, the feed that was there before knows more: it may have told already that they are gone.
      sink: {
        changed: (key, object) => {
          if (lost.has(key)) feed.found(object);
        },
        removed: () => undefined,
      },
      known: published,
      follow,
      events: {
        listed: () => {
          this.#second = undefined;
          believed();
          void second.stop();
        },
        state: () => undefined,
      },
    });
    this.#second = second;
    second.start();
  }

  /** It withdraws nothing any more. */
  async end(): Promise<void> {
    const second = this.#second;
    this.#second = undefined;
    await second?.stop();
  }
}
