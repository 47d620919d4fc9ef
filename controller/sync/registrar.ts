import {
  ANNOTATION_CONTESTED_BY,
  CONTROLLER_NAME,
  COORDINATION_V1,
  LABEL_REGISTRY,
} from "../../api/keys.ts";
import type { Cancel, Clock } from "../../common/clock.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import { isOlder } from "../../common/kubernetes/object-meta.ts";
import { ApiWriter } from "../../common/kubernetes/writer.ts";
import { LEASES, microTime } from "../../common/lease/lease.ts";
import { type LeaseStep, leaseStep } from "../identity/lease-step.ts";
import type { Identity } from "../identity/own-identity.ts";
import type { ClusterSight } from "../liveness/cluster-watch.ts";
import { leaseTimes } from "../liveness/lease-times.ts";
import type { Manifest } from "../model/manifest.ts";
import { encodeCluster } from "../registry/encode.ts";
import { LEASE_NAME } from "../registry/names.ts";
import { publishable } from "../registry/publishable.ts";
import type { Member } from "../stores/member.ts";
import { NAMESPACES } from "../stores/resources.ts";
import type { Writing } from "./writing.ts";

/** Of the time between two renewals, how much is waited after a failure: two may time out, and the third is in time. */
const AGAIN = 1 / 4;

/** What a `Registrar` is made of. */
export interface RegistrarOptions {
  readonly writing: Writing;
  readonly clock: Clock;
  readonly today: () => Date;
  /** Seconds that our Lease is good for. */
  readonly leaseSeconds: number;
  /** We, as our registry shows us. */
  readonly member: Pick<Member, "feeds" | "id" | "lease" | "leases" | "namespace" | "rewound">;
  /** uid of kube-system. */
  readonly uid: string;
  readonly identity: () => Identity;
  readonly properties: () => Readonly<Record<string, string>>;
  readonly sight: () => ClusterSight | undefined;
  /** True if all that we export has been seen to lie in our registry. */
  readonly isComplete: () => boolean;
  /** True if the registry's namespace is ours to make. */
  readonly makesNamespace: boolean;
  readonly events: {
    /** What is done about the Lease is something else than before. */
    registering(step: LeaseStep): void;
    /** The Lease could not be written, for the so-manieth time in a row; it is tried again. */
    failed(thrown: unknown, failures: number): void;
    /** The registry is somebody else's, so that exports have to wait. */
    elsewhere(): void;
    /** Records may be published from now on. */
    registered(): void;
  };
}

/** Says in our own registry who we are and that we live, as long as nobody else does so under our id. */
export class Registrar {
  readonly #options: RegistrarOptions;
  readonly #writer: ApiWriter;
  readonly #contester: ApiWriter;
  #renewals = 0;
  /** In a row. */
  #failures = 0;
  #step: LeaseStep | undefined;
  #isRegistered = false;
  #cancel: Cancel = () => undefined;
  /** All rounds that have begun, to their end: one after the other. */
  #rounds: Promise<void> = Promise.resolve();
  #running = false;
  #isBusy = false;
  /** There is something new to be said. */
  #isDue = false;

  constructor(options: RegistrarOptions) {
    this.#options = options;
    this.#writer = new ApiWriter({ ...options.writing, fieldManager: CONTROLLER_NAME });
    const fieldManager = `${CONTROLLER_NAME}-contest`;
    this.#contester = new ApiWriter({ ...options.writing, fieldManager });
  }

  /** True while the registry is ours: records may be written. */
  get isRegistered(): boolean {
    return this.#isRegistered;
  }

  /** True while the registry is somebody else's, as far as is known. */
  get isElsewhere(): boolean {
    return this.#step !== undefined && this.#step.does !== "write";
  }

  /** Begins, or goes on. */
  start(): void {
    if (this.#running) return;
    this.#running = true;
    this.#begin();
  }

  /** Says something new at once: properties or region have changed. */
  again(): void {
    if (!this.#running) return;
    this.#isDue = true;
    // Else it follows the round that is under way.
    if (!this.#isBusy) this.#wait(0);
  }

  /** Says nothing any more. The Lease stays. Settles when what is being written has been answered. */
  stop(): Promise<void> {
    this.#running = false;
    this.#isRegistered = false;
    this.#cancel();
    return this.#rounds;
  }

  #wait(ms: number): void {
    this.#cancel();
    this.#cancel = this.#options.clock.after(ms, () => this.#begin());
  }

  #begin(): void {
    this.#rounds = this.#rounds.then(() => this.#round());
  }

  async #round(): Promise<void> {
    if (!this.#running) return;
    this.#isDue = false;
    this.#isBusy = true;
    const { clock, events, leaseSeconds } = this.#options;
    const { renewEvery } = leaseTimes(leaseSeconds);
    const began = clock.now();
    let wait: number;
    try {
      await this.#act(this.#decide());
      this.#failures = 0;
      // A slow answer makes no renewal late.
      wait = Math.max(0, began + renewEvery - clock.now());
    } catch (thrown) {
      wait = renewEvery * AGAIN;
      events.failed(thrown, ++this.#failures);
    }
    this.#isBusy = false;
    if (this.#running) this.#wait(this.#isDue ? 0 : wait);
  }

  #decide(): LeaseStep {
    const { events, member, sight, uid } = this.#options;
    const step = leaseStep(uid, member.lease?.claim, sight());
    const before = this.#step;
    this.#step = step;
    if (before?.reason === step.reason && before.other === step.other) return step;
    events.registering(step);
    if (step.does !== "write") events.elsewhere();
    return step;
  }

  async #act(step: LeaseStep): Promise<void> {
    if (step.does !== "write") this.#isRegistered = false;
    if (step.does === "write") {
      await this.#renew();
      if (step.reason === "duplicate-cluster-id") await this.#uncontest();
    }
    if (step.does === "contest") await this.#contest();
  }

  async #renew(): Promise<void> {
    const { events, makesNamespace } = this.#options;
    try {
      await this.#write();
    } catch (thrown) {
      const missing = thrown instanceof ApiFault && thrown.reason === "absent";
      if (!missing || !makesNamespace) throw thrown;
      await this.#makeNamespace();
      await this.#write();
    }
    if (this.#isRegistered || !this.#running) return;
    this.#isRegistered = true;
    events.registered();
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

  /** By a field manager of its own: it takes no field away from the Lease's holder. */
  async #contest(): Promise<void> {
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
  async #uncontest(): Promise<void> {
    const { namespace } = this.#options.member;
    const metadata = { name: LEASE_NAME, namespace };
    await this.#apply(this.#contester, { apiVersion: COORDINATION_V1, kind: "Lease", metadata });
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
