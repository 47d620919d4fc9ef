/**
 * resolve: queries the DNS servers of /etc/resolv.conf and prints each answer as a JSON line, in order. Names are used as
 * they are, without the search list. Needs only Node.js.
 *
 *     node resolve.ts A:web.shop.svc.clusterset.local SRV:_http._tcp.web.shop.svc.clusterset.local
 *     {"type":"A","name":"web.shop.svc.clusterset.local","records":["241.0.1.7"]}
 *     {"type":"SRV","name":"_http._tcp.web.shop.svc.clusterset.local","error":"ENODATA"}
 *
 * Records are sorted. Of SRV they are `PORT TARGET`; of TXT, their strings. Errors are those of Node.js (dns.NOTFOUND, …):
 * ENOTFOUND is NXDOMAIN, and ENODATA a name without such a record. The exit code is always 0.
 */
import { Resolver } from "node:dns/promises";
import { print } from "./output.ts";

const resolver = new Resolver({ timeout: 2_000, tries: 2 });

/** Questions, by the type of record. */
const QUESTIONS: Readonly<Record<string, (name: string) => Promise<string[]>>> = {
  A: (name) => resolver.resolve4(name),
  AAAA: (name) => resolver.resolve6(name),
  SRV: async (name) =>
    (await resolver.resolveSrv(name)).map((record) => `${record.port} ${record.name}`),
  TXT: async (name) => (await resolver.resolveTxt(name)).map((strings) => strings.join("")),
};

async function answerTo(question: string): Promise<object> {
  const [, type = "", name = ""] = /^([A-Z]+):(.+)$/.exec(question) ?? [];
  const ask = QUESTIONS[type];
  if (ask === undefined) throw new Error(`${question}: expected A, AAAA, SRV or TXT, and a name`);
  try {
    return { type, name, records: (await ask(name)).sort() };
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
    return { type, name, error: error.code };
  }
}

for (const answer of await Promise.all(process.argv.slice(2).map(answerTo))) print(answer);
