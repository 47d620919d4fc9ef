import { at, type Fields } from "../doubles/memory/fields.ts";
import type { MemoryApiServer, Written } from "../doubles/memory/memory-api-server.ts";
import { POD_RANGES } from "../generators/pod-ranges.ts";
import { KINDS, keyOf, type Serving, serviceManifests } from "./cluster-manifests.ts";

/** What is written to a cluster in memory by others than its controller, and what is read of it. */
export class ClusterObjects {
  readonly server: MemoryApiServer;

  constructor(server: MemoryApiServer) {
    this.server = server;
  }

  namespace(name: string): void {
    this.apply({ kind: "Namespace", metadata: { name } });
  }

  /** What an author applies. */
  apply(manifest: Fields): void {
    const kind = KINDS[String(manifest.kind)] ?? "";
    this.server.objects.apply(kind, keyOf(manifest), manifest, "author");
  }

  delete(kind: string, key: string): void {
    this.server.objects.delete(KINDS[kind] ?? "", key);
  }

  /** A Service with these endpoints; `dead` ones are not ready. */
  serve(
    key: string,
    addresses: readonly string[],
    dead: readonly string[] = [],
    port: number = 80,
  ): void {
    this.serveAs(key, addresses, { ports: [`http ${port}`], dead });
  }

  /** The same, with more to say of the Service. Kubernetes updates its slices afterwards. */
  serveAs(key: string, addresses: readonly string[], serving: Serving = {}): void {
    const isThere = (slice: string) => this.server.objects.get("endpointslices", slice);
    for (const manifest of serviceManifests(key, addresses, serving)) {
      // Kubernetes empties the slice of a family that a Service had, and makes none of one that it never had.
      const isEmpty = manifest.addressType === "IPv6" && manifest.endpoints?.length === 0;
      if (!isEmpty || isThere(keyOf(manifest)) !== undefined) this.apply(manifest);
    }
  }

  export(key: string): void {
    const [namespace = "", name = ""] = key.split("/");
    this.apply({ kind: "ServiceExport", metadata: { namespace, name } });
  }

  /** An import that a person writes. */
  importByHand(key: string, ips: readonly string[] = [], more: Fields = {}): void {
    const [namespace = "", name = ""] = key.split("/");
    const ports = [{ port: 80, protocol: "TCP" }];
    const spec = { type: "ClusterSetIP", ports, ips, ...more };
    this.apply({ kind: "ServiceImport", metadata: { namespace, name }, spec });
  }

  /** A Service with these endpoints, and its export. */
  offer(key: string, addresses: readonly string[]): void {
    this.serve(key, addresses);
    this.export(key);
  }

  /** Another program's slice of a Service, with ready endpoints. */
  slice(
    key: string,
    addresses: readonly string[],
    { labels = {}, annotations = {}, ...fields }: Fields = {},
  ): void {
    const [namespace = "", name = ""] = key.split("/");
    const [service = ""] = name.split("-");
    this.apply({
      kind: "EndpointSlice",
      metadata: {
        ...{ namespace, name },
        labels: { "kubernetes.io/service-name": service, ...(labels as Fields) },
        annotations,
      },
      addressType: "IPv4",
      ports: [{ name: "http", protocol: "TCP", port: 80 }],
      endpoints: addresses.map((one) => ({ addresses: [one], conditions: { ready: true } })),
      ...fields,
    });
  }

  /** What another program writes to an object: these fields become its own. */
  edit(resource: string, key: string, { metadata = {}, ...fields }: Fields, owner = "owner"): void {
    const [namespace, name] = key.includes("/") ? key.split("/") : [undefined, key];
    const named = { ...(namespace && { namespace }), name, ...(metadata as Fields) };
    this.server.objects.apply(resource, key, { ...fields, metadata: named }, owner);
  }

  has(resource: string, key: string): boolean {
    return this.server.objects.get(resource, key) !== undefined;
  }

  /** A field of an object. */
  read(resource: string, key: string, ...path: readonly string[]): unknown {
    return at(this.server.objects.get(resource, key), path);
  }

  /** Introduces another cluster; `way`: how it is reached, `scope`: annotations that limit what it may export. */
  introduce(peer: string, way = `to ${peer}`, scope: Readonly<Record<string, string>> = {}): void {
    this.apply({
      kind: "Secret",
      metadata: {
        namespace: "clusterset-proxy",
        name: `peer-${peer}`,
        labels: { "clusterset-proxy.io/peer": peer },
        annotations: { ...POD_RANGES, ...scope },
      },
      data: { kubeconfig: Buffer.from(way).toString("base64") },
    });
  }

