// Holds the kernel of its own network namespace as it is told through a socket, by way of the IPVS backend: nobody can do
// that from outside, because a netlink socket belongs to the namespace that it was made in.
import { createServer } from "node:net";
import { IpvsBackend, type IpvsOptions } from "../../agent/backends/ipvs/ipvs.ts";
import { removeOwn } from "../../agent/backends/ipvs/remove.ts";
import type { Believed } from "../../agent/backends/ipvs/state.ts";
import { setUp } from "../../agent/backends/ipvs/support.ts";
import { FAMILIES, type Family } from "../../api/address.ts";
import type { Answer, Order } from "./order.ts";

const [path] = process.argv.slice(2);
const { lacks } = await setUp({ families: FAMILIES, ranges: [], excluded: [], scheduler: "rr" });
if (lacks.length > 0) throw new Error(lacks.join("\n"));

createServer({ allowHalfOpen: true }, (connection) => {
  let text = "";
  connection.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  connection.on("end", () => {
    void obey(JSON.parse(text) as Order)
      .catch((error: unknown) => ({ fault: String(error instanceof Error ? error.stack : error) }))
      .then((answer) => connection.end(JSON.stringify(answer)));
  });
}).listen(path, () => console.log("ready"));

/** What the kernel was last seen to hold. */
const believed = new Map<Family, Believed>();

/** By their options: each keeps an nft. */
const backends = new Map<string, IpvsBackend>();

function backendOf(options: IpvsOptions): IpvsBackend {
  const key = JSON.stringify(options);
  const backend = backends.get(key) ?? new IpvsBackend(options);
  backends.set(key, backend);
  return backend;
}

async function obey(order: Order): Promise<Answer> {
  if (order.kind === "remove") {
    believed.clear();
    return { done: await removed(), left: await removed() };
  }
  const { services, kind: _kind, ...rest } = order;
  const { family } = rest.clusterSetCidr;
  const backend = backendOf({ family, ...rest });
  const transaction = (from: Believed) => {
    const ruleset = backend.ruleset();
    for (const [key, list] of services) ruleset.set(key, list);
    return backend.diff(from, ruleset.take());
  };
  const before = believed.get(family) ?? (await backend.read());
  believed.delete(family);
  const tx = transaction(before);
  if (tx.empty) {
    believed.set(family, before);
    return { done: "", left: "" };
  }
  await backend.apply(tx, before);
  const after = await backend.read();
  believed.set(family, after);
  return { done: String(tx), left: String(transaction(after)) };
}

async function removed(): Promise<string> {
  const counts = await Promise.all(FAMILIES.map((family) => removeOwn(family, { ranges: [] })));
  return counts.join(" ");
}
