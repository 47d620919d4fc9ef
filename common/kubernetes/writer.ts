import type { Clock } from "../clock.ts";
import type { Slots } from "../queue/slots.ts";
import { ask } from "./answers.ts";
import { ApiFault } from "./api-fault.ts";
import type { ApiResource, Manifest, ObjectName } from "./api-resource.ts";
import type { ApiRequest, ApiServer } from "./api-server.ts";
import { parseJson } from "./json.ts";
import { LONGEST_OBJECT } from "./longest-object.ts";
import { reasonOfObject } from "./object-fault.ts";
import { metaOf, type ObjectMeta } from "./object-meta.ts";
import {
  type ApplyOptions,
  applyRequest,
  createRequest,
  deleteRequest,
  getRequest,
  type ObjectRequest,
  type ObjectState,
  replaceRequest,
} from "./object-request.ts";
import { isDeaf } from "./recovery.ts";

export type { ApplyOptions, ObjectState } from "./object-request.ts";

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
  /**
   * Each read or write waits for a place here before its time begins to run. Writers of one API server may share it: every
   * request that is under way at the same time costs a connection of its own. Absent: nothing waits.
   */
  readonly slots?: Slots;
}

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
      return objectOf(await this.#ask(resource, getRequest(resource, name)), name);
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
  async apply(
    resource: ApiResource,
    manifest: Manifest,
    options: ApplyOptions = {},
  ): Promise<ApiObject> {
    const request = applyRequest(resource, manifest, this.#options.fieldManager, options);
    return objectOf(await this.#ask(resource, request), manifest.metadata);
  }

  /** Throws `write-conflict` if there is one of this name. */
  async create(resource: ApiResource, manifest: Manifest): Promise<ApiObject> {
    const request = createRequest(resource, manifest, this.#options.fieldManager);
    return objectOf(await this.#ask(resource, request), manifest.metadata);
  }

  /**
   * Puts this in the place of the whole object. With `metadata.resourceVersion`: throws `write-conflict` if it has
   * another.
   */
  async replace(resource: ApiResource, manifest: Manifest): Promise<ApiObject> {
    const request = replaceRequest(resource, manifest, this.#options.fieldManager);
    return objectOf(await this.#ask(resource, request), manifest.metadata);
  }

  /** False if there was none. Throws `write-conflict` if it is another object, or in another version. */
  async delete(resource: ApiResource, name: ObjectName, seen: ObjectState): Promise<boolean> {
    try {
      await this.#ask(resource, deleteRequest(resource, name, seen));
      return true;
    } catch (thrown) {
      if (isFault(thrown, "absent")) return false;
      throw thrown;
    }
  }

  #ask(resource: ApiResource, request: ObjectRequest): Promise<Uint8Array> {
    const ask = () => this.#askNow(resource, request);
    return this.#options.slots?.hold(ask) ?? ask();
  }

  /** Asks in the version that was served last, then in the others. */
  async #askNow(resource: ApiResource, request: ObjectRequest): Promise<Uint8Array> {
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
          const write = request.write?.(version);
          const bytes = await this.#send({
            path: request.path(version),
            signal: limit.signal,
            silence: end - clock.now(),
            ...(write !== undefined && { write }),
          });
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
  async #send(request: ApiRequest): Promise<Uint8Array> {
    const { api, permit } = this.#options;
    if (request.write !== undefined && permit?.(request.silence) === false) {
      throw new ApiFault("not-leader", "The Lease is not ours for long enough to write");
    }
    try {
      const parts: Uint8Array[] = [];
      let length = 0;
      const body = await ask(api, request, reasonOfObject);
      api.recovery.succeeded(this);
      for await (const part of body) {
        parts.push(part);
        length += part.length;
        if (length > LONGEST_OBJECT) throw new ApiFault("garbage", "An answer without an end");
      }
      return Buffer.concat(parts);
    } catch (thrown) {
      const fault: unknown = request.signal.aborted ? request.signal.reason : thrown;
      // What is refused to one is not what others wait for.
      if (fault instanceof ApiFault && isDeaf(fault.reason)) api.recovery.failed(this);
      throw fault;
    }
  }
}

/** The object that was asked for. Throws `garbage` if that is not what was answered. */
function objectOf(answer: Uint8Array, { namespace, name }: ObjectName): ApiObject {
  const object = parseJson(answer);
  const meta = metaOf(object);
  if (meta?.key !== (namespace === undefined ? name : `${namespace}/${name}`)) {
    throw new ApiFault("garbage", "An answer that is not the object");
  }
  return { meta, object };
}

function isFault(thrown: unknown, reason: "absent" | "not-served"): boolean {
  return thrown instanceof ApiFault && thrown.reason === reason;
}
