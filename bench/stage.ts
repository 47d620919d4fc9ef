import { ControlPlane } from "../test/apiserver/control-plane.ts";
import { now } from "../test/connections/connections.ts";
import { Lab } from "../test/lab/lab.ts";
import type { Namespace } from "../test/lab/namespace.ts";
import { Client } from "./client.ts";
import { buildConnector, serveCommand } from "./connector/build.ts";
import type { Change } from "./followed.ts";
import { ENDPOINTS } from "./options.ts";
import { service } from "./services.ts";
import { type Endpoint, LIVE, NAMESPACE, nameOf, type Shape } from "./shape.ts";
import { Sightings } from "./sightings.ts";

/** Sets of addresses of the service that changes, so that this many changes can be distinguished. */
const PLACES = 60;
/** The node of the pod that answers. */
const SERVERS = "servers";

/**
 * A real API server, a pod that stands for all that a service moves through, and nodes with a pod `client` each.
 * Nothing programs the nodes yet.
 */
export class Stage implements AsyncDisposable {
  readonly lab: Lab;
  readonly plane: ControlPlane;
  readonly shape: Shape;
  readonly #connector: string;
  /** When a separate watch receives a change. */
  readonly sightings: Sightings;
  #loaded = 0;
  #moves = 0;
  /** By service: which endpoint is out. */
  readonly #altered = new Map<number, number>();

  private constructor(lab: Lab, plane: ControlPlane, shape: Shape, connector: string) {
    this.lab = lab;
    this.#connector = connector;
    this.plane = plane;
    this.shape = shape;
    this.sightings = new Sightings(plane.admin, shape.slice(LIVE, []));
  }

  static async open(shape: Shape, nodes: readonly string[]): Promise<Stage> {
    const addresses = Array.from({ length: PLACES }, (_, n) => addressesOf(n));
    const servers = { name: SERVERS, podCidrs: ["10.2.0.0/16"], pods: { web: addresses.flat() } };
    const lab = await Lab.create({
      clusters: [
        { id: "c1", nodes: nodes.map((name) => ({ name, pods: { client: [] } })) },
        { id: "c2", nodes: [servers] },
      ],
    });
    try {
      const connector = await buildConnector();
      const server = lab.pod("c2", SERVERS, "web").spawn(serveCommand(connector, addresses));
      await server.line(/serving/);
      const plane = await ControlPlane.start({ namespace: lab.router });
      const stage = new Stage(lab, plane, shape, connector);
      await plane.installCrds();
      await plane.admin.apply({
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: NAMESPACE },
      });
      return stage;
    } catch (error) {
      await lab.remove();
      throw error;
    }
  }

  node(name: string): Namespace {
    return this.lab.node("c1", name);
  }

  /** Creates services until there are so many; gives the milliseconds that took. */
  async load(size: number): Promise<number> {
    const began = performance.now();
    const { admin } = this.plane;
    if (this.#loaded === 0) {
      await admin.create(this.shape.live());
      await admin.create(this.shape.slice(LIVE, endpointsAt(0)));
      this.sightings.start();
      this.#loaded = 1;
    }
    await admin.createAll(this.#objects(this.#loaded + 1, size));
    this.#loaded = Math.max(this.#loaded, size);
    return performance.now() - began;
  }

  /** Who answers now, or should. */
  get place(): string {
    return String(this.#moves % PLACES);
  }

  /** Replaces all endpoints of the service that changes. */
  async move(): Promise<Change> {
    const place = String(++this.#moves % PLACES);
    const slice = this.shape.slice(LIVE, endpointsAt(Number(place)));
    const begun = now();
    await this.plane.admin.update(slice);
    return { place, begun, acknowledged: now() };
  }

  /** Has another endpoint of the `n`-th of the other services be out. */
  async alter(n: number): Promise<void> {
    const at = 2 + (n % (this.#loaded - 1));
    this.#altered.set(at, ((this.#altered.get(at) ?? -1) + 1) % ENDPOINTS);
    await this.plane.admin.update(this.shape.slice(nameOf(at), this.#endpointsOf(at)));
  }

  /** Endpoints of altered services, and whether connections should lead there. */
  get altered(): Endpoint[] {
    return [...this.#altered.keys()].flatMap((n) => this.#endpointsOf(n));
  }

  /** A client on this node of the service that changes. */
  connect(node: string): Client {
    return new Client(this.#connector, this.lab.pod("c1", node, "client"), this.shape.vip);
  }

  /** The command by which several clients on this node connect without a pause, and its place. */
  flood(
    node: string,
    seconds: number,
  ): { readonly pod: Namespace; readonly command: readonly string[] } {
    const command = [this.#connector, "flood", this.shape.vip, "80", String(seconds)];
    return { pod: this.lab.pod("c1", node, "client"), command };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sightings.stop();
    await this.plane.remove();
    await this.lab.remove();
  }

  *#objects(first: number, last: number): Generator<object> {
    for (let n = first; n <= last; n++) {
      yield this.shape.other(n);
      yield this.shape.slice(nameOf(n), this.#endpointsOf(n));
    }
  }

  #endpointsOf(n: number): Endpoint[] {
    const out = this.#altered.get(n);
    const { slice } = service(n, { services: n, endpoints: ENDPOINTS });
    return [...slice.endpoints].map(({ address }, i) => ({ address, ready: i !== out }));
  }
}

/** The addresses of the `n`-th place, no two alike. */
function addressesOf(n: number): string[] {
  return Array.from({ length: ENDPOINTS }, (_, i) => `10.2.${1 + n}.${11 + i}`);
}

function endpointsAt(place: number): Endpoint[] {
  return addressesOf(place).map((address) => ({ address, ready: true }));
}
