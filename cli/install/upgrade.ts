import { type Change, putAll } from "./change.ts";
import { CRDS, type Images, ON_HUB, programs, type RegistryMode } from "./manifests.ts";
import { WORKLOADS } from "./workloads.ts";

/** A member that is to run other images. */
export interface UpgradedMember {
  readonly context: string;
  readonly mode: RegistryMode;
  readonly images: Images;
  readonly components: readonly string[];
}

/**
 * The changes of an upgrade, one cluster after the other: everything but programs first, then one program after the other, each of which
 * has to be ready before the next. `hub`: its context. PURE.
 */
export function upgradeChanges(
  members: readonly UpgradedMember[],
  hub: string | undefined,
): Change[] {
  const onHub = hub === undefined ? [] : putAll(hub, 0, [...CRDS, ...ON_HUB]);
  const all = members.map(({ context: on, mode, images, components }, i): Change[] => {
    const objects = programs(mode, images, components);
    const workloads = WORKLOADS.flatMap((workload) =>
      objects.flatMap((object) => (object.kind === workload.kind ? [{ workload, object }] : [])),
    );
    const others = objects.filter((one) => !workloads.some(({ object }) => object === one));
    const stage = i + 1;
    return [
      ...putAll(on, stage, [...CRDS, ...others]),
      ...workloads.map(
        ({ workload, object }): Change => ({
          ...{ on, stage, act: "put", object },
          wait: { for: "rollout", workload },
        }),
      ),
    ];
  });
  return [...onHub, ...all.flat()];
}
