import type { ImportFact, NodeFact, NodeObservation, SliceFact } from "../../agent/model/facts.ts";
import type { RuleLimits } from "../../agent/model/rule-budget.ts";
import type { ImportPlan } from "../../agent/plan/import-plan.ts";
import { Agent } from "../../agent/sync/agent.ts";
import type { Failure, Reconciliation } from "../../agent/sync/reconciler-events.ts";
import type { ObjectKey } from "../../api/names.ts";
import { FakeClock } from "../doubles/fake-clock.ts";
import { FakeSource } from "../doubles/fake-source.ts";
import { FakeTable, quiet } from "../doubles/fake-table.ts";
import { SILENT } from "../doubles/silent-events.ts";
import { nodeFact } from "../generators/facts.ts";

/** A clock that advances by `cost` milliseconds at every call. */
class BusyClock extends FakeClock {
  cost = 0;

  override now(): number {
    if (this.cost > 0) this.advance(this.cost);
    return super.now();
  }
}

/** An agent between two sources and two kernels. */
export class AgentBench {
  readonly clock = new BusyClock();
  readonly sources = [new FakeSource(), new FakeSource()] as const;
  readonly four = new FakeTable();
  readonly six = new FakeTable();
  readonly planned: ObjectKey[] = [];
  readonly plans = new Map<ObjectKey, ImportPlan | undefined>();
  readonly passes: Reconciliation[] = [];
  readonly failures: Failure[] = [];
  readonly problems: string[] = [];
  listedAt: number | undefined;
  readonly agent: Agent;

  /** `node`: what the node is, by what its sources observe. */
  constructor(
    node: (observed: NodeObservation) => NodeFact = () => nodeFact(),
    ruleLimits?: RuleLimits,
  ) {
    this.agent = new Agent({
      today: () => 0,
      node,
      sources: this.sources,
      tables: new Map([
        ["IPv4", this.four],
        ["IPv6", this.six],
      ]),
      ...(ruleLimits && { ruleLimits }),
      clock: this.clock,
      random: () => 0,
      events: {
        listed: () => {
          this.listedAt = this.clock.now();
        },
        planned: (key, plan) => {
          this.planned.push(key);
          this.plans.set(key, plan);
        },
        problems: (object, problems) => this.problems.push(`${object} ${problems.length}`),
        reconciled: (pass) => this.passes.push(pass),
        failed: (failure) => this.failures.push(failure),
        ...SILENT,
      },
    });
  }

  /** What the first source reports. */
  get tell() {
    return this.sources[0].tell;
  }

  /** Starts it with what is given, lets it write that, and forgets what was done for that. */
  async started(...facts: readonly (ImportFact | SliceFact)[]): Promise<void> {
    this.agent.start();
    await this.listed(...facts);
  }

  /** The same, of an agent that has started. */
  async listed(...facts: readonly (ImportFact | SliceFact)[]): Promise<void> {
    for (const fact of facts) {
      if ("importKey" in fact) this.tell.sliceChanged(fact, 0);
      else this.tell.importChanged(fact, 0);
    }
    for (const source of this.sources) source.tell.listed();
    await quiet();
    for (const { log } of [this.four, this.six]) log.length = 0;
    this.planned.length = 0;
    this.passes.length = 0;
  }

  /** A bench with these kernels, whose agent has not started. */
  successor(node?: (observed: NodeObservation) => NodeFact): AgentBench {
    const next = new AgentBench(node);
    for (const family of ["four", "six"] as const)
      for (const [key, text] of this[family].kernel) next[family].kernel.set(key, text);
    return next;
  }
}
