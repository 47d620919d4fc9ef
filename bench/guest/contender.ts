/**
 * One backend in the network namespace of this process, which nobody else has used: a cold sync, a restart with existing rules
 * then, and changes of one endpoint, each alone. Prints a `Sync`. Arguments: backend, services, endpoints of each, changes.
 */
import { setUp } from "../../agent/backends/ipvs/support.ts";
import { backendConfig } from "../../test/generators/facts.ts";
import { iptables, ipvs, Pipeline } from "../pipeline.ts";
import { services, without } from "../services.ts";
import { backendOf, type Sync } from "./sync.ts";

const [name = "", ...numbers] = process.argv.slice(2);
const backend = backendOf(name);
const [count = 0, endpoints = 0, rounds = 0] = numbers.map(Number);
const world = services({ services: count, endpoints });

if (backend === "ipvs") {
  const { lacks } = await setUp(backendConfig("241.0.0.0/8"));
  if (lacks.length > 0) throw new Error(lacks.join(" "));
}
const cold = started();
const { total } = await cold.pass();
await cold.close();
const again = started();
const restart = await again.pass();
const [changes, own] = [[], []] as [number[], number[]];
for (let i = 0; i < rounds; i++) {
  // A prime step, so that neighbours in the list are not changed one after the other.
  const one = world[(i * 7_919) % count];
  if (one === undefined) throw new Error("no service");
  const slice = without(one.slice, Math.floor(i / count));
  const pass = await again.pass(() => again.model.setSlice(slice, 0));
  if (pass.tx.empty) throw new Error("nothing has changed, so nothing was measured");
  changes.push(pass.total);
  own.push(pass.ours);
}
await again.close();
const written = restart.tx.empty ? 0 : restart.tx.toString().trim().split("\n").length;
const sync: Sync = {
  ...{ backend, services: count, endpoints },
  ...{ cold: total, restart: restart.total, written, changes, own },
};
console.log(JSON.stringify(sync));

/** As an agent that has just listed. */
function started(): Pipeline {
  const pipeline = new Pipeline(backend === "ipvs" ? ipvs() : iptables("nft"));
  pipeline.list(world);
  return pipeline;
}
