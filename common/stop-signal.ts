/** Aborted on SIGTERM (the kubelet) or SIGINT (Ctrl-C); a second signal ends the process at once. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.once(signal, () => stop.abort(signal));
  }
  return stop.signal;
}
