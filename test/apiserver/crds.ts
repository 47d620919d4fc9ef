import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { parse } from "yaml";
import type { ApiClient } from "./api-client.ts";
import { OURS, type Release } from "./release.ts";

const PATIENCE_MS = 60_000;

interface Version {
  readonly name: string;
  readonly served: boolean;
  readonly schema: object;
}

interface Crd {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly names: { readonly plural: string };
    readonly versions: readonly Version[];
  };
}

/** A property of a cluster, as it is applied. */
export function clusterProperty(name: string, value: string) {
  const kind = { apiVersion: "about.k8s.io/v1beta1", kind: "ClusterProperty" };
  return { ...kind, metadata: { name }, spec: { value } };
}

/** The CRDs of a release's deploy/crds. */
export function crds(release: Release = OURS): Crd[] {
  const directory = `${release.deploy}/crds`;
  const files = readdirSync(directory).filter((name) => name.endsWith(".yaml"));
  return files.map((name) => parse(readFileSync(`${directory}/${name}`, "utf8")) as Crd);
}

/** Installs CRDs that serve these versions only (without: all), and waits until each of them is served. */
export async function installCrds(
  client: ApiClient,
  versions?: readonly string[],
  release?: Release,
): Promise<void> {
  const wanted = crds(release).map((crd) => serving(crd, versions));
  await Promise.all(wanted.map((crd) => client.apply(crd)));
  await Promise.all(wanted.map((crd) => untilServed(client, crd)));
}

/**
 * Serves a kind in an older version than it is stored in, by a conversion that nobody answers, as when
 * the webhook of an operator is down: every list of it is answered with 429, for ever. `installCrds` mends it.
 */
export async function breakConversion(client: ApiClient, plural: string): Promise<void> {
  const crd = crds().find(({ spec }) => spec.names.plural === plural);
  if (crd === undefined) throw new Error(`deploy/crds has no ${plural}`);
  const broken = serving(crd, ["v1alpha1"]);
  const clientConfig = { url: "https://127.0.0.1:1/" };
  const webhook = { clientConfig, conversionReviewVersions: ["v1"] };
  const conversion = { strategy: "Webhook", webhook };
  await client.apply({ ...broken, spec: { ...broken.spec, conversion } });
}

/** Removes all CRDs of deploy/crds, and with them their objects; waits until none is served. */
export async function removeCrds(client: ApiClient): Promise<void> {
  const all = crds();
  await Promise.all(all.map((crd) => client.delete(crd)));
  await Promise.all(all.map((crd) => untilServed(client, serving(crd, []))));
}

/**
 * Waits until all kinds of installed CRDs are served. After a restart an API server says that it is ready before, and
 * answers 429 "storage is (re)initializing" to whoever is first.
 */
export async function untilCrdsServed(client: ApiClient): Promise<void> {
  const kind = "CustomResourceDefinition";
  const installed = await client.list({ apiVersion: "apiextensions.k8s.io/v1", kind });
  await Promise.all(installed.map((crd) => untilServed(client, crd as unknown as Crd)));
}

function serving(crd: Crd, served?: readonly string[]): Crd {
  if (served === undefined) return crd;
  const versions = crd.spec.versions.map((one) => ({ ...one, served: served.includes(one.name) }));
  return { ...crd, spec: { ...crd.spec, versions } };
}

/** Not only Established: requests succeed later than that, and discovery may be later still. */
async function untilServed(client: ApiClient, { spec: { group, names, versions } }: Crd) {
  for (const { name, served } of versions) {
    const root = `/apis/${group}/${name}`;
    const path = `${root}/${names.plural}`;
    const isAnswered = async () => (await client.request("GET", path)).status === 200;
    const isListed = async () => {
      const { body } = await client.request("GET", root);
      const { resources = [] } = body as { resources?: readonly { readonly name: string }[] };
      return resources.some((one) => one.name === names.plural);
    };
    const end = performance.now() + PATIENCE_MS;
    while ((await isAnswered()) !== served || (await isListed()) !== served) {
      if (performance.now() > end)
        throw new Error(`${path}: not ${served ? "" : "un"}served in time`);
      await sleep(20);
    }
  }
}
