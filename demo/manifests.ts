import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { stringify } from "yaml";
import { GRACE, type Publication, type Scenario, type ScenarioObject } from "./scenario.ts";
import { HOME, VIP } from "./world.ts";

/**
 * A directory of one object a file, which the agent watches. A file is written beside the directory, and renamed
 * into place: a reader sees the old content or the new, and never half of it.
 */
export class Manifests implements Publication {
  readonly objects: string;
  readonly flags: readonly string[];
  readonly ruleMark = "shop/web:http";
  readonly grace = GRACE;
  readonly #scenario: Scenario;

  /** Makes the directory inside `parent`. */
  constructor(parent: string, scenario: Scenario) {
    this.objects = `${parent}/manifests`;
    this.#scenario = scenario;
    mkdirSync(this.objects);
    this.flags = [
      `--cluster-id=${HOME.cluster}`,
      `--region=${HOME.region}`,
      `--pod-cidrs=${HOME.podCidrs.join()}`,
    ];
  }

  async publish(): Promise<{ vip: string }> {
    for (const object of this.#scenario.objects) this.#write(object);
    return { vip: VIP };
  }

  async scale(cluster: string, up: boolean): Promise<void> {
    this.#write(this.#scenario.slice(cluster, up));
  }

  /** The directory goes with its parent. */
  async [Symbol.asyncDispose](): Promise<void> {}

  #write(object: ScenarioObject): void {
    const name = `${object.kind}-${object.metadata.name}.yaml`;
    const draft = `${this.objects}/../${name}`;
    writeFileSync(draft, stringify(object));
    renameSync(draft, `${this.objects}/${name}`);
  }
}
