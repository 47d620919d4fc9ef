import {
  ANNOTATION_CONTESTED_BY,
  CONTROLLER_NAME,
  COORDINATION_V1,
  LABEL_REGISTRY,
} from "../../api/keys.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import { NAMESPACES } from "../../common/kubernetes/kinds.ts";
import { ApiWriter } from "../../common/kubernetes/writer.ts";
import { LEASES, microTime } from "../../common/lease/lease.ts";
import { VERSION } from "../../common/version.ts";
import type { Identity } from "../identity/own-identity.ts";
import type { Drain } from "../model/drain.ts";
import type { ClusterFact } from "../model/facts.ts";
import type { Manifest } from "../model/manifest.ts";
import { encodeCluster } from "../registry/encode.ts";
import { LEASE_NAME } from "../registry/names.ts";
import { publishable } from "../registry/publication-limits.ts";
import type { Member } from "../stores/member.ts";
import { refresh } from "./refresh.ts";
import type { Writing } from "./write-permission.ts";

/** Dependencies of a `RegistryLease`. */
export interface RegistryLeaseOptions {
  readonly writing: Writing;
  readonly today: () => Date;
  /** Lease duration in seconds. */
  readonly leaseSeconds: number;
  /** The local cluster's registry. */
  readonly member: Pick<Member, "id" | "leases" | "namespace"> & {
    readonly registry: Pick<Member["registry"], "informers">;
  };
  /** uid of kube-system. */
  readonly uid: string;
  readonly identity: () => Identity;
  readonly properties: () => Readonly<Record<string, string>>;
  /** By the operator of the local cluster. */
  readonly drain: () => Drain | undefined;
  /** The ranges that this cluster declares for its peers, if they cannot read them elsewhere. */
  readonly accepts: () => ClusterFact["accepts"];
  /** As in `ClusterFact`. */
  readonly completeExcept: () => ClusterFact["completeExcept"];
  /** True if the controller creates the registry's namespace. */
  readonly makesNamespace: boolean;
}

/** Writes the Lease of the local cluster's registry, always on the state that was seen. All methods throw ApiFaults. */
export class RegistryLease {
  readonly #options: RegistryLeaseOptions;
  readonly #writer: ApiWriter;
  /** Has a field manager of its own, so that it takes no field from the holder. */
  readonly #contester: ApiWriter;
  #renewals = 0;

  constructor(options: RegistryLeaseOptions) {
    this.#options = options;
    this.#writer = new ApiWriter({ ...options.writing, fieldManager: CONTROLLER_NAME });
    const fieldManager = `${CONTROLLER_NAME}-contest`;
    this.#contester = new ApiWriter({ ...options.writing, fieldManager });
  }

  /** Renews the Lease, with the cluster's present description. */
  async renew(): Promise<void> {
    try {
      await this.#write();
    } catch (thrown) {
      const missing = thrown instanceof ApiFault && thrown.reason === "absent";
      if (!missing || !this.#options.makesNamespace) throw thrown;
      await this.#makeNamespace();
      await this.#write();
    }
  }

  /** Annotates another cluster's Lease with our uid. */
  contest(): Promise<void> {
    return this.#contest({ annotations: { [ANNOTATION_CONTESTED_BY]: this.#options.uid } });
  }

  /** Removes the other cluster's annotation; field managers go by name, so this applies over it. */
  uncontest(): Promise<void> {
    return this.#contest({});
  }

  #contest(annotations: Partial<Manifest["metadata"]>): Promise<void> {
    const { namespace } = this.#options.member;
    const metadata = { name: LEASE_NAME, namespace, ...annotations };
    return this.#apply(this.#contester, { apiVersion: COORDINATION_V1, kind: "Lease", metadata });
  }

  async #write(): Promise<void> {
    const { accepts, completeExcept, drain, identity, leaseSeconds, member } = this.#options;
    const { properties, today, uid } = this.#options;
    const { id, clusterSet, region } = identity();
    const drained = drain();
    const accepted = accepts();
    const renewal = microTime(today(), this.#renewals++);
    const cluster = {
      id,
      uid,
      ...(clusterSet !== undefined && { clusterSet }),
      ...(region !== undefined && { region }),
      properties: publishable(properties()),
      leaseSeconds,
      renewal,
      version: VERSION,
      ...(drained !== undefined && { drain: drained }),
      ...(accepted !== undefined && { accepts: accepted }),
      completeExcept: completeExcept(),
    };
    await this.#apply(this.#writer, encodeCluster(cluster, member.namespace));
  }

  /** On the state that was seen: of two clusters with one ID, only one can take the Lease. */
  async #apply(writer: ApiWriter, manifest: Manifest): Promise<void> {
    const { member } = this.#options;
    const seen = member.leases.seen(`${member.namespace}/${LEASE_NAME}`);
    const informer = member.registry.informers?.leases.reflector;
    try {
      const answer = await writer.apply(LEASES, manifest, seen === undefined ? {} : { seen });
      informer?.wrote(answer.object);
    } catch (thrown) {
      await refresh(thrown, writer, LEASES, manifest.metadata, seen, informer);
      throw thrown;
    }
  }

  async #makeNamespace(): Promise<void> {
    const { id, namespace: name } = this.#options.member;
    const manifest: Manifest = {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name, labels: { [LABEL_REGISTRY]: id } },
    };
    await this.#writer.apply(NAMESPACES, manifest);
  }
}
