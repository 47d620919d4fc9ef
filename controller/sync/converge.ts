import { field } from "../../api/parse/fields.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import { hasHung, isRejection, isServerDown } from "../../common/kubernetes/recovery.ts";
import type { Manifest } from "../model/manifest.ts";
import type { Seen } from "../stores/fact-store.ts";
import type { Applier } from "./applier.ts";

/** A manifest that could not be written, and why. */
export interface Failed {
  readonly manifest: Manifest;
  readonly fault: unknown;
}

/** What one reconcile wants of one kind of object. */
export interface Convergence {
  readonly applier: Pick<Applier, "apply" | "hangs" | "remove">;
  readonly seen: (key: string) => Seen | undefined;
  readonly wanted: readonly Manifest[];
  /** Keys of present objects that are not wanted. */
  readonly gone: Iterable<string>;
  /** False for one of `gone` that has to stay as long as these manifests are not written. */
  readonly mayGo: (key: string, state: Converging) => boolean | Promise<boolean>;
  /** One of `gone` without endpoints, which is written if it must not be deleted. */
  readonly emptied?: (key: string) => Manifest | Promise<Manifest | undefined> | undefined;
}

/** How far it is. */
export interface Converging {
  readonly failed: readonly Failed[];
  readonly inPlace: readonly Manifest[];
  /** True once no other attempt follows. */
  readonly isLast: boolean;
}

/** What came of it. */
export interface Converged {
  /** The manifests that are as they are wanted. */
  readonly inPlace: readonly Manifest[];
  /** True if a write changed something. */
  readonly changed: boolean;
  /** Writes and deletions that failed, the first one first. */
  readonly faults: readonly unknown[];
}

/**
 * Writes what is wanted, and deletes what is gone: new objects before old ones, and a rejected write holds up nothing but what depends on it. A full
 * quota has room for a new object once an old one is deleted: those that nothing depends on go first, then one at a time, as long as that
 * helps. What must not be deleted loses its endpoints. Never rejects; skips the rest where the API server, or a webhook, does not answer.
 */
export async function converge(options: Convergence): Promise<Converged> {
  const { applier, emptied, mayGo, seen, wanted } = options;
  const gone = new Set(options.gone);
  const inPlace: Manifest[] = [];
  const unremoved: unknown[] = [];
  let changed = false;
  let failed: Failed[] = [];
  const attempt = async (list: readonly Manifest[]): Promise<void> => {
    failed = [];
    const untried = new Set(list);
    const write = async (manifest: Manifest): Promise<boolean> => {
      untried.delete(manifest);
      try {
        const isWritten = await applier.apply(manifest, seen(keyOf(manifest)));
        inPlace.push(manifest);
        changed ||= isWritten;
        return isWritten;
      } catch (fault) {
        failed.push({ manifest, fault });
        throw fault;
      }
    };
    // Each failure is in `failed`.
    await untilHung(list, (one) => applier.hangs(keyOf(one)), write).catch((fault: unknown) => {
      for (const manifest of untried) failed.push({ manifest, fault });
    });
  };
  const empty = async (key: string, found: Seen): Promise<void> => {
    const manifest = await emptied?.(key);
    if (manifest !== undefined) changed = (await applier.apply(manifest, found)) || changed;
  };
  /** True if there was one. */
  const remove = async (keys: readonly string[]): Promise<boolean> => {
    for (const key of keys) gone.delete(key);
    await untilHung(
      keys,
      (key) => applier.hangs(key, "removal"),
      async (key) => {
        const found = seen(key);
        if (found === undefined) return false;
        await applier.remove(found).catch(async (fault: unknown) => {
          if (isRejection(fault)) await empty(key, found).catch(() => undefined);
          throw fault;
        });
        return true;
      },
    ).catch((fault: unknown) => unremoved.push(fault));
    return keys.length > 0;
  };
  const removeFree = async (isLast: boolean): Promise<boolean> => {
    const free: string[] = [];
    for (const key of gone) if (await mayGo(key, { failed, inPlace, isLast })) free.push(key);
    return remove(free);
  };

  await attempt(wanted);
  if (failed.some(isDown)) return { inPlace, changed, faults: faultsOf(failed) };
  let hasRoom = await removeFree(false);
  while (failed.some(isFull)) {
    const isOneForOne = !hasRoom;
    if (isOneForOne && !(await remove([...gone].slice(0, 1)))) break;
    hasRoom = false;
    const before = failed.length;
    await attempt(failed.map(({ manifest }) => manifest));
    if (isOneForOne && failed.length === before) break;
  }
  if (!failed.some(isDown)) await removeFree(true);
  return { inPlace, changed, faults: [...faultsOf(failed), ...unremoved] };
}

