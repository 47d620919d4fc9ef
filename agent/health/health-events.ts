import type { ProbeResult } from "./evidence.ts";
import type { Verdict, VerdictEnd } from "./verdict.ts";

/** Receives what the health monitor finds. */
export interface HealthEvents {
  /** Something does not answer from now on. */
  silent(verdict: Verdict): void;
  /** A verdict has ended. */
  ended(verdict: Verdict, why: VerdictEnd, after: number): void;
  /** More endpoints of a namespace do not answer than are remembered: the others are used as before. */
  limited(namespace: string, most: number): void;
  /** A probe of an endpoint. */
  probed(result: ProbeResult): void;
  /** Whether nothing of any other cluster answers, so that this node's own uplink may be at fault. */
  uplink(isSilent: boolean): void;
  /** Clusters that answer clients, but not the probes of this node: their endpoints are watched by client traffic alone. */
  blind(clusters: ReadonlySet<string>): void;
  /** The kernel's evidence is not available; undefined: it is again. */
  unavailable(error: unknown): void;
}
