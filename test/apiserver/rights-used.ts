import type { AuditEvent } from "./audit.ts";
import type { RightsObject, Subject } from "./rights.ts";

/** A verb that a role grants, and that none of its users has used. */
export interface UnusedRight {
  /** Its name; of a Role, with its namespace before it. */
  readonly role: string;
  readonly verb: string;
  /** Group and resource: `coordination.k8s.io/leases`. */
  readonly of: string;
}

/** What of these rights was not used, by the log of the API server on which they are. */
export function unusedRights(
  objects: readonly RightsObject[],
  events: readonly AuditEvent[],
): UnusedRight[] {
  const allowed = events.filter(({ responseStatus }) => {
    return responseStatus?.code !== 401 && responseStatus?.code !== 403;
  });
  return objects.flatMap((role) => {
    const { metadata, rules = [] } = role;
    const bindings = objects.filter((one) => isBindingOf(one, role));
    const asked = allowed.filter((event) => bindings.some((one) => isBound(event, one)));
    const name = [metadata.namespace ?? [], metadata.name].flat().join("/");
    return rules.flatMap(({ apiGroups, resources, resourceNames, verbs }) =>
      crossed(apiGroups, resources).flatMap(([group, resource]) => {
        const of = `${group}/${resource}`;
        const about = asked.filter(
          (event) =>
            resourceOf(event) === of &&
            (resourceNames?.includes(event.objectRef?.name ?? "") ?? true),
        );
        const used = new Set(about.flatMap(verbsOf));
        return verbs.filter((verb) => !used.has(verb)).map((verb) => ({ role: name, verb, of }));
      }),
    );
  });
}

/** Server-side apply of what was not there takes the right to create it, too. */
function verbsOf({ verb, responseStatus }: AuditEvent): string[] {
  return verb === "patch" && responseStatus?.code === 201 ? ["patch", "create"] : [verb];
}

function resourceOf({ objectRef }: AuditEvent): string {
  const { apiGroup = "", resource = "", subresource } = objectRef ?? {};
  return `${apiGroup}/${resource}${subresource === undefined ? "" : `/${subresource}`}`;
}

function isBindingOf({ metadata, roleRef }: RightsObject, role: RightsObject): boolean {
  const isNamed = roleRef?.kind === role.kind && roleRef.name === role.metadata.name;
  return isNamed && (role.kind !== "Role" || metadata.namespace === role.metadata.namespace);
}

/** Whether a request was made by whom a binding is about, and where it counts. */
function isBound({ user, objectRef }: AuditEvent, binding: RightsObject): boolean {
  const { metadata, subjects = [] } = binding;
  const isHere = metadata.namespace === undefined || metadata.namespace === objectRef?.namespace;
  return isHere && subjects.some((subject) => isOf(user, subject));
}

function isOf({ username, groups = [] }: AuditEvent["user"], subject: Subject): boolean {
  const { kind, namespace, name } = subject;
  if (kind === "Group") return groups.includes(name);
  return username === (kind === "User" ? name : `system:serviceaccount:${namespace}:${name}`);
}

function crossed(these: readonly string[], those: readonly string[]): [string, string][] {
  return these.flatMap((one) => those.map((other): [string, string] => [one, other]));
}
