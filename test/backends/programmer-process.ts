// Programs the kernel of its own network namespace as requested through a socket: a netlink socket belongs to the namespace in
// which it was opened. Arguments: the socket's path and the backend's title.
import { createServer } from "node:net";
import { text } from "node:stream/consumers";
import { type AnyBackend, finished, type Transaction } from "../../agent/backends/backend.ts";
import type { Family } from "../../api/address.ts";
import { codeOf } from "../../common/errors.ts";
import { backendTitled } from "../backends.ts";
import { openBackend, removeAll } from "./open-backend.ts";
import type { Held, Hold, Request } from "./programmer.ts";

const [, , path, title = ""] = process.argv;
const tested = backendTitled(title);

/** One backend of a family, and the cached state of the kernel. */
interface Site {
  readonly backend: AnyBackend;
  state: unknown;
}

/** By family and configuration: each backend keeps a process of its tool. */
const backends = new Map<string, Promise<AnyBackend>>();
const sites = new Map<string, Site>();

async function siteOf({ family, clusterSetCidrs, config, afresh }: Hold): Promise<Site> {
  const key = JSON.stringify([clusterSetCidrs, config]);
  const opening = backends.get(key) ?? openBackend(tested, family, clusterSetCidrs, config);
  backends.set(key, opening);
  const backend = await opening;
  const known = afresh ? undefined : sites.get(family);
  // Other flags come with a new process.
  return { backend, state: known?.backend === backend ? known.state : await backend.read() };
}

async function hold(request: Hold): Promise<Held> {
  const site = await siteOf(request);
  const { backend } = site;
  const transaction = (from: unknown): Transaction => {
    const ruleset = backend.ruleset();
    for (const [key, services] of request.services) ruleset.set(key, services);
    return finished(backend.diff(from, finished(ruleset.take())));
  };
  const tx = transaction(site.state);
  // If writing fails, the state is unknown.
  sites.delete(request.family);
  if (!tx.empty) await backend.apply(tx, site.state);
  const left = transaction(await backend.read());
  sites.set(request.family, site);
  return { done: String(tx), left: String(left), writesLeft: left.writes };
}

async function check(family: Family): Promise<string[]> {
  const site = sites.get(family);
  if (site === undefined) throw new Error(`${family}: nothing was programmed`);
  const { drift } = await site.backend.check(site.state);
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
