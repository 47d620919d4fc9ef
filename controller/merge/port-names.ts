import type { ServicePort } from "../model/facts.ts";

/** What ports of one name in a Service, an import and a slice have in common. */
export function joint({ name, protocol }: Pick<ServicePort, "name" | "protocol">): string {
  return `${name} ${protocol}`;
}

/**
 * The import's name of each port of an exported Service that the import has, by `joint`. Both lists have service ports, not target
 * ports, so their numbers can be compared.
 *
 * The protocol and the number decide, because clients connect to them: one cluster can rename a port without taking away the others'
 * endpoints. A number that both have under crossed names is not matched: each Service has both names, for other numbers, so
 * that no port was renamed, and the number probably leads to another program here than there.
 */
export function importedNames(
  own: readonly ServicePort[],
  imported: readonly ServicePort[],
): ReadonlyMap<string, string> {
  const byNumber = new Map(imported.map((port) => [numbered(port), port.name]));
  const isCrossed = (name: string, other: string) =>
    name !== other && has(own, other) && has(imported, name);
  return new Map(
    own.flatMap((port) => {
      const name = byNumber.get(numbered(port));
      return name === undefined || isCrossed(port.name, name) ? [] : [[joint(port), name]];
    }),
  );
}

/**
 * The name of a Service's own port for each port of the import, by `joint`. A port of the same name serves it whatever its
 * number is, as a proxy finds endpoints by the name of the port; another name needs the same number.
 */
export function ownNames(
  own: readonly ServicePort[],
  imported: readonly ServicePort[],
): ReadonlyMap<string, string> {
  const same = new Set(own.map(joint));
  const renamed = importedNames(own, imported);
  const names = new Map<string, string>();
  for (const port of imported) if (same.has(joint(port))) names.set(joint(port), port.name);
  for (const port of own) {
    const name = renamed.get(joint(port));
    if (name === undefined || has(own, name) || has(imported, port.name)) continue;
    names.set(joint({ ...port, name }), port.name);
  }
  return names;
}

function numbered({ protocol, port }: ServicePort): string {
  return `${protocol} ${port}`;
}

function has(ports: readonly ServicePort[], name: string): boolean {
  return ports.some((port) => port.name === name);
}
