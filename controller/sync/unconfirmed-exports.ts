import type { ObjectKey } from "../../api/names.ts";
import { isMassLoss } from "../../common/kubernetes/confirm-removals.ts";
import { type Follow, type Following, Informer } from "../stores/informer.ts";
import type { LocalStores } from "../stores/local-stores.ts";
import type { Member } from "../stores/member.ts";
import { LOCAL_QUERIES } from "../stores/resources.ts";

/** Dependencies of `UnconfirmedExports`. */
export interface UnconfirmedExportsOptions {
  readonly own: Pick<LocalStores, "exports">;
  /** The reflector of ServiceExports. */
  readonly reflector: Pick<Following, "found">;
  /** The local cluster's registry. */
  readonly member: Pick<Member, "services">;
  readonly follow: Follow;
  /** Names that are imported from the local cluster, published or not. */
  readonly importedFrom: () => Iterable<ObjectKey>;
  /** The absence of exports was confirmed. */
  readonly confirmed: () => void;
}

/**
 * Published exports that the local API server does not list after a restart of the controller. If most are missing, the
 * API server may have been restored meanwhile: nothing is withdrawn before a second list, ten seconds later, lacks them
 * too. While the controller runs, its reflector does the same.
 */
export class UnconfirmedExports {
  readonly #options: UnconfirmedExportsOptions;
  /** Undefined if nothing is unconfirmed. */
  #second: Informer | undefined;

  constructor(options: UnconfirmedExportsOptions) {
    this.#options = options;
  }

  /** True for a missing export whose absence is unconfirmed. */
  isUnconfirmed(key: ObjectKey): boolean {
    return this.#second !== undefined && this.#options.own.exports.fact(key) === undefined;
  }

  /** Compares registry and imports with the exports. Everything was listed, except perhaps the registry. */
  begin(): void {
    const { own, member, reflector, follow, confirmed, importedFrom } = this.#options;
    const published = [...new Set([...member.services(), ...importedFrom()])];
    const lost = new Set<string>(published.filter((key) => own.exports.fact(key) === undefined));
    if (this.#second !== undefined || !isMassLoss(lost.size, published.length)) return;
    const second = new Informer({
      query: LOCAL_QUERIES.serviceexports,
      // The first informer knows more about all other exports, such as deletions.
      sink: {
        changed: (key, object) => {
          if (lost.has(key)) reflector.found(object);
        },
        removed: () => undefined,
      },
      known: published,
      follow,
      listed: () => {
        this.#second = undefined;
        confirmed();
        void second.stop();
      },
    });
    this.#second = second;
    second.start();
  }

  async end(): Promise<void> {
    const second = this.#second;
    this.#second = undefined;
    await second?.stop();
  }
}
