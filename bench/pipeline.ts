import { finished, type Transaction } from "../agent/backends/backend.ts";
import type { Flavour } from "../agent/backends/iptables/flavour.ts";
import { Iptables } from "../agent/backends/iptables/kernel.ts";
import { Ipvs } from "../agent/backends/ipvs/kernel.ts";
import { KernelTable } from "../agent/backends/kernel-table.ts";
import { Nftables } from "../agent/backends/nftables/kernel.ts";
import { Model } from "../agent/model/model.ts";
import { planImport } from "../agent/plan/plan.ts";
import { cidr, nodeFact } from "../test/generators/facts.ts";
import type { Service } from "./services.ts";

const NODE = nodeFact({ clusterSetCidrs: [cidr("241.0.0.0/8")] });

const COMMON = {
  family: "IPv4",
  clusterSetCidrs: [cidr("241.0.0.0/8")],
  explicitVipCidrs: [],
  masquerade: { mode: "off-cluster", podCidrs: NODE.podCidrs },
} as const;

/** iptables, in the network namespace of this process, as the others. */
export function iptables(flavour: Flavour): KernelTable {
  // A rejection fails the pass; a process that ends between two passes does no harm.
  return new KernelTable(new Iptables({ ...COMMON, flavour, onRespawn: () => undefined }));
}

/** IPVS. */
export function ipvs(): KernelTable {
  return new KernelTable(new Ipvs({ ...COMMON, scheduler: "rr" }));
}

/** nftables. */
export function nftables(): KernelTable {
  return new KernelTable(new Nftables({ ...COMMON, affinity: "remembered" }));
}

/** One pass; times in milliseconds. */
export interface Pass {
  /** Reading the kernel back: only in the first pass, as in the agent. */
  readonly read: number;
  /** Model, plan, render and compare. */
  readonly ours: number;
  /** From there to the kernel's yes. */
  readonly kernel: number;
  readonly total: number;
  /** What the kernel was given; empty if it had all. */
  readonly tx: Transaction;
}

/** The agent's straight line from the model to the kernel, without sources, log and metrics around it. */
export class Pipeline {
  readonly model = new Model();
  readonly #table: KernelTable;

  constructor(table: KernelTable) {
    this.#table = table;
  }

  /** The initial list of a source. */
  list(services: Iterable<Service>): void {
    for (const { fact, slice } of services) {
      this.model.setImport(fact, 0);
      this.model.setSlice(slice, 0);
    }
  }

  /** Lets `change` happen to the model, and makes the kernel follow. */
  async pass(change: () => void = () => undefined): Promise<Pass> {
    const began = performance.now();
    if (!this.#table.isKnown) await this.#table.read();
    const readAt = performance.now();
    change();
    for (const key of this.model.takeDirty().keys()) {
      const view = this.model.view(key);
      this.#table.set(key, view === undefined ? [] : planImport(view, NODE).services);
    }
    const tx = finished(this.#table.change());
    const comparedAt = performance.now();
    await this.#table.write(tx);
    const end = performance.now();
    return {
      read: readAt - began,
      ours: comparedAt - readAt,
      kernel: end - comparedAt,
      total: end - began,
      tx,
    };
  }

  close(): Promise<void> {
    return this.#table.close();
  }
}
