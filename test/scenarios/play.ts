import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { parseAllDocuments } from "yaml";
import { parseScenario, type Scenario, STATES, type Stage, type State } from "./scenario.ts";

const HERE = import.meta.dirname;

/** Every scenario of this folder, by name. */
export function scenarios(): { readonly name: string; readonly scenario: Scenario }[] {
  const files = readdirSync(HERE).filter((file) => file.endsWith(".txt"));
  return files.sort().map((file) => ({
    name: file.replace(/\.txt$/, ""),
    scenario: parseScenario(readFileSync(`${HERE}/${file}`, "utf8")),
  }));
}

/** Plays a scenario on a stage; an assertion that fails names its line. */
export async function play(scenario: Scenario, stage: Stage): Promise<void> {
  for (const step of scenario.steps) {
    if (step.does === "load") await stage.load(step.file);
    else if (step.does === "set") await stage.set(step.slice, step.state);
    else if (step.does === "hold") await stage.hold(step.pod, step.target);
    else if (step.does === "held") await stage.held(step.pod);
    else if (step.does === "restart") await stage.restart();
    else {
      const answers = [...(await stage.connect(step.pod, step.target))].sort();
      assert.deepEqual(answers, [...step.expect].sort(), step.line);
    }
  }
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly namespace?: string; readonly name: string };
  endpoints?: object[];
}

/** The objects that a stage has loaded. */
export class Objects {
  readonly #objects = new Map<string, Manifest>();

  /** Takes every document of a file of manifests/, as `kubectl apply` would: by name. */
  load(file: string): void {
    const text = readFileSync(`${HERE}/manifests/${file}`, "utf8");
    for (const document of parseAllDocuments(text)) {
      const object: Manifest = document.toJS();
      const { namespace, name } = object.metadata;
      this.#objects.set(`${object.kind} ${namespace}/${name}`, object);
    }
  }

  /** Gives all endpoints of a slice one state. Throws if there is no such slice. */
  set(slice: string, state: State): void {
    const object = this.all.find((o) => o.kind === "EndpointSlice" && o.metadata.name === slice);
    assert.ok(object?.endpoints, `no slice ${slice}`);
    object.endpoints = object.endpoints.map((e) => ({ ...e, conditions: STATES[state] }));
  }

  get all(): Manifest[] {
    return [...this.#objects.values()];
  }
}
