import type { ApiObject } from "./api-client.ts";
import type { ControlPlane } from "./control-plane.ts";
import { SLICE } from "./staged-cluster.ts";

/** What a slice says of one of its endpoints; `gone`: it does not name it any more. */
export type EndpointWord = "dead" | "gone" | "ready" | "serving" | "terminating";

interface Endpoint {
  readonly addresses: readonly string[];
  readonly conditions: {
    readonly ready?: boolean;
    readonly serving?: boolean;
    readonly terminating?: boolean;
  };
}

/** All that slices of a namespace have said of endpoints since it began, as a watch has told it. */
export class EndpointHistory {
  /** What was said of an address, one after the other, by Service. */
  readonly #said = new Map<string, Map<string, EndpointWord[]>>();
  readonly #label: string;

  /** `label`: the one that says which Service a slice is of. */
  constructor(plane: ControlPlane, namespace: string, label: string) {
    this.#label = label;
    void this.#follow(plane, namespace);
  }

  /** What is said now of the endpoints of a Service that are not gone: `ready ready dead`. */
  now(service: string): string {
    const words = [...this.#of(service).values()].map((said) => said.at(-1));
    return words.filter((word) => word !== undefined && word !== "gone").join(" ");
  }

  /** All that was said of the endpoints of a Service since `forget`, each word once. */
  ever(service: string): EndpointWord[] {
    return [...new Set([...this.#of(service).values()].flat())].sort();
  }

  /** Of what was said, only what is true now is kept. */
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
        this.#hear(object, type === "DELETED");
      }
    } catch {
      // The control plane was removed: that is the end of it.
    }
  }

  #hear({ metadata, endpoints }: ApiObject, isDeleted: boolean): void {
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
      if (before.at(-1) !== word) said.set(address, [...before, word]);
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
