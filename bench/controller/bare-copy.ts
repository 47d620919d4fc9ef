/**
 * The least that anybody can do to bring slices from one cluster to another, in a process of its own: a watch on the
 * API server of the first kubeconfig, and for each event one server-side apply on that of the second. It merges nothing,
 * forgets nothing, lists nothing again, and asks nobody whether it may.
 */
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { ApiClient } from "../../test/apiserver/api-client.ts";
import { SLICE } from "../../test/apiserver/controller-stage.ts";
import { NAMESPACE } from "../shape.ts";

interface Kubeconfig {
  readonly clusters: readonly [
    { readonly cluster: { readonly server: string; readonly "certificate-authority": string } },
  ];
  readonly users: readonly [{ readonly user: { readonly token: string } }];
}

const [fromFile = "", toFile = "", labelSelector = "", label = ""] = process.argv.slice(2);
const [from, to] = [clientOf(fromFile), clientOf(toFile)];
console.log("copying");
const slices = { ...SLICE, metadata: { namespace: NAMESPACE } };
for await (const { object } of from.watch(slices, { labelSelector })) {
  const { addressType, ports, endpoints } = object;
  const metadata = {
    namespace: NAMESPACE,
    name: `${object.metadata.name}-copy`,
    labels: { [label]: "" },
  };
  await to.apply({ ...SLICE, metadata, addressType, ports, endpoints });
}

function clientOf(file: string): ApiClient {
  const { clusters, users } = JSON.parse(readFileSync(file, "utf8")) as Kubeconfig;
  const { server, "certificate-authority": caFile } = clusters[0].cluster;
  const { hostname, port } = new URL(server);
  return new ApiClient({
    url: server,
    caFile,
    token: () => users[0].user.token,
    connect: async () => connect(Number(port), hostname),
  });
}
