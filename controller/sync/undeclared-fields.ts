import { isFields } from "../../api/parse/fields.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import type { Manifest } from "../model/manifest.ts";

/** As structured-merge-diff says it (Kubernetes 1.16 to 1.36), under status 500. */
const UNDECLARED = /\.(spec|status)\.(\w+)[^\s:]*: field not declared in schema/g;

/**
 * Fields of one kind that its CRD does not declare on some API server, as its refusals tell. A write in another way
 * would drop them without a word; a server-side apply is refused for them as a whole. They are left out until the
 * process ends: CRDs of mcs-api before v0.5.1 know no `status.endpointSliceObjects`, and those before v0.4 more.
 */
export class UndeclaredFields {
  readonly #fields = new Map<string, Set<string>>();

  /** True if a refusal names a field that was not known to be undeclared: without it, it is worth another try. */
  learn(thrown: unknown): boolean {
    if (!(thrown instanceof ApiFault) || thrown.reason !== "server-error") return false;
    let news = false;
    for (const [, part = "", name = ""] of thrown.message.matchAll(UNDECLARED)) {
      const names = this.#fields.get(part) ?? new Set();
      news ||= !names.has(name);
      this.#fields.set(part, names.add(name));
    }
    return news;
  }

  /** The same object as far as it can be written. */
  without(manifest: Manifest): Manifest {
    const parts = [...this.#fields].flatMap(([part, names]) => {
      const fields = manifest[part];
      if (!isFields(fields)) return [];
      return [[part, Object.fromEntries(Object.entries(fields).filter(([n]) => !names.has(n)))]];
    });
    return parts.length === 0 ? manifest : { ...manifest, ...Object.fromEntries(parts) };
  }
}
