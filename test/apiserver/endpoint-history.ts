import type { ApiObject } from "./api-client.ts";
import type { ControlPlane } from "./control-plane.ts";
import { SLICE } from "./staged-cluster.ts";

/** The state of an endpoint in a slice; `gone`: it was removed. */
export type EndpointWord = "dead" | "gone" | "ready" | "serving" | "terminating";

interface Endpoint {
  readonly addresses: readonly string[];
  readonly conditions: {
    readonly ready?: boolean;
    readonly serving?: boolean;
    readonly terminating?: boolean;
  };
}

/** All states of endpoints in slices of a namespace, as reported by a watch. */
export class EndpointHistory {
  /** States of an address, in order, by Service. */
  readonly #said = new Map<string, Map<string, EndpointWord[]>>();
  /** When the state of an address that is not gone last changed, in milliseconds. */
  readonly #changed = new Map<string, number>();
  readonly #label: string;

  /** `label`: the one that names the Service of a slice. */
  constructor(plane: ControlPlane, namespace: string, label: string) {
    this.#label = label;
    void this.#follow(plane, namespace);
  }

  /** Present states of the endpoints of a Service that are not gone: `ready ready dead`. */
  now(service: string): string {
    const words = [...this.#of(service).values()].map((said) => said.at(-1));
    return words.filter((word) => word !== undefined && word !== "gone").join(" ");
  }

  /** All states of the endpoints of a Service since `forget`, each once. */
  ever(service: string): EndpointWord[] {
    return [...new Set([...this.#of(service).values()].flat())].sort();
  }

  /** Milliseconds between the first and the last of the present states, of all Services. */
  spread(): number {
    const times = [...this.#changed.values()];
    return Math.max(...times) - Math.min(...times);
  }

  /** Keeps only the present states. */
  forget(): void {
    for (const said of this.#said.values()) {
      for (const [address, words] of said) {
        if (words.at(-1) === "gone") said.delete(address);
        else said.set(address, words.slice(-1));
      }
    }
  }

  async #follow(plane: ControlPlane, namespace: string): Promise<void> {
    const slices = { ...SLICE, metadata: { namespace } };
    try {
      for await (const { type, object } of plane.admin.watch(slices)) {
        this.#see(object, type === "DELETED");
      }
    } catch {
      // The control plane was removed: that is the end of it.
    }
  }

  #see({ metadata, endpoints }: ApiObject, isDeleted: boolean): void {
    const labels = metadata.labels as Readonly<Record<string, string>> | undefined;
    const service = labels?.[this.#label];
    if (service === undefined) return;
    const said = this.#of(service);
    const listed = isDeleted ? [] : ((endpoints as readonly Endpoint[] | null) ?? []);
    const words = new Map(
      listed.map(({ addresses: [address = ""], conditions }) => [address, wordOf(conditions)]),
    );
    for (const address of new Set([...said.keys(), ...words.keys()])) {
      const before = said.get(address) ?? [];
      const word = words.get(address) ?? "gone";
      if (before.at(-1) === word) continue;
      said.set(address, [...before, word]);
      if (word === "gone") this.#changed.delete(address);
      else this.#changed.set(address, performance.now());
    }
  }

  #of(service: string): Map<string, EndpointWord[]> {
    const said = this.#said.get(service) ?? new Map<string, EndpointWord[]>();
    this.#said.set(service, said);
    return said;
  }
}

function wordOf({ ready, serving, terminating }: Endpoint["conditions"]): EndpointWord {
  if (terminating === true) return "terminating";
  if (ready === true) return "ready";
  return serving === true ? "serving" : "dead";
}
