// Programs the kernel of its own network namespace as requested through a socket: a netlink socket belongs to the namespace in
// which it was opened. Arguments: the socket's path and the backend's title.
import { createServer } from "node:net";
import { text } from "node:stream/consumers";
import { finished } from "../../agent/backends/backend.ts";
import type { AnyDataplane } from "../../agent/backends/dataplane.ts";
import { KernelTable } from "../../agent/backends/kernel-table.ts";
import type { Family } from "../../api/address.ts";
import { codeOf } from "../../common/errors.ts";
import { backendTitled } from "../backends.ts";
import { openDataplane, removeAll } from "./open-backend.ts";
import type { Held, Hold, Request } from "./programmer.ts";

const [, , path, title = ""] = process.argv;
const tested = backendTitled(title);

/** By configuration: each dataplane keeps a process of its tool. */
const dataplanes = new Map<string, Promise<AnyDataplane>>();
/** What was programmed, by family. */
const sites = new Map<string, { readonly dataplane: AnyDataplane; readonly table: KernelTable }>();

async function siteOf({ family, clusterSetCidrs, config, afresh }: Hold) {
  const key = JSON.stringify([clusterSetCidrs, config]);
  const opening = dataplanes.get(key) ?? openDataplane(tested, family, clusterSetCidrs, config);
  dataplanes.set(key, opening);
  const dataplane = await opening;
  const known = afresh ? undefined : sites.get(family);
  // Other flags come with a new process.
  if (known?.dataplane === dataplane) return known;
  const table = new KernelTable(dataplane);
  await table.read();
  return { dataplane, table };
}

async function hold(request: Hold): Promise<Held> {
  const site = await siteOf(request);
  const changeOf = (table: KernelTable) => {
    table.clear();
    for (const [key, services] of request.services) table.set(key, services);
    return finished(table.change());
  };
  const change = changeOf(site.table);
  // If writing fails, the state is unknown.
  sites.delete(request.family);
  await site.table.write(change);
  const restarted = new KernelTable(site.dataplane);
  await restarted.read();
  const left = changeOf(restarted);
  sites.set(request.family, site);
  return { done: String(change), left: String(left), writesLeft: left.writes };
}

async function check(family: Family): Promise<string[]> {
  const site = sites.get(family);
  if (site === undefined) throw new Error(`${family}: nothing was programmed`);
  const { drift } = await site.table.check();
  return drift.map(({ reason, what }) => `${reason} ${what}`).sort();
}

async function answer(request: Request): Promise<unknown> {
  if (request.kind === "hold") return hold(request);
  if (request.kind === "check") return check(request.family);
  sites.clear();
  return [await removeAll(tested), await removeAll(tested)];
}

createServer({ allowHalfOpen: true }, (connection) => {
  void text(connection)
    .then((request) => answer(JSON.parse(request) as Request))
    .catch((error: unknown) => ({ code: codeOf(error), fault: messageOf(error) }))
    .then((result) => connection.end(JSON.stringify(result)));
}).listen(path, () => console.log("ready"));

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
