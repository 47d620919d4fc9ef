/**
 * Every error that clusterset-proxy raises on purpose, with what it means and what to do. docs/ERRORS.md
 * lists the same codes, and a test holds the two together.
 */
export const ERRORS = {
  CSP_USAGE: "A flag or an environment variable is wrong; the message says what was expected.",
  CSP_HTTP_LISTEN: "The address of --http-address cannot be listened on; the cause says why.",
  CSP_LOCK_UNAVAILABLE: "The file of --lock-file cannot be opened or locked; the cause says why.",
  CSP_MANIFESTS_UNREADABLE: "The directory of --manifests cannot be read; the message says why.",
  CSP_KUBECONFIG: "There is no usable kubeconfig, or no service account; the message says why.",
  CSP_IDENTITY:
    "It is not certain who this cluster is: its flags and ClusterProperties contradict each other, or say nothing.",
  CSP_API_REQUEST: "An API server did not answer, or not as it should; the message says how.",
  CSP_EXEC_MISSING: "A program that the agent needs is not installed.",
  CSP_EXEC_STARVED:
    "A program could not be started, or not do its work: descriptors, processes or memory ran out.",
  CSP_EXEC_FAILED: "A program ended with an error; the message has its last words.",
  CSP_EXEC_TIMEOUT: "A program did not end in time and was killed.",
  CSP_TABLE_UNREADABLE:
    "A table holds rules that iptables-save cannot list: another program wrote them with nft.",
  CSP_LOCK_HELD:
    "Another program holds the lock of the legacy iptables tables; the agent waits and tries again.",
  CSP_RESTORE_EXITED:
    "iptables-restore ended in the middle of a transaction: the kernel or the tool refused it.",
  CSP_RESTORE_KILLED:
    "iptables-restore was ended by a signal in the middle of a transaction: nobody refused anything.",
  CSP_RESTORE_TIMEOUT: "iptables-restore did not confirm a transaction in time and was killed.",
  CSP_NETLINK_UNAVAILABLE: "Netlink's native part does not load, or the kernel has no netfilter.",
  CSP_NETLINK_FAILED:
    "The kernel refused a netlink request or did not answer it; the message says.",
  CSP_BACKEND_UNUSABLE:
    "The backend that --backend names cannot be used on this node; the message says what is missing.",
  CSP_SETTING_REFUSED:
    "A switch of the kernel (sysctl) that the agent relies on cannot be set; the message says which and why.",
  CSP_IPVS_MISSING:
    "The kernel does not offer IPVS: the module ip_vs is not there, or not loaded; the message says.",
  CSP_IPVS_REFUSED:
    "The kernel refused a virtual server or a destination of IPVS; the message says.",
  CSP_SERVER_GONE:
    "A virtual server of ours was not there any more when a change of it was made; the message says which.",
  CSP_PLACE_TAKEN:
    "Something in the kernel that is not ours stands where a service's own would be; the message says what, and what removes it.",
  CSP_UNCAUGHT:
    "Something was thrown that nothing catches, a fault of ours; the process has ended.",
} as const;

/** A code of `ERRORS`. */
export type ErrorCode = keyof typeof ERRORS;

/** An error with a code that logs, metrics and docs/ERRORS.md share; `cause` keeps what was caught. */
export class CodedError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "CodedError";
    this.code = code;
  }
}

/** The code of a thrown value, or `undefined` if it was not raised on purpose. */
export function codeOf(thrown: unknown): ErrorCode | undefined {
  return thrown instanceof CodedError ? thrown.code : undefined;
}
