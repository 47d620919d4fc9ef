import assert from "node:assert/strict";
import { finished } from "../../agent/backends/backend.ts";
import type { Flavour } from "../../agent/backends/iptables/flavour.ts";
import { Iptables } from "../../agent/backends/iptables/kernel.ts";
import { ExtensionTrials, requirementsOf } from "../../agent/backends/iptables/kind.ts";
import { KernelTable } from "../../agent/backends/kernel-table.ts";
import type { VirtualService } from "../../agent/plan/virtual-service.ts";
import type { Finding } from "../../agent/preflight/finding.ts";
import { findingCheck, findingName } from "../../agent/preflight/finding.ts";
import { Preflight } from "../../agent/preflight/preflight.ts";
import type { ProgramResult } from "../../agent/system/program-result.ts";
import { probeCommand } from "../../agent/system/tcp-connect.ts";
import { remarkLine } from "../../common/checks.ts";
import { FakeClock } from "../doubles/fake-clock.ts";
import { cidr } from "../generators/facts.ts";
import type { Namespace } from "../lab/namespace.ts";

/** Preflight on a node of a lab; each run is started by the test. */
export class PreflightStage {
  readonly #node: Namespace;
  readonly #flavour: Flavour;
  readonly #ranges: readonly string[];
  readonly #clock = new FakeClock();
  readonly #preflight: Preflight;
  #guarded = false;
  #report: (findings: readonly Finding[]) => void = () => undefined;
  #started = false;

  /** `environment`: of every program that preflight runs. */
  constructor(
    node: Namespace,
    flavour: Flavour,
    ranges: readonly string[],
    environment: Readonly<Record<string, string>> = {},
  ) {
    this.#node = node;
    this.#flavour = flavour;
    this.#ranges = ranges;
    const run = async (argv: readonly string[]): Promise<ProgramResult> => {
      const { code, stdout, stderr } = await node.run(argv, { env: environment });
      return { status: code ?? undefined, stdout, stderr, missing: code === 127 };
    };
    this.#preflight = new Preflight({
      clusterSetCidrs: ranges.map(cidr),
      serviceCidrs: [],
      nodeFault: () => "",
      listedServiceCidrs: () => [],
      requirements: requirementsOf(flavour, new ExtensionTrials(flavour, run)),
      lockFile: "/run/clusterset-agent.lock",
      probe: probeCommand,
      neighbours: () => undefined,
      connect: async () => "unknown",
      run,
      // Not read here: /proc/sys/net is that of the process's own network namespace.
      read: async (path) => {
        const { code, stdout } = await node.run(["cat", path]);
        return code === 0 ? stdout : undefined;
      },
      clock: this.#clock,
      random: () => 0,
      guarded: () => this.#guarded,
      report: (findings) => this.#report(findings),
    });
  }

  /** Programs the node as the agent does when it has these services, or none. */
  async guard(services: readonly VirtualService[] = []): Promise<void> {
    for (const range of this.#ranges) {
      const { family } = cidr(range);
      const table = new KernelTable(
        new Iptables({
          family,
          ...{ clusterSetCidrs: [cidr(range)], explicitVipCidrs: [] },
          flavour: this.#flavour,
          masquerade: { mode: "none", podCidrs: [] },
          within: this.#node.within,
          onRespawn: () => assert.fail("iptables-restore refused what was rendered"),
        }),
      );
      await table.read();
      for (const service of services.filter((one) => one.family === family)) {
        table.set(service.importKey, [service]);
      }
      await table.write(finished(table.change()));
      await table.close();
    }
    this.#guarded = true;
  }

  /** Connections that the guard has rejected so far. */
  async refusals(): Promise<number> {
    const programs = ["iptables", "ip6tables"].map((base) => `${base}-${this.#flavour}-save`);
    const saved = await Promise.all(
      programs.map((program) => this.#node.exec([program, "-c", "-t", "filter"])),
    );
    const counts = saved.join("").matchAll(/^\[(\d+):\d+\] -A CSP-GUARD .*tcp-reset$/gm);
    return [...counts].reduce((sum, [, packets]) => sum + Number(packets), 0);
  }

  /** The findings of the next run, as lines of /readyz by name. */
  async lines(): Promise<Readonly<Record<string, string>>> {
    const { promise, resolve } = Promise.withResolvers<readonly Finding[]>();
    this.#report = resolve;
    if (this.#started) this.#clock.advance(60_000);
    else this.#preflight.start();
    this.#started = true;
    const findings = await promise;
    // The pause begins once the run has ended.
    await new Promise<void>((done) => setImmediate(done));
    return Object.fromEntries(
      findings.map((one) => [findingName(one), remarkLine(findingCheck(one))]),
    );
  }

  async stop(): Promise<void> {
    await this.#preflight.stop();
  }
}
