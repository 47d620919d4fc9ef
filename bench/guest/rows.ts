import { count, figuresOf, servicesOf, time } from "../figures.ts";
import type { Row } from "../table.ts";
import type { Contender, Sync } from "./sync.ts";

/** IPVS beside iptables, in one virtual machine. Throws if one of them has no figures where the other has. PURE. */
export function guestRows(syncs: readonly Sync[]): Row[] {
  const sizes = [...new Set(syncs.map(({ services }) => services))].sort((a, b) => a - b);
  return sizes.flatMap((services) => {
    const ofSize = syncs.filter((sync) => sync.services === services);
    const of = (backend: Contender) => summary(ofSize.filter((sync) => sync.backend === backend));
    return rowsOf(services, of("ipvs"), of("iptables"));
  });
}

type Summary = ReturnType<typeof summary>;

function summary(syncs: readonly Sync[]) {
  return {
    times: syncs.length,
    endpoints: Math.max(...syncs.map(({ endpoints }) => endpoints)),
    cold: figuresOf(syncs.map(({ cold }) => cold)).p50,
    restart: figuresOf(syncs.map(({ restart }) => restart)).p50,
    written: Math.max(...syncs.map(({ written }) => written)),
    change: figuresOf(syncs.flatMap(({ changes }) => changes)),
    own: figuresOf(syncs.flatMap(({ own }) => own)).p50,
  };
}

function rowsOf(services: number, ours: Summary, beside: Summary): Row[] {
  const size = `${servicesOf(services)} of ${count(ours.endpoints)} endpoints`;
  const both = (what: string, of: (one: Summary) => number): Row => ({
    what,
    ours: time(of(ours)),
    beside: `${time(of(beside))} iptables-nft`,
    ratio: of(ours) / of(beside),
  });
  const middle = ours.times === 1 ? "" : `: p50 of ${ours.times}`;
  const written = Math.max(ours.written, beside.written);
  return [
    {
      what: `one endpoint changes, ${size}: p50 / p99`,
      ours: time(ours.change.p50, ours.change.p99),
      beside: `${time(beside.change.p50, beside.change.p99)} iptables-nft`,
      ratio: ours.change.p50 / beside.change.p50,
    },
    both("  of which plan, render, compare: p50", ({ own }) => own),
    both(`  cold sync${middle}`, ({ cold }) => cold),
    {
      ...both(`  restart with existing rules${middle}`, ({ restart }) => restart),
      target: { text: "writes nothing", met: written === 0 },
    },
  ];
}
