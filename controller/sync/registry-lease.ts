import {
  ANNOTATION_CONTESTED_BY,
  CONTROLLER_NAME,
  COORDINATION_V1,
  LABEL_REGISTRY,
} from "../../api/keys.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import { isOlder } from "../../common/kubernetes/object-meta.ts";
import { ApiWriter } from "../../common/kubernetes/writer.ts";
import { LEASES, microTime } from "../../common/lease/lease.ts";
import type { Identity } from "../identity/own-identity.ts";
import type { Manifest } from "../model/manifest.ts";
import { encodeCluster } from "../registry/encode.ts";
import { LEASE_NAME } from "../registry/names.ts";
import { publishable } from "../registry/publishable.ts";
import type { Member } from "../stores/member.ts";
import { NAMESPACES } from "../stores/resources.ts";
import type { Writing } from "./writing.ts";

/** What a `RegistryLease` is made of. */
export interface RegistryLeaseOptions {
  readonly writing: Writing;
  readonly today: () => Date;
  /** Seconds that our Lease is good for. */
  readonly leaseSeconds: number;
  /** We, as our registry shows us. */
  readonly member: Pick<Member, "feeds" | "id" | "leases" | "namespace">;
  /** uid of kube-system. */
  readonly uid: string;
  readonly identity: () => Identity;
  readonly properties: () => Readonly<Record<string, string>>;
  /** True if all that we export has been seen to lie in our registry. */
  readonly isComplete: () => boolean;
  /** True if the registry's namespace is ours to make. */
  readonly makesNamespace: boolean;
}

/** The Lease of our own registry, as it is written: always to what was seen of it, which is known again after a conflict. */
export class RegistryLease {
  readonly #options: RegistryLeaseOptions;
  readonly #writer: ApiWriter;
  readonly #contester: ApiWriter;
  #renewals = 0;

  constructor(options: RegistryLeaseOptions) {
    this.#options = options;
    this.#writer = new ApiWriter({ ...options.writing, fieldManager: CONTROLLER_NAME });
    const fieldManager = `${CONTROLLER_NAME}-contest`;
    this.#contester = new ApiWriter({ ...options.writing, fieldManager });
  }

  /** Says who we are, and that we live. Throws what the API server answered. */
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

  /** By a field manager of its own: it takes no field away from the Lease's holder. */
  async contest(): Promise<void> {
    const { member, uid } = this.#options;
    await this.#apply(this.#contester, {
      apiVersion: COORDINATION_V1,
      kind: "Lease",
      metadata: {
        name: LEASE_NAME,
        namespace: member.namespace,
        annotations: { [ANNOTATION_CONTESTED_BY]: uid },
      },
    });
  }

  /**
   * Takes the other's word back, now that it is told: as long as the other one lives, it says so again. Field managers go by
   * their names alone, so what is applied under this one takes the place of what the other cluster has.
   */
  async uncontest(): Promise<void> {
    const { namespace } = this.#options.member;
    const metadata = { name: LEASE_NAME, namespace };
    await this.#apply(this.#contester, { apiVersion: COORDINATION_V1, kind: "Lease", metadata });
  }

  async #write(): Promise<void> {
    const { identity, isComplete, leaseSeconds, member, properties, today, uid } = this.#options;
    const { id, clusterSet, region } = identity();
    const renewal = microTime(today(), this.#renewals++);
    const cluster = {
      id,
      uid,
      ...(clusterSet !== undefined && { clusterSet }),
      ...(region !== undefined && { region }),
      properties: publishable(properties()),
      leaseSeconds,
      renewal,
      complete: isComplete(),
    };
    await this.#apply(this.#writer, encodeCluster(cluster, member.namespace));
  }

  /** On what was seen: of two clusters of one id, only one can take the Lease. */
  async #apply(writer: ApiWriter, manifest: Manifest): Promise<void> {
    const { member } = this.#options;
    const seen = member.leases.seen(`${member.namespace}/${LEASE_NAME}`);
    const feed = member.feeds?.leases;
    try {
      const answer = await writer.apply(LEASES, manifest, seen === undefined ? {} : { seen });
      feed?.wrote(answer.object);
    } catch (thrown) {
      if (thrown instanceof ApiFault && thrown.reason === "write-conflict") {
        const found = await writer.get(LEASES, manifest.metadata);
        // Nobody else would tell: no event is to come, and a Lease that is older is not taken for news.
        if (isOlder(found?.meta.resourceVersion ?? "", seen?.resourceVersion ?? ""))
          feed?.rewound();
        else if (found !== undefined) feed?.wrote(found.object);
        else if (seen !== undefined) feed?.erased(seen, "missing");
      }
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
