import type { ApiResource, Manifest, ObjectName } from "./api-resource.ts";
import type { ApiWrite } from "./api-server.ts";
import type { ObjectMeta } from "./object-meta.ts";
import { apiVersionOf, resourcePath } from "./resource-path.ts";

/** A request about one object of a kind. PURE, all of this file. */
export interface ObjectRequest {
  /** Path and query, where the kind is served in this version. */
  path(version: string): string;
  /** What is written; absent: it reads. */
  readonly write?: (version: string) => ApiWrite;
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

/** Reads an object. */
export function getRequest(resource: ApiResource, name: ObjectName): ObjectRequest {
  return { path: (version) => objectPath(resource, version, name) };
}

/** Server-side apply (KEP-555). */
export function applyRequest(
  resource: ApiResource,
  manifest: Manifest,
  fieldManager: string,
  { force = true, subresource, seen }: ApplyOptions,
): ObjectRequest {
  const query = new URLSearchParams({ fieldManager, force: String(force) }).toString();
  const { uid, resourceVersion } = seen ?? {};
  const metadata = { ...manifest.metadata, ...(seen !== undefined && { uid, resourceVersion }) };
  const part = subresource === undefined ? "" : `/${subresource}`;
  return {
    path: (version) => `${objectPath(resource, version, manifest.metadata)}${part}?${query}`,
    write: (version) => ({
      method: "PATCH",
      // JSON is YAML.
      contentType: "application/apply-patch+yaml",
      body: bodyOf(resource, version, { ...manifest, metadata }),
    }),
  };
}

/** Creates an object. */
export function createRequest(
  resource: ApiResource,
  manifest: Manifest,
  fieldManager: string,
): ObjectRequest {
  const query = new URLSearchParams({ fieldManager }).toString();
  return {
    path: (version) => `${kindPath(resource, version, manifest.metadata)}?${query}`,
    write: (version) => ({ method: "POST", body: bodyOf(resource, version, manifest) }),
  };
}

/** Puts another object in the place of one. */
export function replaceRequest(
  resource: ApiResource,
  manifest: Manifest,
  fieldManager: string,
): ObjectRequest {
  const query = new URLSearchParams({ fieldManager }).toString();
  return {
    path: (version) => `${objectPath(resource, version, manifest.metadata)}?${query}`,
    write: (version) => ({ method: "PUT", body: bodyOf(resource, version, manifest) }),
  };
}

/** Deletes an object, if it is as it was seen. */
export function deleteRequest(
  resource: ApiResource,
  name: ObjectName,
  { uid, resourceVersion }: ObjectState,
): ObjectRequest {
  const body = {
    apiVersion: "v1",
    kind: "DeleteOptions",
    preconditions: { uid, resourceVersion },
    propagationPolicy: "Background",
  };
  return {
    path: (version) => objectPath(resource, version, name),
    write: () => ({ method: "DELETE", body }),
  };
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
