import { type FaultReason, reasonOfStatus } from "./api-fault.ts";
import { field, textField } from "./json.ts";

/**
 * What admission says of an object that it does not let in: a ResourceQuota, a webhook, a ValidatingAdmissionPolicy. The status
 * is that of a missing right; but it is the object that is refused, and not its writer. Words of Kubernetes 1.21 to 1.36.
 */
const ADMISSION =
  /^admission webhook "[^"]*" denied the request|is forbidden: (exceeded quota: |ValidatingAdmissionPolicy )/;

/**
 * The reason of an answer about one object that is no success. A 404 may mean that there is no such object or no such
 * kind: of an object the API server says the name. `said`: its Status object, if it gave one. PURE.
 */
export function reasonOfObject(status: number, said: unknown): FaultReason {
  if (status === 404 && (textField(field(said, "details"), "name") ?? "") !== "") return "absent";
  if (status === 409) return "write-conflict";
  if (status === 422) return "invalid";
  // Admission refuses what is new in a namespace that goes, in the words of a missing right.
  if (status === 403 && hasCause(said, "NamespaceTerminating")) return "namespace-terminating";
  if (status === 403 && ADMISSION.test(textField(said, "message") ?? "")) return "refused";
  return reasonOfStatus(status);
}

function hasCause(said: unknown, reason: string): boolean {
  const causes = field(field(said, "details"), "causes");
  return Array.isArray(causes) && causes.some((cause) => textField(cause, "reason") === reason);
}
