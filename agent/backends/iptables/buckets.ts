import { addressFromHex } from "../../../api/address.ts";
import { type ChainKey, tableOf } from "./object-id.ts";

/** The last hexadecimal digits of a VIP that its chain is found by, first that chain's: one digit leads to 16 chains, and each to 16 more. */
const LAST_DIGITS: readonly number[] = [2, 1];

/**
 * VIPs in one chain. If there are more, those with the same further digit have a chain of their own. By chance, this takes 16,000 VIPs. But whoever may create
 * Services can choose names whose VIPs end alike: packets to others' VIPs must not pass them all, and changes must not write them all.
 */
const MOST_VIPS = 64;
/** XT_EXTENSION_MAXNAMELEN without the terminating zero. */
const LONGEST_NAME = 28;

/** Rules of one chain, by the VIP or the digits that they match. */
type Bucket = Map<string, readonly string[]>;

/**
 * Chains that find the rules of a VIP by its last hexadecimal digits. The root `CSP-SERVICES` leads to `CSP-SERVICES-9`, this to
 * `CSP-SERVICES-89`, and there are the rules of all VIPs that end in 89. A packet passes at most 32 rules before them.
 *
 * The chains of a VIP depend on this VIP alone, as long as few end like it, and exist as long as a VIP needs them. The last digits are those in which VIPs of one
 * range differ most. VIPs are digits, as in `Address.hex`.
 */
export class Buckets {
  readonly #root: ChainKey;
  readonly #digits: readonly number[];
  /** By the digits of the chain's name; the root has none. */
  readonly #buckets = new Map<string, Bucket>();
  /** Of a chain with too many VIPs, the chains below it that were taken last. */
  readonly #below = new Map<string, ReadonlySet<string>>();
  /** The root exists without VIPs, because jumps lead to it. */
  #changed = new Set([""]);

  /** `root`: the chain that all packets enter. Without `digits`, it has all rules. */
  constructor(root: ChainKey, digits = LAST_DIGITS) {
    this.#root = root;
    this.#digits = digits;
  }

  /** Sets the rules of a VIP, without `-A`; undefined deletes them. */
  set(vip: string, own: readonly string[] | undefined): void {
    let key = vip;
    let rules = own;
    const path = this.#digits.map((count) => vip.slice(-count));
    for (const digits of [...path, ""]) {
      const bucket = this.#buckets.get(digits) ?? new Map<string, readonly string[]>();
      const existed = bucket.size > 0;
      if (rules === undefined) bucket.delete(key);
      else bucket.set(key, rules);
      this.#changed.add(digits);
      const exists = bucket.size > 0;
      if (exists) this.#buckets.set(digits, bucket);
      else this.#buckets.delete(digits);
      // Whether a chain exists is all that the chain above shows of it.
      if (exists === existed) return;
      key = digits;
      rules = exists ? [this.#leadTo(digits, vip.length)] : undefined;
    }
  }

  /** The chains that may have changed since the last call, with their rules; without rules: the chain is not needed any more. */
  *take(): Generator<readonly [id: ChainKey, rules: readonly string[] | undefined]> {
    const changed = this.#changed;
    this.#changed = new Set();
    for (const digits of changed) {
      const bucket: Bucket = this.#buckets.get(digits) ?? new Map();
      const chains = new Map(
        bucket.size > 0 || digits === "" ? this.#chainsOf(digits, bucket) : [],
      );
      const below = new Set(chains.keys());
      below.delete(digits);
      for (const one of new Set([digits, ...(this.#below.get(digits) ?? []), ...below])) {
        const id = this.#chain(one);
        const [, name] = tableOf(id);
        yield [id, chains.get(one)?.map((rule) => `-A ${name} ${rule}`)];
      }
      if (below.size > 0) this.#below.set(digits, below);
      else this.#below.delete(digits);
    }
  }

  /** The rules of a bucket, by the digits of their chains: one chain, or if there are too many VIPs, one for each further digit, and so on. */
  *#chainsOf(
    digits: string,
    bucket: Bucket,
  ): Generator<readonly [digits: string, rules: readonly string[]]> {
    const all = [...bucket].sort(byKey);
    const next = digits.length + 1;
    const hasRoom = `${tableOf(this.#root)[1]}-`.length + next <= LONGEST_NAME;
    if (digits.length < this.#leaf || all.length <= MOST_VIPS || this.#leaf === 0 || !hasRoom) {
      yield [digits, all.flatMap(([, own]) => own)];
      return;
    }
    const groups = [...Map.groupBy(all, ([vip]) => vip.slice(-next))].sort(byKey);
    yield [digits, groups.map(([one, [first]]) => this.#leadTo(one, first?.[0].length ?? 0))];
    for (const [one, own] of groups) yield* this.#chainsOf(one, new Map(own));
  }

  /** Digits of a chain with VIPs; 0 if the root has them all. */
  get #leaf(): number {
    return Math.max(0, ...this.#digits);
  }

  #leadTo(digits: string, width: number): string {
    const [bits, mask] = [digits, "f".repeat(digits.length)].map(
      (text) => addressFromHex(text.padStart(width, "0")).text,
    );
    const [, name] = tableOf(this.#chain(digits));
    // With `-g`, a packet that no rule matches returns directly to the chain before the root.
    return `-d ${bits}/${mask} -g ${name}`;
  }

  #chain(digits: string): ChainKey {
    return digits === "" ? this.#root : `${this.#root}-${digits}`;
  }
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}
