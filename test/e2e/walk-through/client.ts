import assert from "node:assert/strict";
import type { Clusters } from "../../cluster/clusters.ts";
import { eventually } from "../../stages/agent-process.ts";
import type { Call } from "../caller.ts";

/** Enough that each of four pods is among those that answer, but for one run in 10⁶. */
const CALLS = 60;

/** How long a call may take: longer than a resolver waits before it asks again, 5 s. */
export const TIMEOUT_MS = 12_000;

/** What became of a call of a client's. */
export interface ClientCall extends Call {
  /** The address that the pod saw that answered. */
  readonly source?: string;
}

/** The response of a DNS server for one name and one type of record. */
export interface DnsAnswer {
  readonly records?: readonly string[];
  /** `ENOTFOUND`: there is no such name. `ENODATA`: there is, and it has no such record. */
  readonly error?: string;
}

/** A pod named `client` that calls on request, by `kubectl exec`, and resolves names. */
export class Client {
  readonly #exec: (command: string) => Promise<string>;

  constructor(clusters: Clusters, cluster: string, namespace: string) {
    this.#exec = (command) =>
      clusters.kubectl(cluster, ["-n", namespace, "exec", "client", "--", "sh", "-c", command]);
  }

  /** One connection after the other; what became of each. */
  async calls(target: string, count = CALLS): Promise<ClientCall[]> {
    // Its exit code shows that a call failed, and so do its lines.
    const said = await this.#exec(
      `node /app/request/request.ts --count ${count} --timeout ${TIMEOUT_MS} '${target}' || :`,
    );
    const lines = said.split("\n").slice(0, -1);
    const calls = lines.map((line) => JSON.parse(line)).filter((line) => "at" in line);
    assert.equal(calls.length, count, said);
    return calls;
  }

  /** Waits until each of these pods answers, in the order of their names, and no other one; none of the calls may fail. */
  async untilAnsweredBy(pods: readonly string[], target: string): Promise<void> {
    await eventually(async () => {
      const calls = await this.calls(target);
      const failed = calls.find(({ error }) => error !== undefined);
      assert.equal(failed, undefined, `${target}: ${JSON.stringify(failed)}`);
      assert.deepEqual([...new Set(calls.map(({ name = "" }) => name))].sort(), pods);
    });
  }

  /** What the cluster's DNS server answers to questions such as `A:web.shop.svc.clusterset.local`, in their order. */
  async resolve(...questions: readonly string[]): Promise<DnsAnswer[]> {
    const said = await this.#exec(`node /app/request/resolve.ts ${questions.join(" ")}`);
    const lines = said.trim().split("\n");
    return lines.map((line) => JSON.parse(line));
  }
}
