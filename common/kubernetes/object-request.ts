import type { ApiRequest } from "./api-server.ts";
import type { ObjectMeta } from "./object-meta.ts";
import type { ApiResource, Manifest, ObjectName } from "./resource.ts";
import { apiVersionOf, resourcePath } from "./resource.ts";

/** A request about one object, by the API version of its kind. All functions of this file are PURE. */
export type ObjectRequest = (version: string) => Pick<ApiRequest, "path" | "write">;

/** Options of server-side apply. */
export interface ApplyOptions {
  /** False: a field that another manager owns with another value is a conflict. Default: true. */
  readonly force?: boolean;
  readonly subresource?: "status";
  /** True: the API server checks the request and returns the result, and stores nothing. */
  readonly dryRun?: boolean;
  /** The present state of the object, which it must still be in. Absent: the object must not exist. */
  readonly seen?: ObjectState;
}

/** A JSON merge patch of an object. */
export interface MergePatch {
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string | null>>;
    readonly annotations?: Readonly<Record<string, string | null>>;
  };
  readonly spec?: object;
  /** Of a ConfigMap or Secret. */
  readonly data?: Readonly<Record<string, string | null>>;
}

/** Identifies an object and its version. */
export type ObjectState = Pick<ObjectMeta, "uid" | "resourceVersion">;

/**
 * Precondition of an apply that creates. No object has version 1, which is etcd's before the first write: an existing
 * object is a conflict. A missing one is created, because only a uid requires that an object exists (design 20).
 */
const NO_OBJECT = { resourceVersion: "1" } as const;

/** Reads an object. */
export function getRequest(resource: ApiResource, name: ObjectName): ObjectRequest {
  return (version) => ({ path: objectPath(resource, version, name) });
}

/** Server-side apply (KEP-555). */
export function applyRequest(
  resource: ApiResource,
  manifest: Manifest,
  fieldManager: string,
  { force = true, subresource, seen, dryRun = false }: ApplyOptions,
): ObjectRequest {
  const parameters = { fieldManager, force: String(force), ...(dryRun && { dryRun: "All" }) };
  const query = new URLSearchParams(parameters).toString();
  const state = seen && { uid: seen.uid, resourceVersion: seen.resourceVersion };
  const metadata = { ...manifest.metadata, ...(state ?? NO_OBJECT) };
  const part = subresource === undefined ? "" : `/${subresource}`;
  return (version) => ({
    path: `${objectPath(resource, version, metadata)}${part}?${query}`,
    write: {
      method: "PATCH",
      // JSON is YAML.
      contentType: "application/apply-patch+yaml",
      body: bodyOf(resource, version, { ...manifest, metadata }),
    },
  });
}

/** Options of other writes than server-side apply. */
export type WriteOptions = Pick<ApplyOptions, "dryRun">;

/** Creates an object (POST), or replaces it (PUT). */
export function storeRequest(
  method: "POST" | "PUT",
  resource: ApiResource,
  manifest: Manifest,
  fieldManager: string,
  { dryRun = false }: WriteOptions = {},
): ObjectRequest {
  const parameters = { fieldManager, ...(dryRun && { dryRun: "All" }) };
  const query = new URLSearchParams(parameters).toString();
  const pathOf = method === "POST" ? kindPath : objectPath;
  return (version) => ({
    path: `${pathOf(resource, version, manifest.metadata)}?${query}`,
    write: { method, body: bodyOf(resource, version, manifest) },
  });
}

/** Changes some fields of an object (RFC 7396: null deletes one), also of other field managers, if it is in the given state. */
export function patchRequest(
  resource: ApiResource,
  name: ObjectName,
  patch: MergePatch,
  fieldManager: string,
  { uid, resourceVersion }: ObjectState,
  { dryRun = false }: WriteOptions = {},
): ObjectRequest {
  const parameters = { fieldManager, ...(dryRun && { dryRun: "All" }) };
  const query = new URLSearchParams(parameters).toString();
  const metadata = { ...patch.metadata, uid, resourceVersion };
  return (version) => ({
    path: `${objectPath(resource, version, name)}?${query}`,
    write: {
      method: "PATCH",
      contentType: "application/merge-patch+json",
      body: { ...patch, metadata },
    },
  });
}

/** Deletes an object if it is in the given state, or, without a resourceVersion, in any. */
export function deleteRequest(
  resource: ApiResource,
  name: ObjectName,
  { uid, resourceVersion }: Pick<ObjectState, "uid"> & Partial<ObjectState>,
  { dryRun = false }: WriteOptions = {},
): ObjectRequest {
  const body = {
    apiVersion: "v1",
    kind: "DeleteOptions",
    ...(dryRun && { dryRun: ["All"] }),
    preconditions: { uid, resourceVersion },
    propagationPolicy: "Background",
  };
  return (version) => ({
    path: objectPath(resource, version, name),
    write: { method: "DELETE", body },
  });
}

function objectPath(resource: ApiResource, version: string, name: ObjectName): string {
  return `${kindPath(resource, version, name)}/${encodeURIComponent(name.name)}`;
}

function kindPath(
  { group, resource }: ApiResource,
  version: string,
  { namespace }: ObjectName,
): string {
  return resourcePath({ group, resource, ...(namespace !== undefined && { namespace }) }, version);
}

function bodyOf(resource: ApiResource, version: string, manifest: Manifest): object {
  return { ...manifest, apiVersion: apiVersionOf(resource, version), kind: resource.kind };
}