  /** What is imported: by name, the VIP and the state of each endpoint, in order. */
  imported(): Record<string, string> {
    const all: Record<string, string> = {};
    for (const object of this.server.objects.list("serviceimports")) {
      if (at(object, ["metadata", "labels", "clusterset-proxy.io/record"]) !== undefined) continue;
      const key = keyOf(object);
      const ips = at(object, ["spec", "ips"]);
      const has = Array.isArray(ips) && ips.length > 0;
      all[key] = [has ? "vip" : "no vip", ...this.#endpointsOf(key)].join(" ");
    }
    return all;
  }

  /** Status, reason and message of a condition of an export or import; nothing where there is no condition. */
  condition(
    resource: "serviceexports" | "serviceimports",
    key: string,
    type = "Ready",
  ): Partial<Record<"status" | "reason" | "message", string>> {
    const conditions = at(this.server.objects.get(resource, key), ["status", "conditions"]);
    const all: unknown[] = Array.isArray(conditions) ? conditions : [];
    return all.find((one) => at(one, ["type"]) === type) ?? {};
  }

  /** Status, reason and message of the condition Ready of an import or export. */
  ready(
    key = "shop/web",
    resource: "serviceexports" | "serviceimports" = "serviceimports",
  ): string {
    const { status = "", reason = "", message = "" } = this.condition(resource, key);
    return `${status} ${reason} ${message}`.trim();
  }

  /** Events of objects of a kind: type, reason and message, with how many one stands for. */
  events(kind: string, ...reasons: readonly string[]): string[] {
    return this.server.objects
      .list("events")
      .filter((event) => at(event, ["involvedObject", "kind"]) === kind)
      .filter(({ reason }) => reasons.length === 0 || reasons.includes(String(reason)))
      .map(({ type, reason, count, message }) => {
        const times = Number(count) > 1 ? ` x${String(count)}` : "";
        return `${String(type)} ${String(reason)}${times}: ${String(message)}`;
      });
  }

  /** What imported slices of a service tell nodes of endpoints that leave or return. */
  shifts(name = "shop/web"): unknown[] {
    return this.#importedSlices()
      .filter(([key]) => key === name)
      .map(([, slice]) => at(slice, ["metadata", "annotations", "clusterset-proxy.io/shift"]));
  }

  /** Imported slices of names that have no import. */
  orphans(): string[] {
    const imports = this.imported();
    return this.#importedSlices().flatMap(([key, slice]) =>
      imports[key] === undefined ? [keyOf(slice)] : [],
    );
  }

  /** VIPs that more than one import has. */
  sharedVips(): string[] {
    const vips = this.server.objects
      .list("serviceimports")
      .flatMap((object) => at(object, ["spec", "ips"]) ?? [])
      .map(String);
    return vips.filter((vip, i) => vips.indexOf(vip) < i);
  }

  /** What was written by controllers after so many writes: objects of a kind, or all but Leases. */
  writesAfter(count: number, kind?: string): Written[] {
    const isOf = (one: Written) => (kind === undefined ? one.kind !== "leases" : one.kind === kind);
    return this.server.writes.slice(count).filter(isOf);
  }

  #endpointsOf(name: string): string[] {
    return this.#importedSlices()
      .filter(([key]) => key === name)
      .flatMap(([, slice]) => (Array.isArray(slice.endpoints) ? slice.endpoints : []))
      .map((endpoint: unknown) => {
        const [address] = (at(endpoint, ["addresses"]) ?? []) as string[];
        const ready = at(endpoint, ["conditions", "ready"]) === true;
        const serving = at(endpoint, ["conditions", "serving"]) === true;
        return `${address}${ready ? "" : serving ? "(serving)" : "(dead)"}`;
      })
      .sort();
  }

  #importedSlices(): [string, Fields][] {
    return this.server.objects.list("endpointslices").flatMap((slice): [string, Fields][] => {
      const name = at(slice, ["metadata", "labels", "multicluster.kubernetes.io/service-name"]);
      const [namespace = ""] = keyOf(slice).split("/");
      return typeof name === "string" ? [[`${namespace}/${name}`, slice]] : [];
    });
  }
}
