import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import type { ApiServer } from "../../common/kubernetes/api-server.ts";
import { Recovery } from "../../common/kubernetes/recovery.ts";
import { proxiedPage } from "./proxied-page.ts";

const POD = { namespace: "clusterset-proxy", pod: "agent-1", port: 10269 };

function serving(status: number, text: string): { api: ApiServer; paths: string[] } {
  const paths: string[] = [];
  const api: ApiServer = {
    address: "https://here",
    recovery: new Recovery(),
    request: async ({ path }) => {
      paths.push(path);
      const body = (async function* () {
        yield Buffer.from(text);
      })();
      return { status, header: () => undefined, body };
    },
    close: async () => undefined,
  };
  return { api, paths };
}

test("a page is what the program answers, also one with an error status", async () => {
  const { api, paths } = serving(503, "[-]sources failed: not-listed\n");
  const page = await proxiedPage(api, POD, "/readyz?verbose", new AbortController().signal);
  assert.deepEqual(page, { status: 503, text: "[-]sources failed: not-listed\n" });
  assert.deepEqual(paths, [
    "/api/v1/namespaces/clusterset-proxy/pods/agent-1:10269/proxy/readyz?verbose",
  ]);
});

test("an answer of the API server itself is a fault", async () => {
  const { api } = serving(403, '{"kind":"Status","message":"pods \\"agent-1\\" is forbidden"}');
  await assert.rejects(
    proxiedPage(api, POD, "/metrics", new AbortController().signal),
    (thrown) => thrown instanceof ApiFault && thrown.reason === "forbidden",
  );
});
