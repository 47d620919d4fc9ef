/**
 * What is done to a cluster: its Service is scaled to nothing, or back; it exports it; the client's cluster takes it out of rotation, or back; or
 * all of it dies at once, and boots again; or its controller is killed.
 */
export type Act =
  | "down"
  | "up"
  | "export"
  | "drain"
  | "undrain"
  | "kill"
  | "boot"
  | "kill-controller";

/** One act of the play: what is changed, and where every new connection must come to because of it. */
export interface Step {
  readonly title: string;
  /** What is done to which cluster, one after the other. The last one is timed. */
  readonly acts: readonly (readonly [cluster: string, act: Act])[];
  /** A cluster, or `refused`. */
  readonly wanted: string;
  /** Open a connection then that stays for the rest. */
  readonly hold?: boolean;
  /** Before anything is changed, close what is held: its servers are about to stop. */
  readonly release?: boolean;
}

/** One agent, and its objects as they are published. */
export const STEPS: readonly Step[] = [
  { title: "all clusters serve", acts: [], wanted: "c1" },
  { title: "c1 scaled to nothing", acts: [["c1", "down"]], wanted: "c2" },
  { title: "c2 scaled to nothing", acts: [["c2", "down"]], wanted: "c3", hold: true },
  { title: "c2 is back", acts: [["c2", "up"]], wanted: "c2", hold: true },
  { title: "c1 is back", acts: [["c1", "up"]], wanted: "c1" },
  {
    title: "all scaled to nothing",
    // Home last: connections then have no other way to take in between.
    acts: [
      ["c3", "down"],
      ["c2", "down"],
      ["c1", "down"],
    ],
    wanted: "refused",
    release: true,
  },
];

/** A controller in each cluster. One exports at first. */
export const CONTROLLER_STEPS: readonly Step[] = [
  {
    title: "all clusters export",
    acts: [
      ["c3", "export"],
      ["c1", "export"],
    ],
    wanted: "c1",
  },
  { title: "c1 scaled to nothing", acts: [["c1", "down"]], wanted: "c2" },
  { title: "c2 scaled to nothing", acts: [["c2", "down"]], wanted: "c3", hold: true },
  { title: "c2 is back", acts: [["c2", "up"]], wanted: "c2", hold: true },
  { title: "c2 is drained", acts: [["c2", "drain"]], wanted: "c3" },
  { title: "c2 is in rotation", acts: [["c2", "undrain"]], wanted: "c2" },
  { title: "c2 loses power", acts: [["c2", "kill"]], wanted: "c3", release: true },
  { title: "c2 boots", acts: [["c2", "boot"]], wanted: "c2" },
  { title: "c1 is back", acts: [["c1", "up"]], wanted: "c1" },
];

/** A kube-proxy, and a Service at home whose ClusterIP fails over. */
export const SAME_NAME_STEPS: readonly Step[] = [
  { title: "all clusters serve", acts: [], wanted: "c1" },
  { title: "c1 scaled to nothing", acts: [["c1", "down"]], wanted: "c2" },
  { title: "c2 scaled to nothing", acts: [["c2", "down"]], wanted: "c3" },
  { title: "c2 is back", acts: [["c2", "up"]], wanted: "c2", hold: true },
  { title: "c1 is back", acts: [["c1", "up"]], wanted: "c1" },
  { title: "c1's controller killed", acts: [["c1", "kill-controller"]], wanted: "c1" },
  { title: "c1 scaled to nothing", acts: [["c1", "down"]], wanted: "c2" },
  { title: "c1 is back", acts: [["c1", "up"]], wanted: "c1" },
];

/** The steps of each source. */
export const STEPS_OF = {
  manifests: STEPS,
  kubernetes: STEPS,
  controller: CONTROLLER_STEPS,
  "same-name": SAME_NAME_STEPS,
} as const;

/** True for a step in which a cluster dies without a word. */
export function isOutage(step: Step): boolean {
  return step.acts.some(([, act]) => act === "kill");
}

/** True for a step whose switch waits until a cluster is missed, or has booted. */
export function isSlow(step: Step): boolean {
  return step.acts.some(([, act]) => act === "kill" || act === "boot");
}
