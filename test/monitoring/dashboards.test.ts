import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { DASHBOARDS } from "../../scripts/monitoring/dashboards/all.ts";
import { expression } from "../../scripts/monitoring/dashboards/dashboard.ts";
import type { PanelQuery } from "../../scripts/monitoring/dashboards/panel.ts";
import { ALERTS } from "../../scripts/monitoring/rules.ts";
import { CLUSTERS, ClusterSetStage, SERVICE } from "../apiserver/clusterset-stage.ts";
import { kubernetesCommand } from "../apiserver/commands.ts";
import { EXPORT, SLICE, USER } from "../apiserver/controller-stage.ts";
import { manifest } from "../generators/objects.ts";
import type { Namespace } from "../lab/namespace.ts";
import type { Process } from "../lab/process.ts";
import { eventually } from "../stages/agent-process.ts";

const ADDRESS = "127.0.0.1:9090";
/** Seconds between scrapes, and between evaluations of rules. */
const INTERVAL = 1;

/** Longer than a start on a machine that does other things. */
const START_MS = 60_000;

/** A program that Prometheus scrapes. */
interface Target {
  readonly job: string;
  readonly address: string;
  /** As an operator's setup adds them. */
  readonly cluster: string;
  readonly instance: string;
}

/** One series of a query's result. */
interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

/** One rule, as Prometheus reports it. */
interface RuleState {
  readonly name: string;
  /** `ok`, or not. */
  readonly health: string;
  readonly state: string;
  readonly lastError?: string;
}

/** A real Prometheus in a network namespace of a lab. */
class Prometheus {
  readonly #place: Namespace;
  readonly #process: Process;

  private constructor(place: Namespace, process: Process) {
    this.#place = place;
    this.#process = process;
  }

  /** Starts it with files in `directory`, and waits until it is ready. `rules`: a rules file. */
  static async start(
    place: Namespace,
    directory: string,
    targets: readonly Target[],
    rules: string,
  ): Promise<Prometheus> {
    const own = join(directory, "prometheus");
    mkdirSync(own, { recursive: true });
    const config = join(own, "prometheus.json");
    writeFileSync(config, JSON.stringify(configOf(targets, rules)));
    const argv = [
      kubernetesCommand("prometheus"),
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(own, "data")}`,
      `--web.listen-address=${ADDRESS}`,
    ];
    const process = place.spawn(argv);
    await eventually(async () => {
      const { code } = await place.run(["curl", "-sf", "-m", "2", `http://${ADDRESS}/-/ready`]);
      if (code !== 0) throw new Error(`Prometheus is not ready:\n${process.errors}`);
    }, START_MS);
    return new Prometheus(place, process);
  }

  /** What an instant query returns. Throws if Prometheus rejects it. */
  async query(query: string): Promise<readonly Series[]> {
    const { result } = (await this.#get("query", query)) as { result: readonly Series[] };
    return result;
  }

  /** All rules, once each was evaluated. */
  async rules(): Promise<readonly RuleState[]> {
    const { groups } = (await this.#get("rules")) as { groups: { rules: RuleState[] }[] };
    return groups.flatMap(({ rules }) => rules);
  }

  async stop(): Promise<void> {
    await this.#process.stop();
  }

  async #get(path: string, query?: string): Promise<unknown> {
    const data = query === undefined ? [] : ["--data-urlencode", `query=${query}`];
    const url = `http://${ADDRESS}/api/v1/${path}`;
    const text = await this.#place.exec(["curl", "-s", "-m", "10", "--get", ...data, url]);
    const answer = JSON.parse(text) as { status: string; error?: string; data: unknown };
    if (answer.status !== "success") throw new Error(`${query ?? path}: ${answer.error}`);
    return answer.data;
  }
}

/** JSON is YAML. */
function configOf(targets: readonly Target[], rules: string) {
  const times = { scrape_interval: `${INTERVAL}s`, evaluation_interval: `${INTERVAL}s` };
  const jobs = Map.groupBy(targets, ({ job }) => job);
  return {
    global: times,
    rule_files: [rules],
    scrape_configs: [...jobs].map(([job, own]) => ({
      job_name: job,
      static_configs: own.map(({ address, cluster, instance }) => ({
        targets: [address],
        labels: { cluster, instance },
      })),
    })),
  };
}

// Three clusters with real API servers and controllers, and an agent, scraped by a real Prometheus with our alerts: what the
// dashboards show of them, while all is well and after failures.

const ROOT = join(import.meta.dirname, "../..");
const RULES = join(ROOT, "deploy/monitoring/rules.yaml");
/** Longer than a Lease, a scrape, and the interval of the rates. */
const PATIENCE_MS = 90_000;
/** Failures that are not made here: the queries are valid, and that is all. */
const NOT_MADE = ["a pass fails"];

let stage: ClusterSetStage;
let prometheus: Prometheus;

const queries = DASHBOARDS.flatMap(({ name, rows }) =>
  rows.flatMap(({ panels }) =>
    panels.flatMap(({ title, queries }) =>
      queries.map((query) => ({ at: `${name}: ${title}`, ...query })),
    ),
  ),
);

/** The query of a panel as Grafana sends it with "All" selected. */
function sent(query: PanelQuery): string {
  return expression(query)
    .replaceAll("$cluster", ".*")
    .replaceAll("$instance", ".*")
    .replaceAll("$__rate_interval", "15s");
}

