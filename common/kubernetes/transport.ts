import { ApiFault, type FaultReason } from "./api-fault.ts";

/** What an error of HTTP, TLS or TCP means. PURE. */
export function faultOfTransport(thrown: unknown): ApiFault {
  if (thrown instanceof ApiFault) return thrown;
  const { code, message } = wordsOf(thrown);
  return new ApiFault(reasonOfCode(code), message === "" ? code : message, { cause: thrown });
}

function reasonOfCode(code: string): FaultReason {
  // Compressed bytes that only end too soon were cut off on their way.
  if (code === "Z_BUF_ERROR") return "unreachable";
  // What came was no HTTP, or not compressed as it said.
  return code.startsWith("HPE_") || code.startsWith("Z_") ? "garbage" : "unreachable";
}

/** Node tries all addresses of a name, and throws one error without words for all that failed. */
function wordsOf(thrown: unknown): { readonly code: string; readonly message: string } {
  if (thrown instanceof AggregateError && thrown.message === "") return wordsOf(thrown.errors[0]);
  if (!(thrown instanceof Error)) return { code: "", message: String(thrown) };
  const code = "code" in thrown && typeof thrown.code === "string" ? thrown.code : "";
  // All that Node says where a connection ends in the midst of an answer.
  const message = thrown.message === "aborted" ? "The answer was cut off" : thrown.message;
  return { code, message };
}
