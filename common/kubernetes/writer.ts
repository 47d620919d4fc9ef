import type { Clock } from "../clock.ts";
import { ask } from "./answers.ts";
import { ApiFault } from "./api-fault.ts";
import type { ApiResource, Manifest, ObjectName } from "./api-resource.ts";
import type { ApiServer, ApiWrite } from "./api-server.ts";
import { parseJson } from "./json.ts";
import { LONGEST_OBJECT } from "./longest-object.ts";
import { reasonOfObject } from "./object-fault.ts";
import { metaOf, type ObjectMeta } from "./object-meta.ts";
import { apiVersionOf, resourcePath } from "./resource-path.ts";

/** Milliseconds that a read or write of one object may take in all, unless it is said. */
export const LONGEST_WRITE_MS = 8_000;

/** What an `ApiWriter` is made of. */
export interface ApiWriterOptions {
  readonly api: ApiServer;
  readonly clock: Clock;
  /** Who owns the fields that are applied. */
  readonly fieldManager: string;
  /** Milliseconds that each read or write may take in all; `LONGEST_WRITE_MS` if it is not said. */
  readonly within?: number;
  /**
   * Asked right before each write: may it begin, if it ends within `ms` milliseconds? A leader knows. Absent: always.
   */
  readonly permit?: (ms: number) => boolean;
}

/** How a manifest is applied. */
export interface ApplyOptions {
  /** False: a field that another manager owns with another value is a conflict. True if it is not said. */
  readonly force?: boolean;
  /** Applies to this part alone. */
  readonly subresource?: "status";
  /**
   * Only to this object in this version. Both are needed: to a resourceVersion alone, an API server that has no such
   * object any more creates one (seen with Kubernetes 1.36).
   */
  readonly seen?: ObjectState;
}

/** An object, not another of the same name, as it was at one time. */
export type ObjectState = Pick<ObjectMeta, "uid" | "resourceVersion">;

/** An object as the API server has it. */
export interface ApiObject {
  readonly meta: ObjectMeta;
  readonly object: unknown;
}

/**
 * Reads and writes single objects. Of a kind that is served in several versions, it finds one, and another when that
 * is no longer served. Nothing is tried twice. All throws are ApiFaults: after `unreachable`, `stalled`,
 * `server-error` and `garbage` a write may have been done or not; after any other it has not been done.
 */
export class ApiWriter {
  readonly #options: ApiWriterOptions;
  /** The version that was last served, by resource. */
  readonly #served = new Map<string, string>();

  constructor(options: ApiWriterOptions) {
    this.#options = options;
  }

