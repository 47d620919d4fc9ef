import type { ApiClient } from "./api-client.ts";

interface Resource {
  readonly name: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}

/**
 * Deletes a namespace with all that is in it, as the namespace controller of kube-controller-manager does: the
 * namespace is Terminating first, its objects go, kind by kind, and then it goes itself.
 */
export async function deleteNamespace(client: ApiClient, name: string): Promise<void> {
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
  await client.delete(namespace);
  for (const path of await collectionsOf(client, name)) {
    const { status, body } = await client.request("DELETE", path);
    if (status !== 200) throw new Error(`DELETE ${path}: ${status} ${JSON.stringify(body)}`);
  }
  const body = { ...namespace, spec: { finalizers: [] } };
  const { status, body: said } = await client.request(
    "PUT",
    `/api/v1/namespaces/${name}/finalize`,
    { body },
  );
  if (status !== 200) throw new Error(`finalize ${name}: ${status} ${JSON.stringify(said)}`);
}

async function collectionsOf(client: ApiClient, namespace: string): Promise<string[]> {
  const { body } = await client.request("GET", "/apis");
  const { groups } = body as { groups: { preferredVersion: { groupVersion: string } }[] };
  const roots = ["/api/v1", ...groups.map((one) => `/apis/${one.preferredVersion.groupVersion}`)];
  const found = await Promise.all(
    roots.map(async (root) => {
      const { body } = await client.request("GET", root);
      return (body as { resources: Resource[] }).resources
        .filter(({ namespaced, verbs }) => namespaced && verbs.includes("deletecollection"))
        .map((resource) => `${root}/namespaces/${namespace}/${resource.name}`);
    }),
  );
  return found.flat();
}
