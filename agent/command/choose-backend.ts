import type { Reason } from "../../api/reasons.ts";
import { type Clock, systemClock } from "../../common/clock.ts";
import { CodedError } from "../../common/errors.ts";
import type { Logger } from "../../common/log.ts";
import type { Flavour } from "../backends/iptables/flavour.ts";
import { type Support, setUp } from "../backends/ipvs/support.ts";
import type { AgentConfig } from "../config/config.ts";
import { familiesOf } from "../sync/agent.ts";
import { chooseFlavour } from "./flavour.ts";
import { wait } from "./wait.ts";

/** The backend of this node, and what it has to be told. */
export type Chosen =
  | {
      readonly backend: "iptables";
      readonly flavour: Flavour;
      /** Why it is not IPVS, if it might have been: sentences for whoever can mend it. */
      readonly lacks?: readonly string[];
    }
  | { readonly backend: "ipvs" };

/**
 * The backend to write with: what the operator said; with `auto`, IPVS where this node can, else iptables. Gives undefined
 * if `stop` is aborted first. Rejects with CSP_BACKEND_UNUSABLE if the operator has said IPVS, and this node cannot.
 */
export async function chooseBackend(
  config: AgentConfig,
  log: Logger,
  stop: AbortSignal,
): Promise<Chosen | undefined> {
  let lacking: readonly string[] | undefined;
  if (config.backend !== "iptables") {
    const { lacks, changed } = await supportFor(config, log, stop);
    if (stop.aborted) return undefined;
    for (const { name, before, after } of changed) {
      log.info("Set a switch of the kernel for IPVS.", { setting: name, before, after });
    }
    if (lacks.length === 0) return { backend: "ipvs" };
    const message = `IPVS cannot be used on this node: ${lacks.join(" ")}`;
    if (config.backend === "ipvs") throw new CodedError("CSP_BACKEND_UNUSABLE", message);
    log.warn("IPVS cannot be used on this node; iptables is.", { reason: UNUSABLE, lacks });
    lacking = lacks;
  }
  const flavour = await chooseFlavour(config, log, stop);
  if (flavour === undefined) return undefined;
  return { backend: "iptables", flavour, ...(lacking !== undefined && { lacks: lacking }) };
}

/** Whether this node can, as `setUp` finds it. */
function supportFor(config: AgentConfig, log: Logger, stop: AbortSignal): Promise<Support> {
  const { clusterSetCidrs: ranges, kubeProxyExcludeCidrs: excluded, ipvsTcpTimeout } = config;
  const options = {
    ...{ families: familiesOf(config), ranges, excluded, scheduler: config.ipvsScheduler, stop },
    ...(ipvsTcpTimeout !== undefined && { tcpTimeout: ipvsTcpTimeout }),
  };
  return askPatiently(() => setUp(options), systemClock, log, stop);
}

/** How often a node is asked that has worked with IPVS before, and milliseconds in between. */
const TRIES = 7;
const PAUSE = 5_000;

/**
 * Asks a node until it can. One that has worked with IPVS before is asked for 30 s: what hinders may be a moment's (no memory,
 * a kube-proxy that comes up), and another backend would end every connection that goes through IPVS. Any other is asked once.
 * The answer has all switches that were set on the way.
 */
export async function askPatiently(
  ask: () => Promise<Support>,
  clock: Clock,
  log: Logger,
  stop: AbortSignal,
): Promise<Support> {
  let support = await ask();
  const changed = [...support.changed];
  for (let tries = 1; support.stood && support.lacks.length > 0 && tries < TRIES; tries++) {
    if (tries === 1)
      log.warn("IPVS was used on this node and cannot be now; trying again for a while.", {
        reason: UNUSABLE,
        lacks: support.lacks,
      });
    await wait(clock, PAUSE, stop);
    if (stop.aborted) break;
    support = await ask();
    changed.push(...support.changed);
  }
  return { ...support, changed };
}

const UNUSABLE = "ipvs-unusable" satisfies Reason;

/** What `/readyz?verbose` says of the choice, which does not decide its verdict. PURE. */
export function backendRemark(chosen: Chosen): string {
  const lacks = chosen.backend === "iptables" ? chosen.lacks : undefined;
  if (lacks === undefined) return `[+]backend-${chosen.backend} ok`;
  return `[?]backend-${chosen.backend} ${UNUSABLE}: ${lacks.join(" ").replaceAll(/\s+/g, " ")}`;
}
