import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CertificateAuthority } from "../apiserver/certificates.ts";
import { kubeconfigOf } from "../apiserver/user.ts";
import { Lab } from "../lab/lab.ts";
import { evaluate } from "../lab/programs.ts";

const NAME = "api";
const PORT = 6443;

/** An API server that accepts a watch, and has nothing to tell. */
const SERVER = `
  const [cert, key] = process.argv.slice(1);
  const server = require("node:https").createServer({ cert, key }, (_, response) => {
    response.writeHead(200).flushHeaders();
    console.log("watched");
  });
  server.listen(${PORT}, () => console.log("serving"));`;

/** Watches as a reflector does; prints why the watch ended. */
const WATCH = `
  import { systemClock as clock } from "@/common/clock.ts";
  import { Credentials } from "@/common/kubernetes/credentials.ts";
  import { HttpApiServer } from "@/common/kubernetes/http-api-server.ts";
  const [kubeconfig] = process.argv.slice(1);
  const log = { info: () => undefined, warn: () => undefined };
  const credentials = await Credentials.load({ kubeconfig, clock, log });
  const { signal } = new AbortController();
  const api = new HttpApiServer(credentials, "test/1", clock);
  const { body } = await api.request({ path: "/x?watch=true", signal, silence: 150_000 });
  let ended = "closed";
  try {
    for await (const part of body) void part;
  } catch (fault) {
    ended = fault.reason;
  }
  console.log(JSON.stringify(ended));
  await api.close();`;

test("a watch of an API server whose packets are all lost, without a reset, ends by the kernel's probes, long before its silence tells", async () => {
  await using lab = await Lab.oneNode({ server: [], client: [] });
  const [server, client] = ["server", "client"].map((name) => lab.pod("c1", "n1", name));
  assert.ok(server && client);
  const authority = new CertificateAuthority("ours");
  const { certificate, key } = authority.certify({ name: NAME });
  const kubeconfig = join(lab.directory, "kubeconfig");
  const cluster = {
    server: `https://${server.address()}:${PORT}`,
    "tls-server-name": NAME,
    "certificate-authority-data": Buffer.from(authority.certificate).toString("base64"),
  };
  writeFileSync(kubeconfig, kubeconfigOf({ name: NAME, cluster, user: { token: "secret" } }));
  const serving = server.spawn([process.execPath, "-e", SERVER, "--", certificate, key]);
  await serving.line(/serving/);
  const watching = evaluate(client, WATCH, { args: [kubeconfig], timeout: 300_000 });
  await serving.line(/watched/);
  for (const chain of ["INPUT", "OUTPUT"])
    await server.exec(["iptables", "-A", chain, "-j", "DROP"]);
  // Silence of 150 s would be `stalled`.
  assert.deepEqual(await watching, ["unreachable"]);
});
