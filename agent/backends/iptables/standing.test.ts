import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { FAMILIES, type Family } from "../../../api/address.ts";
import { PROTOCOLS } from "../../../api/protocol.ts";
import { FakeIptablesBackend } from "../../../test/fake/backend.ts";
import { virtualService } from "../../../test/support/services.ts";
import { nodeFact } from "../../../test/support/worlds.ts";
import type { VirtualService } from "../../plan/virtual-service.ts";
import { StandingServices } from "./standing.ts";

const node = nodeFact();

function backendOf(family: Family): FakeIptablesBackend {
  const clusterSetCidr = node.clusterSetCidrs.find((cidr) => cidr.family === family);
  assert.ok(clusterSetCidr);
  const masquerade = { mode: "remote", podCidrs: node.podCidrs } as const;
  return new FakeIptablesBackend({ family, clusterSetCidr, masquerade });
}

async function write(
  backend: FakeIptablesBackend,
  services: readonly VirtualService[],
  kept: readonly VirtualService[] = [],
): Promise<string> {
  const ruleset = backend.ruleset();
  const keys = new Set([...services, ...kept].map(({ importKey }) => importKey));
  const of = (all: readonly VirtualService[], key: string) =>
    all.filter(({ importKey }) => importKey === key);
  for (const key of keys) ruleset.set(key, of(services, key), { kept: of(kept, key) });
  const believed = await backend.read();
  const tx = backend.diff(believed, ruleset.take());
  await backend.apply(tx, believed);
  return tx.toString();
}

/** What is to be found of services: of their endpoints, those that may run here. */
function findable(services: readonly VirtualService[]): unknown[] {
  return services
    .map(({ importKey, portName, protocol, port, family, vips, endpoints }) => {
      const here = endpoints.filter(({ maybeHere }) => maybeHere);
      const hairpins = [...new Set(here.map((one) => `${one.address} ${one.port}`))].sort();
      return { importKey, portName, protocol, port, family, vips: [...vips].sort(), hairpins };
    })
    .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

/** Services of one family: VIPs inside and outside of the range, no two imports with the same. */
function worlds(family: Family): fc.Arbitrary<readonly VirtualService[]> {
  const [inside, outside, pods] =
    family === "IPv4"
      ? ["241.0.0.", "198.51.100.", "10.1.0."]
      : ["fd00:241::", "2001:db8::", "fd10:1::"];
  const endpoint = fc.record({
    address: fc.integer({ min: 1, max: 9 }).map((i) => `${pods}${i}`),
    port: fc.constantFrom(8080, 53),
  });
  const service = fc.record({
    i: fc.integer({ min: 1, max: 40 }),
    port: fc.constantFrom(80, 443),
    portName: fc.constantFrom("", "http", "a-1"),
    protocol: fc.constantFrom(...PROTOCOLS),
    explicit: fc.boolean(),
    endpoints: fc.uniqueArray(endpoint, { maxLength: 3, selector: (one) => one.address }),
    affinitySeconds: fc.constantFrom(undefined, 60),
  });
  const selector = (one: { i: number; port: number; protocol: string }) =>
    `${one.i} ${one.port} ${one.protocol}`;
  return fc.uniqueArray(service, { selector, maxLength: 30 }).map((services) =>
    services.map(({ i, explicit, endpoints, affinitySeconds, ...rest }) => {
      // What may run here is a fact about an address, not about a service.
      const here = endpoints.map((one) => ({ ...one, maybeHere: /[1-4]$/.test(one.address) }));
      return virtualService({
        ...rest,
        importKey: `demo/s${i}`,
        family,
        vips: [`${inside}${i}`, ...(explicit ? [`${outside}${i}`] : [])],
        endpoints: here,
        ...(affinitySeconds && { affinitySeconds }),
      });
    }),
  );
}

for (const family of FAMILIES) {
  test(`${family}: services are found in their rules, and kept without a word of those who wanted them`, async () => {
    await fc.assert(
      fc.asyncProperty(worlds(family), async (services) => {
        const leading = services.filter(({ endpoints }) => endpoints.length > 0);
        const silent = services.filter(({ endpoints }) => endpoints.length === 0);
        const backend = backendOf(family);
        await write(backend, services);
        const standing = await backend.standing();
        assert.equal(backend.count(await backend.read()), standing.length);
        assert.deepEqual(findable(standing), findable(leading));
        assert.equal(await write(backend, silent, standing), "");
      }),
      { numRuns: 60 },
    );
  });
}

describe("what is not spelled as we spell it", () => {
  const chain = "CSP-SVC-AAAAAAAAAAAAAAAA";
  const entry = (vip: string, name: string) =>
    `-A CSP-241.0.0.0/8 -d ${vip}/32 -p tcp -m tcp --dport 80 -m comment --comment "${name}" -g ${chain}`;
  const lines = {
    "a chain that is not the service's": entry("241.0.0.10", "demo/serve:http"),
    "a name that is none": entry("241.0.0.10", "demo/-:http"),
    "an address of the other family": entry("fd00:241::1", "demo/serve:http"),
    "a comment without a port": entry("241.0.0.10", "demo/serve"),
    "another program's rule": `-A KUBE-SERVICES -d 241.0.0.10/32 -j ${chain}`,
  };
  for (const [name, line] of Object.entries(lines)) {
    test(`is passed over: ${name}`, () => {
      const standing = new StandingServices("IPv4", []);
      standing.line(line);
      assert.deepEqual(standing.services(), []);
    });
  }
});
