import { type Command, InvalidArgumentError, Option } from "commander";
import { type ObjectKey, objectKey } from "../../api/names.ts";
import { isUsage, usageText } from "../../common/config/usage.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import {
  AUTOSCALERS,
  DEPLOYMENTS,
  queryOf,
  SERVICES,
  STATEFUL_SETS,
} from "../../common/kubernetes/kinds.ts";
import { agentFacts, modelOf, nodeGroups } from "../agents/facts.ts";
import { type AgentObjects, agentSettings, readAgentObjects } from "../agents/objects.ts";
import { isConfirmed } from "../changes/carry-out.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { type ClusterFlags, namespaceOf, withClusters } from "../clusters/contexts.ts";
import {
  type ObjectReference,
  objectReference,
  timeoutOption,
  withClusterFlags,
  withOutputFlag,
} from "../command-line.ts";
import { drill } from "../drill/drill.ts";
import { figuresOf, figuresTable, severityOf } from "../drill/figures.ts";
import { type DrilledWorkload, workloadsOf } from "../drill/workload.ts";
import { EXIT, type ExitCode, exitCodeOf } from "../exit-code.ts";
import { documentText, type Output, oneLine, printable } from "../output/printable.ts";
import type { Terminal } from "../terminal.ts";
import { outcomeText, simulate } from "../view/simulation.ts";

interface DrillFlags extends ClusterFlags {
  readonly namespace?: string;
  readonly port?: number;
  readonly rate: number;
  readonly image?: string;
  readonly settle: number;
  readonly timeout: number;
  readonly yes?: boolean;
  readonly output: Output;
}

/** Connections a second: each is one line of a log. */
const MOST_RATE = 100;
/** Seconds that the caller's pod may live beyond the waits of a drill. */
const SPARE_SECONDS = 60;

/** `drill`: scales a Service's pods to nothing and back under connections. */
export function addDrill(
  program: Command,
  terminal: Terminal,
  end: (code: ExitCode) => void,
): void {
  withOutputFlag(withClusterFlags(program.command("drill")))
    .summary("scale a Service to nothing and back, and count what fails")
    .description(
      "Scale the Deployments and StatefulSets of a Service to nothing and back in the context's cluster, while a pod there opens connections to its import, and print what they met. " +
        "They get their replicas back in any case, also at Ctrl-C; if the program is killed, the next drill of the Service does it.",
    )
    .argument("<service>", "NAMESPACE/NAME, or NAME with -n")
    .option("-n, --namespace <name>", "of a Service without one; default: the context's")
    .option("--port <number>", "TCP port of the import; default: the first", count)
    .addOption(
      new Option("--rate <number>", `connections a second, at most ${MOST_RATE}`)
        .argParser(rate)
        .default(20),
    )
    .option("--image <image>", "an image with Node for the calling pod; default: the agent's")
    .addOption(timeoutOption("of calls before and after each step", "5s", "--settle"))
    .addOption(timeoutOption("for each step", "3m"))
    .option("--yes", "do not ask")
    .action(async (service: string, flags: DrillFlags) =>
      end(
        await drillOf(
          objectReference(service, () => namespaceOf(flags, terminal)),
          flags,
          terminal,
        ),
      ),
    );
}

function drillOf(
  service: ObjectReference,
  flags: DrillFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  return withClusters(flags, terminal, async (clusters) => {
    const [on, second] = clusters;
    if (on === undefined || second !== undefined)
      throw new InvalidArgumentError("A drill is of one cluster: name one context.");
    const prepared = await prepare(on, service, flags);
    if (typeof prepared === "string") {
      terminal.note(printable`error: ${on.context}: ${oneLine(prepared)}\n`);
      return EXIT.failed;
    }
    const { workloads, address, port, image, outcome } = prepared;
    const { note } = terminal;
    const names = workloads.map(({ kind, name, replicas }) => `${kind} ${name} (${replicas})`);
    note(
      printable`${on.context}: scales ${names.join(", ")} in ${service.namespace} to nothing and back\n`,
    );
    if (!(await isConfirmed(terminal, printable`Continue?`, flags.yes))) return EXIT.failed;
    const phases = await drill({
      ...{ on, workloads, outcome, settle: flags.settle, timeout: flags.timeout },
      calls: {
        ...{ namespace: service.namespace, image, address, port, rate: flags.rate },
        most: (3 * flags.settle + 3 * flags.timeout) / 1000 + SPARE_SECONDS,
      },
      signal: terminal.signal,
      step: (text) => note(printable`${on.context}: ${text}\n`),
    });
    terminal.out(
      flags.output === "table"
        ? figuresTable(phases, terminal)
        : documentText({ phases: phases.map(figuresOf) }, flags.output),
    );
    return exitCodeOf([severityOf(phases)]);
  });
}

