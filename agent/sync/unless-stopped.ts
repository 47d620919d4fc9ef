/** What is read; nothing if `stop` is aborted meanwhile, whatever the reading then ends with. */
export async function unlessStopped<Found>(
  reading: Promise<Found>,
  stop: AbortSignal,
): Promise<Found | undefined> {
  try {
    const found = await reading;
    return stop.aborted ? undefined : found;
  } catch (error) {
    if (stop.aborted) return undefined;
    throw error;
  }
}
