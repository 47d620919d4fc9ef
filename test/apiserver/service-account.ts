import { writeFileSync } from "node:fs";
import { systemClock } from "../../common/clock.ts";
import type { ApiServer } from "../../common/kubernetes/api-server.ts";
import { connect } from "../../common/kubernetes/connect.ts";
import { Reflector, type ResourceQuery } from "../../common/kubernetes/reflector.ts";
import { ApiWriter } from "../../common/kubernetes/writer.ts";
import { logLines } from "../doubles/log-lines.ts";
import { eventually } from "../stages/agent-process.ts";
import type { ControlPlane } from "./control-plane.ts";
import type { Rule } from "./rights.ts";

const PATIENCE_MS = 60_000;
const REVIEW = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectRulesReview" };

/** A token of the service account `namespace/name`, as a pod of it has. */
async function requestedToken({ admin }: ControlPlane, account: string): Promise<string> {
  const [namespace, name] = account.split("/");
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
  const kind = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest" };
  const { body } = await admin.request("POST", path, { body: { ...kind, spec: {} } });
  return (body as { readonly status: { readonly token: string } }).status.token;
}

/** The path of a kubeconfig of the service account `namespace/name`, as a pod of it has. */
export async function mountedKubeconfig(plane: ControlPlane, account: string): Promise<string> {
  const user = account.replace(/.*\//, "");
  const token = await requestedToken(plane, account);
  const file = `${plane.directory}/${user}.kubeconfig`;
  writeFileSync(file, plane.inlineKubeconfig({ user, token }), { mode: 0o600 });
  return file;
}

/** A service account with a real token, in our own programs' hands: its kubeconfig is text, as in a peer's Secret. */
export class ServiceAccount implements AsyncDisposable {
  readonly api: ApiServer;
  readonly writer: ApiWriter;

  private constructor(api: ApiServer) {
    this.api = api;
    this.writer = new ApiWriter({ api, clock: systemClock, fieldManager: "clusterset-controller" });
  }

  /** Of `namespace/name`, by a token that is good for an hour. */
  static async requested(plane: ControlPlane, account: string): Promise<ServiceAccount> {
    return ServiceAccount.with(plane, account, await requestedToken(plane, account));
  }

  /** By the token in the Secret `namespace/name`, once kube-controller-manager has put it there. */
  static async ofSecret(plane: ControlPlane, secret: string): Promise<ServiceAccount> {
    const [namespace, name] = secret.split("/");
    const path = `/api/v1/namespaces/${namespace}/secrets/${name}`;
    const token = await eventually(async () => {
      const { body } = await plane.admin.request("GET", path);
      const { data } = body as { readonly data?: Readonly<Record<string, string>> };
      if (data?.token === undefined) throw new Error(`${secret} has no token`);
      return Buffer.from(data.token, "base64").toString();
    }, PATIENCE_MS);
    return ServiceAccount.with(plane, secret, token);
  }

  private static async with(plane: ControlPlane, name: string, token: string) {
    const text = plane.inlineKubeconfig({ user: name, token });
    const { log } = logLines();
    return new ServiceAccount(await connect({ kubeconfig: { text, from: name }, log }));
  }

  /** What becomes of a reflector: `watching`, or the first reason why it does not. */
  async follows(query: ResourceQuery): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<string>();
    const reflector = new Reflector({
      api: this.api,
      query,
      events: {
        changed: () => {},
        removed: () => {},
        listed: () => {},
        state: ({ reason }) => {
          if (reason !== "listing") resolve(reason);
        },
      },
      clock: systemClock,
      random: Math.random,
      log: logLines().log,
    });
    reflector.start();
    const reason = await promise;
    await reflector.stop();
    return reason;
  }

  /** Everything that it may do with objects in a namespace, as `verb group/resource`, by the API server's own account. */
  async rights(namespace: string): Promise<string[]> {
    const response = await this.api.request({
      path: "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
      signal: AbortSignal.timeout(PATIENCE_MS),
      silence: PATIENCE_MS,
      write: { method: "POST", body: { ...REVIEW, spec: { namespace } } },
    });
    const parts: Uint8Array[] = [];
    for await (const part of response.body) parts.push(part);
    const { status } = JSON.parse(Buffer.concat(parts).toString()) as {
      readonly status: { readonly incomplete: boolean; readonly resourceRules: readonly Rule[] };
    };
    if (status.incomplete) throw new Error("The API server does not know all of it");
    const rights = status.resourceRules.flatMap(({ apiGroups, resources, resourceNames, verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          verbs.map((verb) => [`${verb} ${group}/${resource}`, ...(resourceNames ?? [])].join(" ")),
        ),
      ),
    );
    return [...new Set(rights)].sort();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.api.close();
  }
}
