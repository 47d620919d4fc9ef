import type { Transaction } from "../../agent/backends/backend.ts";
import type { Layout } from "../../agent/backends/dataplane.ts";
import { changeTo, DesiredServices } from "../../agent/backends/kernel-table.ts";
import { type Changes, differences, type Held } from "../../agent/backends/objects.ts";

/** The pure part of a backend, step by step: for tests that look at each step, and at what the kernel holds. */
export function pureTable<Content, Commands extends Transaction>(
  layout: Layout<Content, Commands>,
) {
  return {
    ruleset: () => new DesiredServices(layout),
    empty: (): Held => new Map(),
    diff: (held: Held, changes: Changes<Content>) => changeTo(layout, held, changes),
    compare: (before: Held, held: Held) =>
      layout.drift(differences(before, held), before, { held }),
  };
}
