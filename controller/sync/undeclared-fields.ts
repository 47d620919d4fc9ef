import { isFields } from "../../api/parse/fields.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import type { Manifest } from "../model/manifest.ts";

/** structured-merge-diff's error (Kubernetes 1.16 to 1.36), with status 500. */
const UNDECLARED = /\.(spec|status)\.(\w+)[^\s:]*: field not declared in schema/g;

/**
 * Fields that a CRD on some API server does not declare. A server-side apply with such a field is rejected as a whole, so
 * it is left out until the process ends. CRDs of mcs-api before v0.5.1 lack `status.endpointSliceObjects`.
 */
export class UndeclaredFields {
  readonly #fields = new Map<string, Set<string>>();

  /** True if an error names a new undeclared field: a retry without it may succeed. */
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

  /** The manifest without undeclared fields. */
  without(manifest: Manifest): Manifest {
    const parts = [...this.#fields].flatMap(([part, names]) => {
      const fields = manifest[part];
      if (!isFields(fields)) return [];
      return [[part, Object.fromEntries(Object.entries(fields).filter(([n]) => !names.has(n)))]];
    });
    return parts.length === 0 ? manifest : { ...manifest, ...Object.fromEntries(parts) };
  }
}
