import { counted, inSeconds } from "../../api/count.ts";
import type { Clock } from "../clock.ts";
import type { Slots } from "../queue/slots.ts";
import { ApiFault, firstServed, reasonOfObject } from "./api-fault.ts";
import type { ApiRequest, ApiServer } from "./api-server.ts";
import { LONGEST_OBJECT, parseJson } from "./json.ts";
import { metaOf, type ObjectMeta } from "./object-meta.ts";
import {
  type ApplyOptions,
  applyRequest,
  deleteRequest,
  getRequest,
  type MergePatch,
  type ObjectRequest,
  type ObjectState,
  patchRequest,
  storeRequest,
  type WriteOptions,
} from "./object-request.ts";
import { isServerDown } from "./recovery.ts";
import { requestBody } from "./request-body.ts";
import type { ApiResource, Manifest, ObjectName } from "./resource.ts";

export type { ApplyOptions, ObjectState } from "./object-request.ts";

/** Default timeout of a read or write of one object, in milliseconds. */
export const LONGEST_WRITE_MS = 8_000;

/**
 * Milliseconds by which the API server ends a write before we stop waiting: a webhook that does not answer takes ten seconds by default, and would look
 * like an outage. Writes with less time than this, such as those of leader election, have all of it: they are not told apart.
 */
const ENDS_BEFORE_MS = 1_000;
const LEAST_TO_END_MS = 5_000;

/** The owner of slots for objects without a namespace, which no namespace is called. */
const CLUSTER_SCOPED = "cluster-scoped objects";

/** Options of an `ApiWriter`. */
export interface ApiWriterOptions {
  readonly api: ApiServer;
  readonly clock: Clock;
  /** Field manager of server-side apply. */
  readonly fieldManager: string;
  /** Timeout of each read or write in milliseconds; default `LONGEST_WRITE_MS`. */
  readonly within?: number;
  /** Called before each write: may it begin, if it ends within `ms` milliseconds? See `LeaderElector`. Absent: always. */
  readonly permit?: (ms: number) => boolean;
  /** Limits concurrent requests, also of several writers, shared by owner; the timeout starts once a slot is free. Absent: no limit. */
  readonly slots?: Slots;
  /** The owner of an object; default: its namespace. */
  readonly ownerOf?: (name: ObjectName) => string | undefined;
}

/** An object of the API server. */
export interface ApiObject {
  readonly meta: ObjectMeta;
  readonly object: unknown;
}

/**
 * Reads and writes single objects, in an API version that is served. Nothing is retried. All errors are ApiFaults: after `unreachable`, `stalled`,
 * `server-error`, `garbage`, `webhook-failed` and `write-failed`, the server may have processed a write; after others it has not.
 */
export class ApiWriter {
  readonly #options: ApiWriterOptions;
  /** The version that was last served, by resource. */
  readonly #served = new Map<string, string>();

  constructor(options: ApiWriterOptions) {
    this.#options = options;
  }

  /** Undefined if the object does not exist. */
  async get(resource: ApiResource, name: ObjectName): Promise<ApiObject | undefined> {
    const answer = await this.#ask(resource, name, getRequest(resource, name)).catch(ifAbsent);
    return answer && objectOf(answer, name);
  }

