import { finished, type Masquerade } from "../../agent/backends/backend.ts";
import { IptablesCommands } from "../../agent/backends/iptables/commands.ts";
import { IptablesLayout } from "../../agent/backends/iptables/layout.ts";
import type { Rules } from "../../agent/backends/iptables/rules.ts";
import { DesiredServices, type KernelTable } from "../../agent/backends/kernel-table.ts";
import { type Changes, changeOf, PLAIN } from "../../agent/backends/objects.ts";
import type { NodeFact } from "../../agent/model/facts.ts";
import { Model } from "../../agent/model/model.ts";
import { parseImport } from "../../agent/model/parse-import.ts";
import { parseSlice } from "../../agent/model/parse-slice.ts";
import { planImport } from "../../agent/plan/plan.ts";
import type { VirtualService } from "../../agent/plan/virtual-service.ts";
import { FAMILIES, type Family } from "../../api/address.ts";
import { ofFamily } from "../../api/cidr.ts";
import { parseIpAddress } from "../../api/parse/parse-ip-address.ts";
import type { Problem } from "../../api/problem.ts";
import { problemText } from "../../api/problem.ts";
import { heldBy } from "../doubles/iptables/backend.ts";
import { FakeIptables } from "../doubles/iptables/iptables.ts";
import type { RecentMemory } from "./recent-memory.ts";
import { type Traced, trace } from "./trace.ts";

/** The facts that the agent parses from manifests; throws if an object has a problem. */
export function modelOf(objects: readonly object[], node: NodeFact): Model {
  const model = new Model(node.clusterSetCidrs);
  const refuse = (problems: readonly Problem[]) => {
    if (problems.length > 0) throw new Error(problems.map(problemText).join("; "));
  };
  for (const object of objects) {
    if ("kind" in object && object.kind === "ServiceImport") {
      const { fact, problems } = parseImport(object);
      refuse(problems);
      if (fact) model.setImport(fact, 0);
    } else if ("kind" in object && object.kind === "IPAddress") {
      const { fact, problems } = parseIpAddress(object);
      refuse(problems);
      if (fact) model.setHolder(fact.address, fact.holder, 0);
    } else {
      const { fact, problems } = parseSlice(object, node.clusterSetCidrs);
      refuse(problems);
      if (fact) model.setSlice(fact, 0);
    }
  }
  model.listed();
  return model;
}

/** Services by import. */
export type Services = ReadonlyMap<`${string}/${string}`, readonly VirtualService[]>;

/** The plan of a whole model. */
export function planOf(model: Model, node: NodeFact): Services {
  const services = new Map<`${string}/${string}`, readonly VirtualService[]>();
  for (const key of model.keys()) {
    const view = model.view(key);
    if (view) services.set(key, planImport(view, node).services);
  }
  return services;
}

/** Sets the services of one family in a ruleset. */
export function setAll(
  ruleset: Pick<KernelTable, "set">,
  services: Services,
  family: Family,
): void {
  for (const [key, all] of services) {
    const own = all.filter((service) => service.family === family);
    ruleset.set(key, own);
  }
}

/** The desired state of a newly started agent in one family. */
export function wanted(
  services: Services,
  family: Family,
  node: NodeFact,
  masquerade: Masquerade,
): Changes<Rules> {
  const clusterSetCidrs = ofFamily(node.clusterSetCidrs, family);
  const policy = { mode: masquerade, podCidrs: node.podCidrs };
  const explicitVipCidrs = ofFamily(node.explicitVipCidrs, family);
  const options = { family, clusterSetCidrs, explicitVipCidrs, masquerade: policy };
  const layout = new IptablesLayout(options);
  const ruleset = new DesiredServices(layout);
  setAll(ruleset, services, family);
  return finished(ruleset.take());
}

/** The desired state of a model of the kernel. */
export interface Programming {
  readonly services: Services;
  readonly family: Family;
  readonly node: NodeFact;
  readonly masquerade: Masquerade;
}

/** A fake kernel that an agent with iptables has programmed, and a tracer through its chains. */
export function programIptables({ services, family, node, masquerade }: Programming): Traced {
  const fake = new FakeIptables(family);
  const write = (desired: Services) => applyTo(fake, wanted(desired, family, node, masquerade));
  write(services);
  return {
    trace: (packet, memory?: RecentMemory) => trace(fake.tables, packet, memory),
    withdraw: () => write(new Map()),
  };
}

/** Programs a fake kernel as the agent would; throws if iptables would reject the rules. */
export function applyTo(fake: FakeIptables, changes: Changes<Rules>): void {
  const { exitCode, stderr } = fake.restore(transactionOf(fake, changes));
  if (exitCode !== 0) throw new Error(stderr);
}

/** What a new agent would write to a fake kernel. */
export function transactionOf(fake: FakeIptables, changes: Changes<Rules>): string {
  const change = finished(changeOf(heldBy(fake), changes, PLAIN));
  return new IptablesCommands(change).toString();
}

/** The kernels of both families after the agent has seen these manifests. */
export function rendered(
  objects: readonly object[],
  node: NodeFact,
  masquerade: Masquerade,
): Map<Family, FakeIptables> {
  const services = planOf(modelOf(objects, node), node);
  return new Map(
    FAMILIES.map((family) => {
      const fake = new FakeIptables(family);
      applyTo(fake, wanted(services, family, node, masquerade));
      return [family, fake];
    }),
  );
}
