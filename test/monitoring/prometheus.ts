import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { kubernetesCommand } from "../apiserver/commands.ts";
import type { Namespace } from "../lab/namespace.ts";
import type { Process } from "../lab/process.ts";
import { eventually } from "../stages/agent-process.ts";

const ADDRESS = "127.0.0.1:9090";
/** Seconds between scrapes, and between evaluations of rules. */
const INTERVAL = 1;

/** Longer than a start on a machine that does other things. */
const START_MS = 60_000;

/** A program that Prometheus scrapes. */
export interface Target {
  readonly job: string;
  readonly address: string;
  /** As an operator's setup adds them. */
  readonly cluster: string;
  readonly instance: string;
}

/** One series of a query's result. */
export interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

/** One rule, as Prometheus reports it. */
export interface RuleState {
  readonly name: string;
  /** `ok`, or not. */
  readonly health: string;
  readonly state: string;
  readonly lastError?: string;
}

/** A real Prometheus in a network namespace of a lab. */
export class Prometheus {
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
