/** 32-bit FNV-1a, and the finalizer of MurmurHash3: names that differ in a digit would otherwise have neighbouring shares. */
const FNV = { offset: 0x811c9dc5, prime: 0x01000193 } as const;
const MIX = [
  [16, 0x85ebca6b],
  [13, 0xc2b2ae35],
] as const;

/** A number in [0, 1) that depends only on the node's name, evenly spread over nodes: its place in a window. PURE. */
export function nodeShare(name: string): number {
  let hash: number = FNV.offset;
  for (const byte of new TextEncoder().encode(name)) hash = Math.imul(hash ^ byte, FNV.prime);
  for (const [bits, factor] of MIX) hash = Math.imul(hash ^ (hash >>> bits), factor);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
