import { createHash } from "node:crypto";

/** A chain: its hook, if it is a base chain, and its rules without their comments. */
export interface Chain {
  readonly name: string;
  /** Such as `filter hook input priority 0`. */
  readonly hook?: string;
  readonly rules: readonly string[];
}

/** The policy of all base chains: what decides is a rule. */
export const POLICY = "policy accept";

/**
 * A comment for each rule of these chains, in order, with a digest of all rules. Changed rules have other comments, so nft's
 * output need not be compared, whose syntax depends on its version.
 */
export function commentsOf(chains: readonly Chain[], prefix = ""): string[] {
  const digest = createHash("sha256").update(JSON.stringify(chains)).digest("hex").slice(0, 12);
  return chains.flatMap(({ name, rules }) =>
    rules.map((_, i) => `${prefix}${name} ${i + 1} ${digest}`),
  );
}

/** The base chains of these, by name, as `hookText` writes what the kernel has. */
export function hooksOf(chains: readonly Chain[]): ReadonlyMap<string, string> {
  return new Map(
    chains.flatMap(({ name, hook }) =>
      hook === undefined ? [] : [[name, `${hook}; ${POLICY}`] as const],
    ),
  );
}

/** The lines that replace a table, such as `ip name`, by one with empty sets, given by name and type, and these chains. */
export function replaceTable(
  table: string,
  sets: Readonly<Record<string, string>>,
  chains: readonly Chain[],
  comments: readonly string[],
): string[] {
  const next = comments.values();
  return [
    `table ${table} {}`,
    `delete table ${table}`,
    `table ${table} {`,
    ...Object.entries(sets).map(([name, type]) => `  set ${name} { type ${type}; }`),
    ...chains.flatMap(({ name, hook, rules }) => [
      `  chain ${name} {`,
      ...(hook === undefined ? [] : [`    type ${hook}; ${POLICY};`]),
      ...rules.map((rule) => `    ${rule} comment "${next.next().value}"`),
      "  }",
    ]),
    "}",
  ];
}

/** The words of nft for each IP family. */
export const WORDS = {
  IPv4: { ip: "ip", type: "ipv4_addr", unreachable: "icmp type port-unreachable" },
  IPv6: { ip: "ip6", type: "ipv6_addr", unreachable: "icmpv6 type port-unreachable" },
} as const;
