import { textField } from "../../api/parse/fields.ts";
import { ApiFault, type FaultReason, reasonOfStatus, retryAfterOf } from "./api-fault.ts";
import type { ApiRequest, ApiResponse, ApiServer } from "./api-server.ts";
import { parseJson } from "./json.ts";

/** Bytes of an error's body that are read. */
const MOST_OF_AN_ERROR = 64 * 1024;

/** Sends a request and returns the body of the successful response. Throws an ApiFault for any other response. */
export async function requestBody(
  api: ApiServer,
  request: ApiRequest,
  reasonOf: (status: number, statusObject: unknown) => FaultReason = reasonOfStatus,
): Promise<AsyncIterable<Uint8Array>> {
  const response = await api.request(request);
  const { status } = response;
  // 201 Created, 202 Accepted.
  if (status === 200 || (request.write !== undefined && (status === 201 || status === 202))) {
    return response.body;
  }
  const bytes = await beginning(response);
  const statusObject = jsonOf(bytes);
  const message = (textField(statusObject, "message") ?? bytes.toString("utf8")).trim();
  const text = message === "" ? `HTTP ${status}` : `HTTP ${status}: ${message}`;
  throw new ApiFault(reasonOf(status, statusObject), text, {
    retryAfter: retryAfterOf(response.header("retry-after")),
    status,
  });
}

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
    // The status is known; a truncated explanation changes nothing.
  }
  return Buffer.concat(parts);
}

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return parseJson(bytes);
  } catch {
    return undefined;
  }
}
