import { after, describe } from "node:test";
import { SETTINGS } from "../backends.ts";
import { ReachNetwork, type Services } from "./reach-network.ts";
import { type Annotations, ReachStage } from "./reach-stage.ts";

/** Starts a scenario. `services`: some of the network's; `flags`: of the agent, besides those of the backend. */
export type Begin = (
  services: Services,
  annotations?: Annotations,
  flags?: readonly string[],
) => Promise<ReachStage>;

/**
 * Defines the same tests for each backend and each IP family: each has a network with pods at these places, which its tests share. One after the other: clients
 * must not lose a connection, and other tests run beside them.
 */
export function withEachSetting(services: Services, define: (begin: Begin) => void): void {
  for (const setting of SETTINGS) {
    describe(setting.title, { concurrency: 1 }, () => {
      let network: Promise<ReachNetwork> | undefined;
      after(async () => (await network)?.[Symbol.asyncDispose]());
      define(async (used, annotations = {}, flags = []) => {
        network ??= ReachNetwork.create(setting, services);
        return ReachStage.begin(await network, { services: used, annotations, flags });
      });
    });
  }
}
