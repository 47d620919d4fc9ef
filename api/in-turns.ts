/** The first of each queue, then the second of each, … PURE. */
export function inTurns<Value>(queues: Iterable<readonly Value[]>): Value[] {
  const all = [...queues];
  const longest = all.reduce((most, { length }) => Math.max(most, length), 0);
  return Array.from({ length: longest }, (_, i) => all.flatMap((queue) => queue[i] ?? [])).flat();
}
