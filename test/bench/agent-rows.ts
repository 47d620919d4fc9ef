import type { Agent } from "./agents.ts";
import type { Alone, Measured } from "./contest.ts";
import { count, type Figures, figuresOf, megabytes, percent, servicesOf, time } from "./figures.ts";
import { atMost, atMostMs, atMostTimes, type Row } from "./table.ts";

/** What one agent did on a real API server. */
export function agentRows({ flavour, empty, measured, restarted, bare, quiet }: Agent): Row[] {
  return [
    ...measured.flatMap((one) =>
      changeRows(flavour, one, figuresOf(bare.get(one.services) ?? []).p50),
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
        ours: `${time(ready)}, ${written} rules and chains written`,
        target: { text: "writes nothing", met: written === 0 },
      }),
    ),
    {
      what: "resident memory, no service",
      ours: megabytes(empty.resident),
      target: atMost("", 80, "MB", empty.resident[0]),
    },
    ...measured.map(
      ({ services, resident }): Row => ({
        what: `resident memory, ${servicesOf(services)}, after all these changes`,
        ours: megabytes(resident),
      }),
    ),
    ...quiet.flatMap(({ services, resident, share, repair }): Row[] => [
      {
        what: `idle, ${servicesOf(services)}: resident memory`,
        ours: megabytes(resident),
      },
      {
        what: `idle, ${servicesOf(services)}: processor time`,
        ours: percent(share),
        ...(flavour === "legacy" && { target: atMost("", 1, "%", share * 100) }),
      },
      {
        what: `a service's chain is flushed -> repaired, ${servicesOf(services)}`,
        ours: time(repair),
        ...(services <= 1_000 && { target: atMost("", 15, "s", repair / 1_000) }),
      },
    ]),
  ];
}

function changeRows(
  flavour: string,
  { services, alone, series, storm, connections }: Measured,
  bare: number,
) {
  const all = servicesOf(services);
  const [first, last] = [
    figuresOf(alone.map((one) => one.first)),
    figuresOf(alone.map((one) => one.last)),
  ];
  const failed = [...connections.failed].map(([why, n]) => `${n} ${why}`).join(", ");
  const rows: Row[] = [
    {
      what: `slice acknowledged -> first new response, ${all}: p50 / p99`,
      ours: time(first.p50, first.p99),
      beside: `${time(bare)} bare restore of one chain`,
      ...targetOf(flavour, services, first, first.p50 / bare),
    },
    {
      what: "  of which reported / received -> in the kernel / response: p50",
      ours: partsOf(alone),
    },
    {
      what: `  last connection to an old endpoint, ${all}: p50 / p99`,
      ours: time(last.p50, last.p99),
      target: atMostMs("p99", 50, last.p99),
    },
    {
      what: "  three changes in a second, 1st / 2nd / 3rd: p50",
      ours: time(...series.map((one) => figuresOf(one).p50)),
    },
  ];
  if (storm !== undefined) {
    const { firsts, changes, seconds, transactions, lost } = storm;
    const figures = figuresOf(firsts);
    rows.push(
      {
        what: `  ${(changes / seconds).toFixed(0)} changes a second: p50 / p99`,
        ours: time(figures.p50, figures.p99),
      },
      {
        what: "    changes, transactions, wrong endpoints at the end",
        ours: `${changes}, ${transactions}, ${lost}`,
        target: { text: "nothing lost", met: lost === 0 },
      },
    );
  }
  rows.push({
    what: "  connections meanwhile",
    ours: `${count(connections.made)}, ${failed || "none failed"}`,
    target: { text: "none fails", met: failed === "" },
  });
  return rows;
}

function targetOf(flavour: string, services: number, { p50, p99 }: Figures, ratio: number) {
  if (services === 1) return { ratio, target: atMostMs("p50", 5, p50) };
  if (services > 1_000) return atMostTimes(1.3, ratio);
  return flavour === "nft" ? { ratio, target: atMostMs("p99", 50, p99) } : { ratio };
}

function partsOf(alone: readonly Alone[]): string {
  const p50 = (of: (one: Alone) => number) => figuresOf(alone.map(of)).p50;
  return time(
    p50(({ told }) => told),
    p50(({ programmed }) => programmed ?? Number.NaN),
    p50(({ first, told, programmed }) => Math.max(0, first - told - (programmed ?? Number.NaN))),
  );
}
