import type { Cidr } from "../../api/cidr.ts";
import { endpointRangesProperty, endpointRangesText } from "../../api/endpoint-ranges.ts";
import { ABOUT_GROUP, ABOUT_VERSIONS, rotationProperty } from "../../api/keys.ts";
import type { Manifest } from "../model/manifest.ts";
import { rotationContent } from "../model/rotation.ts";
import type { LocalStores } from "../stores/local-stores.ts";
import type { Applier } from "./applier.ts";
import type { IdentitySource } from "./identity-source.ts";
import type { Members } from "./members.ts";

/** Dependencies of `ClusterProperties`. */
export interface ClusterPropertiesOptions {
  readonly own: Pick<LocalStores, "properties">;
  readonly applier: Pick<Applier, "apply" | "remove">;
  readonly source: Pick<IdentitySource, "state">;
  readonly members: Pick<Members, "record" | typeof Symbol.iterator>;
  /** The declared endpoint ranges of other clusters. */
  readonly declared: () => ReadonlyMap<string, readonly Cidr[]>;
}

/** What a property is to say now; undefined: it is to be deleted. */
type Content = () => Manifest | undefined;

/**
 * Writes ClusterProperties, which no user of a namespace can change: the local cluster's own ones that flags set and that are
 * missing, and two about each cluster, its declared endpoint ranges and how it is used. A property about a cluster is
 * deleted only when the cluster leaves while this replica is active: a property that remains harms nothing.
 */
export class ClusterProperties {
  readonly #options: ClusterPropertiesOptions;
  /** Created if they do not exist. An existing property of the local cluster is never written. */
  #missing: ReadonlyMap<string, Manifest> = new Map();
  /** About clusters, since the start. */
  readonly #about = new Map<string, Content>();

  constructor(options: ClusterPropertiesOptions) {
    this.#options = options;
  }

  /** The permission was granted. */
  begin(): void {
    const { state } = this.#options.source;
    const missing = state?.reason === "identified" ? state.missing : [];
    this.#missing = new Map(missing.map((manifest) => [manifest.metadata.name, manifest]));
  }

  /** Names of all properties that may have to be written. */
  names(): Iterable<string> {
    const { declared, members } = this.#options;
    for (const cluster of declared().keys()) {
      this.#about.set(endpointRangesProperty(cluster), () => this.#ranges(cluster));
    }
    for (const { id } of members) this.#about.set(rotationProperty(id), () => this.#rotation(id));
    return [...this.#missing.keys(), ...this.#about.keys()];
  }

  /** Throws the API server's error. */
  async reconcile(name: string): Promise<void> {
    const { applier, own } = this.#options;
    const seen = own.properties.seen(name);
    const missing = this.#missing.get(name);
    if (missing !== undefined && seen === undefined) await applier.apply(missing, undefined);
    const content = this.#about.get(name);
    if (content === undefined) return;
    const wanted = content();
    if (wanted !== undefined) await applier.apply(wanted, seen);
    else if (seen !== undefined) await applier.remove(seen);
  }

  #ranges(cluster: string): Manifest | undefined {
    const ranges = this.#options.declared().get(cluster);
    return (
      ranges && manifestOf(endpointRangesProperty(cluster), { value: endpointRangesText(ranges) })
    );
  }

  #rotation(cluster: string): Manifest | undefined {
    const content = rotationContent(this.#options.members.record(cluster));
    return content && manifestOf(rotationProperty(cluster), content);
  }
}

function manifestOf(
  name: string,
  {
    annotations,
    value,
  }: { readonly value: string; readonly annotations?: Readonly<Record<string, string>> },
): Manifest {
  return {
    apiVersion: `${ABOUT_GROUP}/${ABOUT_VERSIONS[0]}`,
    kind: "ClusterProperty",
    metadata: { name, ...(annotations !== undefined && { annotations }) },
    spec: { value },
  };
}
