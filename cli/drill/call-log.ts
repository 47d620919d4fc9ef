import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import type { ObjectName } from "../../common/kubernetes/api-resource.ts";
import { requestBody } from "../../common/kubernetes/request-body.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { type Attempt, parseAttempt } from "./figures.ts";

/** Milliseconds without a line after which the log counts as lost: the caller prints several a second. */
const SILENCE_MS = 30_000;
/** Attempts that are kept: those of a drill of an hour at 100 a second. */
const MOST = 360_000;

/** The connections of a caller, as its log has them so far. */
export class CallLog {
  readonly attempts: Attempt[] = [];
  readonly #ended = new AbortController();
  #fault: unknown;

  /** Follows the log of the caller's pod. */
  constructor(on: Cluster, { namespace = "", name }: ObjectName) {
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/log?follow=true`;
    void this.#follow(on, path).catch((thrown: unknown) => {
      if (!this.#ended.signal.aborted) this.#fault = thrown;
    });
  }

  /** Throws what ended the log before its time. */
  check(): void {
    if (this.#fault !== undefined) throw this.#fault;
  }

  end(): void {
    this.#ended.abort();
  }

  async #follow({ api }: Cluster, path: string): Promise<void> {
    const { signal } = this.#ended;
    const decoder = new TextDecoder();
    let rest = "";
    for await (const part of await requestBody(api, { path, signal, silence: SILENCE_MS })) {
      const lines = (rest + decoder.decode(part, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const attempt = parseAttempt(line);
        if (attempt !== undefined && this.attempts.length < MOST) this.attempts.push(attempt);
      }
    }
    throw new ApiFault("unreachable", "The caller's pod has ended");
  }
}
