/** Reconciler events that a test does not care about. */
export const SILENT = {
  drifted: () => undefined,
  lookFailed: () => undefined,
  tried: () => undefined,
  setAside: () => undefined,
  restored: () => undefined,
  lossDoubted: () => undefined,
  lossBelieved: () => undefined,
} as const;
