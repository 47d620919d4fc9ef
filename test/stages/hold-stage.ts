import { type ObjectKey, objectKey } from "../../api/names.ts";
import { publishedAsReady } from "../../controller/liveness/mass-unreadiness.ts";
import { ReadinessHold } from "../../controller/liveness/readiness-hold.ts";
import type { EndpointFact, SliceFact } from "../../controller/model/facts.ts";
import { FakeClock } from "../doubles/fake-clock.ts";

/** The state of an endpoint. */
export type Fate = "ready" | "unready" | "terminating" | "gone";

const CONDITIONS = {
  ready: { ready: true, serving: true, terminating: false },
  unready: { ready: false, serving: false, terminating: false },
  terminating: { ready: false, serving: true, terminating: true },
} as const;

/** Endpoints of a cluster, one slice per Service, and a ReadinessHold that gets their changes. */
export class HoldStage {
  readonly clock = new FakeClock();
  /** Reported mass unreadiness. */
  readonly reported: string[] = [];
  readonly #fates = new Map<ObjectKey, Map<string, Fate>>();
  /** The slices as last published after events. */
  readonly #seen = new Map<ObjectKey, SliceFact>();
  readonly hold = new ReadinessHold({
    clock: this.clock,
    services: () => this.#fates.keys(),
    slicesOf: (service) => [this.slice(service)],
    isHeadless: (service) => service.endsWith("-headless"),
    changed: (services) => {
      for (const service of services) this.#look(service);
    },
    held: ({ endpoints, services, before }) =>
      this.reported.push(`held ${endpoints} of ${before} in ${services}`),
    released: ({ endpoints, services, before }) =>
      this.reported.push(`released ${endpoints} of ${before} in ${services}`),
  });

  /** Sets the state of an endpoint. */
  set(service: ObjectKey, address: string, fate: Fate): void {
    const fates = this.#fates.get(service) ?? new Map<string, Fate>();
    this.#fates.set(service, fates.set(address, fate));
    this.hold.serviceChanged(service);
    this.#look(service);
  }

  /** Sets the same state of all endpoints, one after the other. */
  setAll(fate: Fate): void {
    for (const [service, fates] of this.#fates) {
      for (const address of fates.keys()) this.set(service, address, fate);
    }
  }

  /** This replica becomes the leader: it starts with the published slices, and publishes all of them. */
  takeOver(): void {
    this.hold.begin(publishedAsReady(this.seen()));
    for (const service of this.#fates.keys()) this.#look(service);
  }

  /** The listed slice of a Service. */
  slice(service: ObjectKey): SliceFact {
    const endpoints: EndpointFact[] = [];
    for (const [address, fate] of this.#fates.get(service) ?? []) {
      if (fate !== "gone") endpoints.push({ address, ...CONDITIONS[fate] });
    }
    const key = objectKey("demo", `${service.split("/")[1]}-x`);
    return { key, service, family: "IPv4", ports: [], endpoints };
  }

  /** All listed slices. */
  truth(): SliceFact[] {
    return [...this.#fates.keys()].map((service) => this.slice(service));
  }

  /** All slices to publish now. */
  published(): SliceFact[] {
    return this.truth().map((slice) => this.hold.published(slice));
  }

  /** All slices as published after events. */
  seen(): SliceFact[] {
    return [...this.#seen.values()];
  }

  /** A word for each published endpoint. */
  words(): string[] {
    return this.published().flatMap(({ endpoints }) => endpoints.map(wordOf));
  }

  /** The word for one published endpoint. */
  word(service: ObjectKey, address: string): string | undefined {
    const { endpoints } = this.hold.published(this.slice(service));
    const endpoint = endpoints.find((one) => one.address === address);
    return endpoint && wordOf(endpoint);
  }

  #look(service: ObjectKey): void {
    this.#seen.set(service, this.hold.published(this.slice(service)));
  }
}

function wordOf({ ready, serving, terminating }: EndpointFact): string {
  if (terminating) return "terminating";
  if (ready) return "ready";
  return serving ? "held" : "unready";
}