interface Prepared {
  readonly workloads: readonly DrilledWorkload[];
  readonly address: string;
  readonly port: number;
  readonly image: string;
  readonly outcome: () => Promise<{ readonly text: string; readonly isLocal: boolean }>;
}

/** What the drill needs; a message if it cannot be done. */
async function prepare(
  on: Cluster,
  service: ObjectReference,
  flags: DrillFlags,
): Promise<Prepared | string> {
  const within = { namespace: service.namespace };
  const objects = await readAgentObjects(on, service.namespace);
  const live = await on.objects.get(SERVICES, service);
  if (live === undefined) return `there is no Service ${service.namespace}/${service.name}`;
  const [deployments, statefulSets, autoscalers] = await Promise.all([
    on.list(queryOf(DEPLOYMENTS, within)),
    on.list(queryOf(STATEFUL_SETS, within)),
    on.list(queryOf(AUTOSCALERS, { ...within, optional: true })),
  ]);
  const workloads = workloadsOf({ service: live.object, deployments, statefulSets, autoscalers });
  if (typeof workloads === "string") return workloads;
  const key = objectKey(service.namespace, service.name);
  const settings = agentSettings(objects.daemonSets);
  if (isUsage(settings)) return usageText(settings);
  const fact = agentFacts(objects, settings.config).imports.get(key);
  const ports = fact?.ports.filter(({ protocol }) => protocol === "TCP") ?? [];
  const port = ports.find((one) => one.port === (flags.port ?? one.port));
  const [vip] = fact?.vips ?? [];
  if (fact === undefined) return `there is no ServiceImport ${key}`;
  if (vip === undefined || port === undefined) return `${key} has no address, or no such TCP port`;
  const image = flags.image ?? settings.image;
  if (image === undefined) return "there is no agent whose image the pod could use: set --image";
  const outcome = async () =>
    outcomeOf(await readAgentObjects(on, service.namespace), key, port.port);
  const first = outcomeOf(objects, key, port.port);
  if (!first.isLocal && !workloads.some(({ isInterrupted }) => isInterrupted))
    return `connections to ${key} do not go to this cluster, but to ${first.text}`;
  return { workloads, address: vip.text, port: port.port, image, outcome };
}

/** Where connections to a port go, by the plan of the first group of nodes. Throws an ApiFault. */
function outcomeOf(objects: AgentObjects, key: ObjectKey, port: number) {
  const settings = agentSettings(objects.daemonSets);
  if (isUsage(settings)) throw new ApiFault("garbage", usageText(settings));
  const { config } = settings;
  const facts = agentFacts(objects, config);
  const groups = nodeGroups(facts, config, undefined);
  if (isUsage(groups)) throw new ApiFault("garbage", usageText(groups));
  const model = modelOf(facts, config);
  const [group] = groups;
  const ports = [...simulate(model, model, group === undefined ? [] : [group], [key])];
  const { ports: named = [] } = facts.imports.get(key) ?? {};
  const name = named.find((one) => one.port === port)?.name ?? "";
  const found = ports.find((one) => one.port === `${key}:${name === "" ? port : name}`);
  const clusters = Object.keys(found?.before?.clusters ?? {});
  const own = group?.node.cluster;
  return {
    text: outcomeText(found?.before),
    isLocal: own !== undefined && clusters.includes(own),
  };
}

function rate(value: string): number {
  const number = count(value);
  if (number <= MOST_RATE) return number;
  throw new InvalidArgumentError(`Expected at most ${MOST_RATE}.`);
}

function count(value: string): number {
  const number = Number(value);
  if (!/^\d{1,5}$/.test(value) || number < 1 || number > 65_535)
    throw new InvalidArgumentError("Expected a number.");
  return number;
}
