import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import type { Process } from "../lab/process.ts";
import type { ApiClient } from "./api-client.ts";
import { kubernetesCommand } from "./commands.ts";
import type { Place } from "./place.ts";
import { untilReady } from "./readiness.ts";

export interface ApiServerOptions {
  readonly place: Place;
  /** Where its key, certificates and tokens are. */
  readonly directory: string;
  readonly etcdUrl: string;
  readonly client: ApiClient;
  /** False: it cannot begin a watch with all objects (KEP-3157), like those before 1.32. */
  readonly watchList: boolean;
}

/** Files of an API server, by what they are. Those in `certificates` it makes itself, and keeps. */
export function apiServerFiles(directory: string) {
  const certificates = `${directory}/certificates`;
  return {
    tokens: `${directory}/tokens.csv`,
    /** The authority whose certificates clients may show instead of a token. */
    clientCa: `${directory}/client-ca.crt`,
    key: `${directory}/service-accounts.pem`,
    certificates,
    /** The serving certificate and the CA that has signed it. */
    ca: `${certificates}/apiserver.crt`,
    auditPolicy: `${directory}/audit-policy.json`,
    audit: `${directory}/audit.jsonl`,
  };
}

/** Starts a kube-apiserver, and returns when it is ready to serve. */
export async function startApiServer(options: ApiServerOptions): Promise<Process> {
  const program = kubernetesCommand("kube-apiserver");
  const server = options.place.spawn([program, ...argumentsOf(options)]);
  await untilReady(server, "kube-apiserver", () => isReady(options.client));
  return server;
}

/** Makes the key that service account tokens are signed with. */
export function writeServiceAccountKey(file: string): void {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  writeFileSync(file, privateKey.export({ type: "sec1", format: "pem" }), { mode: 0o600 });
}

function argumentsOf({ place, directory, etcdUrl, watchList }: ApiServerOptions): string[] {
  const files = apiServerFiles(directory);
  const flags = {
    "etcd-servers": etcdUrl,
    "secure-port": place.port,
    "bind-address": place.address,
    "advertise-address": place.address,
    "cert-dir": files.certificates,
    "token-auth-file": files.tokens,
    "client-ca-file": files.clientCa,
    "authorization-mode": "RBAC",
    "service-account-issuer": "https://kubernetes.default.svc",
    "service-account-key-file": files.key,
    "service-account-signing-key-file": files.key,
    // Dual-stack: a Service has one family, IPv4, unless it asks for both.
    "service-cluster-ip-range": "10.96.0.0/16,fd00:96::/112",
    "allow-privileged": true,
    // There is no controller to make the service account that every pod would have to have.
    "disable-admission-plugins": "ServiceAccount",
    // The endpoint of the Service "kubernetes" may not be a loopback address.
    "endpoint-reconciler-type": "none",
    // Without it a watch that is open would hold up the end for a minute, and then break.
    "shutdown-watch-termination-grace-period": "1s",
    profiling: false,
    "feature-gates": `WatchList=${watchList}`,
    "audit-policy-file": files.auditPolicy,
    "audit-log-path": files.audit,
  };
  return Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
}

/** Ready, and through with its own first objects. */
async function isReady(client: ApiClient): Promise<boolean> {
  try {
    const { status } = await client.request("GET", "/readyz", { timeout: 2_000 });
    if (status !== 200) return false;
    return (await client.request("GET", "/api/v1/namespaces/default")).status === 200;
  } catch {
    // Not listening yet, or its certificate is not written yet: the answer, not a fault.
    return false;
  }
}
