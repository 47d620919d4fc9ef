import { LIVE, NAMESPACE } from "./shape.ts";

/** The text that writes the chain anew, from all of a table. Throws if the chain is not there. PURE. */
export function liveChainOf(saved: string): string {
  const comment = `"${NAMESPACE}/${LIVE}:`;
  const rules = saved
    .split("\n")
    .filter((line) => line.includes(comment) && line.includes(" --to-destination "));
  const [, chain] = /^-A (\S+) /.exec(rules[0] ?? "") ?? [];
  if (chain === undefined) throw new Error(`no chain has rules of ${comment}`);
  return ["*nat", `:${chain} - [0:0]`, ...rules, "COMMIT", ""].join("\n");
}

/** The text that replaces the element of `services` by itself, from what `nft get element` prints. Throws if there is none. PURE. */
export function liveElementOf(listing: string): string {
  const [, element = "", key = ""] = /elements = \{ ((.*?) comment ".*)\}/.exec(listing) ?? [];
  if (key === "") throw new Error(`no element of ${NAMESPACE}/${LIVE}: ${listing}`);
  const map = "element ip clusterset-proxy services";
  return `delete ${map} { ${key} }\nadd ${map} { ${element.trim()} }\n`;
}
