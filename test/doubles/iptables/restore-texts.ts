import fc from "fast-check";
import type { Family } from "../../../api/address.ts";

const CHAINS = ["CSP-A", "CSP-B", "CSP-C", "CSP-241.0.0.0/20"] as const;
const BASES = {
  nat: ["PREROUTING", "OUTPUT", "POSTROUTING"],
  filter: ["FORWARD", "OUTPUT"],
} as const;

const chain = fc.constantFrom(...CHAINS);
const protocol = fc.constantFrom("tcp", "udp", "sctp");
const word = fc.string({ unit: fc.constantFrom(..."ab0-_./: \"'\\#!".split("")), maxLength: 12 });

/** `text` as one word of a line, quoted even where it need not be. */
function quote(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

function range(family: Family): fc.Arbitrary<string> {
  const host = fc.integer({ min: 0, max: 255 });
  if (family === "IPv4") {
    const text = fc.tuple(host, host).map(([a, b]) => `241.0.${a}.${b}`);
    return fc.tuple(text, fc.integer({ min: 0, max: 32 })).map(([a, bits]) => `${a}/${bits}`);
  }
  const group = fc.constantFrom("0", "0", "1", "f00");
  const text = fc
    .array(group, { minLength: 7, maxLength: 7 })
    .map((groups) => `fd00:${groups.join(":")}`);
  return fc.tuple(text, fc.integer({ min: 0, max: 128 })).map(([a, bits]) => `${a}/${bits}`);
}

function match(family: Family): fc.Arbitrary<string> {
  const state = fc.constantFrom("NEW", "ESTABLISHED", "RELATED", "INVALID", "DNAT", "SNAT");
  return fc.oneof(
    word.map((text) => `-m comment --comment ${quote(text)}`),
    fc
      .double({ min: 0, max: 1, noNaN: true })
      .map((p) => `-m statistic --mode random --probability ${p.toFixed(15)}`),
    // The halves: multiples of 1/4096 print with a digit more than the listing has.
    fc
      .integer({ min: 0, max: 4096 })
      .map((k) => `-m statistic --mode random --probability ${k / 4096}`),
    fc
      .integer({ min: 1, max: 5000 })
      .map((n) => `-m statistic --mode random --probability ${(1 / n).toFixed(11)}`),
    fc
      .constantFrom("a", "CSP-demo.serve-10.0.0.1", "..")
      .map((list) => `-m recent --set --name ${list} --rsource`),
    fc
      .integer({ min: 0, max: 99999 })
      .map((s) => `-m recent --update --seconds ${s} --reap --name a --rsource`),
    fc
      .tuple(fc.constantFrom("", "! "), fc.uniqueArray(state, { minLength: 1 }))
      .map(([not, states]) => `-m conntrack ${not}--ctstate ${states.join(",")}`),
    range(family).map((r) => `-m conntrack --ctstate DNAT --ctorigdst ${r}`),
  );
}

function target(family: Family): fc.Arbitrary<string> {
  const host = family === "IPv4" ? "10.0.0.1" : "[fd01::1]";
  return fc.oneof(
    {
      weight: 4,
      arbitrary: fc.constantFrom("-j RETURN", "-j ACCEPT", "-j MASQUERADE --random-fully"),
    },
    {
      weight: 4,
      arbitrary: fc.tuple(fc.constantFrom("-j", "-g"), chain).map((parts) => parts.join(" ")),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom("-j DROP", "-j REJECT", "-j REJECT --reject-with tcp-reset"),
    },
    {
      weight: 3,
      arbitrary: fc
        .integer({ min: 0, max: 66000 })
        .map((port) => `-j DNAT --to-destination ${host}:${port}`),
    },
  );
}

function rule(family: Family): fc.Arbitrary<string> {
  const port = fc.tuple(protocol, fc.integer({ min: 0, max: 65536 }));
  return fc
    .tuple(
      fc.option(
        range(family).map((r) => `-s ${r}`),
        { nil: undefined, freq: 1 },
      ),
      fc.option(
        range(family).map((r) => `-d ${r}`),
        { nil: undefined },
      ),
      fc.option(
        fc.oneof(
          protocol.map((p) => `-p ${p}`),
          port.map(([p, n]) => `-p ${p} -m ${p} --dport ${n}`),
        ),
        { nil: undefined },
      ),
      fc.array(match(family), { maxLength: 2 }).map((matches) => matches.join(" ")),
      fc.option(target(family), { nil: undefined, freq: 9 }),
    )
    .map((parts) => parts.filter((part) => part !== undefined && part !== "").join(" "));
}

/**
 * One line. Positions above 1 only where no chain is declared again: iptables-nft 1.8.9 counts the rules that
 * it has just flushed.
 */
function command(family: Family, table: "nat" | "filter"): fc.Arbitrary<string> {
  const base = fc.constantFrom(...BASES[table]);
  const place = fc.oneof({ weight: 4, arbitrary: chain }, { weight: 1, arbitrary: base });
  const body = rule(family);
  return fc.oneof(
    { weight: 4, arbitrary: fc.tuple(place, body).map(([c, r]) => `-A ${c} ${r}`) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(place, fc.integer({ min: 0, max: 1 }), body)
        .map(([c, n, r]) => `-I ${c} ${n} ${r}`),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(base, fc.integer({ min: 0, max: 3 })).map(([c, n]) => `-D ${c} ${n}`),
    },
    { weight: 1, arbitrary: fc.tuple(place, body).map(([c, r]) => `-A ${c} ${r}\n-D ${c} ${r}`) },
    { weight: 1, arbitrary: place.map((c) => `-F ${c}`) },
    { weight: 1, arbitrary: chain.map((c) => `-X ${c}`) },
  );
}

/**
 * Inputs of iptables-restore, one run after the other: most transactions declare the chains that they need,
 * so that about as many are accepted as refused.
 */
export function restoreTexts(family: Family): fc.Arbitrary<string[]> {
  const section = fc.constantFrom("nat", "nat", "filter").chain((table) =>
    fc
      .tuple(
        fc.oneof(
          { weight: 3, arbitrary: fc.constant<readonly string[]>(CHAINS) },
          { weight: 1, arbitrary: fc.subarray([...CHAINS]) },
        ),
        fc.array(command(family, table as "nat" | "filter"), { maxLength: 4 }),
      )
      .map(([chains, commands]) => {
        const lines = [...chains.map((name) => `:${name} - [0:0]`), ...commands];
        return [`*${table}`, ...lines, "COMMIT", ""].join("\n");
      }),
  );
  const run = fc
    .array(section, { minLength: 1, maxLength: 2 })
    .map((sections) => sections.join(""));
  return fc.array(run, { minLength: 1, maxLength: 4 });
}
