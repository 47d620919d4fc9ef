import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { manifest } from "../generators/objects.ts";
import type { Namespace } from "../lab/namespace.ts";
import type { Process } from "../lab/process.ts";
import { eventually } from "../stages/agent-process.ts";
import type { ApiObject, ApiReference } from "./api-client.ts";
import type { Asked } from "./audit.ts";
import type { ControlPlane } from "./control-plane.ts";
import { loopback } from "./place.ts";

/** Longer than the longest backoff after the faults of these tests. */
const PATIENCE_MS = 90_000;
const READS = ["get", "list", "watch"];
/** Where a controller that has a node to itself answers. */
const PAGES = "127.0.0.1:10270";
/** What the controller is called to its own API server. */
export const USER = "controller";

/** By what the replicas of a controller elect their leader. */
const LEADER = manifest("Lease", "clusterset-proxy/clusterset-controller");
export const IMPORT = { apiVersion: "multicluster.x-k8s.io/v1beta1", kind: "ServiceImport" };
export const EXPORT = { apiVersion: "multicluster.x-k8s.io/v1beta1", kind: "ServiceExport" };
export const SLICE = { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice" };

/** What a `StagedCluster` is made of. */
export interface StagedClusterOptions {
  readonly id: string;
  readonly plane: ControlPlane;
  /** The command that starts the controller. */
  readonly program: readonly string[];
  /** Its flags. */
  readonly flags: readonly string[];
  /** Where the controller runs; absent: on the loopback. */
  readonly node?: Namespace;
  /** The controller's user at its own API server; `USER` by default. */
  readonly user?: string;
}

/** One cluster of a stage: a real control plane, and the real controller. */
export class StagedCluster implements AsyncDisposable {
  readonly id: string;
  readonly plane: ControlPlane;
  /** The command that starts the controller the next time. */
  program: readonly string[];
  readonly #flags: readonly string[];
  readonly #node: Namespace | undefined;
  readonly #user: string;
  #process: Process | undefined;
  #pages = "";

  constructor({ id, plane, program, flags, node, user = USER }: StagedClusterOptions) {
    this.id = id;
    this.plane = plane;
    this.program = program;
    this.#flags = flags;
    this.#node = node;
    this.#user = user;
  }

  /** Starts the controller, and waits for nothing. */
  async launch(): Promise<void> {
    const argv = [...this.program, ...this.#flags, "--log-format", "json"];
    if (this.#node !== undefined) {
      this.#process = this.#node.spawn([...argv, "--http-address", PAGES]);
      return;
    }
    const place = await loopback();
    const address = `${place.address}:${place.port}`;
    this.#pages = `http://${address}`;
    this.#process = place.spawn([...argv, "--http-address", address]);
  }

  /** A page of the controller with any status; throws while it does not respond. */
  async page(path: string): Promise<string> {
    if (this.#node !== undefined) {
      return this.#node.exec(["curl", "-s", "-m", "5", `http://${PAGES}${path}`]);
    }
    return (await fetch(`${this.#pages}${path}`)).text();
  }

  /** The port of its pages on the loopback. */
  get pagesPort(): number {
    return Number(new URL(this.#pages).port);
  }

  /** What the controller has logged. */
  get log(): string {
    return this.#process?.errors ?? "";
  }

  get process(): Process {
    if (this.#process === undefined) throw new Error("the controller was not started");
    return this.#process;
  }

  /** Asks the controller to end, and waits until it has. */
  async stop(): Promise<void> {
    await this.#process?.stop();
    this.#process = undefined;
  }

  /** The controller is killed without a word. */
  async kill(): Promise<void> {
    this.#process?.signal("SIGKILL");
    await this.#process?.exited;
    this.#process = undefined;
  }

  /** The controller ends; its control plane is left alone. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }

  /**
   * The controller is killed without a word, and another one started at once. The Lease that it led by is deleted, as a person
   * may who knows that it is dead: no replica calls itself what another did, so the new one would wait until it runs out.
   */
  async replace(): Promise<void> {
    await this.kill();
    const path = await this.plane.admin.pathOf(LEADER);
    await this.plane.admin.request("DELETE", path);
    await this.launch();
  }

  /** What the controller has written to its own API server so far, but for Leases. */
  writes(): Asked[] {
    const writes = this.plane.asked(this.#user).filter(({ verb }) => !READS.includes(verb));
    return writes.filter(({ uri }) => !uri.includes("/leases"));
  }

  /** Objects of a kind in a namespace that match a label selector. */
  list(kind: ApiReference, namespace: string, labelSelector = ""): Promise<ApiObject[]> {
    return this.plane.admin.list({ ...kind, metadata: { namespace } }, { labelSelector });
  }

  /** An object; undefined if there is none. */
  async find(kind: ApiReference, key: string): Promise<ApiObject | undefined> {
    return this.plane.admin.find(referenceOf(kind, key));
  }

  /** A Service with these endpoints, as a controller manager would make them, and its namespace. */
  async serve(key: string, addresses: readonly string[], more: object = {}): Promise<void> {
    const service = referenceOf({ apiVersion: "v1", kind: "Service" }, key);
    await this.namespace(service.metadata.namespace);
    const spec = { ports: [{ name: "http", port: 80, protocol: "TCP" }], ...more };
    await this.plane.admin.apply({ ...service, spec });
    await this.endpoints(key, addresses);
  }

  /** The endpoints of a Service. */
  async endpoints(key: string, addresses: readonly string[], ready = true): Promise<void> {
    const endpoints = addresses.map((address) => ({ addresses: [address], conditions: { ready } }));
    await this.plane.admin.apply(serviceSlice(key, endpoints));
  }

  /** Exports a Service. */
  async export(key: string): Promise<void> {
    await this.plane.admin.apply(referenceOf(EXPORT, key));
  }

  /** A Service with these endpoints, and its export. */
  async offer(key: string, ...addresses: readonly string[]): Promise<void> {
    await this.serve(key, addresses);
    await this.export(key);
  }

  /** A namespace. */
  async namespace(name: string): Promise<void> {
    await this.plane.admin.apply(manifest("Namespace", name));
  }

  #importedSlices(key: string): Promise<ApiObject[]> {
    const { namespace, name } = referenceOf(SLICE, key).metadata;
    return this.list(SLICE, namespace, `multicluster.kubernetes.io/service-name=${name}`);
  }

  async #importedEndpoints(key: string): Promise<Endpoint[]> {
    return endpointsOf(await this.#importedSlices(key));
  }

  /** Waits until the controller has logged this. */
  async untilLogged(text: string): Promise<void> {
    await this.#until(() => assert.ok(this.log.includes(text), text));
  }

  /** Waits until nothing has been written for two seconds. */
  async atRest(): Promise<void> {
    await this.#until(async () => {
      const before = this.writes().length;
      await sleep(2000);
      assert.equal(this.writes().length, before);
    });
  }

  /** Waits until the imported endpoints are ready, serving, or neither (`dead`), by address. */
  async untilReady(key: string, expected: Readonly<Record<string, string>>): Promise<void> {
    await this.#until(async () => {
      const found = (await this.#importedEndpoints(key)).map(conditionOf);
      assert.partialDeepStrictEqual(Object.fromEntries(found), expected);
    });
  }

  /** Waits until a condition of an export is so: `True Valid`. */
  async untilCondition(key: string, type: string, expected: string): Promise<void> {
    await this.#until(async () =>
      assert.equal(await this.condition(key, type), expected, `${type} of ${key}`),
    );
  }

  /** Waits until an import has a VIP, and slices with just these addresses. */
  async untilImported(key: string, addresses: readonly string[]): Promise<ApiObject> {
    return this.#until(async () => {
      const found = await this.find(IMPORT, key);
      assert.ok(
        found && ((found.spec as { ips?: string[] }).ips ?? []).length > 0,
        `VIP of ${key}`,
      );
      const has = (await this.#importedEndpoints(key)).flatMap((one) => one.addresses);
      assert.deepEqual(has.sort(), [...addresses].sort(), key);
      return found;
    });
  }

  /** Waits until there is neither import nor slice of a name. */
  async untilGone(key: string): Promise<void> {
    await this.#until(async () => {
      assert.equal(await this.find(IMPORT, key), undefined);
      assert.deepEqual(await this.#importedSlices(key), []);
    });
  }

  /** Waits until a check holds; throws with the controller's log if it never does. */
  async #until<T>(check: () => Promise<T> | T): Promise<T> {
    try {
      return await eventually(check, PATIENCE_MS);
    } catch (error) {
      throw new Error(`${this.id}:\n${this.log}`, { cause: error });
    }
  }

  /** A condition of an export, as `Status Reason`. */
  async condition(key: string, type: string): Promise<string> {
    const found = await this.find(EXPORT, key);
    const status = found?.status as
      | { conditions?: { type: string; status: string; reason: string }[] }
      | undefined;
    const condition = status?.conditions?.find((one) => one.type === type);
    return condition === undefined ? "none" : `${condition.status} ${condition.reason}`;
  }
}

