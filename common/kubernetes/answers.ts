import { ApiFault, type FaultReason, reasonOfStatus, retryAfterOf } from "./api-fault.ts";
import type { ApiRequest, ApiResponse, ApiServer } from "./api-server.ts";
import { parseJson, textField } from "./json.ts";

/** Bytes of an error's body that are read. */
const MOST_OF_AN_ERROR = 64 * 1024;

/** What an answer that is no success means, by its status and the Status object that explains it, if there is one. */
export type Judge = (status: number, said: unknown) => FaultReason;

/** The body of a successful answer. Throws an ApiFault for any other, for the reason that `judge` gives. */
export async function ask(
  api: ApiServer,
  request: ApiRequest,
  judge: Judge = reasonOfStatus,
): Promise<AsyncIterable<Uint8Array>> {
  const response = await api.request(request);
  const { status } = response;
  // Created, and: it will be done.
  if (status === 200 || (request.write !== undefined && (status === 201 || status === 202))) {
    return response.body;
  }
  const bytes = await beginning(response);
  const said = jsonOf(bytes);
  const message = textField(said, "message") ?? bytes.toString("utf8");
  throw new ApiFault(judge(status, said), `HTTP ${status}: ${message}`, {
    retryAfter: retryAfterOf(response.header("retry-after")),
  });
}

/** As much of a body as an error needs. */
async function beginning({ body }: ApiResponse): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const part of body) {
      parts.push(part);
      length += part.length;
      if (length > MOST_OF_AN_ERROR) break;
    }
  } catch {
    // The status has been heard; that its explanation was cut off changes nothing.
  }
  return Buffer.concat(parts);
}

/** The JSON value that an error's body is, if it is one. */
function jsonOf(bytes: Uint8Array): unknown {
  try {
    return parseJson(bytes);
  } catch {
    return undefined;
  }
}
