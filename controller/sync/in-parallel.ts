import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import { isServerDown } from "../../common/kubernetes/recovery.ts";

/** Writes in progress at the same time; a Service may have hundreds of slices. */
const MOST = 8;

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
        if (thrown instanceof ApiFault && isServerDown(thrown.reason)) return;
      }
    }
  };
  await Promise.all(Array.from({ length: MOST }, worker));
  if (faults.length > 0) throw faults[0];
}
