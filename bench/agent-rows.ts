import type { Agent } from "./agents.ts";
import type { Alone, Measured } from "./contest.ts";
import {
  count,
  type Figures,
  figuresOf,
  megabytes,
  percent,
  processor,
  servicesOf,
  time,
} from "./figures.ts";
import { atMost, atMostMs, atMostTimes, type Row } from "./table.ts";

/** What one agent did on a real API server. */
export function agentRows({ backend, empty, measured, restarted, bare, quiet }: Agent): Row[] {
  const { title } = backend;
  return [
    ...measured.flatMap((one) =>
      changeRows(backend, one, figuresOf(bare.get(one.services) ?? []).p50),
    ),
    ...measured.map(
      ({ services, cold }): Row => ({
        what: `start -> ready, with a response, ${servicesOf(services)}`,
        ours: time(cold),
      }),
    ),
    ...restarted.map(
      ({ services, ready, written }): Row => ({
        what: `restart with existing rules -> ready, ${servicesOf(services)}`,
        ours: `${time(ready)}, ${written} kernel objects written`,
        target: { text: "writes nothing", met: written === 0 },
      }),
    ),
    {
      what: "resident memory, no service",
      ours: megabytes(empty.resident),
      target: atMost("", title === "nftables" ? 75 : 80, "MB", sum(empty.resident)),
    },
    ...measured.map(
      ({ services, resident }): Row => ({
        what: `resident memory, ${servicesOf(services)}, after all these changes`,
        ours: megabytes(resident),
      }),
    ),
    ...quiet.flatMap(({ services, resident, share, repairs }): Row[] => [
      {
        what: `idle, ${servicesOf(services)}: resident memory`,
        ours: megabytes(resident),
        ...(title === "nftables" &&
          services > 1_000 && { target: atMost("", 120, "MB", sum(resident)) }),
      },
      {
        what: `idle, ${servicesOf(services)}: processor time`,
        ours: percent(share),
        ...(title !== "iptables-nft" && {
          target: atMost("", title === "nftables" ? 0.3 : 1, "%", share * 100),
        }),
      },
      ...backend.harms.map(({ what }, i): Row => {
        const repair = repairs[i] ?? Number.NaN;
        return {
          what: `${what} -> repaired, ${servicesOf(services)}`,
          ours: time(repair),
          ...repairTarget(title, services, repair / 1_000),
        };
      }),
    ]),
  ];
}

function repairTarget(title: string, services: number, seconds: number): Pick<Row, "target"> {
  if (title === "nftables") return { target: atMost("", 1, "s", seconds) };
  return services <= 1_000 ? { target: atMost("", 15, "s", seconds) } : {};
}

function changeRows(
  { title, once }: Agent["backend"],
  { services, alone, series, storm, flips, connections }: Measured,
  bare: number,
) {
  const all = servicesOf(services);
  const [first, last] = [
    figuresOf(alone.map((one) => one.first)),
    figuresOf(alone.map((one) => one.last)),
  ];
  const failed = errorsOf([...connections.failed]);
  const rows: Row[] = [
    {
      what: `slice acknowledged -> first new response, ${all}: p50 / p99`,
      ours: time(first.p50, first.p99),
      beside: `${time(bare)} ${once} of a part`,
      ...targetOf(title, services, first, first.p50 / bare),
    },
    {
      what: "  of which reported / received -> in the kernel / response: p50",
      ours: partsOf(alone),
    },
    {
      what: "  the agent's main thread waited for a processor: p50 / p99",
      ours: waitedOf(alone),
    },
    {
      what: `  last connection to an old endpoint, ${all}: p50 / p99`,
      ours: time(last.p50, last.p99),
      target: atMostMs("p99", title === "nftables" ? 5 : 50, last.p99),
    },
    {
      what: "  three changes in a second, 1st / 2nd / 3rd: p50",
      ours: time(...series.map((one) => figuresOf(one).p50)),
    },
  ];
  if (storm !== undefined) {
    const { firsts, changes, seconds, transactions, lost, spent } = storm;
    const figures = figuresOf(firsts);
    rows.push(
      {
        what: `  ${(changes / seconds).toFixed(0)} changes a second: p50 / p99`,
        ours: time(figures.p50, figures.p99),
        ...(title === "nftables" && { target: atMostMs("p99", 20, figures.p99) }),
      },
      {
        what: "    changes, transactions, wrong endpoints at the end",
        ours: `${changes}, ${transactions}, ${lost}`,
        target: { text: "nothing lost", met: lost === 0 },
      },
      { what: "    processor time of these changes", ours: processor(spent) },
    );
  }
  if (flips !== undefined) {
    const lost = errorsOf(Object.entries(flips.errors));
    rows.push({
      what: "  connections without a pause while all endpoints are replaced",
      ours: `${count(flips.made)}, ${flips.changes} times, ${lost || "none failed"}`,
      target: { text: "none fails", met: lost === "" },
    });
  }
  rows.push({
    what: "  connections meanwhile",
    ours: `${count(connections.made)}, ${failed || "none failed"}`,
    target: { text: "none fails", met: failed === "" },
  });
  return rows;
}

function targetOf(title: string, services: number, { p50, p99 }: Figures, ratio: number) {
  if (title === "nftables") {
    const met = p50 <= 1 && p99 <= 5;
    return { ratio, target: { text: "p50 <= 1 ms, p99 <= 5 ms", met } };
  }
  if (services === 1) return { ratio, target: atMostMs("p50", 5, p50) };
  if (services > 1_000) return atMostTimes(1.3, ratio);
  return title === "iptables-nft" ? { ratio, target: atMostMs("p99", 50, p99) } : { ratio };
}

function errorsOf(errors: readonly (readonly [string, number])[]): string {
  return errors.map(([why, n]) => `${n} ${why}`).join(", ");
}

function sum([own, children]: readonly [number, number]): number {
  return own + children;
}

function waitedOf(alone: readonly Alone[]): string {
  const { p50, p99 } = figuresOf(alone.map(({ waited }) => waited));
  return Number.isNaN(p50) ? "not counted by this kernel" : time(p50, p99);
}

function partsOf(alone: readonly Alone[]): string {
  const p50 = (of: (one: Alone) => number) => figuresOf(alone.map(of)).p50;
  return time(
    p50(({ told }) => told),
    p50(({ programmed }) => programmed ?? Number.NaN),
    p50(({ first, told, programmed }) => Math.max(0, first - told - (programmed ?? Number.NaN))),
  );
}
