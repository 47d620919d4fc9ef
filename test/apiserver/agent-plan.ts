import { execFileSync } from "node:child_process";
import type { ControlPlane } from "./control-plane.ts";
import { OURS } from "./release.ts";

/** What an agent decides for one import. */
export interface Plan {
  readonly importKey: string;
  readonly services: readonly { readonly endpoints: readonly { readonly address: string }[] }[];
  readonly excluded: readonly { readonly slice: string; readonly reason: string }[];
}

/** The addresses of a port's endpoints. */
export function addressesOf({ endpoints }: Plan["services"][number]): string[] {
  return endpoints.map(({ address }) => address);
}

/** What an agent of cluster-2 would decide. Throws if it knows no such import. */
export function planOf(plane: ControlPlane, key: string): Plan {
  const kubeconfig = plane.kubeconfig({ user: "admin" });
  const [command = "", ...rest] = OURS.agent;
  const of = ["--kubeconfig", kubeconfig, "--node-name", "node-2", "--cluster-id", "cluster-2"];
  const argv = [...rest, "plan", ...of, "--clusterset-cidr", "241.0.0.0/8", "--output", "json"];
  const text = execFileSync(command, argv, { encoding: "utf8" });
  const { imports } = JSON.parse(text) as { readonly imports: readonly Plan[] };
  const found = imports.find(({ importKey }) => importKey === key);
  if (found === undefined) throw new Error(`no plan of ${key}: ${text}`);
  return found;
}
