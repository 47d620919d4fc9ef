import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import { isDeaf } from "../../common/kubernetes/recovery.ts";

/** Writes at the same time, at most: a Service may have hundreds of slices. */
const MOST = 8;

/**
 * Does all of it, several at a time; then throws what was thrown first, if anything was. Where nobody answers, the rest is not
 * tried: hundreds of slices would wait for minutes, and so would whoever stops us.
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
        if (thrown instanceof ApiFault && isDeaf(thrown.reason)) return;
      }
    }
  };
  await Promise.all(Array.from({ length: MOST }, worker));
  if (faults.length > 0) throw faults[0];
}
