import { setTimeout as sleep } from "node:timers/promises";
import { healthText } from "../agent/health/health-rules.ts";
import { type Attempt, now, parseAttempt } from "../test/connections/connections.ts";
import { cidr } from "../test/generators/facts.ts";
import { importObject, sliceObject } from "../test/generators/objects.ts";
import { cutOff, Lab, reconnect } from "../test/lab/lab.ts";
import type { Process } from "../test/lab/process.ts";
import { request, serve } from "../test/lab/programs.ts";
import { AgentProcess, eventually, ManifestDirectory } from "../test/stages/agent-process.ts";
import type { MeasuredBackend } from "./backends.ts";
import { bareRun } from "./bare.ts";
import type { Connects } from "./connects.ts";
import { count, figuresOf, percent, servicesOf, time } from "./figures.ts";
import type { Options } from "./options.ts";
import { idle } from "./quiet.ts";
import { vipOf } from "./services.ts";
import { nameOf } from "./shape.ts";
import { atMost, atMostMs, type Row } from "./table.ts";

const HTTP = { name: "http", protocol: "TCP", port: 80 };
const CLUSTERS = { c2: "eu-west", c3: "us-east" } as const;
const SIZES = [1, 100, 1_000];
/** New connections a second, and milliseconds that each waits. */
const RATE = 300;
const PATIENCE = 5_000;
/** Answers in a row from one cluster. */
const SETTLED = 100;
/** Milliseconds beyond which a connection was sent to the dead cluster first: TCP repeats a SYN after a second. */
const HUNG = 900;
/** Connections of which the handshake is measured, in rounds. */
const HANDSHAKES = 300;
const ROUNDS = 8;

/** How connections fare when a cluster dies, and what it costs that a node notices. */
export async function deaths(
  backend: MeasuredBackend,
  { quick }: Options,
  say: (what: string) => void,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const services of SIZES) {
    say(`a cluster dies: ${count(services)} services, ${backend.title}`);
    await using stage = await DeathStage.open(backend, services);
    rows.push(...(await rowsOf(stage, services, quick ? 3 : 20)));
    if (services === SIZES.at(-1)) rows.push(await restRow(stage, services, quick ? 10 : 60));
  }
  return [...rows, await handshakeRow(backend, quick ? 2 : ROUNDS)];
}

async function rowsOf(stage: DeathStage, services: number, times: number): Promise<Row[]> {
  const lasts: number[] = [];
  const slowest: number[] = [];
  let [failed, made] = [0, 0];
  for (let i = 0; i < times; i++) {
    const death = await stage.death();
    lasts.push(death.last);
    slowest.push(death.slowest);
    failed += death.failed;
    made += death.made;
  }
  const [last, slow] = [figuresOf(lasts), figuresOf(slowest)];
  return [
    {
      what: `silence -> last connection that went there, ${servicesOf(services)}: p50 / worst of ${times}`,
      ours: time(last.p50, last.max),
      target: atMostMs("worst", 3_000, last.max),
    },
    {
      what: "  the slowest connection of each death: p50 / worst",
      ours: time(slow.p50, slow.max),
      target: atMostMs("worst", 5_000, slow.max),
    },
    {
      what: "  connections that began after it, and failed",
      ours: `${failed} of ${count(made)}`,
      target: { text: "none fails", met: failed === 0 },
    },
  ];
}

/** Processor time at rest, with and without. */
async function restRow(stage: DeathStage, services: number, seconds: number): Promise<Row> {
  const shares = { endpoints: 0, off: 0 };
  // In turns: entries of the connections before expire meanwhile.
  for (const health of ["off", "endpoints", "off", "endpoints"] as const) {
    await stage.restart(["--health", health]);
    // Until what a start leaves has settled.
    await sleep(5_000);
    const [quiet] = await idle([stage.lab.node("c1", "n1")], seconds / 2);
    shares[health] += (quiet?.share ?? Number.NaN) / 2;
  }
  const { endpoints: on, off } = shares;
  return {
    what: `processor time at rest, ${servicesOf(services)}`,
    ours: percent(on),
    beside: `${percent(off)} with --health off`,
    target: atMost("+", 0.2, "%", (on - off) * 100),
  };
}

/** The same DNAT rule on two nodes, one of which has the table. */
async function handshakeRow({ dnat, tool }: MeasuredBackend, rounds: number): Promise<Row> {
  const nodes = ["with", "without"].map((name) => ({ name, pods: { client: [], web: [] } }));
  await using lab = await Lab.create({ clusters: [{ id: "c1", nodes }] });
  const vip = "241.0.1.7";
  for (const { name } of nodes) {
    await lab
      .pod("c1", name, "web")
      .spawn(serve("--name", "web"))
      .line(/serving/);
    const node = lab.node("c1", name);
    const web = lab.pod("c1", name, "web").address();
    await bareRun(tool, dnat([vip], `${web}:8080`), node.within);
    const text = healthText({ family: "IPv4", ranges: [cidr("241.0.0.0/8")] });
    if (name === "with") await bareRun(["nft", "-f", "-"], text, node.within);
  }
  const program = `${import.meta.dirname}/connects.ts`;
  const argv = [process.execPath, program, String(HANDSHAKES), "80", vip];
  const found: number[][] = [[], []];
  for (let round = 0; round < rounds; round++) {
    for (const [i, { name }] of nodes.entries()) {
      const measured: Connects = JSON.parse(await lab.pod("c1", name, "client").exec(argv));
      found[i]?.push(...(measured.handshakes[vip] ?? []));
    }
  }
  const [ours, bare] = found.map(figuresOf);
  if (!ours || !bare) throw new Error("nothing was measured");
  return {
    what: "SYN to SYN-ACK through one DNAT rule: p50",
    ours: time(ours.p50),
    beside: `${time(bare.p50)} without the table`,
    ratio: ours.p50 / bare.p50,
    target: atMost("+", 1, "us", (ours.p50 - bare.p50) * 1_000),
  };
}