/** An endpoint of a slice. */
interface Endpoint {
  readonly addresses: readonly string[];
  readonly conditions: {
    readonly ready?: boolean;
    readonly serving?: boolean;
    readonly terminating?: boolean;
  };
}

/** The endpoints of slices, in order. Of an empty list, an API server makes null. */
export function endpointsOf(slices: readonly ApiObject[]): Endpoint[] {
  return slices.flatMap(({ endpoints }) => (endpoints as Endpoint[] | null) ?? []);
}

function conditionOf({ addresses: [address = ""], conditions }: Endpoint): [string, string] {
  const { ready, serving } = conditions;
  return [address, ready === true ? "ready" : serving === true ? "serving" : "dead"];
}

/** A slice of a Service, as Kubernetes' own controllers write it: one of each family. */
export function serviceSlice(
  key: string,
  endpoints: readonly object[],
  {
    family = "IPv4",
    ports = [{ name: "http", port: 8080, protocol: "TCP" }] as readonly object[],
  } = {},
) {
  const { metadata, ...slice } = referenceOf(SLICE, key);
  const { namespace, name } = metadata;
  const labels = { "kubernetes.io/service-name": name };
  const own = { namespace, name: `${name}-${family === "IPv4" ? 1 : 6}`, labels };
  return { ...slice, metadata: own, addressType: family, ports, endpoints };
}

/** The object of a kind by its namespace and name. */
function referenceOf({ apiVersion, kind }: ApiReference, key: string) {
  const [namespace = "", name = ""] = key.split("/");
  return { apiVersion, kind, metadata: { namespace, name } };
}
