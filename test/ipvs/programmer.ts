// Holds the kernel of its own network namespace as it is told through a socket, by way of the IPVS backend: nobody can do
// that from outside, because a netlink socket belongs to the namespace that it was made in.
import { createServer } from "node:net";
import { IpvsBackend } from "../../agent/backends/ipvs/ipvs.ts";
import { removeOwn } from "../../agent/backends/ipvs/remove.ts";
import { setUp } from "../../agent/backends/ipvs/support.ts";
import { FAMILIES } from "../../api/address.ts";
import type { Answer, Order } from "./order.ts";

const [path] = process.argv.slice(2);
const { lacks } = await setUp({ families: FAMILIES, ranges: [], excluded: [] });
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

async function obey(order: Order): Promise<Answer> {
  if (order.kind === "remove") return { done: await removed(), left: await removed() };
  const { services, kind: _kind, ...rest } = order;
  const backend = new IpvsBackend({ family: rest.clusterSetCidr.family, ...rest });
  const transaction = async () => {
    const ruleset = backend.ruleset();
    for (const [key, list] of services) ruleset.set(key, list);
    const believed = await backend.read();
    return { believed, tx: backend.diff(believed, ruleset.take()) };
  };
  const { believed, tx } = await transaction();
  if (!tx.empty) await backend.apply(tx, believed);
  const { tx: again } = await transaction();
  await backend.close();
  return { done: String(tx), left: String(again) };
}

async function removed(): Promise<string> {
  const counts = await Promise.all(FAMILIES.map((family) => removeOwn(family, [])));
  return counts.join(" ");
}
