/** Reconciler events that a test does not care about. */
export const SILENT = {
  drifted: () => undefined,
  checkFailed: () => undefined,
  checked: () => undefined,
  tried: () => undefined,
  quarantined: () => undefined,
  unquarantined: () => undefined,
  retained: () => undefined,
  released: () => undefined,
} as const;
