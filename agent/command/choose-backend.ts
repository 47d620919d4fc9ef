import type { Family } from "../../api/address.ts";
import type { NodeCheck } from "../../api/agent-page.ts";
import { type Cidr, familiesIn, ofFamily } from "../../api/cidr.ts";
import { type Clock, sleep } from "../../common/clock.ts";
import { CodedError } from "../../common/errors.ts";
import type { Logger } from "../../common/log.ts";
import type { ConnectionCounters, KernelReader } from "../backends/backend.ts";
import {
  type BackendConfig,
  type BackendKind,
  isUnsupported,
  type OpenOptions,
  type ReadyBackend,
  type Unsupported,
} from "../backends/backend-kind.ts";
import { KernelTable } from "../backends/kernel-table.ts";

/** The backend of this node. */
export interface Chosen {
  /** As `--backend` takes it. */
  readonly name: string;
  readonly backend: ReadyBackend;
  /** Why this node does not support the backends that are preferred. */
  readonly unsupported: readonly Unsupported[];
}

/** What a choice needs. */
export interface ChoiceOptions {
  readonly config: BackendConfig;
  readonly log: Logger;
  readonly clock: Clock;
  readonly stop: AbortSignal;
}

/**
 * The first of these backends that this node supports; undefined once `stop` is aborted. Rejects with CSP_BACKEND_UNUSABLE if
 * it supports none.
 */
export async function chooseBackend<Name extends string>(
  names: readonly Name[],
  kinds: Readonly<Record<Name, BackendKind>>,
  options: ChoiceOptions,
): Promise<Chosen | undefined> {
  const unsupported: Unsupported[] = [];
  for (const [i, name] of names.entries()) {
    const found = await prepare(name, kinds[name], options);
    if (found === undefined) return undefined;
    if (!isUnsupported(found)) return { name, backend: found, unsupported };
    unsupported.push(found);
    if (i === names.length - 1) break;
    const { reason, lacks } = found;
    options.log.warn("Node does not support the backend; trying the next", {
      ...{ backend: name, next: names[i + 1], reason, lacks },
    });
  }
  const message = `this node does not support ${names.join(" or ")}: ${sentences(unsupported)}`;
  throw new CodedError("CSP_BACKEND_UNUSABLE", message);
}

/** Tries of a backend that was used before, and milliseconds between two of them: 30 s. */
const TRIES = 7;
const PAUSE = 5_000;

/**
 * Prepares a backend. If an earlier run used it on this node, tries again for 30 s: the cause may be temporary (no memory, a
 * kube-proxy that starts), and another backend would end every established connection.
 */
async function prepare(
  backend: string,
  kind: BackendKind,
  { config, log, clock, stop }: ChoiceOptions,
): Promise<ReadyBackend | Unsupported | undefined> {
  for (let tries = 1; ; tries++) {
    const found = await kind.prepare(config, log, stop);
    if (found === undefined || !isUnsupported(found)) return found;
    if (!found.usedBefore || tries === TRIES) return found;
    if (tries === 1) {
      const { reason, lacks } = found;
      log.warn("Backend was used on this node but is not supported now; retrying for 30 s", {
        ...{ backend, reason, lacks },
      });
    }
    await sleep(clock, PAUSE, stop);
    if (stop.aborted) return undefined;
  }
}

/** The remark on the backend, which does not change the verdict of `/readyz`. PURE. */
export function backendRemark({ name, unsupported }: Chosen): NodeCheck {
  const remark = `backend-${name}`;
  const [first] = unsupported;
  if (first === undefined) return { name: remark, state: "ok" };
  const detail = sentences(unsupported).replaceAll(/\s+/g, " ");
  return { name: remark, state: "unknown", reason: first.reason, detail };
}

function sentences(unsupported: readonly Unsupported[]): string {
  return unsupported.flatMap(({ lacks }) => lacks).join(" ");
}

/**
 * Opens the backend for each family that has a ClusterSet CIDR; returns their tables, what reads each, and the connection counters of each family that
 * has any. `onRespawn`: called whenever a child process of a family failed.
 */
export function openBackends(
  ready: ReadyBackend,
  clusterSetCidrs: readonly Cidr[],
  options: Pick<OpenOptions, "keep" | "othersInPlace">,
  onRespawn: (family: Family) => void,
) {
  const tables = new Map<Family, KernelTable>();
  const counters = new Map<Family, ConnectionCounters>();
  const readers = new Map<Family, KernelReader>();
  for (const family of familiesIn(clusterSetCidrs)) {
    const ranges = ofFamily(clusterSetCidrs, family);
    const open = ready.open(family, ranges, { ...options, onRespawn: () => onRespawn(family) });
    tables.set(family, new KernelTable(open.dataplane));
    readers.set(family, open.reader);
    if (open.counters !== undefined) counters.set(family, open.counters);
  }
  return { tables, counters, readers };
}