before(async () => {
  stage = await ClusterSetStage.open();
  const agent = { job: "clusterset-agent", address: "127.0.0.1:10269", cluster: "c1" };
  const targets: Target[] = [{ ...agent, instance: "n1" }];
  for (const { id } of CLUSTERS) {
    const node = stage.lab.node(id, "control-plane");
    // Controllers answer on the loopback of their node.
    const to = ["TCP-CONNECT:127.0.0.1:10270"];
    node.spawn(["socat", `TCP-LISTEN:10271,bind=${node.address()},fork,reuseaddr`, ...to]);
    const address = `${node.address()}:10271`;
    targets.push({ job: "clusterset-controller", address, cluster: id, instance: `${id}-0` });
  }
  const place = stage.lab.node("c1", "n1");
  prometheus = await Prometheus.start(place, stage.lab.directory, targets, RULES);
});
after(async () => {
  await prometheus?.stop();
  await stage?.[Symbol.asyncDispose]();
});

/** Waits until every one of these queries returns data. */
async function untilData(wanted: readonly (PanelQuery & { readonly at: string })[]): Promise<void> {
  let missing = wanted;
  await eventually(async () => {
    const results = await Promise.all(missing.map((query) => prometheus.query(sent(query))));
    missing = missing.filter((_, i) => results[i]?.length === 0);
    const lines = missing.map(({ at, expr }) => `${at}: ${expr}`);
    if (missing.length > 0) throw new Error(`no data:\n${lines.join("\n")}\n${stage.log}`);
  }, PATIENCE_MS);
}

test("while all is well, every query that needs no failure returns data, and no alert is pending but the one about certificates of a day", async () => {
  for (const { id } of CLUSTERS) await stage.cluster(id).export(SERVICE);
  const addresses = CLUSTERS.map(({ address }) => address);
  await stage.cluster("c1").untilImported(SERVICE, addresses);
  // Tokens of tests have no end, and certificates are valid for a day. The controller reads the file again.
  stage.cluster("c1").plane.certificateKubeconfig({ user: USER });
  // A change that is no part of the initial lists.
  await stage.scale("c1", false);
  await stage.scale("c1", true);
  await untilData(queries.filter(({ onlyAfter }) => onlyAfter === undefined));
  const all = Object.values(ALERTS).flat().length;
  await eventually(async () => {
    const rules = await prometheus.rules();
    assert.equal(rules.length, all);
    const unwell = rules.filter(({ health }) => health !== "ok");
    assert.deepEqual(unwell, []);
    const pending = rules.filter(({ state }) => state !== "inactive").map(({ name }) => name);
    assert.deepEqual(pending, ["ClustersetCredentialExpiring"]);
  }, PATIENCE_MS);
});

test("after failures, every other query returns data, and the alerts about them are pending or fire", async () => {
  const { agent, lab } = stage;
  const c1 = stage.cluster("c1");
  const addresses = CLUSTERS.map(({ address }) => address);
  const found = await c1.untilImported(SERVICE, addresses);
  const [vip = ""] = (found.spec as { ips: string[] }).ips;

  // An export names no Service; another has other ports than the older one of the same name.
  await c1.plane.admin.apply({ ...EXPORT, metadata: { namespace: "shop", name: "nothing" } });
  await stage.cluster("c2").plane.admin.apply({
    ...manifest("Service", "shop/web"),
    spec: { ports: [{ name: "http", port: 81, protocol: "TCP" }] },
  });

  // An address that is no endpoint's, for the controller and, with the import's label, for the agent.
  const labels = { "kubernetes.io/service-name": "web" };
  const imported = { "multicluster.kubernetes.io/service-name": "web" };
  const bad = { addressType: "IPv4", ports: [{ name: "http", port: 8080, protocol: "TCP" }] };
  const endpoints = [{ addresses: ["241.0.0.9"], conditions: { ready: true } }];
  for (const [name, own] of [
    ["web-bad", labels],
    ["web-by-hand", imported],
  ] as const) {
    const metadata = { namespace: "shop", name, labels: own };
    await c1.plane.admin.apply({ ...SLICE, metadata, ...bad, endpoints });
  }

  // Another program flushes the rules.
  await lab.node("c1", "n1").exec(["iptables", "-t", "nat", "-F", "PREROUTING"]);

  // No local endpoint is left, c3 is used, and does not answer: first connections, then its Lease.
  await stage.scale("c2", false);
  await stage.scale("c1", false);
  const client = stage.connect(vip, 600);
  await client.settled("c3", 0, () => stage.log, PATIENCE_MS);
  await stage.killCluster("c3");

  // The own API server rejects writes: it is gone while another cluster changes.
  await c1.plane.kill();
  await stage.scale("c2", true);
  await c1.untilLogged("Reconcile failed");
  await c1.plane.start();

  // What waits for an answer of c3 goes elsewhere.
  await stage.scale("c1", true);

  await untilData(
    queries.filter(({ onlyAfter }) => onlyAfter !== undefined && !NOT_MADE.includes(onlyAfter)),
  );
  for (const query of queries) await prometheus.query(sent(query));
  await eventually(async () => {
    const rules = await prometheus.rules();
    const active = new Set(
      rules.filter(({ state }) => state !== "inactive").map(({ name }) => name),
    );
    for (const name of ["ClustersetClusterStale", "ClustersetRegistryUnwatched"]) {
      assert.ok(active.has(name), `${name} is not active: ${[...active].join()}\n${agent.log}`);
    }
  }, PATIENCE_MS);
});
