/**
 * Owns clusters after the command that started them has ended, and changes them as requested on a socket. Started by main.ts, to
 * which it reports its progress. SIGTERM ends it and its clusters.
 */
import { rmSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { Clusters } from "../../test/cluster/clusters.ts";
import { type KeeperNews, SOCKET, specOf } from "./keeping.ts";
import { VERBS } from "./verbs.ts";

const tell = (news: KeeperNews) => process.send?.(news);
// Nobody waits any more for what is not there yet.
const abandoned = () => process.kill(process.pid, "SIGTERM");
process.once("disconnect", abandoned);

try {
  const clusters = await Clusters.create(specOf(process.env));
  await listen(clusters);
  process.off("disconnect", abandoned);
  const { kubeconfig, all } = clusters;
  const contexts = all.map(({ id, plan }) => ({ id, region: plan.region }));
  const nodes = all.flatMap((cluster) => cluster.nodes.map(({ name }) => name));
  tell({ ready: { kubeconfig, contexts, nodes } });
} catch (error) {
  tell({ failed: wordsOf(error) });
  process.exit(1);
}

function listen(clusters: Clusters): Promise<void> {
  const server = createServer((request, response) => {
    perform(clusters, request).then(
      (given) => response.end(JSON.stringify(given ?? [])),
      (error: unknown) => response.writeHead(400).end(wordsOf(error)),
    );
  });
  // Left by one that was killed; that none lives, main.ts has seen.
  rmSync(SOCKET, { force: true });
  process.once("exit", () => rmSync(SOCKET, { force: true }));
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(SOCKET, resolve);
  });
}

async function perform(clusters: Clusters, request: IncomingMessage): Promise<unknown> {
  const argv: unknown = JSON.parse(await text(request));
  const [name = "", ...args] = Array.isArray(argv) ? argv.map(String) : [];
  const verb = VERBS[name];
  if (verb === undefined) throw new Error(`there is no verb "${name}"`);
  return verb.run(clusters, args);
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