  /** Undefined if there is none. */
  async get(resource: ApiResource, name: ObjectName): Promise<ApiObject | undefined> {
    try {
      return await this.#object(resource, (version) => ({
        path: objectPath(resource, version, name),
      }));
    } catch (thrown) {
      if (isFault(thrown, "absent")) return undefined;
      throw thrown;
    }
  }

  /**
   * Creates the object, or gives it these fields, by server-side apply (Kubernetes 1.16): fields of others stay, and
   * fields that were applied before and are not any more go. Throws `write-conflict` if the object is not in the state
   * that the options name.
   */
  apply(resource: ApiResource, manifest: Manifest, options: ApplyOptions = {}): Promise<ApiObject> {
    const { force = true, subresource, seen } = options;
    const { fieldManager } = this.#options;
    const query = new URLSearchParams({ fieldManager, force: String(force) }).toString();
    const { uid, resourceVersion } = seen ?? {};
    const metadata = { ...manifest.metadata, ...(seen !== undefined && { uid, resourceVersion }) };
    return this.#object(resource, (version) => {
      const path = objectPath(resource, version, manifest.metadata, subresource);
      const body = bodyOf(resource, version, { ...manifest, metadata });
      // JSON is YAML.
      const contentType = "application/apply-patch+yaml";
      return { path: `${path}?${query}`, write: { method: "PATCH", contentType, body } };
    });
  }

  /** Throws `write-conflict` if there is one of this name. */
  create(resource: ApiResource, manifest: Manifest): Promise<ApiObject> {
    const { namespace } = manifest.metadata;
    return this.#object(resource, (version) => ({
      path: this.#managed(resourcePath(inside(resource, namespace), version)),
      write: { method: "POST", body: bodyOf(resource, version, manifest) },
    }));
  }

  /**
   * Puts this in the place of the whole object. With `metadata.resourceVersion`: throws `write-conflict` if it has
   * another.
   */
  replace(resource: ApiResource, manifest: Manifest): Promise<ApiObject> {
    return this.#object(resource, (version) => ({
      path: this.#managed(objectPath(resource, version, manifest.metadata)),
      write: { method: "PUT", body: bodyOf(resource, version, manifest) },
    }));
  }

  /** False if there was none. Throws `write-conflict` if it is another object, or in another version. */
  async delete(resource: ApiResource, name: ObjectName, seen: ObjectState): Promise<boolean> {
    const { uid, resourceVersion } = seen;
    const body = {
      apiVersion: "v1",
      kind: "DeleteOptions",
      preconditions: { uid, resourceVersion },
      propagationPolicy: "Background",
    };
    try {
      await this.#ask(resource, (version) => ({
        path: objectPath(resource, version, name),
        write: { method: "DELETE", body },
      }));
      return true;
    } catch (thrown) {
      if (isFault(thrown, "absent")) return false;
      throw thrown;
    }
  }

  async #object(resource: ApiResource, question: Question): Promise<ApiObject> {
    const object = parseJson(await this.#ask(resource, question));
    const meta = metaOf(object);
    if (meta === undefined) throw new ApiFault("garbage", "An answer that is no object");
    return { meta, object };
  }

  /** Asks in the version that was served last, then in the others. */
  async #ask(resource: ApiResource, question: Question): Promise<Uint8Array> {
    const { clock, within = LONGEST_WRITE_MS } = this.#options;
    const limit = new AbortController();
    const end = clock.now() + within;
    // Not `deadline`: who was stopped and goes on may have lost the right to write meanwhile.
    const cancel = clock.after(within, () =>
      limit.abort(new ApiFault("stalled", `Not done within ${within / 1000} seconds`)),
    );
    const name = `${resource.group}/${resource.resource}`;
    const last = this.#served.get(name);
    const versions = new Set([...(last === undefined ? [] : [last]), ...resource.versions]);
    let unserved: unknown;
    try {
      for (const version of versions) {
        try {
          const bytes = await this.#send(question(version), end - clock.now(), limit.signal);
          this.#served.set(name, version);
          return bytes;
        } catch (thrown) {
          if (!isFault(thrown, "not-served")) throw thrown;
          unserved ??= thrown;
        }
      }
      throw unserved;
    } finally {
      cancel();
    }
  }

  /** The whole answer. */
  async #send({ path, write }: Asked, ms: number, signal: AbortSignal): Promise<Uint8Array> {
    const { api, permit } = this.#options;
    if (write !== undefined && permit?.(ms) === false) {
      throw new ApiFault("not-leader", "The Lease is not ours for long enough to write");
    }
    const request = { path, signal, silence: ms, ...(write !== undefined && { write }) };
    try {
      const parts: Uint8Array[] = [];
      let length = 0;
      for await (const part of await ask(api, request, reasonOfObject)) {
        parts.push(part);
        length += part.length;
        if (length > LONGEST_OBJECT) throw new ApiFault("garbage", "An answer without an end");
      }
      return Buffer.concat(parts);
    } catch (thrown) {
      signal.throwIfAborted();
      throw thrown;
    }
  }

  #managed(path: string): string {
    const { fieldManager } = this.#options;
    return `${path}?${new URLSearchParams({ fieldManager }).toString()}`;
  }
}

/** What is asked of an API server. */
interface Asked {
  readonly path: string;
  readonly write?: ApiWrite;
}

/** What is asked in one version. */
type Question = (version: string) => Asked;

function objectPath(
  resource: ApiResource,
  version: string,
  { namespace, name }: ObjectName,
  subresource?: string,
): string {
  const path = `${resourcePath(inside(resource, namespace), version)}/${encodeURIComponent(name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

function inside({ group, resource }: ApiResource, namespace: string | undefined) {
  return { group, resource, ...(namespace !== undefined && { namespace }) };
}

function bodyOf(resource: ApiResource, version: string, manifest: Manifest): object {
  return { ...manifest, apiVersion: apiVersionOf(resource, version), kind: resource.kind };
}

function isFault(thrown: unknown, reason: "absent" | "not-served"): boolean {
  return thrown instanceof ApiFault && thrown.reason === reason;
}
