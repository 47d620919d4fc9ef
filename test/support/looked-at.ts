import assert from "node:assert/strict";
import type { Flavour } from "../../agent/backends/iptables/flavour.ts";
import { IptablesBackend } from "../../agent/backends/iptables/iptables.ts";
import type { VirtualService } from "../../agent/plan/virtual-service.ts";
import { Preflight } from "../../agent/preflight/preflight.ts";
import type { Verdict } from "../../agent/preflight/verdict.ts";
import { verdictLine, verdictName } from "../../agent/preflight/verdict.ts";
import { knockCommand } from "../../agent/system/knock.ts";
import type { Namespace } from "../lab/namespace.ts";
import { FakeClock } from "./fake-clock.ts";
import { cidr } from "./worlds.ts";

/** A node of a lab that preflight looks at, whenever the test says so. */
export class LookedAt {
  readonly #node: Namespace;
  readonly #flavour: Flavour;
  readonly #ranges: readonly string[];
  readonly #clock = new FakeClock();
  readonly #preflight: Preflight;
  #guarded = false;
  #told: (verdicts: readonly Verdict[]) => void = () => undefined;
  #started = false;

  /** `environment`: of every program that looks. */
  constructor(
    node: Namespace,
    flavour: Flavour,
    ranges: readonly string[],
    environment: Readonly<Record<string, string>> = {},
  ) {
    this.#node = node;
    this.#flavour = flavour;
    this.#ranges = ranges;
    this.#preflight = new Preflight({
      clusterSetCidrs: ranges.map(cidr),
      serviceCidrs: [],
      toldServiceCidrs: async () => [],
      flavour,
      lockFiles: ["/run/xtables.lock"],
      knock: knockCommand,
      sight: {
        run: async (argv) => {
          const { code, stdout, stderr } = await node.run(argv, { env: environment });
          return { status: code ?? undefined, stdout, stderr, missing: code === 127 };
        },
        // Not read here: /proc/sys/net is that of the process's own network namespace.
        read: async (path) => {
          const { code, stdout } = await node.run(["cat", path]);
          return code === 0 ? stdout : undefined;
        },
      },
      clock: this.#clock,
      guarded: () => this.#guarded,
      told: (verdicts) => this.#told(verdicts),
    });
  }

  /** Programs the node as the agent does when it has these services, or none. */
  async guard(services: readonly VirtualService[] = []): Promise<void> {
    for (const range of this.#ranges) {
      const clusterSetCidr = cidr(range);
      const backend = new IptablesBackend({
        family: clusterSetCidr.family,
        clusterSetCidr,
        flavour: this.#flavour,
        masquerade: { mode: "none", podCidrs: [] },
        within: this.#node.within,
        onRespawn: () => assert.fail("iptables-restore refused what was rendered"),
      });
      const believed = await backend.read();
      const ruleset = backend.ruleset();
      for (const service of services.filter(({ family }) => family === clusterSetCidr.family)) {
        ruleset.set(service.importKey, [service]);
      }
      const tx = backend.diff(believed, ruleset.take());
      if (!tx.empty) await backend.apply(tx, believed);
      await backend.close();
    }
    this.#guarded = true;
  }

  /** Connections that the guard has refused so far. */
  async refusals(): Promise<number> {
    const programs = ["iptables", "ip6tables"].map((base) => `${base}-${this.#flavour}-save`);
    const saved = await Promise.all(
      programs.map((program) => this.#node.exec([program, "-c", "-t", "filter"])),
    );
    const counts = saved.join("").matchAll(/^\[(\d+):\d+\] -A CSP-GUARD .*tcp-reset$/gm);
    return [...counts].reduce((sum, [, packets]) => sum + Number(packets), 0);
  }

  /** The verdicts of the next look, as lines of /readyz by name: the first, or that of the next minute. */
  async lines(): Promise<Readonly<Record<string, string>>> {
    const { promise, resolve } = Promise.withResolvers<readonly Verdict[]>();
    this.#told = resolve;
    if (this.#started) this.#clock.advance(60_000);
    else this.#preflight.start();
    this.#started = true;
    const verdicts = await promise;
    // The rest of the minute begins once the look is over.
    await new Promise<void>((done) => setImmediate(done));
    return Object.fromEntries(verdicts.map((one) => [verdictName(one), verdictLine(one)]));
  }

  async stop(): Promise<void> {
    await this.#preflight.stop();
  }
}
