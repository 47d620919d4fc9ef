/** Writes at the same time, at most: a Service may have hundreds of slices. */
const MOST = 8;

/** Does all of it, several at a time; then throws what was thrown first, if anything was. */
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
      }
    }
  };
  await Promise.all(Array.from({ length: MOST }, worker));
  if (faults.length > 0) throw faults[0];
}
