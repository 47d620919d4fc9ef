import { setFlagsFromString } from "node:v8";

/**
 * Flags of V8 13 (Node 24), which save 110 MB with ten thousand slices, for a fifth more time to read them. A test checks
 * that Node supports them.
 */
export const HEAP_FLAGS = ["--semi-space-growth-factor=1", "--heap-growing-percent=50"] as const;

/** Sets `HEAP_FLAGS`. Call it first. */
export function keepHeapSmall(): void {
  for (const flag of HEAP_FLAGS) setFlagsFromString(flag);
}