/**
 * Runs the steps of a reconcile one by one. One that is rejected holds up none of those after it; only an outage, or the loss of the
 * leadership, ends them.
 */
export class Steps {
  #fault: unknown;

  /** The first failure so far. */
  get fault(): unknown {
    return this.#fault;
  }

  /** True if it succeeded. Rejects if the rest would fail, too. */
  async run(step: () => Promise<unknown>): Promise<boolean> {
    try {
      await step();
      return true;
    } catch (thrown) {
      const isOver =
        thrown instanceof ApiFault &&
        (isServerDown(thrown.reason) || thrown.reason === "not-leader");
      if (isOver) throw thrown;
      this.#fault ??= thrown;
      return false;
    }
  }

  /** Throws the first failure of all steps. */
  end(): void {
    if (this.#fault !== undefined) throw this.#fault;
  }
}

/** True if one of these addresses is in a slice that is not written: what lists it now is the last good one. */
export function isNeeded(addresses: Iterable<unknown>, failed: readonly Failed[]): boolean {
  if (failed.length === 0) return false;
  const needed = new Set(failed.flatMap(({ manifest }) => addressesIn(manifest)));
  return Iterator.from(addresses).some((address) => needed.has(address));
}

/** Addresses of the endpoints of a slice. */
export function addressesIn(slice: unknown): unknown[] {
  const endpoints = field(slice, "endpoints");
  if (!Array.isArray(endpoints)) return [];
  return endpoints.flatMap((endpoint) => {
    const addresses = field(endpoint, "addresses");
    return Array.isArray(addresses) ? addresses : [];
  });
}

/** True for a refusal of admission, such as a quota, which a retry does not change. */
export function isRefused(fault: unknown): boolean {
  return fault instanceof ApiFault && (fault.reason === "refused" || fault.reason === "invalid");
}

/** Namespace and name of a manifest, as stores have them. */
export function keyOf({ metadata: { namespace, name } }: Manifest): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

function faultsOf(failed: readonly Failed[]): unknown[] {
  return failed.map(({ fault }) => fault);
}

function isDown({ fault }: Failed): boolean {
  return isOutage(fault);
}

function isOutage(fault: unknown): boolean {
  return fault instanceof ApiFault && isServerDown(fault.reason);
}

/** A ResourceQuota, as Kubernetes says it. */
function isFull({ fault }: Failed): boolean {
  return isRefused(fault) && /exceeded quota/.test((fault as ApiFault).message);
}

/**
 * As `inParallel`, for writes that hang in a webhook: each costs seconds and a slot, so the first one that is sent is sent alone, and one that hangs ends it all.
 * Those that hung before (`hangs`) come last, so that they hold up no others. `work`: true if it has sent one.
 */
export async function untilHung<T>(
  all: readonly T[],
  hangs: (one: T) => boolean,
  work: (one: T) => Promise<boolean>,
): Promise<void> {
  const { before = [], others = [] } = Object.groupBy(all, (one) =>
    hangs(one) ? "before" : "others",
  );
  const rest = [...others, ...before].values();
  const faults: unknown[] = [];
  for (const one of rest) {
    try {
      if (await work(one)) break;
    } catch (thrown) {
      faults.push(thrown);
      break;
    }
  }
  if (!faults.some((fault) => hasHung(fault) || isOutage(fault))) {
    let isOver = false;
    const attempt = async (one: T): Promise<void> => {
      try {
        await work(one);
      } catch (thrown) {
        isOver ||= hasHung(thrown) || isOutage(thrown);
        throw thrown;
      }
    };
    const left = [...rest];
    const again = new Set(before);
    const fresh = left.filter((one) => !again.has(one)).values();
    const note = (thrown: unknown): void => void faults.push(thrown);
    await inParallel(
      fresh.filter(() => !isOver),
      attempt,
    ).catch(note);
    // One at a time, as of a namespace the applier lets no more through.
    for (const one of left) if (again.has(one) && !isOver) await attempt(one).catch(note);
  }
  if (faults.length > 0) throw faults[0];
}

/** Writes in progress at the same time; a Service may have hundreds of slices. */
const MOST_WRITES = 8;

/**
 * Runs `work` for all items, several at a time, then throws the first error. If the API server does not answer, the rest
 * is skipped: hundreds of timeouts would take minutes.
 */
export async function inParallel<T>(
  all: Iterable<T>,
  work: (one: T) => Promise<unknown>,
): Promise<void> {
  const faults: unknown[] = [];
  const rest = Iterator.from(all);
  const worker = async (): Promise<void> => {
    for (const one of rest) {
      try {
        await work(one);
      } catch (thrown) {
        faults.push(thrown);
        if (isOutage(thrown)) return;
      }
    }
  };
  await Promise.all(Array.from({ length: MOST_WRITES }, worker));
  if (faults.length > 0) throw faults[0];
}
