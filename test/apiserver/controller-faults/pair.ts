import { fileURLToPath } from "node:url";
import { Chance } from "../../generators/chance.ts";
import { BundledController } from "../../stages/bundled-controller.ts";
import { Churn } from "../churn.ts";
import { meshRights } from "../controller-rights.ts";
import { ControllerStage, SHORT_LEASE, StagedCluster } from "../controller-stage.ts";

/** What the second controller of c1 is called to its API server. */
export const FELLOW = "fellow";
/** Seconds by which clocks are off. */
export const HOUR = 3600;
const CLOCK = fileURLToPath(new URL("../../stages/programs/turned-clock.ts", import.meta.url));

/** Starts a program of ours with a clock that is wrong by so many seconds. */
function clockOff(seconds: number): string[] {
  return ["env", `NODE_OPTIONS=--import=${CLOCK}`, `CLOCK_OFF=${seconds}`];
}

/**
 * Two clusters of a mesh, and a second controller of the first one. The clock of c1's controller is an hour behind, that of
 * c2's an hour ahead, all the while.
 */
export class Pair implements AsyncDisposable {
  readonly c1: StagedCluster;
  readonly c2: StagedCluster;
  readonly churn: Churn;
  readonly #stage: ControllerStage;
  readonly #controller: BundledController;

  private constructor(stage: ControllerStage, controller: BundledController) {
    this.#stage = stage;
    this.#controller = controller;
    [this.c1, this.c2] = [stage.cluster("c1"), stage.cluster("c2")];
    this.churn = new Churn({
      clusters: stage.clusters,
      changing: Array.from({ length: 24 }, (_, i) => `shop/web-${i}`),
      steady: ["shop/steady-0", "shop/steady-1", "shop/steady-2"],
      chance: new Chance(7),
    });
  }

  /** With all controllers at work but the second one. */
  static async open(): Promise<Pair> {
    const controller = await BundledController.build();
    const stage = await ControllerStage.open({
      clusters: ["c1", "c2"],
      program: controller.program,
      shortLeases: ["c1", "c2"],
      users: [FELLOW],
    });
    const pair = new Pair(stage, controller);
    const { admin } = pair.c1.plane;
    const rights = meshRights("c1", FELLOW, FELLOW).filter(({ kind }) => kind.endsWith("Binding"));
    for (const { metadata, ...binding } of rights) {
      const name = `${metadata.name}-${FELLOW}`;
      await admin.apply({ ...binding, metadata: { ...metadata, name } });
    }
    await pair.churn.prepare();
    for (const cluster of stage.clusters) await pair.launch(cluster);
    return pair;
  }

  /** A second controller of c1, which does not run yet. Its clock is right. */
  fellow(...flags: readonly string[]): StagedCluster {
    const { plane } = this.c1;
    const own = ["--kubeconfig", plane.kubeconfig({ user: FELLOW }), "--cluster-id", "c1"];
    const all = [...own, "--lease-duration", SHORT_LEASE, ...flags];
    const { program } = this.#controller;
    return new StagedCluster({ id: "c1", plane, program, flags: all, user: FELLOW });
  }

  /** Starts a cluster's controller, with its clock. No other leads there. */
  async launch(cluster: StagedCluster): Promise<void> {
    await cluster.replace(clockOff(cluster === this.c1 ? -HOUR : HOUR));
  }

  /** So many changes, by chance, one after the other. */
  async change(count: number): Promise<void> {
    for (let i = 0; i < count; i++) await this.churn.change();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stage[Symbol.asyncDispose]();
    this.#controller[Symbol.dispose]();
  }
}
