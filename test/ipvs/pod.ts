import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { AGENT } from "../stages/agent-process.ts";

const DEPLOY = join(import.meta.dirname, "../../deploy");

/** What matters here of a DaemonSet, or of a patch for one. */
interface DaemonSet {
  readonly spec: { readonly template: { readonly spec: PodSpec } };
}

interface PodSpec {
  readonly containers: readonly [
    {
      readonly env?: readonly { readonly name: string; readonly value?: string }[];
      readonly securityContext?: { readonly capabilities?: { readonly add?: readonly string[] } };
      readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
    },
  ];
  readonly volumes?: readonly {
    readonly name: string;
    readonly hostPath: { readonly path: string };
  }[];
}

/** What the agent's container may do on a node, as deploy/ has it. */
export interface PodRights {
  /** Capabilities, as `setpriv` spells them. */
  readonly capabilities: readonly string[];
  /** What the component `ipvs` sets. */
  readonly env: Readonly<Record<string, string>>;
  /** Host path and path in the container, of what the component adds. */
  readonly mounts: readonly (readonly [string, string])[];
}

/** The rights of the pod that `deploy/base` and `deploy/components/ipvs` make. */
export function podRights(): PodRights {
  const [base, component] = [podOf("base/agent.yaml"), podOf("components/ipvs/agent.yaml")];
  const [{ securityContext }] = base.containers;
  const [{ env = [], volumeMounts = [] }] = component.containers;
  return {
    capabilities: (securityContext?.capabilities?.add ?? []).map((name) => name.toLowerCase()),
    env: Object.fromEntries(env.map(({ name, value = "" }) => [name, value])),
    mounts: volumeMounts.map(({ name, mountPath }) => {
      const volume = component.volumes?.find((one) => one.name === name);
      if (volume === undefined) throw new Error(`no volume ${name}`);
      return [volume.hostPath.path, mountPath];
    }),
  };
}

function podOf(file: string): PodSpec {
  const daemonSet = parse(readFileSync(join(DEPLOY, file), "utf8")) as DaemonSet;
  return daemonSet.spec.template.spec;
}

/** The agent's command line in what is such a container to it: these capabilities, and a /proc/sys that cannot be written. */
export function inPod({ capabilities, mounts }: PodRights): string[] {
  const script = [
    "set -eu",
    ...mounts.flatMap(([from, to]) => [`mkdir -p ${to}`, `mount --bind ${from} ${to}`]),
    "mount --bind /proc/sys /proc/sys",
    "mount -o remount,bind,ro /proc/sys",
    `exec setpriv --no-new-privs --inh-caps=-all --bounding-set=-all,${capabilities.map((name) => `+${name}`).join()} "$@"`,
  ];
  return ["unshare", "--mount", "sh", "-c", script.join("\n"), "pod", AGENT];
}
