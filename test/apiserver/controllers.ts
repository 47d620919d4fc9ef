import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Process } from "../lab/process.ts";
import type { ApiClient } from "./api-client.ts";
import { kubernetesCommand } from "./commands.ts";
import type { Place } from "./place.ts";
import { untilReady } from "./readiness.ts";

/** Milliseconds after which one that has ended is started again. */
const AGAIN_MS = 1000;

/** Flags of a kube-controller-manager by their names, without dashes. */
export type ControllerManagerFlags = Readonly<Record<string, boolean | number | string>>;

export interface ControllerManagerOptions {
  readonly place: Place;
  /** The path of a kubeconfig of a user with all rights. */
  readonly kubeconfig: string;
  /** The key that service account tokens are signed with. */
  readonly key: string;
  readonly client: ApiClient;
  /** Besides, or instead of, its usual ones: the only one of its cluster, it is in no election. */
  readonly flags: ControllerManagerFlags;
}

/**
 * A real kube-controller-manager. It is started again whenever it ends, as its kubelet does it with a static pod: one
 * that has lost its Lease ends.
 */
export class ControllerManager {
  readonly #place: Place;
  readonly #argv: readonly string[];
  #process: Process;
  #isEnded = false;

  private constructor({ place, kubeconfig, key, flags }: ControllerManagerOptions) {
    const all = {
      kubeconfig,
      "leader-elect": false,
      controllers: "*,-nodeipam",
      "service-account-private-key-file": key,
      // Several of them share the loopback.
      "secure-port": 0,
      // It would make its default, below /usr.
      "flex-volume-plugin-dir": join(dirname(kubeconfig), "plugins"),
      ...flags,
    };
    this.#place = place;
    this.#argv = [
      kubernetesCommand("kube-controller-manager"),
      ...Object.entries(all).map(([name, value]) => `--${name}=${value}`),
    ];
    this.#process = this.#spawned();
  }

  /**
   * Starts it. Returns when its controllers work: one of them makes a service account in each namespace. Of one that
   * comes back, that says nothing: it works some seconds later.
   */
  static async start(options: ControllerManagerOptions): Promise<ControllerManager> {
    const manager = new ControllerManager(options);
    try {
      await untilReady(manager.#process, "kube-controller-manager", async () => {
        const path = "/api/v1/namespaces/default/serviceaccounts/default";
        return (await options.client.request("GET", path)).status === 200;
      });
    } catch (error) {
      await manager.kill();
      throw error;
    }
    return manager;
  }

  signal(name: "SIGCONT" | "SIGSTOP"): void {
    this.#process.signal(name);
  }

  /** Asks it to end. */
  async stop(): Promise<void> {
    this.#isEnded = true;
    await this.#process.stop();
  }

  async kill(): Promise<void> {
    this.#isEnded = true;
    this.#process.signal("SIGKILL");
    await this.#process.exited;
  }

  #spawned(): Process {
    const process = this.#place.spawn(this.#argv);
    // A program that never started is not retried: the waiting test gets the error.
    process.exited.then(
      () => this.#again(),
      () => undefined,
    );
    return process;
  }

  async #again(): Promise<void> {
    if (!this.#isEnded) await sleep(AGAIN_MS);
    if (!this.#isEnded) this.#process = this.#spawned();
  }
}
