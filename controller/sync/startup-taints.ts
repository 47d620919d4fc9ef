import type { Cancel, Clock } from "../../common/clock.ts";
import { NODES } from "../../common/kubernetes/kinds.ts";
import type { ApiWriter } from "../../common/kubernetes/writer.ts";
import { taintsOf } from "../model/parse-node.ts";
import type { Dirty } from "../model/task.ts";
import type { Observer } from "../observe/observer.ts";
import {
  changedTaints,
  decideTaint,
  type TaintDecision,
  taintEvents,
} from "../startup-taint/startup-taint.ts";
import type { EventRecorder } from "./event-recorder.ts";
import { type LocalNodes, nodeKey } from "./local-nodes.ts";

/** Milliseconds between two removals from one Node: a program that sets the taint again must not cause a write each time. */
const REMOVE_AGAIN_MS = 10_000;

/** Dependencies of `StartupTaints`. */
export interface StartupTaintsOptions {
  readonly nodes: Pick<LocalNodes, "due" | "fact" | "situation" | "wrote">;
  readonly writer: Pick<ApiWriter, "get" | "patch">;
  readonly clock: Clock;
  readonly recorder: Pick<EventRecorder, "record">;
  readonly dirty: Dirty;
  /** Milliseconds after which the taint is removed from a node whose agent is not ready. */
  readonly timeout: number;
  readonly events: Pick<Observer, "startupTaint" | "startupTaintChanged">;
}

/** Removes the startup taint from nodes whose agent is ready, and adds it to nodes that have restarted (design 48). */
export class StartupTaints {
  readonly #options: StartupTaintsOptions;
  /** What was decided last, for nodes that have the taint, or are to have it. */
  readonly #decisions = new Map<string, TaintDecision>();
  /** When the taint was removed from Nodes, within `REMOVE_AGAIN_MS`, in order. */
  readonly #removed = new Map<string, number>();
  /** Of nodes whose decision depends on time. */
  readonly #timers = new Map<string, Cancel>();

  constructor(options: StartupTaintsOptions) {
    this.#options = options;
  }

  /** Names of all Nodes whose taint may have to change. */
  names(): Iterable<string> {
    return this.#options.nodes.due();
  }

  /** Throws the API server's error. */
  async reconcile(name: string): Promise<void> {
    const { events, nodes, recorder, timeout } = this.#options;
    const situation = nodes.situation(name);
    const decision = situation && decideTaint(situation, timeout);
    const before = this.#decisions.get(name);
    this.#remind(name, decision?.next);
    const isOver = decision?.isTainted === false && situation?.isTainted === false;
    if (situation === undefined || decision === undefined || isOver) {
      this.#decisions.delete(name);
      events.startupTaint(name, before, undefined);
      return;
    }
    this.#decisions.set(name, decision);
    events.startupTaint(name, before, decision);
    if (decision.reason !== before?.reason) {
      const { uid = "" } = nodes.fact(name) ?? {};
      const found = taintEvents(decision, situation.agent, timeout);
      recorder.record(NODES, { key: nodeKey(name), uid }, found);
    }
    if (decision.isTainted === situation.isTainted) return;
    const wait = decision.isTainted ? 0 : this.#restOf(name);
    if (wait > 0) this.#remind(name, wait);
    else await this.#change(name, decision);
  }

  /** Another replica decides from now on. */
  end(): void {
    for (const cancel of this.#timers.values()) cancel();
    this.#timers.clear();
    for (const [name, decision] of this.#decisions) {
      this.#options.events.startupTaint(name, decision, undefined);
    }
    this.#decisions.clear();
  }

  /** Reads the Node first: a patch replaces all its taints, and others change theirs. */
  async #change(name: string, decision: TaintDecision): Promise<void> {
    const { clock, events, nodes, writer } = this.#options;
    const found = await writer.get(NODES, { name });
    if (found === undefined) return;
    const taints = changedTaints(taintsOf(found.object), decision.isTainted);
    if (taints === undefined) return;
    const { object } = await writer.patch(NODES, { name }, { spec: { taints } }, found.meta);
    if (!decision.isTainted) this.#removed.set(name, clock.now());
    events.startupTaintChanged(name, decision);
    nodes.wrote(object);
  }

  /** Milliseconds until the taint may be removed from a Node again. */
  #restOf(name: string): number {
    const now = this.#options.clock.now();
    for (const [other, at] of this.#removed) {
      if (now - at < REMOVE_AGAIN_MS) break;
      this.#removed.delete(other);
    }
    const at = this.#removed.get(name);
    return at === undefined ? 0 : REMOVE_AGAIN_MS - (now - at);
  }

  #remind(name: string, ms: number | undefined): void {
    const { clock, dirty } = this.#options;
    this.#timers.get(name)?.();
    this.#timers.delete(name);
    if (ms === undefined) return;
    this.#timers.set(
      name,
      clock.after(ms, () => dirty("node", nodeKey(name))),
    );
  }
}
