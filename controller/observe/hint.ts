/**
 * Where a person may look when a registry is refused: RBAC does not tell a namespace that is missing from one without
 * rights. PURE.
 */
export function hintFor(reason: string): { readonly hint?: string } {
  if (reason !== "forbidden" && reason !== "absent") return {};
  return { hint: "is there such a namespace, with the rights of docs/guides/mesh-or-hub.md?" };
}
