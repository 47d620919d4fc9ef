import { REASONS, type Reason } from "../../api/reasons.ts";

/** One line of `/readyz?verbose`. */
export interface PageCheck {
  /** Such as `sources`, `source-nodes`, `preflight-route-IPv4`, `health`. */
  readonly name: string;
  /** `unknown`: it could not be tested. */
  readonly state: "ok" | "failing" | "unknown";
  readonly reason?: Reason;
  readonly detail?: string;
}

const STATES = { "+": "ok", "-": "failing", "?": "unknown" } as const;

/** The checks of `/readyz?verbose`; other lines are ignored. PURE. */
export function checksOf(page: string): PageCheck[] {
  return page.split("\n").flatMap((line) => {
    const [, mark, name, rest = ""] = /^\[([+?-])\](\S+) ?(.*)$/.exec(line) ?? [];
    if (mark === undefined || name === undefined) return [];
    const state = STATES[mark as keyof typeof STATES];
    return [{ name, state, ...(state !== "ok" && meaningOf(rest)) }];
  });
}

/** `failed: not-listed`, or `no-route: advice`. */
function meaningOf(rest: string): Pick<PageCheck, "reason" | "detail"> {
  const [, first = "", second = ""] = /^([\w-]+): ?(.*)$/.exec(rest) ?? [];
  if (first === "failed" && isReason(second)) return { reason: second };
  if (isReason(first)) return { reason: first, ...(second !== "" && { detail: second }) };
  return rest === "" ? {} : { detail: rest };
}

/** True for a word of `REASONS`; another release may have others. PURE. */
export function isReason(word: string): word is Reason {
  return Object.hasOwn(REASONS, word);
}

/** The values of a metric of a `/metrics` page, by the text of its labels. PURE. */
export function metricOf(page: string, name: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const line of page.split("\n")) {
    if (!line.startsWith(name)) continue;
    const [, labels = "", value = ""] =
      /^\{(.*)\} (\S+)$|^ (\S+)$/.exec(line.slice(name.length)) ?? [];
    if (value !== "") found.set(labels, Number(value));
  }
  return found;
}
