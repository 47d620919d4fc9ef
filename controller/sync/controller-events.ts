import type { ObjectKey } from "../../api/names.ts";
import type { Problem } from "../../api/problem.ts";
import type { ApiFault } from "../../common/kubernetes/api-fault.ts";
import type { ReflectorState } from "../../common/kubernetes/reflector-events.ts";
import type { LeaderState } from "../../common/lease/leader-elector.ts";
import type { RangeOverlap } from "../allocate/overlaps.ts";
import type { LeaseStep } from "../identity/lease-step.ts";
import type { OwnIdentity } from "../identity/own-identity.ts";
import type { PeerVerdict } from "../identity/peer-verdict.ts";
import type { ImportWanted } from "../import/import-of.ts";
import type { ClusterSight } from "../liveness/cluster-watch.ts";
import type { Drop } from "../liveness/collective-drop.ts";
import type { LossReason } from "../liveness/contact.ts";
import type { Claim } from "../model/condition.ts";
import type { PermitReason } from "./permit-reason.ts";
import type { TaskKind } from "./task.ts";

/** Who hears what the controller sees, decides and does. None of it throws. */
export interface ControllerEvents {
  /** How the connection for a resource is: of our own cluster, or of the registry of `cluster`. */
  connection(cluster: string | undefined, resource: string, state: ReflectorState): void;
  /** All that is wrong with one object: of our own cluster, or of the registry of `cluster`. */
  problems(cluster: string | undefined, object: string, problems: readonly Problem[]): void;
  /** Who we are, or why that is not known. */
  identified(own: OwnIdentity): void;
  /** What this replica is from now on. */
  leader(state: LeaderState): void;
  /** The Lease of the election could not be read or written; it is tried again. */
  electionFailed(fault: ApiFault): void;
  /** What is done about the Lease of our own registry, where that is something else than before. */
  registering(step: LeaseStep): void;
  /** The Lease of our own registry could not be written, for the so-manieth time in a row; it is tried again. */
  registeringFailed(namespace: string, thrown: unknown, failures: number): void;
  /** A ClusterProperty that flags say could not be created. */
  propertyFailed(name: string, thrown: unknown): void;
  /** Everything that there is has been seen, and this replica works from now on; or it does so no more, for what it lacks. */
  working(isWorking: boolean, lacks: PermitReason | undefined): void;
  /** What is made of a cluster. */
  judged(cluster: string, verdict: PeerVerdict): void;
  /** A cluster is stale, or alive again. */
  turned(cluster: string, sight: ClusterSight): void;
  /** Somebody else than before renews a cluster's Lease. */
  replaced(cluster: string, uid: string, before: string): void;
  /** A cluster is a member no more. */
  left(cluster: string): void;
  /** A peer's kubeconfig cannot be used. */
  unreachable(cluster: string, thrown: unknown): void;
  /** Our own cluster is not heard, or heard again. */
  contactLost(reason: LossReason): void;
  contactRegained(ms: number): void;
  /** Endpoints turned unready together, and are held back; or the truth is published. */
  held(drop: Drop): void;
  believed(drop: Drop): void;
  /** What is claimed of one of our exports; nothing: it is gone. */
  claimed(key: ObjectKey, claims: readonly Claim[]): void;
  /** What was made of an import; undefined: there is none. */
  imported(key: ObjectKey, wanted: ImportWanted | undefined): void;
  /** An Event was not taken; it is not told again. */
  eventFailed(thrown: unknown): void;
  /** Ranges that VIPs come from have addresses of Services or pods in them; none: they have not. */
  overlapping(overlaps: readonly RangeOverlap[]): void;
  /** A task is done that had been due for `waited` milliseconds, and took `took`. */
  done(kind: TaskKind, key: ObjectKey, waited: number, took: number): void;
  /** A task failed, for the so-manieth time in a row; it is tried again after `wait` milliseconds, or sooner. */
  failed(kind: TaskKind, key: ObjectKey, thrown: unknown, failures: number, wait: number): void;
}