/** A node with the agent and a client, and two clusters that serve: the nearer one dies. */
class DeathStage implements AsyncDisposable {
  readonly lab: Lab;
  readonly #manifests: ManifestDirectory;
  readonly #backend: MeasuredBackend;
  #agent: AgentProcess | undefined;

  private constructor(lab: Lab, backend: MeasuredBackend) {
    this.lab = lab;
    this.#backend = backend;
    this.#manifests = new ManifestDirectory(lab, "manifests");
  }

  static async open(backend: MeasuredBackend, services: number): Promise<DeathStage> {
    const served = Object.keys(CLUSTERS).map((id) => ({
      id,
      nodes: [{ name: "n1", pods: { web: [] } }],
    }));
    const lab = await Lab.create({
      clusters: [{ id: "c1", nodes: [{ name: "n1", pods: { client: [] } }] }, ...served],
    });
    const stage = new DeathStage(lab, backend);
    for (const { id } of served)
      await lab
        .pod(id, "n1", "web")
        .spawn(serve("--name", id))
        .line(/serving/);
    const objects = Array.from({ length: services }, (_, i) => stage.#service(i + 1)).flat();
    stage.#manifests.write("services", ...objects);
    return stage;
  }

  /** Starts an agent that knows nothing of former deaths: a cluster that dies again soon would be held for longer. */
  async restart(flags: readonly string[] = []): Promise<void> {
    await this.#agent?.stop();
    const node = this.lab.node("c1", "n1");
    await node.run(["nft", "delete", "table", "ip", "clusterset-health"]);
    const place = ["--cluster-id", "c1", "--region", "eu-west", "--clusterset-cidr", "241.0.0.0/8"];
    const all = [...place, ...this.#backend.flags, ...flags];
    this.#agent = new AgentProcess(node, this.#manifests.path, all);
    this.#agent.launch();
    await eventually(() => this.#agent?.page("/readyz"), 60_000);
    if (flags.includes("off")) return;
    await eventually(() => node.exec(["nft", "list", "table", "ip", "clusterset-health"]), 60_000);
  }

  /** One death of the nearer cluster, under connections. Times in milliseconds from the death. */
  async death(): Promise<{ last: number; slowest: number; failed: number; made: number }> {
    await this.restart();
    const attempts: Attempt[] = [];
    const limits = ["--rate", `${RATE}`, "--for", "120", "--timeout", `${PATIENCE}`];
    const pod = this.lab.pod("c1", "n1", "client");
    const client: Process = pod.spawn(request(...limits, `tcp://${vipOf(1)}:80`));
    client.onLine((line) => {
      const attempt = parseAttempt(line);
      if (attempt !== undefined) attempts.push(attempt);
    });
    const settled = (cluster: string) =>
      eventually(async () => {
        const latest = attempts.slice(-SETTLED);
        if (latest.length < SETTLED || latest.some(({ answer }) => answer !== cluster))
          throw new Error(`connections do not come to ${cluster}`);
      }, 60_000);
    await settled("c2");
    // A death comes at any moment of the agent's rhythm.
    await sleep(Math.random() * 1_000);
    await cutOff(this.lab, "c2");
    const died = now();
    await settled("c3");
    await sleep(PATIENCE);
    await client.stop();
    await reconnect(this.lab, "c2");
    const after = attempts.filter(({ begun }) => begun > died);
    const hung = after.filter(({ begun, ended }) => ended - begun > HUNG);
    return {
      last: Math.max(0, ...hung.map(({ begun }) => begun - died)),
      slowest: Math.max(0, ...after.map(({ begun, ended }) => ended - begun)),
      failed: after.filter(({ error }) => error !== undefined).length,
      made: after.length,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lab.remove();
  }

  #service(n: number): object[] {
    const key = `bench/${nameOf(n)}` as const;
    const slices = Object.entries(CLUSTERS).map(([cluster, region]) => {
      const web = this.lab.pod(cluster, "n1", "web").address();
      const name = `${nameOf(n)}-${cluster}`;
      return sliceObject(name, key, { cluster, region }, [{ ...HTTP, port: 8080 }], [web]);
    });
    return [importObject(key, [vipOf(n)], [HTTP]), ...slices];
  }
}
