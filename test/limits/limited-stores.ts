import { parseImport } from "../../agent/model/parse-import.ts";
import { factTables } from "../../agent/sources/fact-tables.ts";
import type { SourceEvents } from "../../agent/sources/source.ts";
import { Interner } from "../../api/parse/interner.ts";
import { LocalStores } from "../../controller/stores/local-stores.ts";

/** What an agent and a controller keep of the objects of one namespace, for worst-objects.test.ts. */

/** Stores an object of the API server, as text. */
type Store = (key: string, text: string) => void;

const ignore = () => undefined;
const EVENTS: SourceEvents = {
  ...{ importChanged: ignore, importRemoved: ignore, sliceChanged: ignore, sliceRemoved: ignore },
  ...{ nodeObserved: ignore, vipHeld: ignore, silenceChanged: ignore },
  ...{ problems: ignore, listed: ignore },
};
const STORES: Readonly<
  Record<string, () => { readonly put: Store; readonly count: () => number }>
> = {
  agent: () => {
    const { serviceimports: table } = factTables(EVENTS, { room: ignore });
    const interner = new Interner();
    const put: Store = (key, text) => table.set(key, parseImport(JSON.parse(text), interner), 0);
    return { put, count: () => table.size };
  },
  controller: () => {
    const events = { dirty: ignore, slices: ignore, taken: ignore, namespace: ignore };
    const all = { ...events, property: ignore, problems: ignore, room: ignore };
    const stores = new LocalStores({ clusterSetCidrs: [], explicitVipCidrs: [] }, all);
    const { serviceimports: sink } = stores.sinks();
    return {
      put: (key, text) => sink.changed(key, JSON.parse(text)),
      count: () => stores.imports.size,
    };
  },
};

const [program = "", shape = ""] = process.argv.slice(2);
const { imports, ports, characters } = JSON.parse(shape);
const store = STORES[program]?.();
for (let i = 0; i < imports; i++) {
  const name = `import-${i}`;
  const list = Array.from({ length: ports }, (_, p) => ({
    ...{ name: `port-${i}-${p}`, port: 1 + p, protocol: "TCP" },
  }));
  const creationTimestamp = new Date(Date.UTC(2026, 0, 1, 0, 0, i)).toISOString();
  const metadata = {
    namespace: "tenant",
    name,
    uid: name,
    resourceVersion: "1",
    creationTimestamp,
  };
  const spec = { type: "ClusterSetIP", ports: list, note: `${i}`.padEnd(characters, "x") };
  store?.put(`tenant/${name}`, JSON.stringify({ metadata, spec }));
}
globalThis.gc?.();
process.send?.({
  megabytes: Math.round(process.memoryUsage().heapUsed / 1_000_000),
  kept: store?.count(),
});
