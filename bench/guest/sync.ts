/** What is measured in the guest, beside each other. */
export const CONTENDERS = ["ipvs", "iptables"] as const;
/** One of `CONTENDERS`; iptables is its nft flavour. */
export type Contender = (typeof CONTENDERS)[number];

/** What one backend did in a namespace of its own. Times are milliseconds of an emulated machine: good for ratios only. */
export interface Sync {
  readonly backend: Contender;
  readonly services: number;
  /** Of each service. */
  readonly endpoints: number;
  /** From "everything is listed" to live, on a kernel without anything of ours. */
  readonly cold: number;
  /** The same, on a kernel that has all of it. */
  readonly restart: number;
  /** Lines of what that wrote: more than none is a mistake. */
  readonly written: number;
  /** From a fact about one endpoint to the kernel's yes, each alone. */
  readonly changes: readonly number[];
  /** Of each of these: model, plan, render and compare. */
  readonly own: readonly number[];
}

/** What the guest's diagnostics that are such begin with. */
const MARK = "sync ";

/** As a diagnostic of a test, by which the guest reports figures. */
export function syncText(sync: Sync): string {
  return `${MARK}${JSON.stringify(sync)}`;
}

/** The figures in a diagnostic; undefined if it is another one. Throws on one that `syncText` has not made. PURE. */
export function parseSync(diagnostic: string): Sync | undefined {
  if (!diagnostic.startsWith(MARK)) return undefined;
  return readSync(diagnostic.slice(MARK.length));
}

/** Reads what a contender has printed. Throws on anything else. PURE. */
export function readSync(text: string): Sync {
  const said: unknown = JSON.parse(text);
  if (!isRecord(said)) throw new Error(`no figures: ${text}`);
  const number = (name: string) => numberOf(said[name], name);
  const numbers = (name: string) => {
    const list = said[name];
    if (!Array.isArray(list)) throw new Error(`${name}: no list: ${text}`);
    return list.map((one: unknown) => numberOf(one, name));
  };
  return {
    backend: backendOf(said.backend),
    services: number("services"),
    endpoints: number("endpoints"),
    cold: number("cold"),
    restart: number("restart"),
    written: number("written"),
    changes: numbers("changes"),
    own: numbers("own"),
  };
}

/** Throws on what is no contender. PURE. */
export function backendOf(name: unknown): Contender {
  const found = CONTENDERS.find((one) => one === name);
  if (found === undefined) throw new Error(`${String(name)}: no contender`);
  return found;
}

function isRecord(said: unknown): said is Readonly<Record<string, unknown>> {
  return typeof said === "object" && said !== null;
}

function numberOf(value: unknown, name: string): number {
  if (typeof value === "number" && value >= 0) return value;
  throw new Error(`${name}: no figure: ${String(value)}`);
}
