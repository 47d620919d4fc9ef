import { isQualifiedName } from "../../api/names.ts";
import type { Complaints } from "../../api/parse/complaints.ts";
import { CLAIMS, parsePort, parsePorts } from "../../api/parse/parse-ports.ts";
import { parseText } from "../../api/parse/parse-text.ts";
import type { ServicePort } from "./facts.ts";
import { MOST_PORTS } from "./limits.ts";

/** Parses ports with their application protocol. `kind` decides which are duplicates; `path` is the list's field. */
export function parseServicePorts(
  list: unknown,
  path: string,
  kind: keyof typeof CLAIMS,
  complaints: Complaints,
): ServicePort[] {
  return parsePorts(list, path, MOST_PORTS, CLAIMS[kind], complaints, parseServicePort);
}

function parseServicePort(
  raw: unknown,
  path: string,
  complaints: Complaints,
): ServicePort | undefined {
  const port = parsePort(raw, path, complaints);
  if (port === undefined) return undefined;
  const appProtocol = parseText(
    raw,
    "appProtocol",
    "invalid-name",
    isQualifiedName,
    path,
    complaints,
  );
  return appProtocol === undefined ? port : { ...port, appProtocol };
}