  /**
   * Server-side apply. Throws `write-conflict` if the object is not in the state `options.seen`, or if that is absent and
   * the object exists.
   */
  async apply(
    resource: ApiResource,
    manifest: Manifest,
    options: ApplyOptions = {},
  ): Promise<ApiObject> {
    const request = applyRequest(resource, manifest, this.#options.fieldManager, options);
    return objectOf(await this.#ask(resource, manifest.metadata, request), manifest.metadata);
  }

  /** Throws `write-conflict` if the object exists. */
  async create(resource: ApiResource, manifest: Manifest): Promise<ApiObject> {
    const request = storeRequest("POST", resource, manifest, this.#options.fieldManager);
    return objectOf(await this.#ask(resource, manifest.metadata, request), manifest.metadata);
  }

  /** Has the API server check a creation by a dry run, whose object has no version yet. Throws as `create`. */
  async checkCreate(resource: ApiResource, manifest: Manifest): Promise<void> {
    const { fieldManager } = this.#options;
    const request = storeRequest("POST", resource, manifest, fieldManager, { dryRun: true });
    await this.#ask(resource, manifest.metadata, request);
  }

  /** Replaces the whole object. With `metadata.resourceVersion`: throws `write-conflict` if it has another. */
  async replace(resource: ApiResource, manifest: Manifest): Promise<ApiObject> {
    const request = storeRequest("PUT", resource, manifest, this.#options.fieldManager);
    return objectOf(await this.#ask(resource, manifest.metadata, request), manifest.metadata);
  }

  /** Changes some fields of an object. Throws `write-conflict` if its uid or resourceVersion differs, `absent` if it does not exist. */
  async patch(
    resource: ApiResource,
    name: ObjectName,
    patch: MergePatch,
    seen: ObjectState,
    options: WriteOptions = {},
  ): Promise<ApiObject> {
    const { fieldManager } = this.#options;
    const request = patchRequest(resource, name, patch, fieldManager, seen, options);
    return objectOf(await this.#ask(resource, name, request), name);
  }

  /** False if the object did not exist. Throws `write-conflict` if its uid differs, or its resourceVersion, if that is given. */
  async delete(
    resource: ApiResource,
    name: ObjectName,
    seen: Pick<ObjectState, "uid"> & Partial<ObjectState>,
    options: WriteOptions = {},
  ): Promise<boolean> {
    const request = deleteRequest(resource, name, seen, options);
    return (await this.#ask(resource, name, request).catch(ifAbsent)) !== undefined;
  }

  /** What shares limits with others, such as a namespace. */
  ownerOf(name: ObjectName): string {
    return this.#options.ownerOf?.(name) ?? name.namespace ?? CLUSTER_SCOPED;
  }

  #ask(resource: ApiResource, name: ObjectName, request: ObjectRequest): Promise<Uint8Array> {
    const ask = () => this.#askNow(resource, request);
    return this.#options.slots?.hold(ask, this.ownerOf(name)) ?? ask();
  }

  /** Tries the last served version first. */
  async #askNow(resource: ApiResource, request: ObjectRequest): Promise<Uint8Array> {
    const { clock, within = LONGEST_WRITE_MS } = this.#options;
    const limit = new AbortController();
    const began = clock.now();
    const end = began + within;
    // Not `deadline`: a stopped process may have lost the permission to write meanwhile.
    const cancel = clock.after(within, () =>
      limit.abort(new ApiFault("stalled", `Timed out after ${inSeconds(within)}`)),
    );
    const name = `${resource.group}/${resource.resource}`;
    const last = this.#served.get(name);
    const versions = new Set([...(last === undefined ? [] : [last]), ...resource.versions]);
    try {
      return await firstServed(versions, async (version) => {
        const { signal } = limit;
        const { path, write } = request(version);
        const left = end - clock.now();
        const sent = { path, signal, silence: left };
        const bytes =
          write === undefined || left < LEAST_TO_END_MS
            ? await this.#send(write === undefined ? sent : { ...sent, write })
            : await this.#sendEnding({ ...sent, write }, end);
        this.#served.set(name, version);
        return bytes;
      });
    } catch (thrown) {
      if (thrown instanceof ApiFault) thrown.took = clock.now() - began;
      throw thrown;
    } finally {
      cancel();
    }
  }

  /**
   * Sends a write that the API server ends before `end`, if it takes that long. Rejects then with `webhook-failed`, after an internal error with `write-failed`, or
   * with a fault of the server if that does not answer a read of the same path either, which etcd has to answer, too.
   */
  async #sendEnding(request: ApiRequest, end: number): Promise<Uint8Array> {
    const { api, clock } = this.#options;
    const seconds = Math.floor((request.silence - ENDS_BEFORE_MS) / 1000);
    const { path } = request;
    const ended = clock.now() + seconds * 1000;
    try {
      return await this.#send({ ...request, path: withParameter(path, `timeout=${seconds}s`) });
    } catch (fault) {
      if (!(fault instanceof ApiFault)) throw fault;
      const isFailed = fault.reason === "server-error";
      if (!isFailed && !isEnded(fault, clock.now() >= ended)) throw fault;
      const { write: _, ...read } = { ...request, silence: end - clock.now() };
      // A collection, or an object, which may not exist. Who may write a status may not read it, but the object.
      const [object = ""] = path.replace(/\/status(?=\?|$)/, "").split("?");
      const answer = await api
        .request({ ...read, path: `${object}?limit=1` })
        .catch(() => undefined);
      // The controller may not read Events: this answer does not come from etcd, and shows nothing.
      if (answer?.status === 403) throw fault;
      if (answer !== undefined && answer.status < 500 && !UNREAD.has(answer.status)) {
        api.recovery.succeeded(this);
        if (isFailed) throw writeFailed(fault);
        throw fault.reason === "webhook-failed"
          ? fault
          : new ApiFault("webhook-failed", `Not answered within ${counted(seconds, "second")}`, {
              cause: fault,
            });
      }
      api.recovery.failed(this);
      throw fault.reason === "webhook-failed"
        ? new ApiFault("stalled", fault.message, { cause: fault })
        : fault;
    }
  }

  async #send(request: ApiRequest): Promise<Uint8Array> {
    const { api, permit } = this.#options;
    if (request.write !== undefined && permit?.(request.silence) === false) {
      throw new ApiFault("not-leader", "The Lease is not held, or not for long enough");
    }
    try {
      const parts: Uint8Array[] = [];
      let length = 0;
      const body = await requestBody(api, request, reasonOfObject);
      api.recovery.succeeded(this);
      for await (const part of body) {
        parts.push(part);
        length += part.length;
        if (length > LONGEST_OBJECT) throw new ApiFault("garbage", "The response is too long");
      }
      return Buffer.concat(parts);
    } catch (thrown) {
      const fault: unknown = request.signal.aborted ? request.signal.reason : thrown;
      // Rejections of one object do not affect other clients.
      if (fault instanceof ApiFault && isServerDown(fault.reason)) api.recovery.failed(this);
      throw fault;
    }
  }
}

/** Responses of an API server that has not asked etcd: unauthorized, and too many requests. */
const UNREAD: ReadonlySet<number> = new Set([401, 429]);

/** Gateway Timeout. */
const TIMED_OUT = 504;

/**
 * True if the API server has ended a request because its time `isOver`. It closes the connection if it had begun to respond in the same moment
 * (k8s.io/apiserver, filters/timeout.go).
 */
function isEnded({ status, reason }: ApiFault, isOver: boolean): boolean {
  if (status === TIMED_OUT) return reason === "webhook-failed";
  return isOver && reason === "unreachable";
}

/** An internal error that concerns a write only. */
function writeFailed(fault: ApiFault): ApiFault {
  const { message, retryAfter, status } = fault;
  const about = { cause: fault, retryAfter, ...(status !== undefined && { status }) };
  return new ApiFault("write-failed", message, about);
}

function withParameter(path: string, parameter: string): string {
  return `${path}${path.includes("?") ? "&" : "?"}${parameter}`;
}

/** The object of a response. Throws `garbage` if it is not the requested one. */
function objectOf(answer: Uint8Array, { namespace, name }: ObjectName): ApiObject {
  const object = parseJson(answer);
  const meta = metaOf(object);
  if (meta?.key !== (namespace === undefined ? name : `${namespace}/${name}`)) {
    throw new ApiFault("garbage", "The response is not the requested object");
  }
  return { meta, object };
}

/** Undefined for an object that does not exist; rethrows other faults. */
function ifAbsent(thrown: unknown): undefined {
  if (!(thrown instanceof ApiFault) || thrown.reason !== "absent") throw thrown;
}
