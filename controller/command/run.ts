import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { systemClock } from "../../common/clock.ts";
import { HttpServer } from "../../common/http.ts";
import type { ApiServer } from "../../common/kubernetes/api-server.ts";
import { type ConnectOptions, connect } from "../../common/kubernetes/connect.ts";
import { Reflector } from "../../common/kubernetes/reflector.ts";
import type { Logger } from "../../common/log.ts";
import { VERSION } from "../../common/version.ts";
import type { ControllerConfig } from "../config/config.ts";
import { AnswerTimes } from "../observe/answer-times.ts";
import { countedApiServer } from "../observe/counted-api-server.ts";
import { CredentialExpiries } from "../observe/credential-expiries.ts";
import { ControllerMetrics, type Server } from "../observe/metrics.ts";
import { Observer } from "../observe/observer.ts";
import { pages } from "../observe/pages.ts";
import type { Follow } from "../stores/informer.ts";
import { Controller } from "../sync/controller.ts";

/** The command `run`: keeps exports, imports and VIPs in sync until `stop` is aborted. Rejects if it cannot start. */
export async function run(config: ControllerConfig, log: Logger, stop: AbortSignal): Promise<void> {
  const clock = systemClock;
  const random = Math.random;
  const userAgent = `clusterset-controller/${VERSION}`;
  const { kubeconfig, hubKubeconfig } = config;
  const metrics = new ControllerMetrics();
  const { registry } = config;
  metrics.gauges.build.set({ version: VERSION, node: process.version, registry }, 1);
  const expiries = new CredentialExpiries(metrics.gauges.credentialExpiry);
  const answers = new AnswerTimes();
  const reach = async (server: Server, from: Pick<ConnectOptions, "kubeconfig">, member = "") => {
    const api = await connect({ log, userAgent, ...from });
    const counted = countedApiServer(api, clock, (asked) => {
      metrics.asked(server, asked);
      answers.asked(server, member, asked);
    });
    return expiries.watched(counted, { server, member });
  };
  const api = await reach("own", kubeconfig === undefined ? {} : { kubeconfig });
  const hub =
    hubKubeconfig === undefined
      ? undefined
      : await reach("registry", { kubeconfig: hubKubeconfig });
  const follow =
    (server: ApiServer): Follow =>
    (query, events, known) =>
      new Reflector({ api: server, query, events, clock, random, log, known });
  const controller = new Controller({
    config,
    api,
    registryApi: hub ?? api,
    connect: ({ kubeconfig: text, key, cluster }) => {
      const allowed = config.peerKubeconfigAllow;
      return reach("peer", { kubeconfig: { text, from: `Secret ${key}`, allowed } }, cluster);
    },
    follow,
    replica: `${hostname()}_${randomUUID()}`,
    clock,
    random,
    today: () => new Date(),
    events: new Observer(log, metrics),
  });
  const server =
    config.http && new HttpServer(config.http, pages(controller, metrics, expiries, answers), log);
  await server?.start();
  metrics.start();
  controller.start();
  await new Promise<void>((resolve) => {
    if (stop.aborted) resolve();
    stop.addEventListener("abort", () => resolve(), { once: true });
  });
  log.info("Stopping; everything written stays");
  await controller.stop();
  await server?.stop();
  await hub?.close();
  await api.close();
}
