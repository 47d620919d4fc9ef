import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { systemClock } from "../../common/clock.ts";
import type { ApiServer } from "../../common/kubernetes/api-server.ts";
import { connect } from "../../common/kubernetes/connect.ts";
import { Reflector } from "../../common/kubernetes/reflector.ts";
import type { Logger } from "../../common/log.ts";
import { VERSION } from "../../common/version.ts";
import type { ControllerConfig } from "../config/config.ts";
import { Observer } from "../observe/observer.ts";
import type { Follow } from "../stores/feed.ts";
import { Controller } from "../sync/controller.ts";

/**
 * `run`: keeps exports, imports and VIPs in step until `stop` is aborted, then leaves all that was written as it is.
 * Rejects if it cannot start.
 */
export async function run(config: ControllerConfig, log: Logger, stop: AbortSignal): Promise<void> {
  const clock = systemClock;
  const random = Math.random;
  const userAgent = `clusterset-controller/${VERSION}`;
  const { kubeconfig, hubKubeconfig } = config;
  const api = await connect({ log, userAgent, ...(kubeconfig !== undefined && { kubeconfig }) });
  const hub =
    hubKubeconfig === undefined
      ? undefined
      : await connect({ log, userAgent, kubeconfig: hubKubeconfig });
  const follow =
    (server: ApiServer): Follow =>
    (query, events, known) =>
      new Reflector({ api: server, query, events, clock, random, log, known });
  const controller = new Controller({
    config,
    api,
    registryApi: hub ?? api,
    connect: ({ kubeconfig: text, key }) =>
      connect({ log, userAgent, kubeconfig: { text, from: `Secret ${key}` } }),
    follow,
    replica: `${hostname()}_${randomUUID()}`,
    clock,
    random,
    today: () => new Date(),
    events: new Observer(log),
  });
  controller.start();
  await new Promise<void>((resolve) => {
    if (stop.aborted) resolve();
    stop.addEventListener("abort", () => resolve(), { once: true });
  });
  log.info("Stopping; everything that was written stays.");
  await controller.stop();
  await hub?.close();
  await api.close();
}
