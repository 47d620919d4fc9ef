import { constants } from "node:os";
import { CodedError, codeOf } from "../../../common/errors.ts";

const { ENOMEM, EPERM, EMSGSIZE, ENOBUFS, ENOENT } = constants.errno;

/** Errors that no service is to blame for, as nft prints them: another program deleted an element or the table, or the node has no memory or right. */
const BLAMELESS = new Map([
  [ENOMEM, "Cannot allocate memory"],
  [EPERM, "Operation not permitted"],
  [EMSGSIZE, "Message too long"],
  [ENOBUFS, "No buffer space available"],
  [ENOENT, "No such file or directory"],
]);

/** True if the kernel answers a transaction with this errno because of an element in it: the same one will be rejected again. */
export function isRefusal(errno: number): boolean {
  return !BLAMELESS.has(errno);
}

/** What nft prints before the kernel's error; its own errors, such as of syntax, have no such line. */
const KERNEL = /Could not process rule: (.*)/;

/** The error of nft for a transaction of elements: CSP_NFT_REFUSED if the kernel rejected one of them, else the same. */
export function refusalOf(error: unknown): unknown {
  if (codeOf(error) !== "CSP_EXEC_FAILED") return error;
  const text = String(error);
  const reason = KERNEL.exec(text)?.[1];
  if (reason === undefined || [...BLAMELESS.values()].some((one) => reason.startsWith(one)))
    return error;
  return new CodedError("CSP_NFT_REFUSED", `nft: add elements: ${reason}`, {
    rejected: true,
    cause: error,
  });
}
