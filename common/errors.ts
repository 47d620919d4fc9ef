/** Every error code of clusterset-proxy, with its meaning. docs/ERRORS.md is generated from this table. */
export const ERRORS = {
  CSP_USAGE:
    "Usage error: a flag or an environment variable is invalid; the message names the expected value.",
  CSP_HTTP_LISTEN: "Cannot listen on --http-address; the cause says why.",
  CSP_LOCK_UNAVAILABLE: "The file of --lock-file cannot be opened or locked; the cause says why.",
  CSP_MANIFESTS_UNREADABLE:
    "The directory of --manifests, or a file in it, cannot be read; the message says why.",
  CSP_FILE_UNWRITABLE:
    "A file that a command was to write cannot be created; the message says why.",
  CSP_KUBECONFIG: "No usable kubeconfig or service account; the message says why.",
  CSP_IDENTITY:
    "Cluster ID unknown: flags and ClusterProperties contradict each other, or are missing.",
  CSP_API_REQUEST: "A request to an API server failed; the message says why.",
  CSP_EXEC_MISSING: "A program that the agent needs is not installed.",
  CSP_EXEC_STARVED:
    "A program could not start or complete: out of file descriptors, processes or memory.",
  CSP_EXEC_FAILED: "A program exited with an error; the message has its last output.",
  CSP_EXEC_TIMEOUT: "A program timed out and was killed.",
  CSP_CAPABILITY_MISSING:
    "iptables needs a Linux capability that the agent lacks; the message says which, and how to add it.",
  CSP_TABLE_UNREADABLE:
    "A table holds rules that iptables-save cannot list: another program wrote them with nft.",
  CSP_LOCK_HELD: "Another program holds the lock of the legacy iptables tables; the agent retries.",
  CSP_RESTORE_EXITED:
    "iptables-restore exited during a transaction: the kernel or the tool rejected it.",
  CSP_RESTORE_KILLED:
    "A signal killed iptables-restore during a transaction; the transaction was not rejected.",
  CSP_RESTORE_TIMEOUT: "iptables-restore did not confirm a transaction in time and was killed.",
  CSP_NETLINK_UNAVAILABLE:
    "The native netlink module does not load, or the kernel has no netfilter.",
  CSP_NETLINK_FAILED:
    "The kernel rejected a netlink request, or the request timed out; the message says why.",
  CSP_BACKEND_UNUSABLE:
    "The backend set by --backend is not usable on this node; the message names what is missing.",
  CSP_SETTING_REFUSED:
    "Cannot set a sysctl that the agent requires; the message says which and why.",
  CSP_IPVS_MISSING:
    "The kernel does not support IPVS: the module ip_vs is missing or not loaded; the message says which.",
  CSP_IPVS_REFUSED:
    "The kernel rejected an IPVS virtual server or destination; the message says why.",
  CSP_NFT_REFUSED: "The kernel rejected elements of an nftables set; the message says why.",
  CSP_SERVER_GONE: "A managed virtual server was deleted before an update; the message names it.",
  CSP_PLACE_TAKEN:
    "A kernel object of another program conflicts with a service's own; the message names the object and how to remove it.",
  CSP_UNCAUGHT: "Uncaught exception, an internal error; the process exited.",
} as const;

/** A code of `ERRORS`. */
export type ErrorCode = keyof typeof ERRORS;

/** Details of a coded error. */
export interface CodedErrorOptions extends ErrorOptions {
  /** True if the kernel, or its tool, read a transaction and rejected it: the same transaction will be rejected again. */
  readonly rejected?: boolean;
}

/** An error with a code of `ERRORS`; `cause` is the original error. */
export class CodedError extends Error {
  readonly code: ErrorCode;
  readonly rejected: boolean;

  constructor(
    code: ErrorCode,
    message: string,
    { rejected = false, ...options }: CodedErrorOptions = {},
  ) {
    super(message, options);
    this.name = "CodedError";
    this.code = code;
    this.rejected = rejected;
  }
}

/** The code of a thrown value; undefined if it is not a `CodedError`. */
export function codeOf(thrown: unknown): ErrorCode | undefined {
  return thrown instanceof CodedError ? thrown.code : undefined;
}
